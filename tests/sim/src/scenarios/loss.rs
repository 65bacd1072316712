//! Tests that the audit finds and repairs state that is lost, damaged or restored from a backup. `crate::loss` tests each row and
//! each object separately.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use engine::keys::{self, ShardId, free_partition, prefix};
use engine::rows::series::Room;
use engine::sweep::audit::{Finding, Problem};
use engine::sweep::sweep;
use serde_json::json;
use sitemap::member::Member;
use sitemap::plan::Series;
use table::Item;

use super::harness::{Options, World, simulated};
use crate::crawler::Entry;
use crate::deployment::PLAIN;
use crate::records::{SITE, post, settings, with};
use crate::runtime::Sim;
use crate::template::TEMPLATE;

/// Longer than a sweep takes.
const LATE: Duration = Duration::from_secs(1);
/// Longer than a change takes here.
const PAUSE: Duration = Duration::from_secs(30);

/// Creates a site with every kind of row: several shards, a free slot, a duplicate that waits, a timer, an archive, a page of two
/// parts, a translation group, a video, and a change in the feed.
async fn world(sim: &Sim) -> World {
    let tomorrow = json!({"expires_at": "2999-01-01T00:00:00Z"});
    let mut records = vec![
        settings(json!({"entries_per_sitemap": 2})),
        with(&post("/timer", 9), tomorrow),
        with(&post("/a", 9), json!({"id": "twin"})),
        with(&post("/page", 9), json!({"type": "page"})),
        with(&post("/draft", 9), json!({"status": "draft"})),
        with(
            &post("/c", 9),
            json!({"id": "archive", "type": "tag", "archive_of": {"taxonomy": "tag", "term": "t"},
                "url": format!("https://{SITE}/tag/t")}),
        ),
        with(
            &post("/long/", 9),
            json!({"pages": 2, "terms": {"tag": ["t"]}, "videos": [{"title": "v",
                "thumbnail_url": "https://i.example.net/1.jpg", "content_url": "https://v.example.net/1.mp4"}]}),
        ),
        with(
            &post("/en", 9),
            json!({"language": "en", "translation_group": "g", "x_default": true}),
        ),
        with(
            &post("/de", 9),
            json!({"language": "de", "translation_group": "g"}),
        ),
    ];
    records.extend((1..=4).map(|day| post(["/a", "/b", "/c", "/d"][day - 1], day as u32)));
    let world = World::with(sim, Options::default(), &records).await;
    world.delete("post/c").await;
    let edited = json!({"title": "Edited", "expires_at": "2999-01-01T00:00:00Z"});
    world.put(&with(&post("/timer", 9), edited)).await;
    world.settle().await;
    world
}

async fn delete_item(world: &World, item: &Item) {
    let [pk, sk] = ["pk", "sk"].map(|name| item.text(name).unwrap());
    world.delete_row(pk, sk).await;
}

fn name(item: &Item) -> String {
    let [pk, sk] = ["pk", "sk"].map(|name| item.text(name).unwrap());
    format!("{pk} {sk}")
}

/// Audits. Returns the findings of the last round, and all findings.
pub(super) async fn find(world: &World, repair: bool) -> (Vec<Finding>, Vec<Finding>) {
    let mut findings = Vec::new();
    for _ in 0..50 {
        let report = |finding: &Finding| findings.push(finding.clone());
        if let Some(left) = world.audit(repair, report).await {
            return (left, findings);
        }
        // For a scan that has to be woken, or a site's row that has to be written again. The sweep does both.
        world.settle().await;
        world.clock.sleep(PAUSE).await;
    }
    panic!("a scan does not end");
}

pub(super) fn is_clean(left: &[Finding]) -> bool {
    left.iter().all(|finding| finding.problem.is_harmless())
}

/// Repairs, and compares the listed pages and every row's place with the earlier ones.
async fn is_made_good(world: &World, listed: &BTreeMap<String, Entry>, what: &str) {
    world.settle().await;
    let (ended, findings) = find(world, true).await;
    assert!(is_clean(&ended), "{what}: {ended:?} {findings:#?}");
    // Repairs lead to events. An audit right after those finds nothing.
    let now = world.listed().await;
    let says = |entries: &BTreeMap<String, Entry>| {
        let entries = entries.iter();
        let says =
            entries.map(|(loc, entry)| (loc.clone(), entry.lastmod.clone(), entry.links.clone()));
        says.collect::<BTreeSet<_>>()
    };
    // Either of two records may have the address that both want.
    let twins = |mut all: BTreeSet<(String, Option<String>, Vec<String>)>| {
        all.retain(|(loc, ..)| !loc.ends_with("/a"));
        all
    };
    assert_eq!(
        twins(says(&now)),
        twins(says(listed)),
        "{what}: {findings:#?}"
    );
    assert!(now.keys().eq(listed.keys()), "{what}: {:?}", now.keys());
    let (ended, left) = find(world, false).await;
    assert!(
        is_clean(&ended),
        "{what}: first {findings:#?}, then {left:#?}"
    );
}

#[test]
fn an_audit_of_what_is_as_it_should_be_finds_nothing() {
    simulated(async |sim| {
        let world = world(&sim).await;
        let (ended, findings) = find(&world, false).await;
        assert!(is_clean(&ended), "{findings:#?}");
        world.stop();
    });
}

#[test]
fn a_table_that_is_taken_back_to_what_it_was_is_made_good() {
    simulated(async |sim| {
        let world = world(&sim).await;
        let before = world.items().await;
        world
            .put(&with(
                &post("/b", 20),
                json!({"images": [{"url": "https://i.example/1"}]}),
            ))
            .await;
        world.put(&post("/new", 21)).await;
        world
            .put(&with(&post("/moved", 22), json!({"id": "post/d"})))
            .await;
        world.delete("post/page").await;
        let listed = world.listed().await;
        assert_eq!(listed.len(), 10, "{:?}", listed.keys());
        for item in world.items().await {
            delete_item(&world, &item).await;
        }
        for item in before {
            world.put_row(item).await;
        }
        is_made_good(&world, &listed, "an older table").await;
        world.stop();
    });
}

#[test]
fn a_table_that_is_dropped_is_made_good() {
    simulated(async |sim| {
        let world = world(&sim).await;
        let listed = world.listed().await;
        world.drop_sitemap_table().await;
        is_made_good(&world, &listed, "a dropped table").await;
        world.stop();
    });
}

/// Tests rows that have the versions of the published ones and another text, as after a restore and as many edits as before it.
#[test]
fn an_object_of_other_rows_with_the_same_versions_differs() {
    simulated(async |sim| {
        let world = world(&sim).await;
        let rows = world.items().await;
        let has_it = |item: &&Item| item.text("xml").is_some_and(|xml| xml.contains("/b</loc>"));
        let row = rows.iter().find(has_it).expect("an entry");
        let [pk, sk, xml] = ["pk", "sk", "xml"].map(|name| row.text(name).unwrap());
        let other = xml.replace("/b</loc>", "/x</loc>");
        world.damage((pk, sk), "xml", Some(&other)).await;
        world.settle().await;
        let (_, findings) = find(&world, false).await;
        let differs = |finding: &Finding| {
            finding.problem == Problem::ObjectDiffers && finding.detail.ends_with("segment 0")
        };
        assert!(findings.iter().any(differs), "{findings:#?}");
        world.stop();
    });
}

#[test]
fn slots_that_were_offered_and_never_used_are_given_back() {
    simulated(async |sim| {
        let world = world(&sim).await;
        let table = &world.reconciler().table;
        let series = Series {
            site: SITE.to_owned(),
            name: "post".to_owned(),
        };
        let free = async || world.rows(&free_partition(&series)).await.len();
        // Of two records that are loaded together and want one address, none gets a slot in vain.
        assert_eq!(find(&world, true).await.1, []);
        let before = free().await;
        let room = Room {
            positions: 2,
            bytes: 1_000_000,
        };
        let offers = table.offer(&series, &[1; 5], room, None).await.unwrap();
        let leaked = offers.iter().filter(|offer| !offer.given_back).count();
        let (ended, findings) = find(&world, true).await;
        assert!(is_clean(&ended), "{findings:?}");
        let found = findings
            .iter()
            .map(|finding| finding.problem)
            .collect::<BTreeSet<_>>();
        assert_eq!(found, BTreeSet::from([Problem::SlotsLeaked]));
        assert_eq!(free().await, before + leaked);
        for n in 0..before + leaked {
            world.put(&post(&format!("/filler/{n}"), 9)).await;
        }
        world.settle().await;
        assert_eq!(free().await, 0);
        assert_eq!(find(&world, false).await.1, []);
        world.stop();
    });
}

/// Tests a slot that was given back, whose row is lost and then the counter. The counter must not offer the slot a second time.
#[test]
fn regression_a_free_slot_without_a_row_is_not_given_twice() {
    simulated(async |sim| {
        let world = world(&sim).await;
        let (pk, sk) = world.rows(prefix::FREE).await.into_keys().next().unwrap();
        let slot = keys::free_slot(&sk).unwrap();
        let series = Series {
            site: SITE.to_owned(),
            name: pk.rsplit('#').next().unwrap().to_owned(),
        };
        let row = keys::entry(&series, slot);
        world.delete_row(&row.pk, &row.sk).await;
        assert!(is_clean(&find(&world, true).await.0));
        let counter = keys::series(&series);
        world.delete_row(&counter.pk, &counter.sk).await;
        assert!(is_clean(&find(&world, true).await.0));
        for n in 0..6 {
            world.put(&post(&format!("/filler/{n}"), 9)).await;
            world.settle().await;
        }
        assert_eq!(world.listed().await.len(), 10 + 6);
        let (ended, findings) = find(&world, false).await;
        assert!(is_clean(&ended), "{findings:#?}");
        world.stop();
    });
}

/// Tests an emptied sitemap of which only the row of its last entry is left: its counter, free slot, summary and object are lost.
/// It must be built with its segment, or its bytes would depend on what was lost.
#[test]
fn regression_an_emptied_sitemap_whose_counter_is_lost_has_its_segments() {
    simulated(async |sim| {
        let world = world(&sim).await;
        world.delete("post/long/").await;
        world.settle().await;
        let shard = ShardId {
            series: Series {
                site: SITE.to_owned(),
                name: "video".to_owned(),
            },
            n: 1,
        };
        let published = async || {
            let (_, bytes) = world.objects().get(&shard.object()).await.unwrap().unwrap();
            let member = Member::parse(&bytes).unwrap();
            let directory = member.directory();
            (directory.entries(), directory.segments.len())
        };
        assert_eq!(published().await, (0, 1));
        for row in [keys::series(&shard.series), keys::summary(&shard)] {
            world.delete_row(&row.pk, &row.sk).await;
        }
        for (pk, sk) in world.rows(&free_partition(&shard.series)).await.into_keys() {
            world.delete_row(&pk, &sk).await;
        }
        world.lose_object(&shard.object(), 0).await;
        let (ended, findings) = find(&world, true).await;
        assert!(is_clean(&ended), "{findings:#?}");
        world.settle().await;
        assert_eq!(published().await, (0, 1), "{findings:#?}");
        assert_eq!(find(&world, false).await.1, []);
        world.stop();
    });
}

#[test]
fn the_daily_sweep_makes_good_what_was_lost() {
    simulated(async |sim| {
        let world = world(&sim).await;
        let listed = world.listed().await;
        world.settle().await;
        let entries = world.rows(prefix::SEGMENT).await;
        for item in world.items().await {
            if name(&item).starts_with(prefix::SEGMENT) || name(&item).starts_with(prefix::INDEX) {
                delete_item(&world, &item).await;
            }
        }
        world.settle().await;
        // Before the first site there could be no timer.
        for _ in 0..3 {
            world.clock.sleep(TEMPLATE.sweep_period + LATE).await;
            world.clock.leap(86_400);
        }
        for _ in 0..100 {
            world.settle().await;
            let now = world.rows(prefix::SEGMENT).await;
            if now.len() == entries.len() && find(&world, false).await.1.is_empty() {
                break;
            }
            world.clock.sleep(PAUSE).await;
        }
        assert_eq!(world.listed().await, listed);
        world.stop();
    });
}

#[test]
fn only_a_repair_has_the_audit_begin_again_soon() {
    simulated(async |sim| {
        sim.stop_clock();
        let options = Options {
            // Of two concurrent audits, the one that ends last has the count of repairs.
            sweeps: false,
            ..Options::default()
        };
        let world = World::with(&sim, options, &[post("/a", 1)]).await;
        world.settle().await;
        let (reconciler, objects) = (world.reconciler(), world.objects());
        // Sweeps until no audit is running. Returns when the last one began, and how much it repaired.
        let audited = async || {
            for _ in 0..100 {
                let swept = sweep(reconciler, objects, PLAIN.audit_times(), None);
                assert!(swept.await.unwrap(), "another sweep is under way");
                match reconciler.table.audit().await.unwrap() {
                    Some(progress) if progress.step.is_none() => return progress,
                    _ => world.clock.sleep(PAUSE).await,
                }
            }
            panic!("an audit does not end");
        };
        audited().await;
        let unknown = Item::new().with("pk", "NEWER#x").with("sk", "-");
        world.put_row(unknown).await;
        world.clock.leap(86_400);
        let began = world.clock.now();
        let harmless = audited().await;
        assert_eq!((harmless.began, harmless.repaired), (began, 0));
        assert_eq!(harmless.found.get("row_unknown"), Some(&1));
        for _ in 0..3 {
            world.clock.leap(3_600);
            assert_eq!(audited().await.began, began, "nothing was repaired");
        }
        let claim = engine::keys::claim(SITE, &format!("https://{SITE}/a"));
        world.delete_row(&claim.pk, &claim.sk).await;
        world.clock.leap(86_400);
        let repaired = audited().await;
        assert!(
            repaired.began > began && repaired.repaired > 0,
            "{repaired:?}"
        );
        world.settle().await;
        world.clock.leap(600);
        assert_eq!(audited().await.began, world.clock.now());
        world.stop();
    });
}

#[test]
fn regression_a_lost_claim_that_another_has_taken_by_now_holds_nothing_up() {
    simulated(async |sim| {
        let world = World::with(&sim, Options::default(), &[post("/a", 1), post("/b", 2)]).await;
        world.settle().await;
        let claim = engine::keys::claim(SITE, &format!("https://{SITE}/a"));
        world.delete_row(&claim.pk, &claim.sk).await;
        world
            .put(&with(&post("/a", 3), json!({"id": "twin"})))
            .await;
        world.settle().await;
        // Its ledger has the claim, which no commit can release, because it is the twin's.
        world.delete("post/a").await;
        // Its event is not delivered forever.
        world.settle().await;
        assert_eq!(world.paths().await, ["/a", "/b"]);
        assert_eq!(world.rows(prefix::LEDGER).await.len(), 2);
        world.stop();
    });
}

#[test]
fn regression_what_became_of_a_page_whose_claim_was_lost_holds_nothing_up() {
    simulated(async |sim| {
        let moved =
            |id: &str, target: &str| with(&post("/a", 1), json!({"id": id, "moved_to": target}));
        let world = World::with(&sim, Options::default(), &[moved("post/a", "/b")]).await;
        world.settle().await;
        let claim = engine::keys::claim(SITE, &format!("https://{SITE}/a"));
        world.delete_row(&claim.pk, &claim.sk).await;
        world.put(&moved("twin", "/c")).await;
        // Its event is not delivered forever, and no audit has to come.
        world.settle().await;
        let answer = world.crawler.get("/a").await;
        assert_eq!(answer.header("location"), format!("https://{SITE}/c"));
        let (ended, findings) = find(&world, true).await;
        assert!(is_clean(&ended), "{findings:#?}");
        world.settle().await;
        let answer = world.crawler.get("/a").await;
        assert_eq!(answer.header("location"), format!("https://{SITE}/c"));
        world.stop();
    });
}

#[test]
fn regression_a_first_load_that_no_scan_serves_is_gone_on_with() {
    simulated(async |sim| {
        let world = World::with(&sim, Options::default(), &[post("/a", 1)]).await;
        world.settle().await;
        // A site of which nothing was published yet, and whose place in the scan was lost with the scan's row.
        let is_site = |item: &Item| name(item).starts_with(prefix::SITE);
        let mut site = world.items().await.into_iter().find(is_site).unwrap();
        let settings = site.text("settings").unwrap();
        let settings = settings.replace(SITE, "new.example");
        site.set("pk", "SITE#new.example");
        site.set("settings", settings);
        site.set("hold", "loading");
        world.put_row(site).await;
        world.settle().await;
        let (ended, findings) = find(&world, true).await;
        assert!(is_clean(&ended), "{findings:#?}");
        assert!(
            findings
                .iter()
                .any(|finding| finding.problem == Problem::SiteUnserved)
        );
        world.settle().await;
        let rows = world.rows("SITE#new.example").await;
        assert!(rows.values().all(|row| !row.contains_key("hold")) && rows.len() == 1);
        world.stop();
    });
}
