//! The proof that a first load in bulk is one by the functions: the same rows but for slots, over generated content of every kind.

use std::collections::{BTreeMap, BTreeSet};

use engine::keys::{self, RowKey};
use engine::reconcile::{KnownSites, Reconciled, Reconciler};
use proptest::prelude::Strategy;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;
use sitemap::plan::Ledger;
use sitemap::record::ContentRecord;
use sitemap::site::host_of_site_id;
use table::Item;

use super::harness::{Options, World, simulated};
use crate::first_load::{id, place, publish};
use crate::history::{SITES, page, settings};
use crate::oracle::Oracle;

/// Contents that are drawn.
const CONTENTS: u64 = 200;
/// Records of one of them.
const RECORDS: std::ops::Range<usize> = 1..60;

/// Contents over which the functions run.
const WORLDS: u64 = 40;

/// Draws content: settings and records, in their order. Every second one has no archives and no translations, and so no survey.
fn drawn(seed: u64, oracle: &Oracle) -> Vec<Value> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let ids = proptest::sample::subsequence((0..RECORDS.end).collect::<Vec<_>>(), RECORDS);
    let contents = (
        proptest::collection::vec(proptest::option::of(settings()), SITES.len()),
        ids.prop_shuffle().prop_flat_map(|ids| {
            ids.into_iter()
                .map(|id| (id..=id, page()))
                .collect::<Vec<_>>()
        }),
    );
    let (settings, pages) = contents.new_tree(&mut runner).expect("drawn").current();
    let settings = settings.iter().enumerate();
    let settings = settings.filter_map(|(site, settings)| {
        let settings = settings.as_ref()?;
        Some(Oracle::site_record(site, settings))
    });
    let pages = pages.into_iter().map(|(id, mut page)| {
        if seed % 2 == 1 {
            (page.archive, page.group) = (None, None);
        }
        // A change of the last hours is one at the beginning.
        if let crate::history::Changed::Ago(hours) = page.changed {
            page.changed = crate::history::Changed::Hour(-hours);
        }
        oracle.record(&format!("record/{id}"), &page)
    });
    settings.chain(pages).collect()
}

/// Reconciles records one after another, then archives and members of groups, until nothing changes.
async fn one_by_one(reconciler: &Reconciler, records: &[Value]) {
    let quietly = async |id: &str| {
        let page = [keys::page(id, 1)];
        let outcome = reconciler.reconcile_quietly(&page).await.pop();
        outcome.expect("one").expect("a reconcile")
    };
    for record in records {
        if let Some(host) = host_of_site_id(id(record)) {
            reconciler.reconcile_site(host).await.expect("a site");
        }
    }
    for record in records {
        quietly(id(record)).await;
    }
    let archive = |record: &Value| {
        let parsed = ContentRecord::parse(id(record), record);
        let of = parsed.archive_of?;
        let term = sitemap::plan::Term {
            site: parsed.site,
            taxonomy: of.taxonomy,
            term: of.term,
        };
        Some((keys::term_partition(&term), parsed.id))
    };
    let archives: BTreeSet<_> = records.iter().filter_map(archive).collect();
    for (_, id) in &archives {
        quietly(id).await;
    }
    let mut rounds = 0;
    loop {
        let mut changed = false;
        for record in records {
            changed |= quietly(id(record)).await == Reconciled::Changed;
        }
        if !changed {
            break;
        }
        rounds += 1;
        assert!(rounds < 10, "the rows do not come to rest");
    }
}

/// Rows by what must be equal: without slots, versions and tokens.
fn comparable(items: impl IntoIterator<Item = Item>) -> BTreeSet<String> {
    let row = |mut item: Item| {
        let text = |name: &str| item.text(name).unwrap_or_default().to_owned();
        let (pk, sk) = (text("pk"), text("sk"));
        item.remove("token");
        Some(match RowKey::parse(&pk, &sk)? {
            RowKey::Entry(series, _) => {
                item.get("owner")?;
                for name in ["pk", "sk", "version"] {
                    item.remove(name);
                }
                format!("{series:?} {item:?}")
            }
            RowKey::Ledger(page) => {
                let mut ledger: Ledger =
                    serde_json::from_str(item.text("body")?).expect("a ledger");
                // A reconcile that notifies nobody keeps the digest of what an archive was at its own turn.
                if ledger.archive.is_some() {
                    ledger.content_digest = ledger.content_digest.map(|_| String::new());
                }
                let placed = std::mem::take(&mut ledger.placed);
                let placed = placed.into_iter().map(|at| (at.series.site, at.series.name, at.digest));
                let placed: BTreeSet<_> = placed.collect();
                format!("{page} {ledger:?} {placed:?}")
            }
            RowKey::Series(_)
            | RowKey::Site(_)
            | RowKey::SiteScan(_)
            | RowKey::ContentScan
            | RowKey::Cursor
            // The event of any row of a segment makes one.
            | RowKey::Mark(..) => return None,
            _ => format!("{item:?}"),
        })
    };
    items.into_iter().filter_map(row).collect()
}

#[test]
fn bulk_places_what_reconciles_place_one_after_another() {
    let mut kinds = BTreeMap::<String, usize>::new();
    for seed in 0..CONTENTS {
        simulated(async |sim| {
            let oracle = Oracle::new(sim.now());
            let records = drawn(seed, &oracle);
            let world = World::idle(&sim, Options::default());
            for record in &records {
                world.put(record).await;
            }
            let functions = world.functions(None);
            one_by_one(&functions.reconciler, &records).await;
            let (placed, _) = place(sim.now(), KnownSites::Any, &records);
            let items = [placed.items, placed.of_sites].concat();
            for row in &items {
                let pk = row.text("pk").unwrap_or_default();
                *kinds.entry(crate::audit::kind(pk).to_owned()).or_default() += 1;
            }
            let (found, expected) = (comparable(items), comparable(world.items().await));
            let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
                let only = one.difference(other).take(5).cloned();
                only.collect::<Vec<_>>().join("\n  ")
            };
            assert!(
                found == expected,
                "content {seed}: bulk alone has\n  {}\nthe functions alone have\n  {}",
                only(&found, &expected),
                only(&expected, &found)
            );
        });
    }
    // What a first load can place at all was placed.
    let kinds: Vec<_> = kinds.keys().collect();
    assert_eq!(
        kinds,
        [
            "FEED", "GROUP", "LEDGER", "LOC", "OUT", "SEGMENT", "SERIES", "TERM", "TIMER"
        ]
    );
}

/// The functions begin over what bulk has made: no scan of all content begins, no row changes, and the audit finds nothing. A sitemap that is lost is published again as it was, to the byte.
#[test]
fn the_functions_find_nothing_to_do_after_bulk() {
    for seed in 0..WORLDS {
        simulated(async |sim| {
            let oracle = Oracle::new(sim.now());
            let records = drawn(CONTENTS + seed, &oracle);
            let mut world = World::idle(&sim, Options::default());
            for record in &records {
                world.put(record).await;
            }
            let functions = world.functions(None);
            let (rows, shards) = publish(&functions, &records).await;
            for row in rows {
                world.put_row(row).await;
            }
            let placed = comparable(world.items().await);
            let table = functions.reconciler.table.clone();
            let scanned = table.content_scan().await.expect("read");
            world.begin().await;
            world.settle().await;
            let scan = table.content_scan().await.expect("read");
            assert_eq!(scan, scanned, "content {seed}");
            let differ = "the functions have changed rows";
            assert!(
                comparable(world.items().await) == placed,
                "content {seed}: {differ}"
            );
            let found = world.audit(false, |_| ()).await;
            assert_eq!(found, Some(Vec::new()), "content {seed}");
            for (_, shard) in &shards {
                let key = shard.id.object();
                let read = async || {
                    let object = world.objects().get(&key).await.expect("read");
                    object.expect("an object").1
                };
                let before = read().await;
                world.lose_object(&key, 0).await;
                let published = functions.publish(&shard.id, None).await;
                assert!(published.expect("published"), "{key}");
                assert_eq!(read().await, before, "content {seed}: {key}");
            }
            world.stop();
        });
    }
}
