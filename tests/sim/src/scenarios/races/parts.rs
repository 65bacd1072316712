//! Tests multi-part pages: a part is placed only while its page's own ledger names it, so that it is found when it has to be
//! removed.

use std::sync::Arc;

use engine::keys;
use serde_json::{Value, json};

use super::{Bench, day, reconcile};
use crate::records::{post, with};
use crate::scenarios::calls::{Gate, overtaken};
use crate::scenarios::harness::simulated;

fn in_parts(pages: u32) -> Value {
    with(&day(1), json!({"pages": pages}))
}

impl Bench {
    async fn delete(&self, record: &Value) {
        self.world.delete(record["id"].as_str().unwrap()).await;
    }

    async fn second_part_has_a_ledger(&self) -> bool {
        let table = &self.fast.reconciler.table;
        let parts = table.highest_part("post/a").await.unwrap();
        let ledger = table.ledger(&keys::page("post/a", 2)).await.unwrap();
        assert_eq!(parts == 2, ledger.is_some(), "a fence's row is left behind");
        parts == 2
    }
}

#[test]
fn a_part_is_not_placed_when_a_later_run_has_its_page_forget_it() {
    simulated(async |sim| {
        let bench = Bench::released(&sim, &[post("/b", 1)]).await;
        bench.put(&in_parts(2)).await;
        let gate = Arc::new(Gate::behind("TransactWriteItems", "LEDGER#post/a"));
        let slow = bench.slow(&gate);
        let slow = async { reconcile(&slow, "post/a").await };
        let fast = async {
            bench.delete(&in_parts(2)).await;
            reconcile(&bench.fast, "post/a").await;
            bench.put(&in_parts(2)).await;
        };
        overtaken(&gate, slow, fast).await;
        assert!(bench.second_part_has_a_ledger().await);
        bench.edit(&in_parts(1)).await;
        assert!(!bench.second_part_has_a_ledger().await);
    });
}

#[test]
fn a_part_that_is_called_alone_is_not_placed_behind_its_pages_back() {
    simulated(async |sim| {
        let bench = Bench::released(&sim, &[in_parts(2)]).await;
        // Its ledger still names the second part.
        bench.put(&in_parts(1)).await;
        reconcile(&bench.fast, &keys::page("post/a", 2)).await;
        assert!(!bench.second_part_has_a_ledger().await);
        let gate = Arc::new(Gate::behind("Query", "LEDGER#post/a"));
        let slow = bench.slow(&gate);
        let slow = async { reconcile(&slow, "post/a").await };
        let fast = async {
            bench.put(&in_parts(2)).await;
            reconcile(&bench.fast, &keys::page("post/a", 2)).await;
        };
        overtaken(&gate, slow, fast).await;
        bench.edit(&in_parts(1)).await;
        assert!(!bench.second_part_has_a_ledger().await);
    });
}
