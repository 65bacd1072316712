use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, SystemTime};

use aws::Aws;
use aws_lambda_events::event::dynamodb::EventRecord;
use aws_lambda_events::event::streams::DynamoDbEventResponse;
use aws_sdk_dynamodb::types::AttributeValue;
use engine::stream::EventName;
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use serde_json::json;

use super::delivery::Delivery;
use super::*;
use crate::dynamodb::DynamoDb;
use crate::s3::S3;
use crate::tables::{self, CONTENT_TABLE};

fn records(keys: &[&str]) -> Vec<EventRecord> {
    let record = |(at, key): (usize, &&str)| {
        serde_json::from_value(json!({"awsRegion": "local", "eventID": at.to_string(), "eventName": "MODIFY", "dynamodb": {
            "ApproximateCreationDateTime": 0, "Keys": {"id": {"S": key}}, "SequenceNumber": (100 + at).to_string(), "SizeBytes": 1}}))
        .unwrap()
    };
    keys.iter().enumerate().map(record).collect()
}

fn key(record: &EventRecord) -> String {
    aws::stream::record(record)
        .key
        .text("id")
        .unwrap()
        .to_owned()
}

/// Waits until a source has delivered everything in its stream.
async fn caught_up(source: &EventSource) {
    let caught_up = tokio::time::timeout(Duration::from_secs(120), source.caught_up());
    let caught_up = caught_up.await;
    caught_up
        .unwrap_or_else(|_| panic!("{}", source.waits_for()))
        .unwrap();
}

/// The calls of a function: the keys and numbers of each.
type Calls = Arc<Mutex<Vec<Vec<(String, String)>>>>;

/// Returns a delivery and the calls of its function. The function notes each call and then does `then` with the call's number and event.
fn delivery<F>(change: impl FnOnce(&mut Mapping), faults: Faults, then: F) -> (Delivery, Calls)
where
    F: Fn(usize, Event) -> BoxFuture<'static, Result<DynamoDbEventResponse, BoxError>>
        + Send
        + Sync
        + 'static,
{
    let calls = Calls::default();
    let (seen, count) = (calls.clone(), AtomicUsize::new(0));
    let handler: Handler = Arc::new(move |event: Event| {
        let numbers =
            |record: &EventRecord| (key(record), record.change.sequence_number.clone().unwrap());
        seen.lock()
            .unwrap()
            .push(event.records.iter().map(numbers).collect());
        then(count.fetch_add(1, Ordering::SeqCst), event)
    });
    let mut mapping = Mapping {
        name: "test".to_owned(),
        table: "none".to_owned(),
        batch_size: 10,
        window: Duration::ZERO,
        filter: Arc::new(|_| true),
        retries: None,
        bisect: false,
        timeout: Duration::from_secs(10),
        stream_shards: 1,
        partition_key: "id".to_owned(),
        parallel: 1,
    };
    change(&mut mapping);
    let (failed, counters) = (FailureQueue::default(), Arc::default());
    (
        Delivery {
            mapping,
            handler,
            faults,
            failed,
            counters,
        },
        calls,
    )
}

fn ok() -> BoxFuture<'static, Result<DynamoDbEventResponse, BoxError>> {
    async { Ok(DynamoDbEventResponse::default()) }.boxed()
}

fn report(number: &str) -> BoxFuture<'static, Result<DynamoDbEventResponse, BoxError>> {
    let response =
        json!({"batchItemFailures": [{"itemIdentifier": "104"}, {"itemIdentifier": number}]});
    async { Ok(serde_json::from_value(response)?) }.boxed()
}

fn keys(calls: &Calls) -> Vec<Vec<String>> {
    calls
        .lock()
        .unwrap()
        .iter()
        .map(|call| call.iter().map(|(key, _)| key.clone()).collect())
        .collect()
}

#[tokio::test]
async fn a_reported_record_is_delivered_again_with_all_that_follow_it() {
    let (delivery, calls) = delivery(
        |_| {},
        Faults::default(),
        |call, _| if call == 0 { report("102") } else { ok() },
    );
    delivery.deliver(records(&["a", "b", "c", "d", "e"])).await;
    assert_eq!(
        keys(&calls),
        [vec!["a", "b", "c", "d", "e"], vec!["c", "d", "e"]]
    );
    assert_eq!(delivery.counters.done.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn an_identifier_that_is_none_fails_the_whole_batch() {
    for number in ["", "7"] {
        let (delivery, calls) = delivery(
            |_| {},
            Faults::default(),
            move |call, _| if call == 0 { report(number) } else { ok() },
        );
        delivery.deliver(records(&["a", "b", "c", "d", "e"])).await;
        assert_eq!(
            keys(&calls).iter().map(Vec::len).collect::<Vec<_>>(),
            [5, 5]
        );
    }
}

#[tokio::test]
async fn halving_isolates_a_poisonous_record_and_it_alone_is_given_up() {
    let change = |mapping: &mut Mapping| (mapping.bisect, mapping.retries) = (true, Some(0));
    let (delivery, _) = delivery(change, Faults::default(), |_, event| {
        if event.records.iter().any(|record| key(record) == "poison") {
            async { Err("poison".into()) }.boxed()
        } else {
            ok()
        }
    });
    delivery
        .deliver(records(&["a", "b", "c", "poison", "d", "e", "f", "g"]))
        .await;
    let failed = delivery.failed.drain();
    assert_eq!(failed.len(), 1);
    assert_eq!(
        failed[0].event.records.iter().map(key).collect::<Vec<_>>(),
        ["poison"]
    );
    assert_eq!(failed[0].reason, "poison");
}

#[tokio::test]
async fn a_time_limit_and_a_panic_are_failures_that_are_tried_again() {
    let change = |mapping: &mut Mapping| mapping.timeout = Duration::from_millis(20);
    let (delivery, calls) = delivery(change, Faults::default(), |call, _| match call {
        0 => std::future::pending().boxed(),
        1 => async { panic!("in the function") }.boxed(),
        _ => ok(),
    });
    delivery.deliver(records(&["a"])).await;
    assert_eq!(keys(&calls).len(), 3);
}

#[tokio::test]
async fn parallel_batches_keep_the_order_within_a_key() {
    let (delivery, calls) = delivery(
        |mapping| mapping.parallel = 4,
        Faults::default(),
        |_, _| ok(),
    );
    let ids: Vec<String> = (0..100).map(|at| format!("k{}", at % 7)).collect();
    delivery
        .deliver(records(&ids.iter().map(String::as_str).collect::<Vec<_>>()))
        .await;
    let calls = calls.lock().unwrap();
    assert!(calls.len() > 1);
    for call in calls.iter() {
        for key in call.iter().map(|(key, _)| key) {
            let numbers: Vec<&String> = call
                .iter()
                .filter(|(other, _)| other == key)
                .map(|(_, number)| number)
                .collect();
            assert!(numbers.is_sorted(), "{key}: {numbers:?}");
            assert_eq!(
                calls
                    .iter()
                    .filter(|call| call.iter().any(|(other, _)| other == key))
                    .count(),
                1
            );
        }
    }
}

#[tokio::test]
async fn with_every_fault_each_key_is_handled_at_least_once_and_ends_with_its_last_record() {
    let (delivery, calls) = delivery(
        |_| {},
        Faults::seeded(7, 0.4),
        |_, _| {
            async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Ok(DynamoDbEventResponse::default())
            }
            .boxed()
        },
    );
    let ids: Vec<String> = (0..60).map(|at| format!("k{}", at % 9)).collect();
    for batch in records(&ids.iter().map(String::as_str).collect::<Vec<_>>()).chunks(8) {
        delivery.deliver(batch.to_vec()).await;
    }
    let calls = calls.lock().unwrap();
    assert!(calls.len() > 8, "faults deliver again");
    for key in 0..9 {
        let key = format!("k{key}");
        let numbers: Vec<&String> = calls
            .iter()
            .flatten()
            .filter(|(other, _)| *other == key)
            .map(|(_, number)| number)
            .collect();
        assert_eq!(numbers.last(), numbers.iter().max(), "{key}");
    }
}

/// Creates the content table of an embedded DynamoDB, and returns the client for it.
async fn content_table(dynamodb: &DynamoDb) -> aws_sdk_dynamodb::Client {
    let s3 = S3::start(0, None).unwrap();
    let aws = Aws::on_loopback(&dynamodb.endpoint, &s3.endpoint, Vec::new());
    tables::create(&aws).await.unwrap();
    s3.stop().await;
    aws.dynamodb().await.clone()
}

async fn put(client: &aws_sdk_dynamodb::Client, id: &str, n: usize) {
    let item = [
        ("id", AttributeValue::S(id.to_owned())),
        ("n", AttributeValue::N(n.to_string())),
    ];
    let item = item.map(|(name, value)| (name.to_owned(), value)).into();
    client
        .put_item()
        .table_name(CONTENT_TABLE)
        .set_item(Some(item))
        .send()
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_read_over_several_pages_in_order_and_what_is_filtered_out_is_passed_over() {
    let data = tempfile::tempdir().unwrap();
    let dynamodb = DynamoDb::start(0, data.path()).unwrap();
    let client = content_table(&dynamodb).await;
    let (keys, rounds) = (60, 20);
    for round in 0..rounds {
        join_all((0..keys).map(|key| {
            let client = client.clone();
            async move { put(&client, &format!("k{key}"), round).await }
        }))
        .await;
    }

    let change = |mapping: &mut Mapping| {
        mapping.table = CONTENT_TABLE.to_owned();
        mapping.batch_size = 70;
        mapping.parallel = 4;
        mapping.filter = Arc::new(|record| key(record) != "k0");
    };
    let handled = Calls::default();
    let seen = handled.clone();
    let (
        Delivery {
            mapping,
            handler,
            failed,
            ..
        },
        calls,
    ) = delivery(change, Faults::default(), move |call, event| {
        if call % 5 == 1 {
            return async { Err("a passing failure".into()) }.boxed();
        }
        let numbers =
            |record: &EventRecord| (key(record), record.change.sequence_number.clone().unwrap());
        seen.lock()
            .unwrap()
            .push(event.records.iter().map(numbers).collect());
        ok()
    });
    let source = EventSource::start(&dynamodb, mapping, handler, Faults::default(), failed);
    caught_up(&source).await;
    assert_eq!(source.progress().read, (rounds * (keys - 1)) as u64);
    assert_eq!(source.progress().done, source.progress().read);
    assert!(calls.lock().unwrap().iter().all(|call| call.len() <= 70));

    put(&client, "later", 0).await;
    caught_up(&source).await;
    source.stop().await;
    {
        let handled = handled.lock().unwrap();
        assert_eq!(handled.last().unwrap()[0].0, "later");
        for key in (1..keys).map(|key| format!("k{key}")) {
            let numbers: Vec<&String> = handled
                .iter()
                .flatten()
                .filter(|(other, _)| *other == key)
                .map(|(_, n)| n)
                .collect();
            assert_eq!(numbers.len(), rounds, "{key}");
            assert!(numbers.is_sorted(), "{key}: {numbers:?}");
        }
        assert!(!handled.iter().flatten().any(|(key, _)| key == "k0"));
    }
    dynamodb.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_says_what_happened_to_which_item_of_which_table_and_when() {
    let data = tempfile::tempdir().unwrap();
    let dynamodb = DynamoDb::start(0, data.path()).unwrap();
    let client = content_table(&dynamodb).await;
    let before = SystemTime::now();
    put(&client, "a", 0).await;
    put(&client, "a", 1).await;
    let deleted = client.delete_item().table_name(CONTENT_TABLE);
    let deleted = deleted.key("id", AttributeValue::S("a".to_owned()));
    deleted.send().await.unwrap();

    let seen: Arc<Mutex<Vec<EventRecord>>> = Arc::default();
    let events = seen.clone();
    let change = |mapping: &mut Mapping| mapping.table = CONTENT_TABLE.to_owned();
    let (delivery, _) = delivery(change, Faults::default(), move |_, event| {
        events.lock().unwrap().extend(event.records);
        ok()
    });
    let Delivery {
        mapping,
        handler,
        faults,
        failed,
        ..
    } = delivery;
    let source = EventSource::start(&dynamodb, mapping, handler, faults, failed);
    caught_up(&source).await;
    source.stop().await;
    dynamodb.stop().await.unwrap();

    let seen = seen.lock().unwrap();
    let records: Vec<_> = seen.iter().map(aws::stream::record).collect();
    let happened: Vec<EventName> = records.iter().map(|record| record.event).collect();
    assert_eq!(
        happened,
        [EventName::Insert, EventName::Modify, EventName::Remove]
    );
    assert!(records.is_sorted_by(|a, b| a.sequence_number < b.sequence_number));
    let seconds = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let (before, after) = (seconds(before), seconds(SystemTime::now()));
    for record in records {
        assert_eq!(record.table, CONTENT_TABLE);
        assert_eq!(record.key.text("id"), Some("a"));
        let at = u64::try_from(record.at).unwrap();
        assert!((before..=after).contains(&at), "{at}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_read_as_several_shards_goes_on_beside_one_that_does_not() {
    let data = tempfile::tempdir().unwrap();
    let dynamodb = DynamoDb::start(0, data.path()).unwrap();
    let client = content_table(&dynamodb).await;
    let ids: Vec<String> = (0..20).map(|n| format!("k{n}")).collect();
    for (n, id) in ids.iter().enumerate() {
        put(&client, id, n).await;
    }
    let (gate, stuck) = (watch::Sender::new(false), "k0");
    let (opened, first) = (gate.subscribe(), Arc::new(AtomicBool::new(true)));
    let handled: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = handled.clone();
    let change = |mapping: &mut Mapping| {
        mapping.table = CONTENT_TABLE.to_owned();
        mapping.stream_shards = 4;
        mapping.retries = Some(0);
    };
    let (
        Delivery {
            mapping,
            handler,
            failed,
            ..
        },
        calls,
    ) = delivery(change, Faults::default(), move |_, event| {
        let (seen, mut opened, first) = (seen.clone(), opened.clone(), first.clone());
        async move {
            let keys: Vec<String> = event.records.iter().map(key).collect();
            // The gate may open before this call reaches it, so the first call is the one that fails.
            if keys.iter().any(|key| key == stuck) && first.swap(false, Ordering::SeqCst) {
                opened.wait_for(|open| *open).await?;
                return Err("it was stuck".into());
            }
            seen.lock().unwrap().extend(keys);
            Ok(DynamoDbEventResponse::default())
        }
        .boxed()
    });
    let source = EventSource::start(
        &dynamodb,
        mapping,
        handler,
        Faults::default(),
        failed.clone(),
    );
    let all_done = source.caught_up();
    let shard_of_stuck = async {
        loop {
            let call = calls
                .lock()
                .unwrap()
                .iter()
                .find(|call| call.iter().any(|(key, _)| key == stuck))
                .cloned();
            match call {
                Some(call) => return call.len(),
                None => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
    };
    let others_done = async {
        let held_up = shard_of_stuck.await;
        while handled.lock().unwrap().len() + held_up < ids.len() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        held_up
    };
    let held_up = tokio::select! {
        _ = all_done => panic!("one shard is stuck"),
        held_up = others_done => held_up,
    };
    assert!(
        (1..ids.len()).contains(&held_up),
        "{held_up} records share its shard"
    );
    gate.send_replace(true);
    caught_up(&source).await;
    assert_eq!(source.progress(), Progress { read: 20, done: 20 });
    assert_eq!(handled.lock().unwrap().len(), ids.len() - held_up);

    let given_up = failed.drain();
    assert_eq!(
        given_up
            .iter()
            .map(|batch| batch.event.records.len())
            .sum::<usize>(),
        held_up
    );
    for batch in given_up {
        source.redeliver(batch.event).await;
    }
    assert_eq!(handled.lock().unwrap().len(), ids.len());
    assert!(failed.is_empty());
    source.stop().await;
    dynamodb.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_panics_is_told() {
    let data = tempfile::tempdir().unwrap();
    let dynamodb = DynamoDb::start(0, data.path()).unwrap();
    let client = content_table(&dynamodb).await;
    let change = |mapping: &mut Mapping| {
        mapping.table = CONTENT_TABLE.to_owned();
        mapping.filter = Arc::new(|_| panic!("it is not well"));
    };
    let (delivery, _) = delivery(change, Faults::default(), |_, _| ok());
    let Delivery {
        mapping,
        handler,
        faults,
        failed,
        ..
    } = delivery;
    let source = EventSource::start(&dynamodb, mapping, handler, faults, failed);
    put(&client, "a", 0).await;
    let caught_up = tokio::time::timeout(Duration::from_secs(120), source.caught_up());
    let broken = caught_up
        .await
        .expect("told within two minutes")
        .unwrap_err();
    assert!(broken.to_string().contains("it is not well"), "{broken}");
    source.stop().await;
    dynamodb.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_says_what_it_waits_for_and_that_its_function_panicked() {
    let data = tempfile::tempdir().unwrap();
    let dynamodb = DynamoDb::start(0, data.path()).unwrap();
    let client = content_table(&dynamodb).await;
    let change = |mapping: &mut Mapping| {
        mapping.table = CONTENT_TABLE.to_owned();
        mapping.retries = None;
    };
    let healthy = Arc::new(AtomicBool::new(false));
    let is_healthy = healthy.clone();
    let (delivery, _) = delivery(change, Faults::default(), move |_, _| {
        assert!(is_healthy.load(Ordering::SeqCst), "it is not well");
        ok()
    });
    let Delivery {
        mapping,
        handler,
        failed,
        ..
    } = delivery;
    let source = EventSource::start(&dynamodb, mapping, handler, Faults::default(), failed);
    put(&client, "a", 0).await;
    let within = Duration::from_secs(60);
    let reason = async {
        while !source.waits_for().contains("it is not well") {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(within, reason).await.expect("told");
    assert!(
        source.waits_for().contains("0 of 1"),
        "{}",
        source.waits_for()
    );
    assert!(source.panicked().unwrap().contains("it is not well"));
    healthy.store(true, Ordering::SeqCst);
    caught_up(&source).await;
    assert!(
        source.waits_for().contains("1 of 1"),
        "{}",
        source.waits_for()
    );
    assert!(!source.waits_for().contains("it is not well"));
    source.stop().await;
    dynamodb.stop().await.unwrap();
}
