//! The proof that a first load in bulk is one by the functions: the same rows but for slots, over generated content of every kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use engine::keys::{self, Key, RowKey};
use engine::reconcile::{KnownSites, Reconciled, Reconciler};
use proptest::prelude::Strategy;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use sitemap::plan::Ledger;
use sitemap::record::ContentRecord;
use sitemap::record::schema::FIELDS;
use sitemap::site::host_of_site_id;
use table::Item;

use super::harness::{Options, World, simulated};
use crate::first_load::{id, place, publish};
use crate::history::{SITES, page, settings};
use crate::oracle::Oracle;
use crate::runtime::{Sim, mix};

/// Contents that are drawn.
const CONTENTS: u64 = 200;
/// Records of one of them.
const RECORDS: std::ops::Range<usize> = 1..60;
/// Contents with odd values.
const ODD: u64 = 60;

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
        let ousted = ousted(reconciler).await;
        changed |= !ousted.is_empty();
        for outcome in reconciler.repair(&ousted).await {
            outcome.expect("a reconcile");
        }
        if !changed {
            break;
        }
        rounds += 1;
        assert!(rounds < 10, "the rows do not come to rest");
    }
}

/// Returns the pages that lost their addresses to listed pages, with the rows that call them.
async fn ousted(reconciler: &Reconciler) -> BTreeMap<String, Vec<Key>> {
    let (mut ousted, mut after) = (BTreeMap::new(), None);
    loop {
        let page = reconciler.table.rows(after.as_ref(), 1_000).await;
        let (rows, next) = page.expect("rows");
        for row in rows {
            if let Some(RowKey::Ousted(page)) = row.kind {
                let keys: &mut Vec<Key> = ousted.entry(page).or_default();
                keys.push(row.key);
            }
        }
        after = next;
        if after.is_none() {
            return ousted;
        }
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

/// Places records in bulk, and by reconciles one after another. Returns the kinds of rows that bulk made, if the rows are equal.
async fn compare(sim: &Sim, name: &str, records: &[Value]) -> BTreeSet<String> {
    let world = World::idle(sim, Options::default());
    for record in records {
        world.put(record).await;
    }
    let functions = world.functions(None);
    one_by_one(&functions.reconciler, records).await;
    let (placed, _) = place(sim.now(), KnownSites::Any, records);
    let items = [placed.items, placed.of_sites].concat();
    let kinds = items.iter().map(|row| {
        let pk = row.text("pk").unwrap_or_default();
        crate::audit::kind(pk).to_owned()
    });
    let kinds = kinds.collect();
    let (found, expected) = (comparable(items), comparable(world.items().await));
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        let only = one.difference(other).take(5).cloned();
        only.collect::<Vec<_>>().join("\n  ")
    };
    assert!(
        found == expected,
        "{name}: bulk alone has\n  {}\nthe functions alone have\n  {}",
        only(&found, &expected),
        only(&expected, &found)
    );
    kinds
}

#[test]
fn bulk_places_what_reconciles_place_one_after_another() {
    let kinds = Mutex::new(BTreeSet::new());
    for seed in 0..CONTENTS {
        simulated(async |sim| {
            let records = drawn(seed, &Oracle::new(sim.now()));
            let placed = compare(&sim, &format!("content {seed}"), &records).await;
            kinds.lock().expect("no panic").extend(placed);
        });
    }
    // What a first load can place at all was placed.
    let kinds: Vec<_> = kinds.into_inner().expect("no panic").into_iter().collect();
    assert_eq!(
        kinds,
        [
            "FEED", "GROUP", "LEDGER", "LOC", "MOVED", "OUT", "SEGMENT", "SERIES", "TERM", "TIMER"
        ]
    );
}

/// Every fourth record has an odd value in one of its fields.
#[test]
fn odd_records_are_placed_as_reconciles_place_them() {
    let long = "x".repeat(3_000);
    let odd = [
        Value::Null,
        json!(true),
        json!(-1),
        json!(0.5),
        json!(10_000_000_000_000_000_000_u64),
        json!(""),
        json!(" \u{0}\u{202e}"),
        json!(long),
        json!("https://"),
        json!("javascript:alert(1)"),
        json!("http://[::1]:99999/"),
        json!("//www.example.com/%zz?&#"),
        json!("2026-02-30"),
        json!("2026-01-01T25:00:00Z"),
        json!([]),
        json!([null, {}, ""]),
        json!({}),
        json!({"url": "https://www.example.com/", "term": 7}),
    ];
    for seed in 0..ODD {
        simulated(async |sim| {
            let mut records = drawn(2 * CONTENTS + seed, &Oracle::new(sim.now()));
            let mut number = mix(seed + 1);
            let mut below = |limit: usize| {
                number = mix(number.wrapping_add(0x9e37_79b9_7f4a_7c15));
                usize::try_from(number % limit as u64).expect("a small number")
            };
            for record in &mut records {
                let field = &FIELDS[below(FIELDS.len())];
                let value = odd[below(odd.len())].clone();
                let is_page = host_of_site_id(id(record)).is_none();
                if below(4) == 0 && is_page {
                    record[field.name] = value;
                }
            }
            compare(&sim, &format!("content {seed}"), &records).await;
        });
    }
}

#[test]
#[ignore = "reads the file that WAYMARK_CONTENT names"]
#[expect(
    clippy::disallowed_methods,
    reason = "what is asked for, not what happens"
)]
fn the_content_of_a_file_is_placed_as_reconciles_place_it() {
    let file = std::env::var("WAYMARK_CONTENT").expect("WAYMARK_CONTENT names a file of records");
    let text = std::fs::read_to_string(&file).expect("records");
    let mut records = Vec::<Value>::new();
    let mut places = BTreeMap::new();
    for line in text.lines() {
        let Ok(record) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if record["id"].as_str().is_none_or(str::is_empty) {
            continue;
        }
        // The later one counts, in the place of the first.
        match places.get(id(&record)) {
            Some(place) => records[*place] = record,
            None => {
                places.insert(id(&record).to_owned(), records.len());
                records.push(record);
            }
        }
    }
    simulated(async |sim| {
        let kinds = compare(&sim, &file, &records).await;
        println!("{} records, rows: {kinds:?}", records.len());
    });
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
