//! Fences whose requests arrive late, and a repair concurrent with another write.

use std::sync::atomic::Ordering;

use sitemap::plan::{Change, Ledger, Placement, Plan, Rendered, Series, Slot};
use table::Table;

use crate::reconcile::ledgers::Commit;
use crate::rows::keys;
use crate::testing::Repeating;

#[tokio::test]
async fn a_fence_that_was_given_up_and_arrives_takes_no_fence_back() {
    let repeating = Repeating::default();
    let table = repeating.engine();
    repeating.is_held.store(true, Ordering::SeqCst);
    let slow = table.fence("r").await.unwrap();
    let other = table.fence("r").await.unwrap();
    let (key, update) = repeating.held.lock().unwrap().take().unwrap();
    repeating.table.update(key, update, None).await.unwrap();
    // The late token belongs to no run: both runs lose, and are retried.
    let token = table.token("r").await.unwrap().unwrap();
    assert!(![slow.token, other.token].contains(&token));
}

#[tokio::test]
async fn a_site_s_fence_is_as_good() {
    let repeating = Repeating::default();
    let row = table::Item::from(&keys::site("a.example")).with("token", "before");
    repeating.table.put(row, None).await.unwrap();
    let table = repeating.engine();
    repeating.is_held.store(true, Ordering::SeqCst);
    // This is not a site's row, so the fence's result cannot be read.
    table.fence_site("a.example").await.unwrap_err();
    let first = repeating.held.lock().unwrap().take().unwrap().1;
    let key = keys::site("a.example");
    let (token, _) = table.fence_row(&key, None).await.unwrap().unwrap();
    assert!(!first.set.contains(&("token".into(), token.into())));
}

#[tokio::test]
async fn a_damaged_ledger_is_deleted_and_none_that_is_written_since() {
    let repeating = Repeating::default();
    let row = |body: &str| table::Item::from(&keys::ledger("r")).with("body", body);
    repeating.table.put(row("damaged"), None).await.unwrap();
    let table = repeating.engine();
    assert!(table.fence_verified("r", &[]).await.unwrap().new);
    repeating.table.put(row("written"), None).await.unwrap();
    let deleted = repeating.deleted.lock().unwrap().take();
    let (key, condition) = deleted.expect("the damaged one is deleted");
    // The request arrives a second time.
    repeating.table.delete(key, condition).await.unwrap_err();
    let found = repeating.table.get(table::Item::from(&keys::ledger("r")));
    assert_eq!(found.await.unwrap().unwrap().text("body"), Some("written"));
}

#[tokio::test]
async fn an_entry_that_is_written_again_takes_its_slot_back_from_the_free_ones() {
    let repeating = Repeating::default();
    let table = repeating.engine();
    let series = Series {
        site: "a.example".into(),
        name: "posts".into(),
    };
    let slot = Slot { n: 1, i: 0 };
    let xml = "<url><loc>https://a.example/r</loc></url>\n".to_owned();
    let entry = Rendered { xml, lastmod: None };
    let placed = Placement {
        series: series.clone(),
        slot,
        digest: entry.digest(),
    };
    let plan = Plan {
        changes: vec![Change::Replace(placed.clone(), entry)],
        ledger: Some(Ledger {
            placed: vec![placed],
            ..Ledger::default()
        }),
        ledger_changes: true,
    };
    let write = async || {
        let fenced = table.fence_verified("r", &[]).await.unwrap();
        let commit = table.commit("r", &fenced, &plan, &[]).await.unwrap();
        assert_eq!(commit, Commit::Done);
    };
    write().await;
    // The entry's row is lost, and an audit takes the slot for a leaked one.
    table.delete(&keys::entry(&series, slot)).await.unwrap();
    assert!(table.give_back(&series, slot).await.unwrap());
    write().await;
    let free = table.item(&keys::free(&series, slot)).await.unwrap();
    assert_eq!(free, None, "its slot would be offered to others");
}
