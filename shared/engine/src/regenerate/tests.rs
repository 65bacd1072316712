//! What a slice leaves for the next one.

use sitemap::loc::Loc;
use sitemap::plan::{Address, Change, Holding, Ledger, Plan};
use table::Item;

use super::SLICE;
use crate::doubles::{Repeating, regenerator, stepping};
use crate::keys::{self, WAITER};
use crate::ledgers::Commit;
use crate::sitemap_table::SitemapTable;
use crate::stream::{EventName, Handled, StreamRecord};

/// The waiter that is called to go on: the one whose row was written again.
async fn called(table: &SitemapTable, claim_pk: &str) -> Option<Item> {
    let rows = table.partition(claim_pk).await.unwrap();
    rows.into_iter()
        .find(|row| row.number::<u64>("calls").is_some())
}

#[tokio::test]
async fn the_calls_for_an_address_go_on_in_slices_until_nobody_waits() {
    const WAITERS: usize = 40;
    let (site, loc) = ("a.example".to_owned(), "https://a.example/one");
    let claim = keys::claim(&site, loc);
    let loc = Loc::parse_any(loc).unwrap();
    let address = Address { site, loc };
    let rows = Repeating::default();
    let table = rows.engine();
    // Their records are gone by now, so none of them takes the address.
    for n in 0..WAITERS {
        let id = format!("r{n}");
        let fenced = table.fence(&id).await.unwrap();
        let plan = Plan {
            changes: vec![Change::Hold(Holding::Waiter(address.clone()))],
            ledger: Some(Ledger {
                site: address.site.clone(),
                waits: Some(address.clone()),
                ..Ledger::default()
            }),
            ledger_changes: true,
        };
        let commit = table.commit(&id, &fenced, &plan, &[]).await.unwrap();
        assert_eq!(commit, Commit::Done);
    }
    let mut event = StreamRecord {
        event: EventName::Remove,
        key: Item::from(&claim),
        ..StreamRecord::default()
    };
    // A slice's time is over after two batches of it.
    let regenerator = regenerator(rows.engine(), stepping(SLICE / 2));
    let mut slices = 1;
    loop {
        assert_eq!(regenerator.regenerate(&[event]).await, Handled::All);
        let Some(row) = called(&table, &claim.pk).await else {
            break;
        };
        let sk = row.text("sk").unwrap();
        assert!(sk.starts_with(WAITER), "{sk}");
        event = StreamRecord {
            key: Item::from(&keys::Key {
                pk: claim.pk.clone(),
                sk: sk.to_owned(),
            }),
            ..StreamRecord::default()
        };
        slices += 1;
        assert!(slices <= WAITERS, "each slice does something");
    }
    assert!(slices > 2, "{slices} slices");
    assert!(table.waiters(&claim.pk, None, 1).await.unwrap().is_empty());
}
