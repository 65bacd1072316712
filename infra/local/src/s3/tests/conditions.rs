//! Preconditions on puts, reads and deletes.

use aws_sdk_s3::Client;
use aws_sdk_s3::operation::put_object::builders::PutObjectFluentBuilder;
use aws_sdk_s3::primitives::{ByteStream, DateTime};
use tokio::task::JoinSet;

use super::*;

#[tokio::test]
async fn a_put_happens_only_if_its_precondition_holds() {
    let (s3, client) = start().await;
    let write = || client.put_object().bucket(BUCKET).key("key");
    assert_eq!(refusal(write().if_match(FIRST).send().await), no_such_key());
    let created = write()
        .if_none_match("*")
        .body(ByteStream::from_static(b"first"))
        .send()
        .await
        .expect("created");
    assert_eq!(created.e_tag.as_deref(), Some(FIRST));
    assert_eq!(
        refusal(write().if_none_match("*").send().await),
        precondition_failed()
    );
    assert_eq!(
        refusal(write().if_match("\"0\"").send().await),
        precondition_failed()
    );
    write()
        .if_match(FIRST)
        .body(ByteStream::from_static(b"second"))
        .send()
        .await
        .expect("replaced");
    assert_eq!(
        refusal(write().if_match(FIRST).send().await),
        precondition_failed()
    );
    assert_eq!(
        refusal(write().if_none_match(FIRST).send().await).0,
        501,
        "S3 knows no other If-None-Match"
    );
    assert_eq!(body(&client, "key").await, "second");
    let Counts {
        puts, puts_refused, ..
    } = s3.counts();
    assert_eq!((puts, puts_refused), (2, 4));
    s3.stop().await;
}

/// Lets twenty writers put concurrently, each with a different body (equal bodies have equal ETags). Returns the bodies and ETags
/// of those that were not refused.
async fn race(
    client: &Client,
    key: &str,
    step: &str,
    condition: impl Fn(PutObjectFluentBuilder) -> PutObjectFluentBuilder,
) -> Vec<(String, String)> {
    let mut writers = JoinSet::new();
    for writer in 0..20 {
        let body = format!("{step} by {writer}");
        let put = client
            .put_object()
            .bucket(BUCKET)
            .key(key)
            .body(ByteStream::from(body.clone().into_bytes()));
        let put = condition(put);
        writers.spawn(async move {
            match put.send().await {
                Ok(put) => Some((body, put.e_tag.expect("an ETag"))),
                refused => {
                    assert_eq!(refusal(refused), precondition_failed());
                    None
                }
            }
        });
    }
    writers.join_all().await.into_iter().flatten().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_writers_with_one_precondition_one_wins() {
    let (s3, client) = start().await;
    for round in 0..5 {
        let key = format!("key-{round}");
        let created = race(&client, &key, "created", |put| put.if_none_match("*")).await;
        assert_eq!(created.len(), 1);
        let etag = created[0].1.clone();
        assert_eq!(body(&client, &key).await, created[0].0);

        let replaced = race(&client, &key, "replaced", |put| put.if_match(&etag)).await;
        assert_eq!(replaced.len(), 1);
        assert_eq!(body(&client, &key).await, replaced[0].0);
    }
    s3.stop().await;
}

#[tokio::test]
async fn a_read_is_conditional_on_etag_and_date() {
    let (s3, client) = start().await;
    put(&client, "key", "first").await;
    let head = client
        .head_object()
        .bucket(BUCKET)
        .key("key")
        .send()
        .await
        .expect("got");
    let changed = head.last_modified.expect("a date").secs();
    let (same, before) = (
        DateTime::from_secs(changed),
        DateTime::from_secs(changed - 1),
    );
    let get = || client.get_object().bucket(BUCKET).key("key");
    let head = || client.head_object().bucket(BUCKET).key("key");

    assert_eq!(refusal(get().if_none_match(FIRST).send().await).0, 304);
    assert_eq!(refusal(head().if_none_match(FIRST).send().await).0, 304);
    assert_eq!(refusal(get().if_none_match("*").send().await).0, 304);
    assert_eq!(refusal(get().if_modified_since(same).send().await).0, 304);
    assert_eq!(refusal(head().if_modified_since(same).send().await).0, 304);
    get().if_none_match("\"0\"").send().await.expect("changed");
    get()
        .if_modified_since(before)
        .send()
        .await
        .expect("changed");
    get()
        .if_none_match("\"0\"")
        .if_modified_since(same)
        .send()
        .await
        .expect("the ETag decides");

    assert_eq!(
        refusal(get().if_match("\"0\"").send().await),
        precondition_failed()
    );
    assert_eq!(refusal(head().if_match("\"0\"").send().await).0, 412);
    assert_eq!(
        refusal(get().if_unmodified_since(before).send().await),
        precondition_failed()
    );
    assert_eq!(
        refusal(head().if_unmodified_since(before).send().await).0,
        412
    );
    get().if_match(FIRST).send().await.expect("the same");
    get()
        .if_unmodified_since(same)
        .send()
        .await
        .expect("the same");
    get()
        .if_match(FIRST)
        .if_unmodified_since(before)
        .send()
        .await
        .expect("the ETag decides");
    assert_eq!(
        refusal(get().if_match("\"0\"").if_none_match(FIRST).send().await),
        precondition_failed()
    );
    s3.stop().await;
}

#[tokio::test]
async fn an_unchanged_object_is_told_with_its_validators_and_without_a_body() {
    let (s3, client) = start().await;
    put(&client, "key", "first").await;
    let error = client
        .get_object()
        .bucket(BUCKET)
        .key("key")
        .if_none_match(FIRST)
        .send()
        .await
        .expect_err("unchanged");
    let answer = error.raw_response().expect("an answer");
    assert_eq!(answer.headers().get("etag"), Some(FIRST));
    assert!(answer.headers().contains_key("last-modified"));
    assert_eq!(answer.body().bytes().unwrap_or_default(), b"");
    s3.stop().await;
}

#[tokio::test]
async fn a_delete_may_be_repeated_unless_it_says_what_it_expects() {
    let (s3, client) = start().await;
    let delete = || client.delete_object().bucket(BUCKET).key("key");
    put(&client, "key", "first").await;
    assert_eq!(
        refusal(delete().if_match("\"0\"").send().await),
        precondition_failed()
    );
    assert_eq!(body(&client, "key").await, "first");
    delete().if_match(FIRST).send().await.expect("deleted");
    assert_eq!(
        refusal(delete().if_match(FIRST).send().await),
        no_such_key()
    );
    assert_eq!(refusal(delete().if_match("*").send().await), no_such_key());
    delete().send().await.expect("nothing to delete");
    put(&client, "key", "first").await;
    delete().send().await.expect("deleted");
    assert_eq!(
        refusal(client.get_object().bucket(BUCKET).key("key").send().await),
        no_such_key()
    );
    s3.stop().await;
}
