//! Multi-part pages: a part is placed only while its page's own ledger names it, so that it is found when it has to go.

use engine::keys;
use harness::{Gate, post, with};
use serde_json::{Value, json};

use super::{Bench, day, overtaken, reconcile};

fn in_parts(pages: u32) -> Value {
    with(&day(1), json!({"pages": pages}))
}

impl Bench {
    async fn delete(&self, record: &Value) {
        let request = self.aws.dynamodb().await.delete_item();
        let key = serde_dynamo::to_attribute_value(&record["id"]).unwrap();
        let request = request.table_name(super::CONTENT_TABLE).key("id", key);
        request.send().await.unwrap();
    }

    async fn second_part_has_a_ledger(&self) -> bool {
        let table = &self.fast.reconciler.table;
        let parts = table.highest_part("post/a").await.unwrap();
        let ledger = table.ledger(&keys::page("post/a", 2)).await.unwrap();
        assert_eq!(parts == 2, ledger.is_some(), "a fence's row is left behind");
        parts == 2
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_is_not_placed_when_a_later_run_has_its_page_forget_it() {
    let bench = Bench::released(&[post("/b", 1)]).await;
    bench.put(&in_parts(2)).await;
    let gate = Gate::behind("TransactWriteItems", "LEDGER#post/a");
    let slow = bench.slow(gate.interceptor());
    let slow = async move { reconcile(&slow, "post/a").await };
    let fast = async {
        bench.delete(&in_parts(2)).await;
        reconcile(&bench.fast, "post/a").await;
        bench.put(&in_parts(2)).await;
    };
    overtaken(&gate, slow, fast).await;
    assert!(bench.second_part_has_a_ledger().await);
    bench.edit(&in_parts(1)).await;
    assert!(!bench.second_part_has_a_ledger().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_is_called_alone_is_not_placed_behind_its_pages_back() {
    let bench = Bench::released(&[in_parts(2)]).await;
    // Its ledger has yet to forget the second part.
    bench.put(&in_parts(1)).await;
    reconcile(&bench.fast, &keys::page("post/a", 2)).await;
    assert!(!bench.second_part_has_a_ledger().await);
    let gate = Gate::behind("Query", "LEDGER#post/a");
    let slow = bench.slow(gate.interceptor());
    let slow = async move { reconcile(&slow, "post/a").await };
    let fast = async {
        bench.put(&in_parts(2)).await;
        reconcile(&bench.fast, &keys::page("post/a", 2)).await;
    };
    overtaken(&gate, slow, fast).await;
    bench.edit(&in_parts(1)).await;
    assert!(!bench.second_part_has_a_ledger().await);
}
