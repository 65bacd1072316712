//! Tests that a web page in a browser on this machine can do nothing to the stack. The requests are sent over real sockets, as a
//! browser sends them.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::time::Duration;

use local::stack::{Options, Stack};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Far longer than an answer takes, even on a loaded machine.
const LIMIT: Duration = Duration::from_secs(60);

const HERE: &str = "Host: 127.0.0.1\r\n";
const FOREIGN_ORIGIN: &str = "Host: 127.0.0.1\r\nOrigin: https://evil.example\r\n";
/// The headers of a sandboxed frame, a local file or a redirect.
const NO_ORIGIN: &str = "Host: localhost\r\nOrigin: null\r\n";
/// The headers of a page whose own host now leads to 127.0.0.1.
const REBOUND: &str = "Host: evil.example\r\nOrigin: http://evil.example\r\n";
/// The headers of a navigation or an image, which has no Origin.
const REBOUND_GET: &str = "Host: evil.example\r\n";

/// Sends a request with these headers and a body, and returns the whole answer.
async fn ask(endpoint: &str, request: &str, headers: &str, body: &str) -> String {
    let exchange = async {
        let address = endpoint.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).await.unwrap();
        let length = body.len();
        let text = format!(
            "{request} HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // A refused request may be answered, and its connection reset, before its body is read.
        drop(stream.read_to_end(&mut answer).await);
        String::from_utf8_lossy(&answer).into_owned()
    };
    tokio::time::timeout(LIMIT, exchange).await.unwrap()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or(answer)
}

/// Returns a call of DynamoDB, as its clients send it.
fn call(operation: &str) -> String {
    format!(
        "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\nX-Amz-Date: 20260101T000000Z\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0\r\n"
    )
}

#[tokio::test]
async fn a_web_page_can_neither_read_nor_change_the_stack() {
    let stack = Stack::start(Options::default()).await.unwrap();
    let (dynamodb, s3, sites) = (
        &stack.dynamodb_endpoint,
        &stack.s3_endpoint,
        &stack.site_endpoint,
    );
    let put = r#"{"TableName": "waymark-content", "Item": {"id": {"S": "planted"}}}"#;
    let scan = r#"{"TableName": "waymark-content"}"#;
    let preflight =
        "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-amz-target\r\n";
    let form = "--x\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nplanted\r\n\
                --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\nplanted\r\n--x--\r\n";
    let form_type = "Content-Type: multipart/form-data; boundary=x\r\n";
    for page in [FOREIGN_ORIGIN, NO_ORIGIN, REBOUND, REBOUND_GET] {
        for (endpoint, request, headers, body) in [
            (dynamodb, "GET /", String::new(), ""),
            (dynamodb, "OPTIONS /", preflight.to_owned(), ""),
            (dynamodb, "POST /", call("PutItem"), put),
            (dynamodb, "POST /", call("Scan"), scan),
            (s3, "GET /", String::new(), ""),
            (s3, "OPTIONS /waymark-sitemaps", preflight.to_owned(), ""),
            (s3, "POST /waymark-sitemaps", form_type.to_owned(), form),
            (
                s3,
                "PUT /waymark-sitemaps/planted",
                String::new(),
                "planted",
            ),
            (s3, "PUT /planted", String::new(), ""),
            (s3, "DELETE /waymark-sitemaps/planted", String::new(), ""),
            (s3, "GET /waymark-sitemaps?list-type=2", String::new(), ""),
        ] {
            let answer = ask(endpoint, request, &format!("{page}{headers}"), body).await;
            assert_eq!(status(&answer), "403", "{request} {page}{headers}{answer}");
            assert!(answer.contains("refused: the "), "{request} {page}{answer}");
            let lower = answer.to_ascii_lowercase();
            assert!(
                !lower.contains("access-control-"),
                "{request} {page}{answer}"
            );
            assert!(!lower.contains("planted"), "{request} {page}{answer}");
        }
        // The sites are not listed either for a host that is not this machine's.
        let list = ask(sites, "GET /", page, "").await;
        let is_here = page.contains("Host: 127.0.0.1") || page.contains("Host: localhost");
        assert_eq!(
            list.contains("Sites of this local stack"),
            is_here,
            "{page}{list}"
        );
        assert!(
            !list.to_ascii_lowercase().contains("access-control-"),
            "{list}"
        );
    }
    assert_eq!(stack.count_records().await.unwrap(), 0);
    for place in ["GET /", "GET /waymark-sitemaps?list-type=2"] {
        let answer = ask(s3, place, HERE, "").await;
        assert_eq!(status(&answer), "200", "{answer}");
        assert!(!answer.contains("planted"), "{answer}");
    }

    // Programs, and pages of this machine, are answered as before.
    for page in [
        HERE,
        "Host: localhost:1\r\nOrigin: http://localhost:3000\r\n",
    ] {
        let answer = ask(
            dynamodb,
            "POST /",
            &format!("{page}{}", call("PutItem")),
            put,
        )
        .await;
        assert_eq!(status(&answer), "200", "{answer}");
        let answer = ask(dynamodb, "POST /", &format!("{page}{}", call("Scan")), scan).await;
        assert!(answer.contains("planted"), "{answer}");
        let answer = ask(s3, "PUT /waymark-sitemaps/planted", page, "planted").await;
        assert_eq!(status(&answer), "200", "{answer}");
        let answer = ask(s3, "GET /waymark-sitemaps/planted", page, "").await;
        assert!(answer.ends_with("planted"), "{answer}");
    }
    // An error has the server's own form. A body that is too long is refused, and no other call is affected.
    let answer = ask(
        dynamodb,
        "POST /",
        &format!("{HERE}{}", call("Scan")),
        r#"{"TableName": "none"}"#,
    )
    .await;
    assert!(answer.contains("ResourceNotFoundException"), "{answer}");
    let long = " ".repeat(16 * 1024 * 1024 + 1);
    let answer = ask(
        dynamodb,
        "POST /",
        &format!("{HERE}{}", call("Scan")),
        &long,
    )
    .await;
    assert!(["413", ""].contains(&status(&answer)), "{answer}");
    let answer = ask(dynamodb, "POST /", &format!("{HERE}{}", call("Scan")), scan).await;
    assert_eq!(status(&answer), "200", "{answer}");
    #[cfg(target_os = "linux")]
    assert_eq!(
        listeners(),
        3,
        "one port each of DynamoDB, S3 and the sites"
    );
    stack.stop().await.unwrap();
}

/// Returns the number of this process's listening TCP sockets.
#[cfg(target_os = "linux")]
fn listeners() -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let sockets: Vec<String> = links
        .filter_map(|link| std::fs::read_link(link.path()).ok())
        .map(|target| target.to_string_lossy().into_owned())
        .collect();
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let lines = tables.map(|table| std::fs::read_to_string(table).unwrap_or_default());
    let is_ours = |line: &&str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        // The state 0A is LISTEN (proc_net_tcp).
        columns.get(3) == Some(&"0A")
            && columns
                .get(9)
                .is_some_and(|inode| sockets.contains(&format!("socket:[{inode}]")))
    };
    lines
        .iter()
        .flat_map(|table| table.lines())
        .filter(is_ours)
        .count()
}
