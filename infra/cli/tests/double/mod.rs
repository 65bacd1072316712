//! A double of CloudFormation on loopback, which knows a few stacks of eu-central-1. Whatever else is asked of it, as of DynamoDB
//! and of S3, is not permitted.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The region that has the stacks.
pub(crate) const REGION: &str = "eu-central-1";

/// Stacks by their names: the state, and the outputs and parameters in the form of its answer.
pub(crate) type Stacks = Vec<(&'static str, &'static str, String)>;

/// It serves until its process ends.
pub(crate) struct Double {
    /// Its URL.
    pub(crate) url: String,
    /// The `Authorization` headers of what was asked of CloudFormation.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Double {
    /// Begins to listen.
    pub(crate) fn start(stacks: Stacks) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (seen, stacks) = (Arc::clone(&asked), Arc::new(stacks));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, stacks) = (Arc::clone(&seen), Arc::clone(&stacks));
                // A client that goes is no failure of the double's.
                std::thread::spawn(move || drop(answer(stream, &stacks, &seen)));
            }
        });
        let url = format!("http://127.0.0.1:{port}");
        Self { url, asked }
    }

    /// The signatures of what was asked of CloudFormation since the last look.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().expect("not poisoned"))
    }
}

/// Outputs or parameters as CloudFormation writes them.
pub(crate) fn members(kind: &str, pairs: &[(&str, &str)]) -> String {
    let member = |(key, value): &(&str, &str)| {
        let value = value.replace('&', "&amp;").replace('"', "&quot;");
        format!("<member><{kind}Key>{key}</{kind}Key><{kind}Value>{value}</{kind}Value></member>")
    };
    let members: String = pairs.iter().map(member).collect();
    format!("<{kind}s>{members}</{kind}s>")
}

fn answer(
    mut stream: TcpStream,
    stacks: &Stacks,
    seen: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut length, mut authorization, mut is_dynamodb) = (0, String::new(), false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if line == "\r\n" {
            break;
        }
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "authorization" => authorization = value.trim().to_owned(),
            "x-amz-target" => is_dynamodb = true,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let form = String::from_utf8_lossy(&body);
    let (status, body) = if is_dynamodb {
        let message = "User: u is not authorized to perform: dynamodb:GetItem on resource: r";
        (
            400,
            format!(r#"{{"__type": "x#AccessDeniedException", "message": "{message}"}}"#),
        )
    } else if form.contains("Action=DescribeStacks") {
        seen.lock()
            .expect("not poisoned")
            .push(authorization.clone());
        let tries = seen.lock().expect("not poisoned").len();
        let name = form.rsplit("StackName=").next().unwrap_or_default();
        describe(name, &authorization, stacks, tries)
    } else {
        let error = "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>";
        (403, error.to_owned())
    };
    write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn describe(name: &str, authorization: &str, stacks: &Stacks, tries: usize) -> (u16, String) {
    let is_here = authorization.contains(&format!("/{REGION}/cloudformation/aws4_request"));
    let stack = stacks.iter().find(|(known, ..)| *known == name && is_here);
    match (name, stack) {
        ("denied", _) => {
            let message = "User: arn:aws:iam::1:user/u is not authorized to perform: cloudformation:DescribeStacks";
            (403, error("AccessDenied", message))
        }
        ("expired", _) => (
            403,
            error(
                "ExpiredToken",
                "The security token included in the request is expired",
            ),
        ),
        ("throttled", _) if tries < 3 => (400, error("Throttling", "Rate exceeded")),
        ("gone", _) => (200, "<html>Sign in</html>".to_owned()),
        (_, None) => (
            400,
            error(
                "ValidationError",
                &format!("Stack with id {name} does not exist"),
            ),
        ),
        (_, Some((_, status, pairs))) => {
            let stack =
                format!("<StackName>{name}</StackName><StackStatus>{status}</StackStatus>{pairs}");
            (
                200,
                format!(
                    "<DescribeStacksResponse xmlns=\"http://cloudformation.amazonaws.com/doc/2010-05-15/\">\
                <DescribeStacksResult><Stacks><member>{stack}</member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
                ),
            )
        }
    }
}

fn error(code: &str, message: &str) -> String {
    format!(
        "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
    )
}
