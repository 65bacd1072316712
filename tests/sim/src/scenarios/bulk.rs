//! The proof that a first load in bulk is one by the functions: the same rows but for slots, over generated content of every kind.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use engine::bulk::{Page, Placer, Planned, Planner, Shard, Store, Survey, release, rows_of};
use engine::keys::{self, RowKey};
use engine::reconcile::{KnownSites, Reconciled, Reconciler};
use proptest::prelude::Strategy;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;
use sitemap::plan::Ledger;
use sitemap::record::ContentRecord;
use sitemap::site::{SiteSettings, host_of_site_id};
use table::Item;

use super::harness::{Options, World, simulated};
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

fn id(record: &Value) -> &str {
    record["id"].as_str().expect("an id")
}

/// What bulk places.
#[derive(Default)]
struct Rows {
    items: Vec<Item>,
    shards: Vec<(Arc<SiteSettings>, Shard)>,
}

impl Store for Rows {
    type Error = Infallible;

    fn keeps_rows(&self) -> bool {
        true
    }

    fn page(&mut self, page: &Page<'_>) -> Result<(), Infallible> {
        self.items.extend(rows_of(page.name, page.plan, "token"));
        Ok(())
    }

    fn shard(&mut self, site: &Arc<SiteSettings>, shard: Shard) -> Result<(), Infallible> {
        self.shards.push((site.clone(), shard));
        Ok(())
    }
}

/// Places records in bulk.
fn in_bulk(now: i64, records: &[Value]) -> (Rows, Planner) {
    let recorded = records.iter().filter_map(|record| {
        let host = host_of_site_id(id(record))?;
        Some((host.to_owned(), record.clone()))
    });
    let mut planner = Planner::new(now, KnownSites::Any, recorded.collect());
    let parsed = || {
        let records = records.iter();
        records.map(|record| ContentRecord::parse(id(record), record))
    };
    if parsed().any(|record| Planned::depends(&record)) {
        let mut survey = Survey::default();
        for (at, record) in (0..).zip(parsed()) {
            survey.see(&planner, planner.plan(record, at));
        }
        planner = survey.finish(planner);
    }
    let (mut placer, mut rows) = (Placer::default(), Rows::default());
    for (at, record) in (0..).zip(parsed()) {
        let planned = planner.plan(record, at);
        let Ok(()) = placer.place(&planner, planned, &mut rows);
    }
    let Ok(series) = placer.finish(&mut rows);
    rows.items.extend(series);
    (rows, planner)
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
            let (Rows { items, .. }, _) = in_bulk(sim.now(), &records);
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

/// The functions begin over what bulk has made: the scan of all content changes nothing, nothing but indexes and the like is
/// published, and the audit finds nothing. A sitemap that is lost is published again as it was, to the byte.
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
            let (Rows { items, shards }, planner) = in_bulk(sim.now(), &records);
            let table = &functions.reconciler.table;
            for item in items {
                world.put_row(item).await;
            }
            let mut epochs = BTreeMap::new();
            for site in planner.sites() {
                let row = functions.reconciler.ensure_site(&site.host).await;
                let row = row.expect("read").expect("a known site");
                epochs.insert(site.host.clone(), row.epoch);
            }
            for (site, shard) in &shards {
                let publish = shard.publish(&functions, site, epochs[&site.host]);
                publish.await.expect("a shard");
            }
            for host in epochs.keys() {
                release(table, host, sim.now()).await.expect("released");
            }
            let placed = comparable(world.items().await);
            world.begin().await;
            world.settle().await;
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
