//! The events of the function.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use edge::Keeper;
use engine::{Env, Environment, SitemapTable, keys};
use futures::future::BoxFuture;
use objects::MemoryObjects;
use serde_json::{Value, json};
use table::{Item, MemoryTable, Schema, Table};

use crate::double::Double;

const SITE: &str = "www.example.com";
/// A day on which a repair lists the whole store, and one on which it does not.
const LISTED: i64 = 7 * 86_400;
const COUNTED: i64 = LISTED + 86_400;

struct At(i64);

impl fmt::Debug for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Environment for At {
    fn now(&self) -> i64 {
        self.0
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }

    fn random(&self) -> u64 {
        1
    }
}

async fn keeper(double: &Double, rows: &MemoryTable, now: i64) -> Keeper {
    let env = Env::new(At(now));
    Keeper {
        table: SitemapTable::new(Arc::new(rows.clone()), env.clone()),
        store: Arc::new(double.start().await),
        env,
    }
}

fn event(keys: &[keys::Key]) -> Value {
    let records = keys.iter().enumerate().map(|(n, keys::Key { pk, sk })| {
        json!({"awsRegion": "local", "eventID": "1", "eventName": "MODIFY", "dynamodb": {
            "ApproximateCreationDateTime": 0, "Keys": {"pk": {"S": pk}, "sk": {"S": sk}}, "SequenceNumber": format!("{n}"), "SizeBytes": 1}})
    });
    json!({"Records": records.collect::<Vec<_>>()})
}

#[tokio::test]
async fn a_batch_of_the_stream_is_kept_and_any_other_event_repairs() {
    let (double, objects) = (Double::default(), MemoryObjects::default());
    let rows = MemoryTable::new(Schema::of_texts(&["pk", "sk"]));
    let key = keys::departed(SITE, "https://www.example.com/a");
    let row = Item::from(&key).with("owner", "page/1");
    let row = row
        .with("loc", "https://www.example.com/a")
        .with("departure", "\"gone\"");
    rows.put(row, None).await.unwrap();
    let counted = keeper(&double, &rows, COUNTED).await;
    let answer = redirects::handle(&counted, &objects, event(std::slice::from_ref(&key))).await;
    assert_eq!(answer.unwrap(), json!({"batchItemFailures": []}));
    assert_eq!(
        double.store.pairs().into_values().collect::<Vec<_>>(),
        ["gone"]
    );
    // A bucket without objects has no sites, so nothing is to be there.
    let answer = redirects::handle(&counted, &objects, json!({"source": "aws.events"})).await;
    assert_eq!(answer.unwrap(), Value::Null);
    assert_eq!(
        double.store.pairs().len(),
        1,
        "its row is there: it is looked at again"
    );
    rows.delete(Item::from(&key), None).await.unwrap();
    redirects::handle(&counted, &objects, json!({}))
        .await
        .unwrap();
    assert!(double.store.pairs().is_empty());
    // On some days the store is listed although the numbers are the same.
    for (now, calls) in [(COUNTED, 1), (LISTED, 2)] {
        let before = double.store.calls();
        let keeper = keeper(&double, &rows, now).await;
        redirects::handle(&keeper, &objects, json!({}))
            .await
            .unwrap();
        assert_eq!(double.store.calls() - before, calls);
    }
}

#[tokio::test]
async fn a_batch_that_fails_comes_again_and_a_repair_that_fails_is_an_error() {
    let (double, objects) = (Double::default(), MemoryObjects::default());
    let rows = MemoryTable::new(Schema::of_texts(&["pk", "sk"]));
    let keeper = keeper(&double, &rows, COUNTED).await;
    let batch = event(&[keys::departure_call(SITE, 1), keys::site(SITE)]);
    double
        .errors
        .lock()
        .unwrap()
        .push((403, "AccessDeniedException"));
    let answer = redirects::handle(&keeper, &objects, batch).await.unwrap();
    assert_eq!(
        answer,
        json!({"batchItemFailures": [{"itemIdentifier": "1"}]})
    );
    double
        .errors
        .lock()
        .unwrap()
        .push((403, "AccessDeniedException"));
    let error = redirects::handle(&keeper, &objects, json!({}))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("AccessDeniedException"),
        "{error}"
    );
}
