//! The protocol as the SDK sees it: a real client over HTTP.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::{ByteStream, DateTime};
use aws_sdk_s3::types::{Delete, ObjectIdentifier};
use futures::future::join_all;

use super::*;

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

/// An S3 with one empty bucket.
async fn start() -> (S3, Client) {
    let s3 = S3::start(0, None).expect("it starts");
    let client = client(&s3);
    client.create_bucket().bucket(BUCKET).send().await.expect("created");
    (s3, client)
}

async fn put(client: &Client, key: &str, body: &str) -> String {
    let body = ByteStream::from(body.as_bytes().to_vec());
    let put = client.put_object().bucket(BUCKET).key(key).body(body).send().await.expect("put");
    put.e_tag.expect("an ETag")
}

async fn body(client: &Client, key: &str) -> String {
    let object = client.get_object().bucket(BUCKET).key(key).send().await.expect("got");
    let bytes = object.body.collect().await.expect("a body").into_bytes();
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// The status and code of an answer that must be an error.
fn refusal<T: Debug, E: ProvideErrorMetadata + Debug>(answer: Result<T, SdkError<E>>) -> (u16, String) {
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

    let read = client.get_object().bucket(BUCKET).key("published/www.example.com/ü +?&.xml");
    let object = read.send().await.expect("got");
    assert_eq!(object.e_tag.as_deref(), Some(FIRST));
    assert_eq!(object.content_type.as_deref(), Some("application/xml; charset=utf-8"));
    assert_eq!(object.content_encoding.as_deref(), Some("gzip"));
    assert_eq!(object.cache_control.as_deref(), Some("max-age=60"));
    assert_eq!(object.content_length, Some(5));
    assert_eq!(object.metadata.expect("metadata")["digest"], "abc");
    let age = SystemTime::now().duration_since(SystemTime::try_from(object.last_modified.expect("a date")).expect("after 1970"));
    assert!(age.expect("in the past") < Duration::from_secs(60));
    assert_eq!(object.body.collect().await.expect("a body").into_bytes(), "first");

    let read = client.head_object().bucket(BUCKET).key("published/www.example.com/ü +?&.xml");
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
    assert_eq!(refusal(client.get_object().bucket(BUCKET).key("none").send().await), no_such_key());
    assert_eq!(refusal(client.head_object().bucket(BUCKET).key("none").send().await).0, 404);
    let missing = (404, "NoSuchBucket".to_owned());
    assert_eq!(refusal(client.get_object().bucket("none").key("key").send().await), missing);
    assert_eq!(refusal(client.put_object().bucket("none").key("key").send().await), missing);
    assert_eq!(refusal(client.list_objects_v2().bucket("none").send().await), missing);
    assert_eq!(refusal(client.delete_object().bucket("none").key("key").send().await), missing);
    assert_eq!(refusal(client.head_bucket().bucket("none").send().await).0, 404);
    s3.stop().await;
}

#[tokio::test]
async fn buckets_are_created_once_and_listed() {
    let (s3, client) = start().await;
    client.head_bucket().bucket(BUCKET).send().await.expect("it is there");
    let again = client.create_bucket().bucket(BUCKET).send().await;
    assert_eq!(refusal(again), (409, "BucketAlreadyOwnedByYou".to_owned()));
    let buckets = client.list_buckets().send().await.expect("listed");
    assert_eq!(buckets.buckets().iter().filter_map(|bucket| bucket.name()).collect::<Vec<_>>(), [BUCKET]);
    s3.stop().await;
}

#[tokio::test]
async fn a_put_happens_only_if_its_precondition_holds() {
    let (s3, client) = start().await;
    let write = || client.put_object().bucket(BUCKET).key("key");
    assert_eq!(refusal(write().if_match(FIRST).send().await), no_such_key());
    let created = write().if_none_match("*").body(ByteStream::from_static(b"first")).send().await.expect("created");
    assert_eq!(created.e_tag.as_deref(), Some(FIRST));
    assert_eq!(refusal(write().if_none_match("*").send().await), precondition_failed());
    assert_eq!(refusal(write().if_match("\"0\"").send().await), precondition_failed());
    write().if_match(FIRST).body(ByteStream::from_static(b"second")).send().await.expect("replaced");
    assert_eq!(refusal(write().if_match(FIRST).send().await), precondition_failed());
    assert_eq!(refusal(write().if_none_match(FIRST).send().await).0, 501, "S3 knows no other If-None-Match");
    assert_eq!(body(&client, "key").await, "second");
    let Counts { puts, puts_refused, .. } = s3.counts();
    assert_eq!((puts, puts_refused), (2, 4));
    s3.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_writers_with_one_precondition_one_wins() {
    let (s3, client) = start().await;
    for round in 0..5 {
        let key = format!("key-{round}");
        let creators = (0..20).map(|writer| {
            let write = client.put_object().bucket(BUCKET).key(&key).if_none_match("*");
            tokio::spawn(write.body(ByteStream::from(format!("creator {writer}").into_bytes())).send())
        });
        let created: Vec<_> = join_all(creators).await.into_iter().map(|answer| answer.expect("no panic")).collect();
        let mut etags = created.iter().flatten().filter_map(|put| put.e_tag.clone());
        let etag = etags.next().expect("one winner");
        assert_eq!(etags.next(), None);

        let replacers = (0..20).map(|writer| {
            let write = client.put_object().bucket(BUCKET).key(&key).if_match(&etag);
            tokio::spawn(write.body(ByteStream::from(format!("replacer {writer}").into_bytes())).send())
        });
        let replaced: Vec<_> = join_all(replacers).await.into_iter().map(|answer| answer.expect("no panic")).collect();
        assert_eq!(replaced.iter().flatten().count(), 1);
        let winner = replaced.iter().position(Result::is_ok).expect("one winner");
        assert_eq!(body(&client, &key).await, format!("replacer {winner}"));
        for lost in replaced.into_iter().filter(Result::is_err) {
            assert_eq!(refusal(lost), precondition_failed());
        }
    }
    s3.stop().await;
}

#[tokio::test]
async fn a_read_is_conditional_on_etag_and_date() {
    let (s3, client) = start().await;
    put(&client, "key", "first").await;
    let head = client.head_object().bucket(BUCKET).key("key").send().await.expect("got");
    let changed = head.last_modified.expect("a date").secs();
    let (same, before) = (DateTime::from_secs(changed), DateTime::from_secs(changed - 1));
    let get = || client.get_object().bucket(BUCKET).key("key");
    let head = || client.head_object().bucket(BUCKET).key("key");

    assert_eq!(refusal(get().if_none_match(FIRST).send().await).0, 304);
    assert_eq!(refusal(head().if_none_match(FIRST).send().await).0, 304);
    assert_eq!(refusal(get().if_none_match("*").send().await).0, 304);
    assert_eq!(refusal(get().if_modified_since(same).send().await).0, 304);
    assert_eq!(refusal(head().if_modified_since(same).send().await).0, 304);
    get().if_none_match("\"0\"").send().await.expect("changed");
    get().if_modified_since(before).send().await.expect("changed");
    get().if_none_match("\"0\"").if_modified_since(same).send().await.expect("the ETag decides");

    assert_eq!(refusal(get().if_match("\"0\"").send().await), precondition_failed());
    assert_eq!(refusal(head().if_match("\"0\"").send().await).0, 412);
    assert_eq!(refusal(get().if_unmodified_since(before).send().await), precondition_failed());
    assert_eq!(refusal(head().if_unmodified_since(before).send().await).0, 412);
    get().if_match(FIRST).send().await.expect("the same");
    get().if_unmodified_since(same).send().await.expect("the same");
    get().if_match(FIRST).if_unmodified_since(before).send().await.expect("the ETag decides");
    assert_eq!(refusal(get().if_match("\"0\"").if_none_match(FIRST).send().await), precondition_failed());
    s3.stop().await;
}

#[tokio::test]
async fn an_unchanged_object_is_told_with_its_validators_and_without_a_body() {
    let (s3, client) = start().await;
    put(&client, "key", "first").await;
    let error = client.get_object().bucket(BUCKET).key("key").if_none_match(FIRST).send().await.expect_err("unchanged");
    let answer = error.raw_response().expect("an answer");
    assert_eq!(answer.headers().get("etag"), Some(FIRST));
    assert!(answer.headers().contains_key("last-modified"));
    assert_eq!(answer.body().bytes().unwrap_or_default(), b"");
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
        let object = client.get_object().bucket(BUCKET).key("key").range(range).send().await.expect("got");
        assert_eq!(object.content_range.as_deref(), Some(told), "{range}");
        assert_eq!(object.content_length, Some(part.len() as i64), "{range}");
        assert_eq!(object.body.collect().await.expect("a body").into_bytes(), part, "{range}");
    }
    for range in ["bytes=10-", "bytes=10-12", "bytes=-0"] {
        let answer = client.get_object().bucket(BUCKET).key("key").range(range).send().await;
        assert_eq!(refusal(answer), (416, "InvalidRange".to_owned()), "{range}");
    }
    s3.stop().await;
}

/// Every page of a listing: keys, then common prefixes, in order.
async fn pages(client: &Client, prefix: &str, delimiter: &str, max_keys: i32, start_after: &str) -> Vec<Vec<String>> {
    let (mut pages, mut token) = (Vec::new(), None);
    loop {
        let request = client.list_objects_v2().bucket(BUCKET).prefix(prefix).max_keys(max_keys);
        let request = if delimiter.is_empty() { request } else { request.delimiter(delimiter) };
        let request = if start_after.is_empty() { request } else { request.start_after(start_after) };
        let page = request.set_continuation_token(token).send().await.expect("listed");
        let keys = page.contents().iter().filter_map(|object| object.key());
        let prefixes = page.common_prefixes().iter().filter_map(|common| common.prefix());
        let mut names: Vec<String> = keys.chain(prefixes).map(str::to_owned).collect();
        assert_eq!(page.key_count, Some(names.len() as i32));
        names.sort();
        pages.push(names);
        token = page.next_continuation_token;
        assert_eq!(page.is_truncated, Some(token.is_some()));
        if token.is_none() {
            return pages;
        }
    }
}

#[tokio::test]
async fn a_listing_has_every_key_once_in_order_whatever_its_pages() {
    let (s3, client) = start().await;
    let keys = ["a", "a/1", "a/2", "a/b/3", "b/4", "b/5", "c", "é&+ /x", "z"];
    for key in keys.iter().rev() {
        put(&client, key, key).await;
    }
    for max_keys in [1, 2, 3, 1000] {
        let listed: Vec<String> = pages(&client, "", "", max_keys, "").await.concat();
        let mut sorted = keys.to_vec();
        sorted.sort_unstable();
        assert_eq!(listed, sorted, "{max_keys} a page");

        let listed: Vec<String> = pages(&client, "", "/", max_keys, "").await.concat();
        let rolled_up = ["a", "a/", "b/", "c", "z", "é&+ /"];
        assert_eq!(listed, rolled_up, "{max_keys} a page");
        let listed = pages(&client, "a/", "/", max_keys, "").await.concat();
        assert_eq!(listed, ["a/1", "a/2", "a/b/"], "{max_keys} a page");
        let listed = pages(&client, "", "", max_keys, "a/2").await.concat();
        assert_eq!(listed, &sorted[3..], "{max_keys} a page");
        let listed = pages(&client, "b/", "", max_keys, "a").await.concat();
        assert_eq!(listed, ["b/4", "b/5"], "{max_keys} a page");
    }
    assert_eq!(pages(&client, "none", "", 1000, "").await, [Vec::<String>::new()]);
    let token = client.list_objects_v2().bucket(BUCKET).continuation_token("x").send().await;
    assert_eq!(refusal(token), (400, "InvalidArgument".to_owned()));
    s3.stop().await;
}

#[tokio::test]
async fn a_delete_may_be_repeated_unless_it_says_what_it_expects() {
    let (s3, client) = start().await;
    let delete = || client.delete_object().bucket(BUCKET).key("key");
    put(&client, "key", "first").await;
    assert_eq!(refusal(delete().if_match("\"0\"").send().await), precondition_failed());
    assert_eq!(body(&client, "key").await, "first");
    delete().if_match(FIRST).send().await.expect("deleted");
    assert_eq!(refusal(delete().if_match(FIRST).send().await), no_such_key());
    assert_eq!(refusal(delete().if_match("*").send().await), no_such_key());
    delete().send().await.expect("nothing to delete");
    put(&client, "key", "first").await;
    delete().send().await.expect("deleted");
    assert_eq!(refusal(client.get_object().bucket(BUCKET).key("key").send().await), no_such_key());
    s3.stop().await;
}

#[tokio::test]
async fn objects_are_deleted_together_and_each_answers_for_itself() {
    let (s3, client) = start().await;
    for key in ["a", "b", "c"] {
        put(&client, key, "first").await;
    }
    let object = |key: &str, etag: Option<&str>| {
        ObjectIdentifier::builder().key(key).set_e_tag(etag.map(str::to_owned)).build().expect("a key")
    };
    let objects = [object("a", None), object("b", Some("0")), object("c", Some(FIRST)), object("none", None)];
    let delete = Delete::builder().set_objects(Some(objects.into())).build().expect("objects");
    let answer = client.delete_objects().bucket(BUCKET).delete(delete).send().await.expect("answered");
    let deleted: BTreeSet<_> = answer.deleted().iter().filter_map(|object| object.key()).collect();
    assert_eq!(deleted, BTreeSet::from(["a", "c", "none"]));
    let errors: Vec<_> = answer.errors().iter().map(|error| (error.key(), error.code())).collect();
    assert_eq!(errors, [(Some("b"), Some("PreconditionFailed"))]);
    assert_eq!(pages(&client, "", "", 1000, "").await, [["b"]]);
    s3.stop().await;
}

#[tokio::test]
async fn what_was_answered_is_there_after_a_restart() {
    let data = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(0, Some(data.path())).expect("it starts");
    let first = client(&s3);
    first.create_bucket().bucket(BUCKET).send().await.expect("created");
    let long = format!("a/{}", "k".repeat(1000));
    put(&first, &long, "first").await;
    put(&first, "replaced", "first").await;
    put(&first, "replaced", "two\nlines").await;
    put(&first, "deleted", "first").await;
    first.delete_object().bucket(BUCKET).key("deleted").send().await.expect("deleted");
    let kept = first.put_object().bucket(BUCKET).key("kept").metadata("digest", "abc").content_encoding("gzip");
    kept.send().await.expect("put");
    let head = first.head_object().bucket(BUCKET).key("kept").send().await.expect("got");
    s3.stop().await;
    // A write that a crash cut off.
    std::fs::write(data.path().join(FOLDER).join(BUCKET).join("00.tmp"), "{").expect("written");

    let s3 = S3::start(0, Some(data.path())).expect("it starts again");
    let second = client(&s3);
    assert_eq!(pages(&second, "", "", 1000, "").await, [[long.as_str(), "kept", "replaced"]]);
    assert_eq!(body(&second, "replaced").await, "two\nlines");
    let again = second.head_object().bucket(BUCKET).key("kept").send().await.expect("got");
    assert_eq!((again.e_tag, again.last_modified), (head.e_tag, head.last_modified));
    assert_eq!(again.content_encoding.as_deref(), Some("gzip"));
    assert_eq!(again.metadata.expect("metadata")["digest"], "abc");
    s3.stop().await;
}

#[tokio::test]
async fn requests_are_counted_by_kind() {
    let (s3, client) = start().await;
    put(&client, "key", "first").await;
    body(&client, "key").await;
    client.head_object().bucket(BUCKET).key("key").send().await.expect("got");
    pages(&client, "", "", 1000, "").await;
    client.delete_object().bucket(BUCKET).key("key").send().await.expect("deleted");
    let counts = Counts { puts: 1, puts_refused: 0, gets: 1, heads: 1, lists: 1, deletes: 1 };
    assert_eq!(s3.counts(), counts);
    s3.stop().await;
}

#[tokio::test]
async fn a_presigned_address_works_and_what_is_not_supported_says_so() {
    let (s3, client) = start().await;
    put(&client, "key", "first").await;
    let presigning = aws_sdk_s3::presigning::PresigningConfig::expires_in(Duration::from_secs(60)).expect("a duration");
    let request = client.get_object().bucket(BUCKET).key("key").presigned(presigning).await.expect("presigned");
    let (status, answer) = raw(&s3, request.uri().strip_prefix(&s3.endpoint).expect("its address")).await;
    assert_eq!((status, answer.as_str()), (200, "first"));
    let (status, answer) = raw(&s3, "/bucket/key").await;
    assert_eq!((status, answer.as_str()), (200, "first"), "unsigned");
    let answer = client.create_multipart_upload().bucket(BUCKET).key("key").send().await;
    assert_eq!(refusal(answer), (501, "NotImplemented".to_owned()));
    s3.stop().await;
}

/// A GET without any client's help: its status and body.
async fn raw(s3: &S3, target: &str) -> (u16, String) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let address = s3.endpoint.strip_prefix("http://").expect("HTTP");
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("connected");
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
    let port: u16 = s3.endpoint.rsplit(':').next().expect("a port").parse().expect("a number");
    let error = S3::start(port, None).expect_err("taken");
    assert_eq!(error.to_string(), format!("S3: port {port} is in use; stop what listens there, or choose another port (0 for any)"));
    s3.stop().await;
    S3::start(port, None).expect("free again").stop().await;
}
