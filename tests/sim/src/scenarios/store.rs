//! Tests the engine's reads, fences and commits one by one.

mod site;

use engine::keys::{self, ShardId, claim};
use engine::reconcile::ledgers::Commit;
use engine::rows::series::Room;
use engine::rows::slot::Offer;
use engine::rows::summary::Summary;
use serde_json::json;
use sitemap::plan::{
    Address, Change, Claim, Holding, Ledger, Placement, Plan, Rendered, Reuse, Series, Slot,
};
use sitemap::site::SiteSettings;
use sitemap::time::When;

use super::harness::{Options, World, simulated};
use crate::records::{SITE, post, with};

const ROOM: Room = Room {
    positions: 1_000,
    bytes: 1_000_000,
};

const LOST: Commit = Commit::Lost {
    occupied: Vec::new(),
};

fn series() -> Series {
    Series {
        site: SITE.to_owned(),
        name: "post".to_owned(),
    }
}

fn placement(i: u32) -> Placement {
    Placement {
        series: series(),
        slot: Slot { n: 1, i },
        digest: "0".repeat(16),
    }
}

fn rendered(xml: &str) -> Rendered {
    Rendered {
        xml: xml.to_owned(),
        lastmod: Some(When::parse("2026-01-02").unwrap()),
    }
}

fn address(path: &str) -> Address {
    let origin = SiteSettings::default_for(SITE).unwrap().origin;
    Address {
        site: SITE.to_owned(),
        loc: sitemap::loc::Loc::parse(&format!("https://{SITE}{path}"), &origin).unwrap(),
    }
}

fn plan(changes: Vec<Change>) -> Plan {
    let ledger = Ledger {
        site: SITE.to_owned(),
        ..Ledger::default()
    };
    Plan {
        changes,
        ledger: Some(ledger),
        ledger_changes: true,
    }
}

#[test]
fn only_the_last_fence_commits_and_a_refused_commit_writes_nothing() {
    simulated(async |sim| {
        let world = World::idle(&sim, Options::default());
        let table = &world.reconciler().table;
        let old = table.fence("a").await.unwrap();
        assert_eq!(old.ledger, Ledger::default());
        let new = table.fence("a").await.unwrap();
        assert_ne!(old.token, new.token);
        let insert = plan(vec![
            Change::Replace(placement(0), rendered("<url/>")),
            Change::Hold(Holding::Claim(address("/a"))),
        ]);
        assert_eq!(table.commit("a", &old, &insert, &[]).await.unwrap(), LOST);
        let shard = ShardId {
            series: series(),
            n: 1,
        };
        assert_eq!(table.segment(&shard, 0).await.unwrap().stamp, 0);
        assert_eq!(
            table.commit("a", &new, &insert, &[]).await.unwrap(),
            Commit::Done
        );
        let rows = table.segment(&shard, 0).await.unwrap();
        assert_eq!(
            (rows.stamp, rows.entries, rows.xml.as_slice()),
            (1, 1, b"<url/>".as_slice())
        );
        assert_eq!(rows.newest, Some(When::parse("2026-01-02").unwrap()));
        assert_eq!(table.ledger("a").await.unwrap(), insert.ledger);
        // Nothing to remember, so the row itself is deleted.
        let gone = Plan {
            changes: vec![],
            ledger: None,
            ledger_changes: true,
        };
        assert_eq!(
            table.commit("a", &new, &gone, &[]).await.unwrap(),
            Commit::Done
        );
        assert_eq!(table.ledger("a").await.unwrap(), None);
        world.stop();
    });
}

#[test]
fn an_entrys_slot_is_its_owners_and_its_version_only_rises() {
    simulated(async |sim| {
        let world = World::idle(&sim, Options::default());
        let table = &world.reconciler().table;
        let shard = ShardId {
            series: series(),
            n: 1,
        };
        let (a, b) = (
            table.fence("a").await.unwrap(),
            table.fence("b").await.unwrap(),
        );
        let write = |xml: &str| plan(vec![Change::Replace(placement(7), rendered(xml))]);
        let offer = |given_back| Offer {
            series: series(),
            slot: Slot { n: 1, i: 7 },
            given_back,
        };
        assert_eq!(
            table
                .commit("a", &a, &write("1"), &[offer(false)])
                .await
                .unwrap(),
            Commit::Done
        );
        let occupied = Commit::Lost {
            occupied: vec![offer(false)],
        };
        assert_eq!(
            table
                .commit("b", &b, &write("2"), &[offer(false)])
                .await
                .unwrap(),
            occupied
        );
        assert_eq!(
            table.commit("a", &a, &write("3"), &[]).await.unwrap(),
            Commit::Done
        );
        assert_eq!(table.segment(&shard, 0).await.unwrap().stamp, 2);
        let remove = plan(vec![Change::Remove(placement(7), Reuse::Free)]);
        assert_eq!(
            table.commit("b", &b, &remove, &[]).await.unwrap(),
            LOST,
            "only its owner removes it"
        );
        assert_eq!(
            table.commit("a", &a, &remove, &[]).await.unwrap(),
            Commit::Done
        );
        let rows = table.segment(&shard, 0).await.unwrap();
        assert_eq!(
            (rows.stamp, rows.entries, rows.xml.len()),
            (3, 0, 0),
            "a stub stays"
        );
        // The slot is free, once.
        let offers = table.offer(&series(), &[1], ROOM, None).await.unwrap();
        assert_eq!(offers, [offer(true)]);
        assert_eq!(
            table
                .commit("b", &b, &write("4"), &offers[..1])
                .await
                .unwrap(),
            Commit::Done
        );
        assert_eq!(table.segment(&shard, 0).await.unwrap().stamp, 4);
        let c = table.fence("c").await.unwrap();
        assert_eq!(
            table
                .commit("c", &c, &write("5"), &offers[..1])
                .await
                .unwrap(),
            Commit::Lost { occupied: offers }
        );
        world.stop();
    });
}

#[test]
fn a_slot_that_was_given_back_is_no_longer_the_counters() {
    simulated(async |sim| {
        let world = World::idle(&sim, Options::default());
        let table = &world.reconciler().table;
        let late = table.fence("late").await.unwrap();
        let offers = table.offer(&series(), &[1], ROOM, None).await.unwrap();
        let slot = offers[0].slot;
        assert!(table.give_back(&series(), slot).await.unwrap());
        // A run that was offered it by the counter has waited too long.
        let write = plan(vec![Change::Replace(placement(slot.i), rendered("<url/>"))]);
        let lost = Commit::Lost {
            occupied: offers[..1].to_vec(),
        };
        let commit = table.commit("late", &late, &write, &offers[..1]).await;
        assert_eq!(commit.unwrap(), lost);
        let offers = table.offer(&series(), &[1], ROOM, None).await.unwrap();
        assert_eq!((offers[0].slot, offers[0].given_back), (slot, true));
        let commit = table.commit("late", &late, &write, &offers[..1]).await;
        assert_eq!(commit.unwrap(), Commit::Done);
        assert!(
            !table.give_back(&series(), slot).await.unwrap(),
            "it is used"
        );
        world.stop();
    });
}

#[test]
fn an_address_has_one_owner_and_a_waiter_registers_only_while_it_has() {
    simulated(async |sim| {
        let world = World::idle(&sim, Options::default());
        let table = &world.reconciler().table;
        let (a, b) = (
            table.fence("a").await.unwrap(),
            table.fence("b").await.unwrap(),
        );
        assert_eq!(table.claim(&address("/x"), "a").await.unwrap(), Claim::Free);
        let take = plan(vec![Change::Hold(Holding::Claim(address("/x")))]);
        assert_eq!(
            table.commit("a", &a, &take, &[]).await.unwrap(),
            Commit::Done
        );
        assert_eq!(
            table.claim(&address("/x"), "a").await.unwrap(),
            Claim::Free,
            "for its owner"
        );
        assert_eq!(
            table.claim(&address("/x"), "b").await.unwrap(),
            Claim::Other("a".to_owned())
        );
        assert_eq!(table.commit("b", &b, &take, &[]).await.unwrap(), LOST);
        let wait = plan(vec![
            Change::Require(address("/x"), "a".to_owned()),
            Change::Hold(Holding::Waiter(address("/x"))),
        ]);
        assert_eq!(
            table.commit("b", &b, &wait, &[]).await.unwrap(),
            Commit::Done
        );
        let partition = claim(SITE, address("/x").loc.as_str()).pk;
        assert!(table.is_listed(&partition).await.unwrap());
        let waiters = async |after| table.waiters(&partition, after, 5).await.unwrap();
        assert_eq!(waiters(None).await, ["b"]);
        let release = plan(vec![Change::Release(Holding::Claim(address("/x")))]);
        assert_eq!(
            table.commit("b", &b, &release, &[]).await.unwrap(),
            LOST,
            "only its owner gives it up"
        );
        assert_eq!(
            table.commit("a", &a, &release, &[]).await.unwrap(),
            Commit::Done
        );
        assert!(!table.is_listed(&partition).await.unwrap());
        assert_eq!(waiters(None).await, ["b"]);
        assert_eq!(waiters(Some("a")).await, ["b"]);
        assert_eq!(waiters(Some("b")).await, Vec::<String>::new());
        let c = table.fence("c").await.unwrap();
        assert_eq!(
            table.commit("c", &c, &wait, &[]).await.unwrap(),
            LOST,
            "its owner has gone"
        );
        world.stop();
    });
}

#[test]
fn a_timer_stands_until_its_record_clears_it() {
    simulated(async |sim| {
        let world = World::idle(&sim, Options::default());
        let table = &world.reconciler().table;
        let fenced = table.fence("a").await.unwrap();
        let due = 1_800_000_000;
        for (change, left) in [
            (Change::Hold(Holding::Timer(due)), vec![due]),
            (Change::Release(Holding::Timer(due)), vec![]),
        ] {
            let commit = table.commit("a", &fenced, &plan(vec![change]), &[]).await;
            assert_eq!(commit.unwrap(), Commit::Done);
            let digit = keys::hash_digit("a");
            let timers = table.timers(due / 3_600, digit, None, 10);
            let timers = timers.await.unwrap();
            assert_eq!(
                timers.iter().map(|timer| timer.due).collect::<Vec<_>>(),
                left
            );
        }
        world.stop();
    });
}

#[test]
fn concurrent_batches_are_offered_different_slots() {
    simulated(async |sim| {
        let world = World::idle(&sim, Options::default());
        let table = world.deployed().reconciler.table;
        let series = &series();
        let few = Room {
            positions: 100,
            ..ROOM
        };
        let offers = (0..8).map(|_| {
            let table = table.clone();
            async move { table.offer(series, &[1; 30], few, None).await.unwrap() }
        });
        let mut slots: Vec<Slot> = futures::future::join_all(offers)
            .await
            .into_iter()
            .flatten()
            .map(|offer| offer.slot)
            .collect();
        slots.sort();
        slots.dedup();
        assert_eq!(slots.len(), 240);
        assert_eq!(
            (slots[0], slots[239]),
            (Slot { n: 1, i: 0 }, Slot { n: 3, i: 39 })
        );
        let extent = table.extent(series).await.unwrap();
        assert_eq!((extent.shards, extent.positions), (3, 100));
        assert_eq!(
            table.series(SITE).await.unwrap(),
            [(series.clone(), extent)]
        );
        world.stop();
    });
}

#[test]
fn a_segment_and_a_batch_of_records_larger_than_a_page_are_read_whole() {
    simulated(async |sim| {
        let world = World::idle(&sim, Options::default());
        let table = &world.reconciler().table;
        for i in 0..12 {
            let id = format!("r{i}");
            let fenced = table.fence(&id).await.unwrap();
            let write = plan(vec![Change::Replace(
                placement(i),
                rendered(&format!("{i:02}{}", "x".repeat(250_000))),
            )]);
            assert_eq!(
                table.commit(&id, &fenced, &write, &[]).await.unwrap(),
                Commit::Done
            );
        }
        let rows = table
            .segment(
                &ShardId {
                    series: series(),
                    n: 1,
                },
                0,
            )
            .await
            .unwrap();
        assert_eq!(
            (rows.entries, rows.stamp, rows.xml.len()),
            (12, 12, 12 * 250_002)
        );
        let order: Vec<&[u8]> = rows.xml.chunks(250_002).map(|entry| &entry[..2]).collect();
        assert!(order.is_sorted());

        // 130 items are more than one BatchGetItem, and 20 MB more than one answer of it.
        let ids: Vec<String> = (0..130).map(|n| format!("post/{n:03}")).collect();
        for id in &ids {
            let fields = json!({"id": id, "description": "x".repeat(160_000)});
            world.put(&with(&post("/x", 1), fields)).await;
        }
        let mut wanted = ids.clone();
        wanted.push("missing".to_owned());
        assert_eq!(
            world
                .reconciler()
                .content
                .records(&wanted)
                .await
                .unwrap()
                .len(),
            130
        );
        let (mut seen, mut from) = (Vec::new(), None);
        loop {
            let page = world
                .reconciler()
                .content
                .scan(from.as_deref(), 50)
                .await
                .unwrap();
            assert!(page.records.iter().all(|(_, outline)| outline.site == SITE));
            seen.extend(page.records.into_iter().map(|(id, _)| id));
            match page.next {
                Some(next) => from = Some(next),
                None => break,
            }
        }
        seen.sort();
        assert_eq!(seen, ids);
        world.stop();
    });
}

#[test]
fn a_summary_never_goes_back() {
    simulated(async |sim| {
        let world = World::idle(&sim, Options::default());
        let table = &world.reconciler().table;
        let shard = |n| ShardId {
            series: series(),
            n,
        };
        let summary = |generation, entries| Summary {
            generation,
            entries,
            lastmod: None,
            bytes: 10,
            changed: Some(i64::try_from(entries).expect("small")),
        };
        for (generation, entries) in [(5, 50), (4, 40), (5, 51)] {
            table
                .summarise(&shard(2), &summary(generation, entries))
                .await
                .unwrap();
        }
        table.summarise(&shard(10), &summary(1, 1)).await.unwrap();
        let summaries = table.summaries(SITE).await.unwrap();
        assert_eq!(
            summaries.keys().map(|shard| shard.n).collect::<Vec<_>>(),
            [2, 10]
        );
        assert_eq!(summaries[&shard(2)], summary(5, 50));
        world.stop();
    });
}
