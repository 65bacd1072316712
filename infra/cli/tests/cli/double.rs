//! A double of CloudFormation on loopback, which knows a few stacks of eu-central-1, and of CloudFront, where a distribution
//! `EDENIED` may not be invalidated, `EFULL` has too many invalidations, and `ESLOW` never comes to an end. Whatever else is asked
//! of it, as of DynamoDB and of S3, is not permitted.

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
    /// What was asked of CloudFront: method and path, and the body.
    purged: Purged,
}

type Purged = Arc<Mutex<Vec<(String, String)>>>;

impl Double {
    /// Begins to listen.
    pub(crate) fn start(stacks: Stacks) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let purged = Purged::default();
        let (seen, stacks, cdn) = (Arc::clone(&asked), Arc::new(stacks), Arc::clone(&purged));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, stacks, cdn) =
                    (Arc::clone(&seen), Arc::clone(&stacks), Arc::clone(&cdn));
                // A client that goes is no failure of the double's.
                std::thread::spawn(move || drop(answer(stream, &stacks, &seen, &cdn)));
            }
        });
        let url = format!("http://127.0.0.1:{port}");
        Self { url, asked, purged }
    }

    /// Returns what was asked of CloudFront since the last look: method and path, and the body.
    pub(crate) fn purged(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.purged.lock().expect("not poisoned"))
    }

    /// Returns the signatures of what was asked of CloudFormation since the last look.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().expect("not poisoned"))
    }
}

/// Returns outputs or parameters as CloudFormation writes them.
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
    cdn: &Purged,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let request = request.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
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
    } else if request.contains(" /2020-05-31/distribution/") {
        let is_signed = authorization.contains("/us-east-1/cloudfront/aws4_request");
        cdn.lock()
            .expect("not poisoned")
            .push((request.clone(), form.to_string()));
        invalidate(&request, is_signed)
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

/// Returns CloudFront's answer to a request, as its API reference shows it.
fn invalidate(request: &str, is_signed: bool) -> (u16, String) {
    let state = |state: &str| {
        format!(
            "<?xml version=\"1.0\"?>\n<Invalidation xmlns=\"http://cloudfront.amazonaws.com/doc/2020-05-31/\"><Id>I1EXAMPLE</Id>\
             <Status>{state}</Status><CreateTime>2026-11-25T04:00:00.000Z</CreateTime></Invalidation>"
        )
    };
    if !is_signed {
        return (403, error("SignatureDoesNotMatch", "another scope"));
    }
    match request.split_once(' ') {
        Some((_, path)) if path.contains("/EDENIED/") => {
            (403, error("AccessDenied", "User: u is not authorized"))
        }
        Some((_, path)) if path.contains("/EFULL/") => {
            let message = "Processing your request will cause you to exceed the maximum";
            (400, error("TooManyInvalidationsInProgress", message))
        }
        Some(("POST", path)) if path.ends_with("/invalidation") => (201, state("InProgress")),
        Some(("GET", path)) if path.contains("/ESLOW/") => (200, state("InProgress")),
        Some(("GET", path)) if path.ends_with("/invalidation/I1EXAMPLE") => {
            (200, state("Completed"))
        }
        _ => (404, error("NoSuchInvalidation", "there is none")),
    }
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
