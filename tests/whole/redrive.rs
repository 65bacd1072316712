//! Tests redrive: batches that were given up are in the failure bucket as Lambda writes them, and are replayed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use aws::Aws;
use aws::failures::{FAILURE_PREFIX, FailureBucket};
use cli::deployment::target::Target;
use cli::redrive::{Outcome, redrive};
use harness::{Chaos, PATIENCE, Poison, SITE, World, post, with};
use local::event_source::FailedBatch;
use local::stack::Options;
use local::tables::CONTENT_TABLE;
use serde_json::{Value, json};

const FAILURES: &str = "waymark-failures";
/// The record that the poison affects.
const TOXIC: &str = "a-toxic-record";
/// The retries of a batch here.
const RETRIES: u32 = 2;
/// Longer than a scan may stall before `sweep` wakes it.
const STALLED_SECONDS: i64 = 1_000;

/// The failure bucket of a world.
struct Failures {
    s3: aws_sdk_s3::Client,
    bucket: FailureBucket,
    written: usize,
}

impl Failures {
    async fn of(world: &World) -> Self {
        let s3 = world.stack.aws.s3().await.clone();
        s3.create_bucket().bucket(FAILURES).send().await.unwrap();
        let bucket = FailureBucket::new(world.stack.aws.clone(), FAILURES.to_owned());
        Self {
            s3,
            bucket,
            written: 0,
        }
    }

    async fn put(&self, key: &str, body: &str) {
        let request = self.s3.put_object().bucket(FAILURES).key(key);
        let body = body.as_bytes().to_vec().into();
        request.body(body).send().await.unwrap();
    }

    /// Writes the batches that were given up into the bucket, and takes them out of their queue.
    async fn fill(&mut self, world: &World) -> usize {
        let batches = world.stack.failed.drain();
        for batch in &batches {
            self.written += 1;
            let key = format!(
                "{FAILURE_PREFIX}0f6e1b8a-5d0c-4f0e-9f67-1c2d3e4f5a6b/stack-{}/2026/11/21/2026-11-21T12.00.00-{}",
                batch.function, self.written
            );
            self.put(
                &key,
                &failure(batch, self.written.is_multiple_of(2)).to_string(),
            )
            .await;
        }
        batches.len()
    }

    async fn keys(&self) -> Vec<String> {
        self.bucket.keys().await.unwrap()
    }
}

/// Returns a batch as Lambda writes it, with its payload as a text or an object.
fn failure(batch: &FailedBatch, as_object: bool) -> Value {
    let mut event = serde_json::to_value(&batch.event).unwrap();
    if !as_object {
        event = Value::String(event.to_string());
    }
    let records = &batch.event.records;
    let number = |at: usize| records[at].change.sequence_number.clone();
    json!({
        "requestContext": {
            "requestId": "316aa6d0-8154-4c0d-9af7-85d5f4a6bc81",
            "functionArn": format!("arn:aws:lambda:us-east-1:123456789012:function:stack-{}", batch.function),
            "condition": "RetryAttemptsExhausted",
            "approximateInvokeCount": RETRIES + 1,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "version": "1.0",
        "timestamp": "2026-11-21T12:00:00.000Z",
        "DDBStreamBatchInfo": {
            "shardId": "shardId-00000001573689847184-864758bb",
            "startSequenceNumber": number(0),
            "endSequenceNumber": number(records.len() - 1),
            "batchSize": records.len(),
            "streamArn": records[0].event_source_arn,
        },
        "payload": event,
    })
}

/// Returns an operator's target whose calls may fail.
fn poisoned(world: &World, poison: &Poison) -> Target {
    let (dynamodb, s3) = (&world.stack.dynamodb_endpoint, &world.stack.s3_endpoint);
    let aws = Aws::on_loopback(dynamodb, s3, vec![poison.interceptor()]);
    let functions = harness::functions(&aws, &world.clock);
    Target {
        reconciler: functions.reconciler,
        objects: functions.objects,
        ..world.target()
    }
}

/// Runs a redrive. Returns the number of objects that are left, and the outcome of each.
async fn redriven(target: &Target, failures: &Failures) -> (usize, Vec<String>) {
    let mut outcomes = Vec::new();
    let report = |_: &str, outcome: &Outcome| outcomes.push(outcome.to_string());
    let left = redrive(target, &failures.bucket, report).await.unwrap();
    (left, outcomes)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_up_waits_until_it_succeeds_and_may_be_handed_over_twice() {
    for (poison, function) in [
        (Poison::passing(TOXIC), "ingest"),
        (Poison::passing_in("PUT", "/page-sitemap.xml"), "regenerate"),
    ] {
        let options = Options {
            interceptor: Some(poison.interceptor()),
            retries: Some(RETRIES),
            ..Options::default()
        };
        let world = World::with(options, &[post("/a", 1)]).await;
        let mut failures = Failures::of(&world).await;
        world.put(&post("/b", 1)).await;
        world
            .put(&with(
                &post("/page", 1),
                json!({"id": TOXIC, "type": "page"}),
            ))
            .await;
        world.put(&post("/c", 1)).await;
        assert_eq!(world.paths().await, ["/a", "/b", "/c"]);
        let written = failures.fill(&world).await;
        assert!(written > 0);

        let (left, outcomes) = redriven(&poisoned(&world, &poison), &failures).await;
        assert_eq!((left, failures.keys().await.len()), (written, written));
        let again = format!("left: {function} failed again, from record ");
        assert!(
            outcomes.iter().all(|outcome| outcome.starts_with(&again)),
            "{outcomes:?}"
        );
        assert_eq!(world.paths().await, ["/a", "/b", "/c"]);

        poison.lift();
        let target = world.target();
        let ((left, some), (left_too, others)) =
            tokio::join!(redriven(&target, &failures), redriven(&target, &failures));
        assert_eq!((left, left_too), (0, 0), "{some:?} {others:?}");
        assert_eq!(world.paths().await, ["/a", "/b", "/c", "/page"]);
        assert!(failures.keys().await.is_empty());
        assert_eq!(redriven(&target, &failures).await, (0, Vec::new()));
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_from_before_later_edits_does_no_harm() {
    let poison = Poison::passing(TOXIC);
    let options = Options {
        interceptor: Some(poison.interceptor()),
        retries: Some(RETRIES),
        ..Options::default()
    };
    let world = World::with(options, &[post("/a", 1)]).await;
    let mut failures = Failures::of(&world).await;
    world
        .put(&with(&post("/gone", 1), json!({"id": TOXIC})))
        .await;
    world.settle().await;
    assert_eq!(failures.fill(&world).await, 1);
    poison.lift();
    world
        .put(&with(&post("/gone", 2), json!({"id": TOXIC})))
        .await;
    world.settle().await;
    world.delete(TOXIC).await;
    world.settle().await;
    let done = (0, vec!["ingest handled 1 records".to_owned()]);
    assert_eq!(redriven(&world.target(), &failures).await, done);
    assert_eq!(world.paths().await, ["/a"]);
    assert_eq!(
        world.rows("LEDGER#").await.len(),
        1,
        "nothing is left of it"
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_failure_of_this_deployment_is_named_and_left() {
    let world = World::with(Options::default(), &[post("/a", 1)]).await;
    let failures = Failures::of(&world).await;
    let of_table = |table: &str| {
        let arn = format!("arn:aws:dynamodb:us-east-1:123456789012:table/{table}/stream/x");
        let record = json!({"eventID": "1", "eventName": "MODIFY", "awsRegion": "us-east-1", "eventSourceARN": arn,
            "dynamodb": {"Keys": {"id": {"S": "post/a"}}, "SequenceNumber": "1", "SizeBytes": 1}});
        json!({"payload": {"Records": [record]}}).to_string()
    };
    let foreign = [
        (
            "not-json",
            "{".to_owned(),
            "left: not a failure record: not JSON",
        ),
        (
            "metadata-alone",
            "{}".to_owned(),
            "left: not a failure record: payload: missing",
        ),
        (
            "another-table",
            of_table("orders"),
            "left: a batch of table \"orders\"",
        ),
        (
            "empty",
            r#"{"payload": "{\"Records\": []}"}"#.to_owned(),
            "left: not a failure record: payload.Records",
        ),
    ];
    for (name, body, _) in &foreign {
        failures.put(&format!("{FAILURE_PREFIX}{name}"), body).await;
    }
    failures.put("elsewhere", "{").await;
    failures
        .put(&format!("{FAILURE_PREFIX}ours"), &of_table(CONTENT_TABLE))
        .await;
    let target = world.target();
    let mut outcomes = Vec::new();
    let report =
        |key: &str, outcome: &Outcome| outcomes.push((key.to_owned(), outcome.to_string()));
    let left = redrive(&target, &failures.bucket, report).await.unwrap();
    assert_eq!(left, foreign.len());
    for (name, _, expected) in foreign {
        let of_it = |(key, _): &&(String, String)| key.ends_with(name);
        let (_, outcome) = outcomes.iter().find(of_it).unwrap();
        assert!(outcome.starts_with(expected), "{outcome}");
    }
    let keys = failures.keys().await;
    assert!(!keys.iter().any(|key| key.ends_with("ours")), "{keys:?}");
    assert_eq!(keys.len(), left);
    assert_eq!(redriven(&target, &failures).await.0, left, "and again");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_was_given_up_is_made_good_by_a_redrive() {
    let chaos = Chaos::seeded(5, 0.01);
    let options = Options {
        interceptor: Some(chaos.interceptor()),
        retries: Some(0),
        ..Options::default()
    };
    let world = World::with(options, &[]).await;
    let mut failures = Failures::of(&world).await;
    // The result does not depend on how often this happens.
    let edit = async || {
        for n in 0..60 {
            world.put(&post(&format!("/{}", n % 12), n % 27 + 1)).await;
            if n % 5 == 0 {
                world.delete(&format!("post/{}", n % 7)).await;
            }
        }
    };
    edit().await;
    let (mut given_up, mut lifted) = (0, false);
    let until = Instant::now() + PATIENCE;
    loop {
        assert!(
            Instant::now() < until,
            "it goes on failing, and {given_up} records were given up"
        );
        // Longer than a scan may stall whose event was given up.
        world.clock.advance(STALLED_SECONDS);
        let settled = tokio::time::timeout(Duration::from_secs(2), world.settle()).await;
        let written = failures.fill(&world).await;
        given_up += written;
        let (left, outcomes) = redriven(&world.target(), &failures).await;
        assert_eq!(left, 0, "{outcomes:?}");
        if settled.is_ok() && written == 0 {
            if lifted {
                break;
            }
            if given_up == 0 {
                // It is random whether a record fails often enough to be given up.
                edit().await;
                continue;
            }
            // A sweep may come at any moment, and must not fail after the last comparison.
            chaos.lift();
            lifted = true;
        }
    }
    let mut expected = BTreeMap::new();
    for n in 0..60 {
        let loc = |n: u32| format!("https://{SITE}/{n}");
        let day = n % 27 + 1;
        expected.insert(loc(n % 12), format!("2026-01-{day:02}T12:00:00+00:00"));
        if n % 5 == 0 {
            expected.remove(&loc(n % 7));
        }
    }
    let listed = world.listed().await.into_iter();
    let listed = listed.map(|(loc, entry)| (loc, entry.lastmod.unwrap()));
    assert_eq!(listed.collect::<BTreeMap<_, _>>(), expected);
    world.stop().await;
}
