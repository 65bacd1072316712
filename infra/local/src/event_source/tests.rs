use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use futures::FutureExt;
use serde_json::json;

use super::delivery::Delivery;
use super::*;

fn records(keys: &[&str]) -> Vec<EventRecord> {
    let record = |(at, key): (usize, &&str)| {
        serde_json::from_value(json!({"awsRegion": "local", "eventID": at.to_string(), "eventName": "MODIFY", "dynamodb": {
            "ApproximateCreationDateTime": 0, "Keys": {"id": {"S": key}}, "SequenceNumber": (100 + at).to_string(), "SizeBytes": 1}}))
        .unwrap()
    };
    keys.iter().enumerate().map(record).collect()
}

fn key(record: &EventRecord) -> String {
    store::stream::key_text(record, "id").unwrap().to_owned()
}

/// What a function was called with: the keys and numbers of each call.
type Calls = Arc<Mutex<Vec<Vec<(String, String)>>>>;

/// A delivery to a function that notes its calls and then does `then` with the call's number and records.
fn delivery<F>(change: impl FnOnce(&mut Mapping), faults: Faults, then: F) -> (Delivery, Calls)
where
    F: Fn(usize, Event) -> BoxFuture<'static, Result<DynamoDbEventResponse, BoxError>> + Send + Sync + 'static,
{
    let calls = Calls::default();
    let (seen, count) = (calls.clone(), AtomicUsize::new(0));
    let handler: Handler = Arc::new(move |event: Event| {
        let numbers = |record: &EventRecord| (key(record), record.change.sequence_number.clone().unwrap());
        seen.lock().unwrap().push(event.records.iter().map(numbers).collect());
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
        starting: Starting::TrimHorizon,
        parallel: 1,
    };
    change(&mut mapping);
    let (failed, counters) = (FailureQueue::default(), Arc::default());
    (Delivery { mapping, handler, faults, failed, counters }, calls)
}

fn ok() -> BoxFuture<'static, Result<DynamoDbEventResponse, BoxError>> {
    async { Ok(DynamoDbEventResponse::default()) }.boxed()
}

fn report(number: &str) -> BoxFuture<'static, Result<DynamoDbEventResponse, BoxError>> {
    let response = json!({"batchItemFailures": [{"itemIdentifier": "104"}, {"itemIdentifier": number}]});
    async { Ok(serde_json::from_value(response)?) }.boxed()
}

fn keys(calls: &Calls) -> Vec<Vec<String>> {
    calls.lock().unwrap().iter().map(|call| call.iter().map(|(key, _)| key.clone()).collect()).collect()
}

#[tokio::test]
async fn a_reported_record_is_delivered_again_with_all_that_follow_it() {
    let (delivery, calls) = delivery(|_| {}, Faults::default(), |call, _| if call == 0 { report("102") } else { ok() });
    delivery.deliver(records(&["a", "b", "c", "d", "e"])).await;
    assert_eq!(keys(&calls), [vec!["a", "b", "c", "d", "e"], vec!["c", "d", "e"]]);
    assert_eq!(delivery.counters.done.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn an_identifier_that_is_none_fails_the_whole_batch() {
    for number in ["", "7"] {
        let (delivery, calls) = delivery(|_| {}, Faults::default(), move |call, _| if call == 0 { report(number) } else { ok() });
        delivery.deliver(records(&["a", "b", "c", "d", "e"])).await;
        assert_eq!(keys(&calls).iter().map(Vec::len).collect::<Vec<_>>(), [5, 5]);
    }
}

#[tokio::test]
async fn halving_isolates_a_poisonous_record_and_it_alone_is_given_up() {
    let change = |mapping: &mut Mapping| (mapping.bisect, mapping.retries) = (true, Some(4));
    let (delivery, _) = delivery(change, Faults::default(), |_, event| {
        if event.records.iter().any(|record| key(record) == "poison") { async { Err("poison".into()) }.boxed() } else { ok() }
    });
    delivery.deliver(records(&["a", "b", "c", "poison", "d", "e", "f", "g"])).await;
    let failed = delivery.failed.drain();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].event.records.iter().map(key).collect::<Vec<_>>(), ["poison"]);
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
    let (delivery, calls) = delivery(|mapping| mapping.parallel = 4, Faults::default(), |_, _| ok());
    let ids: Vec<String> = (0..100).map(|at| format!("k{}", at % 7)).collect();
    delivery.deliver(records(&ids.iter().map(String::as_str).collect::<Vec<_>>())).await;
    let calls = calls.lock().unwrap();
    assert!(calls.len() > 1);
    for call in calls.iter() {
        for key in call.iter().map(|(key, _)| key) {
            let numbers: Vec<&String> = call.iter().filter(|(other, _)| other == key).map(|(_, number)| number).collect();
            assert!(numbers.is_sorted(), "{key}: {numbers:?}");
            assert_eq!(calls.iter().filter(|call| call.iter().any(|(other, _)| other == key)).count(), 1);
        }
    }
}

#[tokio::test]
async fn with_every_fault_each_key_is_handled_at_least_once_and_ends_with_its_last_record() {
    let (delivery, calls) = delivery(|_| {}, Faults::seeded(7, 0.4), |_, _| {
        async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok(DynamoDbEventResponse::default())
        }
        .boxed()
    });
    let ids: Vec<String> = (0..60).map(|at| format!("k{}", at % 9)).collect();
    for batch in records(&ids.iter().map(String::as_str).collect::<Vec<_>>()).chunks(8) {
        delivery.deliver(batch.to_vec()).await;
    }
    let calls = calls.lock().unwrap();
    assert!(calls.len() > 8, "faults deliver again");
    for key in 0..9 {
        let key = format!("k{key}");
        let numbers: Vec<&String> = calls.iter().flatten().filter(|(other, _)| *other == key).map(|(_, number)| number).collect();
        assert_eq!(numbers.last(), numbers.iter().max(), "{key}");
    }
}
