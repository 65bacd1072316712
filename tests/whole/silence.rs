//! Tests silent services: every call ends with a temporary failure.

use std::time::Duration;

use aws::Clock;
use aws::S3Objects;
use aws::environment::sitemap_table;
use aws::failures::FailureBucket;
use aws::{Aws, Timeouts};
use bytes::Bytes;
use engine::error::EngineError;
use futures::TryStreamExt;
use harness::SITE;
use objects::{Document, ObjectKey, Objects, Precondition};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const SHORT: Timeouts = Timeouts {
    attempt: Duration::from_millis(150),
    operation: Duration::from_millis(500),
};
/// Longer than any call with these limits takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The point at which an answer stops, on a connection that stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Silence {
    /// Before its first byte.
    Whole,
    /// After its head.
    Body,
    /// In the middle of its body.
    Rest,
}

/// Accepts every connection, and answers each request up to that point.
async fn silent(silence: Silence) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut request = [0; 4_096];
                let asked = stream.read(&mut request).await;
                let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\netag: \"e\"\r\n\r\n";
                let answer = match silence {
                    Silence::Whole => String::new(),
                    Silence::Body => head.to_owned(),
                    Silence::Rest => format!("{head}{}", " ".repeat(50)),
                };
                // A client that has disconnected sends nothing.
                if asked.is_ok() && stream.write_all(answer.as_bytes()).await.is_ok() {
                    while stream.read(&mut request).await.is_ok_and(|bytes| bytes > 0) {}
                }
            });
        }
    });
    endpoint
}

async fn ends<T, E: Into<EngineError>>(
    call: &str,
    silence: Silence,
    outcome: impl Future<Output = Result<T, E>>,
) {
    let Ok(outcome) = tokio::time::timeout(PATIENCE, outcome).await else {
        panic!("{call}, {silence:?}: it waits for ever");
    };
    let Err(error) = outcome else {
        panic!("{call}, {silence:?}: it ends as if all were well");
    };
    let error = error.into();
    assert!(!error.is_permanent(), "{call}, {silence:?}: {error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_nobody_answers_ends_and_so_does_a_body_that_stands_still() {
    let site = SITE.to_owned();
    let key = ObjectKey::SiteFile { site };
    let document = Document {
        digest: "d".to_owned(),
        changed: 0,
        bytes: 1,
        entries: 0,
        stamp: "s".to_owned(),
    };
    for silence in [Silence::Whole, Silence::Body, Silence::Rest] {
        let endpoint = silent(silence).await;
        let aws = Aws::on_loopback(&endpoint, &endpoint, Vec::new()).with_timeouts(SHORT);
        let table = sitemap_table(&aws, "sitemap".to_owned(), &Clock::system().env());
        let objects = S3Objects::new(aws.clone(), "bucket".to_owned());
        let failures = FailureBucket::new(aws, "failures".to_owned());
        let put = objects.put(
            &key,
            Bytes::from_static(b"x"),
            &document,
            &Precondition::Absent,
        );
        let streamed = async {
            let (_, body) = objects.open(&key).await?.expect("an object");
            body.try_collect::<Vec<_>>().await
        };
        let head = async {
            // Its answer has no body.
            if silence == Silence::Whole {
                ends("HeadObject", silence, objects.head(&key)).await;
            }
        };
        tokio::join!(
            ends("GetItem", silence, table.site(SITE)),
            ends("PutObject", silence, put),
            ends("ListObjectsV2", silence, objects.sites(None, 1)),
            ends("GetObject, whole", silence, objects.get(&key)),
            ends("GetObject, as it comes", silence, streamed),
            ends("GetObject of a failure", silence, failures.read("key")),
            head,
        );
    }
}
