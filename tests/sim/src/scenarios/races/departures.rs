//! Tests addresses of pages that departed: of two listed pages that want one at the same time, one gets it.

use std::sync::Arc;

use engine::keys::{self, prefix};
use serde_json::{Value, json};

use super::{Bench, day, reconcile};
use crate::records::{SITE, with};
use crate::runtime::Sim;
use crate::scenarios::calls::{Gate, overtaken};
use crate::scenarios::harness::simulated;

/// Returns a record whose page is at `/x`.
fn at_x(id: &str) -> Value {
    let url = format!("https://{SITE}/x");
    with(&day(1), json!({"id": id, "url": url}))
}

/// Returns the reason for which a page is excluded.
async fn refusal(bench: &Bench, page: &str) -> String {
    let table = &bench.fast.reconciler.table;
    let ledger = table.ledger(page).await.unwrap().unwrap();
    table.refusal(page, &ledger).await.unwrap().unwrap().0
}

#[test]
fn a_page_takes_no_address_that_another_listed_page_has_taken_meanwhile() {
    simulated(async |sim: Sim| {
        let left = with(&at_x("left"), json!({"gone": true}));
        let bench = Bench::released(&sim, &[left]).await;
        bench.put(&at_x("slow")).await;
        let claim = keys::claim(SITE, &format!("https://{SITE}/x"));
        let gate = Arc::new(Gate::behind("BatchGetItem", claim.pk.clone()));
        let slow = bench.slow(&gate);
        let fast = at_x("fast");
        let zombie = async { reconcile(&slow, "slow").await };
        overtaken(&gate, zombie, bench.edit(&fast)).await;
        let rows = bench.world.rows(&claim.pk).await;
        assert_eq!(rows[&(claim.pk.clone(), claim.sk.clone())]["owner"], "fast");
        assert_eq!(refusal(&bench, "slow").await, "duplicate");
    });
}

#[test]
fn what_became_of_a_page_is_not_written_when_a_listed_page_has_taken_its_address() {
    simulated(async |sim: Sim| {
        let left = with(&at_x("left"), json!({"gone": true}));
        let bench = Bench::released(&sim, &[left]).await;
        assert_eq!(bench.world.rows(prefix::MOVED).await.len(), 1);
        let moves = with(
            &at_x("left"),
            json!({"moved_to": "https://elsewhere.example/"}),
        );
        bench.put(&moves).await;
        let gate = Arc::new(Gate::behind("BatchGetItem", "left"));
        let slow = bench.slow(&gate);
        let listed = at_x("listed");
        let zombie = async { reconcile(&slow, "left").await };
        overtaken(&gate, zombie, bench.edit(&listed)).await;
        assert!(bench.world.rows(prefix::MOVED).await.is_empty());
        // It waits until the listed page leaves the address.
        assert_eq!(refusal(&bench, "left").await, "duplicate");
    });
}
