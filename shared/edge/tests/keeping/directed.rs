//! Single cases.

use std::sync::atomic::Ordering;

use edge::entry::Place;
use edge::{MAX_CHANGED_KEYS, MemoryStore, REPAIR_TIME, SLICE, Store, conformance};
use engine::keys;
use engine::stream::Handled;
use serde_json::{Value, json};

use crate::world::{Kind, SITE, World};

fn loc(n: usize) -> String {
    format!("https://{SITE}/old/{n}")
}

fn moved(n: usize) -> Option<Value> {
    Some(json!({"moved_to": format!("https://{SITE}/new/{n}")}))
}

/// Returns a world with an open site and this many moved pages, whose events were delivered.
async fn kept(store: MemoryStore, pages: usize) -> World {
    let mut world = World::new(store);
    world.site(Kind::Open, 60).await;
    for n in 0..pages {
        world.departs(&loc(n), moved(n)).await;
    }
    deliver(&mut world).await;
    world
}

async fn deliver(world: &mut World) {
    let events = std::mem::take(&mut world.events);
    assert_eq!(world.keeper.keep(&events).await, Handled::All);
}

#[tokio::test]
async fn the_store_in_memory_conforms() {
    conformance::check(&MemoryStore::default()).await.unwrap();
    conformance::check(&MemoryStore::lenient()).await.unwrap();
}

/// The entry that `redirect_key` of `tests/deploy/cdn_test.py` makes of the same address.
#[test]
fn an_entry_is_named_by_the_hash_of_the_address() {
    let place = Place::of_address(SITE, "https://WWW.example.com:443/blog/%6Fld/");
    let key = place.key();
    assert_eq!(key, "www.example.com/2462c79d724992bab423a0fef6eb03e4");
    assert_eq!(Place::at(&key), place);
    assert_eq!(Place::at(SITE), Place::Site(SITE.to_owned()));
}

#[tokio::test]
async fn entries_come_change_and_go_with_their_rows() {
    for store in [MemoryStore::default(), MemoryStore::lenient()] {
        let mut world = kept(store, 3).await;
        assert_eq!(world.store.pairs(), world.wanted);
        assert_eq!(world.wanted.len(), 4);
        world.departs(&loc(0), None).await;
        world.departs(&loc(1), Some(json!("gone"))).await;
        // One that was not there, and one that went before anybody looked.
        world.departs(&loc(7), None).await;
        world.departs(&loc(8), moved(8)).await;
        world.departs(&loc(8), None).await;
        deliver(&mut world).await;
        assert_eq!(world.store.pairs(), world.wanted);
        assert_eq!(world.wanted.len(), 3);
    }
}

#[tokio::test]
async fn a_site_has_an_entry_while_its_departures_may_be_answered() {
    let mut world = kept(MemoryStore::default(), 1).await;
    for kind in [
        Kind::Private,
        Kind::Open,
        Kind::OnHold,
        Kind::Open,
        Kind::WithoutDepartures,
        Kind::Open,
        Kind::Http,
        Kind::Open,
        Kind::Absent,
    ] {
        world.site(kind, 3_600).await;
        deliver(&mut world).await;
        assert_eq!(world.store.pairs(), world.wanted, "{kind:?}");
        assert_eq!(world.wanted.contains_key(SITE), kind == Kind::Open);
    }
    // A row that cannot be read closes.
    world.site(Kind::Open, 3_600).await;
    deliver(&mut world).await;
    world.damage(&keys::site(SITE)).await;
    deliver(&mut world).await;
    assert!(!world.store.pairs().contains_key(SITE));
}

#[tokio::test]
async fn an_update_has_as_many_keys_as_one_may_and_calls_cost_nothing() {
    let world = kept(MemoryStore::default(), 2 * MAX_CHANGED_KEYS).await;
    assert_eq!(world.store.pairs(), world.wanted);
    // The state once, and the update of the site and 100 pages.
    assert_eq!(world.store.calls(), 1 + 3);
    let mut world = kept(MemoryStore::default(), 0).await;
    let before = world.store.calls();
    world.calls().await;
    deliver(&mut world).await;
    assert_eq!(world.store.calls(), before);
}

#[tokio::test]
async fn what_the_store_cannot_hold_harms_no_other_entry() {
    let mut world = kept(MemoryStore::default(), 2).await;
    let long = format!("https://{SITE}/{}", "x".repeat(1_024));
    // An older value must not stay.
    world
        .departs(&loc(0), Some(json!({"moved_to": long})))
        .await;
    world
        .departs(&loc(5), Some(json!({"moved_to": long})))
        .await;
    world
        .departs("http://www.example.com/plain", moved(1))
        .await;
    world.departs(&loc(6), moved(6)).await;
    world.damage(&keys::departed(SITE, &loc(9))).await;
    deliver(&mut world).await;
    assert_eq!(world.store.pairs(), world.wanted);
    assert_eq!(world.wanted.len(), 3);
}

#[tokio::test]
async fn a_full_store_keeps_what_it_has_and_takes_deletes() {
    // Room for the site and some five pages.
    let mut world = World::new(MemoryStore::of_bytes(17 + 5 * 83));
    world.site(Kind::Open, 60).await;
    for n in 0..9 {
        world.departs(&loc(n), moved(n)).await;
    }
    deliver(&mut world).await;
    let full = world.store.pairs();
    assert!((4..=6).contains(&full.len()), "{}", full.len());
    assert!(
        full.iter()
            .all(|(key, value)| world.wanted.get(key) == Some(value))
    );
    // A target that has become too long for the room is not answered from an older row.
    let there: Vec<usize> = (0..9)
        .filter(|n| full.contains_key(&Place::of_address(SITE, &loc(*n)).key()))
        .collect();
    let longer = json!({"moved_to": format!("https://{SITE}/{}", "y".repeat(900))});
    world.departs(&loc(there[0]), Some(longer)).await;
    deliver(&mut world).await;
    assert_eq!(world.store.pairs().len(), full.len() - 1);
    for n in 0..9 {
        world.departs(&loc(n), None).await;
    }
    deliver(&mut world).await;
    assert_eq!(world.store.pairs(), world.wanted);
}

#[tokio::test]
async fn a_batch_that_takes_too_long_comes_again_from_its_first_update_that_was_not_made() {
    let mut world = World::new(MemoryStore::default());
    for n in 0..MAX_CHANGED_KEYS + 2 {
        world.departs(&loc(n), moved(n)).await;
    }
    let events = std::mem::take(&mut world.events);
    let until = i64::try_from(SLICE.as_secs()).unwrap();
    // The time is over once the first update was made.
    let (clock, store) = (world.clock.clone(), world.store.clone());
    let keep = world.keeper.keep(&events);
    let mut keep = std::pin::pin!(keep);
    let handled = loop {
        if !store.pairs().is_empty() {
            clock.0.store(until, Ordering::Relaxed);
        }
        if let std::task::Poll::Ready(handled) = futures::poll!(keep.as_mut()) {
            break handled;
        }
    };
    let first_left = (MAX_CHANGED_KEYS + 1).to_string();
    assert_eq!(handled, Handled::Before(first_left));
    assert_eq!(world.store.pairs().len(), MAX_CHANGED_KEYS);
}

#[tokio::test]
async fn a_repair_mends_what_no_event_told() {
    let objects = World::bucket().await;
    let mut world = kept(MemoryStore::default(), 120).await;
    for n in 0..60 {
        world.departs(&loc(n), None).await;
    }
    for n in 60..70 {
        world.departs(&loc(n), Some(json!("gone"))).await;
    }
    for n in 200..260 {
        world.departs(&loc(n), moved(n)).await;
    }
    world.events.clear();
    // A key of nobody's.
    let etag = world.store.describe().await.unwrap().etag;
    let strange = [("x/y".to_owned(), Some("z".to_owned()))].into();
    world.store.update(&etag, &strange).await.unwrap();
    let repaired = world.keeper.repair(&objects, false).await.unwrap();
    assert_eq!(world.store.pairs(), world.wanted);
    assert_eq!(
        (repaired.wanted, repaired.differing, repaired.left),
        (121, 131, 0)
    );
    // The number is right now. A value that is not is found by a listing.
    world.departs(&loc(60), moved(60)).await;
    world.events.clear();
    let before = world.store.calls();
    world.keeper.repair(&objects, false).await.unwrap();
    assert_eq!(world.store.calls(), before + 1, "it only counts");
    let repaired = world.keeper.repair(&objects, true).await.unwrap();
    assert_eq!(
        (repaired.differing, world.store.pairs()),
        (1, world.wanted.clone())
    );
    let repaired = world.keeper.repair(&objects, true).await.unwrap();
    assert_eq!(repaired.differing, 0);
}

#[tokio::test]
async fn a_repair_fills_an_empty_store_and_goes_on_where_its_time_was_over() {
    let objects = World::bucket().await;
    let mut world = World::new(MemoryStore::default());
    world.site(Kind::Open, 60).await;
    for n in 0..3 * MAX_CHANGED_KEYS {
        world.departs(&loc(n), moved(n)).await;
    }
    let until = i64::try_from(REPAIR_TIME.as_secs()).unwrap();
    let (clock, store) = (world.clock.clone(), world.store.clone());
    let repair = world.keeper.repair(&objects, false);
    let mut repair = std::pin::pin!(repair);
    let repaired = loop {
        if !store.pairs().is_empty() {
            clock.0.store(until, Ordering::Relaxed);
        }
        if let std::task::Poll::Ready(repaired) = futures::poll!(repair.as_mut()) {
            break repaired.unwrap();
        }
    };
    assert_eq!(repaired.left, repaired.differing - MAX_CHANGED_KEYS);
    let repaired = world.keeper.repair(&objects, false).await.unwrap();
    assert_eq!(
        (repaired.left, world.store.pairs()),
        (0, world.wanted.clone())
    );
}
