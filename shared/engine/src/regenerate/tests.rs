//! What remains for the next slice.

use sitemap::loc::Loc;
use sitemap::plan::{Address, Change, Holding, Ledger, Plan};
use table::{Item, Table};

use super::{Regenerator, SLICE};
use crate::reconcile::ledgers::Commit;
use crate::rows::keys::{self, Key, WAITER};
use crate::rows::table::SitemapTable;
use crate::stream::{EventName, Handled, StreamRecord};
use crate::testing::{Repeating, regenerator, stepping, still};

/// Returns the waiter at which the calls continue, whose row was written again.
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
    // Their records do not exist any more, so none of them takes the address.
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
    // The time of a slice is enough for two batches.
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

/// Creates a group with rows of members.
async fn group_of(rows: &Repeating, members: usize) -> String {
    for n in 0..members {
        let row = Item::from(&keys::group_member("g", &format!("r{n:02}")));
        rows.table.put(row, None).await.unwrap();
    }
    keys::group_partition("g")
}

/// Returns where the group's calls continue.
async fn calls(table: &SitemapTable, group: &str) -> Option<String> {
    let records = table.group_records(group).await.unwrap();
    records.calls.map(|calls| calls.from)
}

async fn written(regenerator: &Regenerator, key: Key) -> Handled {
    let record = StreamRecord {
        key: Item::from(&key),
        ..StreamRecord::default()
    };
    regenerator.regenerate(&[record]).await
}

#[tokio::test]
async fn the_calls_of_a_group_go_on_in_slices_until_all_are_called() {
    const MEMBERS: usize = 100;
    let rows = Repeating::default();
    let group = group_of(&rows, MEMBERS).await;
    let table = rows.engine();
    let regenerator = regenerator(rows.engine(), stepping(SLICE / 2));
    let mut key = keys::group_member("g", "r50");
    let mut stops = Vec::new();
    loop {
        assert_eq!(written(&regenerator, key).await, Handled::All);
        let Some(stop) = calls(&table, &group).await else {
            break;
        };
        stops.push(stop);
        assert!(stops.is_sorted(), "no slice goes back: {stops:?}");
        assert!(stops.len() <= MEMBERS, "each slice does something");
        key = keys::group_calls(&group);
    }
    assert!(stops.len() > 2, "{stops:?}");
    assert!(stops[0] > format!("{}r00", keys::MEMBER), "{stops:?}");
}

#[tokio::test]
async fn a_change_calls_all_of_a_group_and_ends_the_calls_before_it() {
    let rows = Repeating::default();
    let group = group_of(&rows, 20).await;
    let table = rows.engine();
    let stop = |n| format!("{}r{n:02}", keys::MEMBER);
    assert!(
        table
            .advance_calls(&group, None, Some(&stop(5)))
            .await
            .unwrap()
    );
    let before = table.group_records(&group).await.unwrap().calls;
    let slow = regenerator(table.clone(), stepping(SLICE));
    // The waiting page comes after the members that are left, so those are reconciled first.
    let waiter = keys::group_waiter("g", "r99");
    assert_eq!(written(&slow, waiter).await, Handled::All);
    assert_eq!(calls(&table, &group).await, Some(stop(5)));
    // Even without any time, all are to be reconciled.
    assert_eq!(
        written(&slow, keys::group_member("g", "r07")).await,
        Handled::All
    );
    assert_eq!(calls(&table, &group).await, Some(stop(0)));
    // A slice that has read the earlier row cannot end the calls.
    assert!(
        !table
            .advance_calls(&group, before.as_ref(), None)
            .await
            .unwrap()
    );
    let fast = regenerator(table.clone(), still());
    assert_eq!(
        written(&fast, keys::group_member("g", "r07")).await,
        Handled::All
    );
    assert_eq!(calls(&table, &group).await, None);
}
