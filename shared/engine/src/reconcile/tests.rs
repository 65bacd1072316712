//! How the clock and other writers affect a running try.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use sitemap::time::When;
use table::{Item, MemoryTable, Table, Update};

use super::{Reconciled, TRYING};
use crate::error::EngineError;
use crate::rows::keys;
use crate::testing::{NOW, Repeating, clocked, reconciler, records, stepping, still};

const HOST: &str = "a.example";
const ID: &str = "r1";

async fn write(records: &MemoryTable, expires_at: Option<i64>) {
    let mut record = Item::new();
    record.set("id", ID);
    record.set("type", "post");
    record.set("url", "https://a.example/one");
    if let Some(at) = expires_at {
        record.set("expires_at", When::at(at).to_string());
    }
    records.put(record, None).await.unwrap();
}

#[tokio::test]
async fn a_page_whose_site_has_changed_is_not_done_when_no_time_is_left() {
    let (records, rows) = (records(), Repeating::default());
    write(&records, None).await;
    let pages = [ID.to_owned()];
    // Creates the site's row first, so that the try does not write it.
    let before = reconciler(records.clone(), rows.engine(), still());
    before.ensure_site(HOST).await.unwrap();
    let table = rows.table.clone();
    let site_changes = async move {
        let render = Update::new().set("render", 0);
        let site = Item::from(&keys::site(HOST));
        table.update(site, render, None).await.unwrap();
    };
    rows.before_commit.lock().unwrap().0 = Some(Box::pin(site_changes));
    let late = reconciler(records, rows.engine(), stepping(TRYING));
    let outcome = late.reconcile(&pages, None).await.pop().unwrap();
    assert!(
        matches!(outcome, Err(EngineError::Contended { tries: 1, .. })),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_page_whose_time_has_come_while_it_was_written_is_looked_at_again() {
    let (records, rows) = (records(), Repeating::default());
    let over = NOW + 60;
    write(&records, Some(over)).await;
    let clock = Arc::new(AtomicI64::new(0));
    let reconciler = reconciler(records, rows.engine(), clocked(Arc::clone(&clock)));
    let hours_pass = async move { clock.store(8_000, Ordering::Relaxed) };
    rows.before_commit.lock().unwrap().0 = Some(Box::pin(hours_pass));
    let outcome = reconciler.reconcile(&[ID.to_owned()], None).await;
    assert!(
        matches!(outcome[..], [Ok(Reconciled::Changed)]),
        "{outcome:?}"
    );
    let ledger = rows.engine().fence(ID).await.unwrap().ledger;
    assert_eq!((ledger.next_check_at, ledger.placed.len()), (None, 0));
}
