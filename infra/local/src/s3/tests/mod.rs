//! Tests the protocol with a real client over HTTP.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{Delete, ObjectIdentifier};

use super::*;

mod conditions;
mod listing;

use listing::pages;

const BUCKET: &str = "bucket";
/// The MD5 of "first".
const FIRST: &str = "\"8b04d5e3775d298e78455efc5ca404d5\"";

fn client(s3: &S3) -> Client {
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("any", "secret", None, None, "test"))
        .endpoint_url(&s3.endpoint)
        .force_path_style(true)
        .build();
    Client::from_conf(config)
}

/// Starts an S3 with one empty bucket.
async fn start() -> (S3, Client) {
    let s3 = S3::start(0, None).expect("it starts");
    let client = client(&s3);
    client
        .create_bucket()
        .bucket(BUCKET)
        .send()
        .await
        .expect("created");
    (s3, client)
}

async fn put(client: &Client, key: &str, body: &str) -> String {
    let body = ByteStream::from(body.as_bytes().to_vec());
    let put = client
        .put_object()
        .bucket(BUCKET)
        .key(key)
        .body(body)
        .send()
        .await
        .expect("put");
    put.e_tag.expect("an ETag")
}

async fn body(client: &Client, key: &str) -> String {
    let object = client
        .get_object()
        .bucket(BUCKET)
        .key(key)
        .send()
        .await
        .expect("got");
    let bytes = object.body.collect().await.expect("a body").into_bytes();
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Returns the status and code of an answer that must be an error.
fn refusal<T: Debug, E: ProvideErrorMetadata + Debug>(
    answer: Result<T, SdkError<E>>,
) -> (u16, String) {
    let error = answer.expect_err("refused");
    let status = error.raw_response().expect("an answer").status().as_u16();
    (status, error.code().unwrap_or_default().to_owned())
}

fn precondition_failed() -> (u16, String) {
    (412, "PreconditionFailed".to_owned())
}

fn no_such_key() -> (u16, String) {
    (404, "NoSuchKey".to_owned())
}

#[tokio::test]
async fn what_is_put_is_returned_with_its_headers() {
    let (s3, client) = start().await;
    let put = client
        .put_object()
        .bucket(BUCKET)
        .key("published/www.example.com/ü +?&.xml")
        .body(ByteStream::from_static(b"first"))
        .content_type("application/xml; charset=utf-8")
        .content_encoding("gzip")
        .cache_control("max-age=60")
        .metadata("digest", "abc")
        .send()
        .await
        .expect("put");
    assert_eq!(put.e_tag.as_deref(), Some(FIRST));

    let read = client
        .get_object()
        .bucket(BUCKET)
        .key("published/www.example.com/ü +?&.xml");
    let object = read.send().await.expect("got");
    assert_eq!(object.e_tag.as_deref(), Some(FIRST));
    assert_eq!(
        object.content_type.as_deref(),
        Some("application/xml; charset=utf-8")
    );
    assert_eq!(object.content_encoding.as_deref(), Some("gzip"));
    assert_eq!(object.cache_control.as_deref(), Some("max-age=60"));
    assert_eq!(object.content_length, Some(5));
    assert_eq!(object.metadata.expect("metadata")["digest"], "abc");
    let age = SystemTime::now().duration_since(
        SystemTime::try_from(object.last_modified.expect("a date")).expect("after 1970"),
    );
    assert!(age.expect("in the past") < Duration::from_secs(60));
    assert_eq!(
        object.body.collect().await.expect("a body").into_bytes(),
        "first"
    );

    let read = client
        .head_object()
        .bucket(BUCKET)
        .key("published/www.example.com/ü +?&.xml");
    let head = read.send().await.expect("got");
    assert_eq!(head.e_tag.as_deref(), Some(FIRST));
    assert_eq!(head.content_length, Some(5));
    assert_eq!(head.content_encoding.as_deref(), Some("gzip"));
    assert_eq!(head.metadata.expect("metadata")["digest"], "abc");
    s3.stop().await;
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let (s3, client) = start().await;
    assert_eq!(
        refusal(client.get_object().bucket(BUCKET).key("none").send().await),
        no_such_key()
    );
    assert_eq!(
        refusal(client.head_object().bucket(BUCKET).key("none").send().await).0,
        404
    );
    let missing = (404, "NoSuchBucket".to_owned());
    assert_eq!(
        refusal(client.get_object().bucket("none").key("key").send().await),
        missing
    );
    assert_eq!(
        refusal(client.put_object().bucket("none").key("key").send().await),
        missing
    );
    assert_eq!(
        refusal(client.list_objects_v2().bucket("none").send().await),
        missing
    );
    assert_eq!(
        refusal(
            client
                .delete_object()
                .bucket("none")
                .key("key")
                .send()
                .await
        ),
        missing
    );
    assert_eq!(
        refusal(client.head_bucket().bucket("none").send().await).0,
        404
    );
    s3.stop().await;
}

#[tokio::test]
async fn buckets_are_created_once_and_listed() {
    let (s3, client) = start().await;
    client
        .head_bucket()
        .bucket(BUCKET)
        .send()
        .await
        .expect("it is there");
    let again = client.create_bucket().bucket(BUCKET).send().await;
    assert_eq!(refusal(again), (409, "BucketAlreadyOwnedByYou".to_owned()));
    let buckets = client.list_buckets().send().await.expect("listed");
    assert_eq!(
        buckets
            .buckets()
            .iter()
            .filter_map(|bucket| bucket.name())
            .collect::<Vec<_>>(),
        [BUCKET]
    );
    s3.stop().await;
}

#[tokio::test]
async fn a_range_is_a_part_of_the_object() {
    let (s3, client) = start().await;
    put(&client, "key", "0123456789").await;
    for (range, part, told) in [
        ("bytes=0-0", "0", "bytes 0-0/10"),
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=8-99", "89", "bytes 8-9/10"),
        ("bytes=-3", "789", "bytes 7-9/10"),
    ] {
        let object = client
            .get_object()
            .bucket(BUCKET)
            .key("key")
            .range(range)
            .send()
            .await
            .expect("got");
        assert_eq!(object.content_range.as_deref(), Some(told), "{range}");
        assert_eq!(object.content_length, Some(part.len() as i64), "{range}");
        assert_eq!(
            object.body.collect().await.expect("a body").into_bytes(),
            part,
            "{range}"
        );
    }
    for range in ["bytes=10-", "bytes=10-12", "bytes=-0"] {
        let answer = client
            .get_object()
            .bucket(BUCKET)
            .key("key")
            .range(range)
            .send()
            .await;
        assert_eq!(refusal(answer), (416, "InvalidRange".to_owned()), "{range}");
    }
    s3.stop().await;
}

#[tokio::test]
async fn objects_are_deleted_together_and_each_answers_for_itself() {
    let (s3, client) = start().await;
    for key in ["a", "b", "c"] {
        put(&client, key, "first").await;
    }
    let object = |key: &str, etag: Option<&str>| {
        ObjectIdentifier::builder()
            .key(key)
            .set_e_tag(etag.map(str::to_owned))
            .build()
            .expect("a key")
    };
    let objects = [
        object("a", None),
        object("b", Some("0")),
        object("c", Some(FIRST)),
        object("none", None),
    ];
    let delete = Delete::builder()
        .set_objects(Some(objects.into()))
        .build()
        .expect("objects");
    let answer = client
        .delete_objects()
        .bucket(BUCKET)
        .delete(delete)
        .send()
        .await
        .expect("answered");
    let deleted: BTreeSet<_> = answer
        .deleted()
        .iter()
        .filter_map(|object| object.key())
        .collect();
    assert_eq!(deleted, BTreeSet::from(["a", "c", "none"]));
    let errors: Vec<_> = answer
        .errors()
        .iter()
        .map(|error| (error.key(), error.code()))
        .collect();
    assert_eq!(errors, [(Some("b"), Some("PreconditionFailed"))]);
    assert_eq!(pages(&client, "", "", 1000, "").await, [["b"]]);
    s3.stop().await;
}

#[tokio::test]
async fn what_was_answered_is_there_after_a_restart() {
    let data = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(0, Some(data.path())).expect("it starts");
    let first = client(&s3);
    first
        .create_bucket()
        .bucket(BUCKET)
        .send()
        .await
        .expect("created");
    let long = format!("a/{}", "k".repeat(1000));
    put(&first, &long, "first").await;
    put(&first, "replaced", "first").await;
    put(&first, "replaced", "two\nlines").await;
    put(&first, "deleted", "first").await;
    first
        .delete_object()
        .bucket(BUCKET)
        .key("deleted")
        .send()
        .await
        .expect("deleted");
    let kept = first
        .put_object()
        .bucket(BUCKET)
        .key("kept")
        .metadata("digest", "abc")
        .content_encoding("gzip");
    kept.send().await.expect("put");
    let head = first
        .head_object()
        .bucket(BUCKET)
        .key("kept")
        .send()
        .await
        .expect("got");
    s3.stop().await;
    // A write that a crash interrupted.
    std::fs::write(data.path().join(FOLDER).join(BUCKET).join("00.tmp"), "{").expect("written");

    let s3 = S3::start(0, Some(data.path())).expect("it starts again");
    let second = client(&s3);
    assert_eq!(
        pages(&second, "", "", 1000, "").await,
        [[long.as_str(), "kept", "replaced"]]
    );
    assert_eq!(body(&second, "replaced").await, "two\nlines");
    let again = second
        .head_object()
        .bucket(BUCKET)
        .key("kept")
        .send()
        .await
        .expect("got");
    assert_eq!(
        (again.e_tag, again.last_modified),
        (head.e_tag, head.last_modified)
    );
    assert_eq!(again.content_encoding.as_deref(), Some("gzip"));
    assert_eq!(again.metadata.expect("metadata")["digest"], "abc");
    s3.stop().await;
}

#[tokio::test]
async fn requests_are_counted_by_kind() {
    let (s3, client) = start().await;
    put(&client, "key", "first").await;
    body(&client, "key").await;
    client
        .head_object()
        .bucket(BUCKET)
        .key("key")
        .send()
        .await
        .expect("got");
    pages(&client, "", "", 1000, "").await;
    client
        .delete_object()
        .bucket(BUCKET)
        .key("key")
        .send()
        .await
        .expect("deleted");
    let counts = Counts {
        puts: 1,
        puts_refused: 0,
        gets: 1,
        heads: 1,
        lists: 1,
        deletes: 1,
    };
    assert_eq!(s3.counts(), counts);
    s3.stop().await;
}

#[tokio::test]
async fn a_presigned_address_works_and_what_is_not_supported_says_so() {
    let (s3, client) = start().await;
    put(&client, "key", "first").await;
    let presigning = aws_sdk_s3::presigning::PresigningConfig::expires_in(Duration::from_secs(60))
        .expect("a duration");
    let request = client
        .get_object()
        .bucket(BUCKET)
        .key("key")
        .presigned(presigning)
        .await
        .expect("presigned");
    let (status, answer) = raw(
        &s3,
        request
            .uri()
            .strip_prefix(&s3.endpoint)
            .expect("its address"),
    )
    .await;
    assert_eq!((status, answer.as_str()), (200, "first"));
    let (status, answer) = raw(&s3, "/bucket/key").await;
    assert_eq!((status, answer.as_str()), (200, "first"), "unsigned");
    let answer = client
        .create_multipart_upload()
        .bucket(BUCKET)
        .key("key")
        .send()
        .await;
    assert_eq!(refusal(answer), (501, "NotImplemented".to_owned()));
    s3.stop().await;
}

/// Sends a GET without a client library, and returns its status and body.
async fn raw(s3: &S3, target: &str) -> (u16, String) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let address = s3.endpoint.strip_prefix("http://").expect("HTTP");
    let mut stream = tokio::net::TcpStream::connect(address)
        .await
        .expect("connected");
    let request = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("answered");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head[9..12].parse().expect("a status"), body.to_owned())
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let (s3, _) = start().await;
    let port: u16 = s3
        .endpoint
        .rsplit(':')
        .next()
        .expect("a port")
        .parse()
        .expect("a number");
    let error = S3::start(port, None).expect_err("taken");
    assert_eq!(
        error.to_string(),
        format!(
            "S3: port {port} is in use; stop what listens there, or choose another port (0 for any)"
        )
    );
    s3.stop().await;
    S3::start(port, None).expect("free again").stop().await;
}
