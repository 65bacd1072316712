//! Generated histories with faults, against an oracle: whatever happens, the published set is the eligible set.
//!
//! The oracle shares no code with eligibility, plan or publishing. Each case is a few dozen edits of a few records, so
//! that they collide, through event sources that duplicate, delay, split, reorder, lose answers and stop functions
//! anywhere. `WAYMARK_CASES` sets the number of cases; a failing case is shrunk and prints its history.

use std::collections::{BTreeMap, BTreeSet};

use harness::{Chaos, Crawler, SITE, World, settings, with};
use local::event_source::Faults;
use local::stack::Options;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use sitemap::time::When;

/// Cases of one run, unless `WAYMARK_CASES` says otherwise.
const CASES: u32 = 12;
/// How likely each fault is, for each delivery.
const FAULTS: f64 = 0.12;
/// How likely each fault is, for each call of the SDK.
const CALL_FAULTS: f64 = 0.01;
/// Entries that a sitemap has at most, whatever capacity the site asks for meanwhile.
const MOST_ENTRIES: usize = 3;
const PATHS: [&str; 4] = ["/a", "/b", "/c", "/d"];
const TYPES: [&str; 2] = ["post", "page"];

/// What a record says, as far as these tests vary it.
#[derive(Clone, Debug)]
struct Page {
    path: usize,
    kind: usize,
    day: u32,
    images: u32,
    published: bool,
    noindex: bool,
    elsewhere: bool,
    /// Hours from the world's beginning.
    from: Option<i64>,
    until: Option<i64>,
}

#[derive(Clone, Debug)]
enum Step {
    Put(usize, Page),
    Delete(usize),
    /// Hours pass.
    Pass(i64),
    /// The site asks for so many entries a sitemap.
    Capacity(u32),
    DropTable,
}

fn page() -> impl Strategy<Value = Page> {
    let hours = || proptest::option::weighted(0.2, 1..100_i64);
    let place = (0..PATHS.len(), 0..TYPES.len(), 1..28_u32, 0..3_u32);
    let flags = (
        prop::bool::weighted(0.85),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.1),
    );
    (place, flags, hours(), hours()).prop_map(|(place, flags, from, until)| Page {
        path: place.0,
        kind: place.1,
        day: place.2,
        images: place.3,
        published: flags.0,
        noindex: flags.1,
        elsewhere: flags.2,
        from,
        until,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        16 => (0..6_usize, page()).prop_map(|(id, page)| Step::Put(id, page)),
        5 => (0..6_usize).prop_map(Step::Delete),
        2 => (1..60_i64).prop_map(Step::Pass),
        1 => (1..4_u32).prop_map(Step::Capacity),
        1 => Just(Step::DropTable),
    ]
}

/// The world as it should be: all records, and the time.
struct Oracle {
    begun: i64,
    now: i64,
    pages: BTreeMap<usize, Page>,
}

/// What an entry must say: sitemap series, lastmod, images.
type Listing = (String, Option<String>, Vec<String>);

impl Oracle {
    fn record(&self, id: usize, page: &Page) -> Value {
        let at = |hours: i64| When::at(self.begun + hours * 3_600).to_string();
        let mut record = json!({
            "id": format!("r{id}"), "type": TYPES[page.kind], "url": format!("https://{SITE}{}", PATHS[page.path]),
            "status": if page.published { "published" } else { "draft" }, "noindex": page.noindex,
            "modified_at": format!("2026-01-{:02}", page.day),
            "images": (0..page.images).map(|n| json!({"url": format!("https://i.example/{n}")})).collect::<Vec<_>>(),
        });
        let optional = [
            (
                "canonical_url",
                page.elsewhere.then(|| format!("https://{SITE}/elsewhere")),
            ),
            ("published_at", page.from.map(at)),
            ("expires_at", page.until.map(at)),
        ];
        for (field, value) in optional {
            if let Some(value) = value {
                record = with(&record, json!({field: value}));
            }
        }
        record
    }

    fn eligible(&self, page: &Page) -> bool {
        let hours = |hours: Option<i64>| hours.map(|hours| self.begun + hours * 3_600);
        page.published
            && !page.noindex
            && !page.elsewhere
            && hours(page.from).is_none_or(|from| from <= self.now)
            && hours(page.until).is_none_or(|until| until > self.now)
    }

    /// For each loc that must be listed, what it may say: any of the records that claim it.
    fn expected(&self) -> BTreeMap<String, Vec<Listing>> {
        let mut expected: BTreeMap<String, Vec<Listing>> = BTreeMap::new();
        for page in self.pages.values().filter(|page| self.eligible(page)) {
            let images = (0..page.images)
                .map(|n| format!("https://i.example/{n}"))
                .collect();
            let listing = (
                TYPES[page.kind].to_owned(),
                Some(format!("2026-01-{:02}", page.day)),
                images,
            );
            expected
                .entry(format!("https://{SITE}{}", PATHS[page.path]))
                .or_default()
                .push(listing);
        }
        expected
    }
}

async fn run(seed: u64, history: &[Step]) -> Result<(), String> {
    let chaos = Chaos::seeded(seed, CALL_FAULTS);
    let options = Options {
        faults: Faults::seeded(seed, FAULTS),
        interceptor: Some(chaos.interceptor()),
        ..Options::default()
    };
    let world = World::with(options, &[settings(json!({"entries_per_sitemap": 2}))]).await;
    let reader = tokio::spawn(read_for_ever(world.crawler.clone()));
    let now = world.clock.now();
    let mut oracle = Oracle {
        begun: now,
        now,
        pages: BTreeMap::new(),
    };
    for step in history {
        match step {
            Step::Put(id, page) => {
                world.put(&oracle.record(*id, page)).await;
                oracle.pages.insert(*id, page.clone());
            }
            Step::Delete(id) => {
                world.delete(&format!("r{id}")).await;
                oracle.pages.remove(id);
            }
            Step::Pass(hours) => {
                world.clock.advance(hours * 3_600);
                oracle.now += hours * 3_600;
            }
            Step::Capacity(entries) => {
                world
                    .put(&settings(json!({"entries_per_sitemap": entries})))
                    .await
            }
            Step::DropTable => world.drop_sitemap_table().await,
        }
    }
    let mut checked = converges(&world, &oracle).await;
    if reader.is_finished() {
        checked = Err(format!(
            "a reader found: {:?}",
            reader.await.map_err(|panic| panic.to_string())
        ));
    } else {
        reader.abort();
    }
    world.stop().await;
    checked
}

/// Polls as a crawler does, at every moment of a history: it panics if a sitemap that the index lists is missing or not
/// whole. That a URL is in two sitemaps while it moves, and that one is empty before it leaves the index, is allowed.
async fn read_for_ever(crawler: Crawler) {
    loop {
        if crawler.get("/sitemap_index.xml").await.status == 200 {
            for (sitemap, _) in crawler.index().await {
                let path = sitemap
                    .strip_prefix(&format!("https://{SITE}"))
                    .expect("on the site");
                let entries = crawler.urlset(path).await;
                assert!(
                    entries.len() <= MOST_ENTRIES,
                    "{path} has {} entries",
                    entries.len()
                );
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// Looks until all that is left to happen by the clock (a sweep each second) has happened: then the first difference
/// that is left is an error.
async fn converges(world: &World, oracle: &Oracle) -> Result<(), String> {
    let mut last = Err("not looked at".to_owned());
    for _ in 0..12 {
        world.settle().await;
        last = differences(world, oracle).await;
        if last.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
    last
}

async fn differences(world: &World, oracle: &Oracle) -> Result<(), String> {
    let expected = oracle.expected();
    let listed = world.listed().await;
    let locs: BTreeSet<&String> = listed.keys().collect();
    if locs != expected.keys().collect() {
        return Err(format!("listed {locs:?}, expected {:?}", expected.keys()));
    }
    for (loc, entry) in &listed {
        let series = entry
            .sitemap
            .split("-sitemap")
            .next()
            .unwrap_or_default()
            .to_owned();
        let listing = (series, entry.lastmod.clone(), entry.images.clone());
        if !expected[loc].contains(&listing) {
            return Err(format!(
                "{loc} says {listing:?}, expected one of {:?}",
                expected[loc]
            ));
        }
    }
    audit(world, oracle, &expected).await
}

/// No row that has no reason to be.
async fn audit(
    world: &World,
    oracle: &Oracle,
    expected: &BTreeMap<String, Vec<Listing>>,
) -> Result<(), String> {
    let rows = world.rows("").await;
    let of = |prefix: &'static str| {
        rows.iter()
            .filter(move |((pk, _), _)| pk.starts_with(prefix))
    };
    let entries: Vec<_> = of("SEGMENT#")
        .filter(|(_, row)| row.contains_key("xml"))
        .collect();
    let owners: BTreeSet<&String> = entries.iter().map(|(_, row)| &row["owner"]).collect();
    let claims: BTreeSet<&String> = of("LOC#")
        .filter(|((_, sk), _)| sk == "-")
        .map(|(_, row)| &row["owner"])
        .collect();
    if owners != claims || owners.len() != entries.len() || entries.len() != expected.len() {
        return Err(format!("entries of {owners:?}, claims of {claims:?}"));
    }
    let waiting = of("LOC#").filter(|((_, sk), _)| sk != "-").count();
    let duplicates: usize = expected.values().map(|claimants| claimants.len() - 1).sum();
    if waiting != duplicates {
        return Err(format!("{waiting} wait, {duplicates} should"));
    }
    // A run that nobody waits for, and that ends behind its fence, leaves a ledger of a deleted record: a token alone.
    let ledgers: BTreeSet<String> = of("LEDGER#")
        .filter(|(_, row)| row.contains_key("body"))
        .map(|((pk, _), _)| pk["LEDGER#".len()..].to_owned())
        .collect();
    let records: BTreeSet<String> = oracle.pages.keys().map(|id| format!("r{id}")).collect();
    if ledgers != records {
        return Err(format!("ledgers of {ledgers:?}, records {records:?}"));
    }
    let future = |hours: Option<i64>| {
        hours
            .map(|hours| oracle.begun + hours * 3_600)
            .filter(|at| *at > oracle.now)
    };
    let due = |page: &Page| {
        future(page.from)
            .into_iter()
            .chain(future(page.until))
            .min()
    };
    let timers: BTreeSet<String> = of("TIMER#")
        .filter(|((_, sk), _)| sk != "-")
        .map(|((_, sk), _)| sk.clone())
        .collect();
    let expected: BTreeSet<String> = oracle
        .pages
        .iter()
        .filter_map(|(id, page)| Some(format!("{:012}#r{id}", due(page)?)))
        .collect();
    if timers != expected {
        return Err(format!("timers {timers:?}, expected {expected:?}"));
    }
    for ((pk, sk), _) in of("FREE#") {
        let (n, i) = sk.split_once('#').ok_or("a free slot's key")?;
        let (n, i): (u32, u32) = (n.parse().map_err(|_| "n")?, i.parse().map_err(|_| "i")?);
        let series = pk.rsplit('#').next().unwrap_or_default();
        let segment = format!("SEGMENT#{SITE}#{series}#{n}#{}", i / 500);
        if entries
            .iter()
            .any(|((pk, sk), _)| *pk == segment && *sk == format!("{i:05}"))
        {
            return Err(format!("slot {n}/{i} of {series} is free and occupied"));
        }
    }
    Ok(())
}

fn check(cases: u32, history: impl Strategy<Value = (u64, Vec<Step>)>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let config = Config {
        cases,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..Config::default()
    };
    let result = TestRunner::new(config).run(&history, |(seed, history)| {
        runtime
            .block_on(run(seed, &history))
            .map_err(TestCaseError::fail)
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

#[test]
fn whatever_happens_the_published_set_is_the_eligible_set() {
    let cases = std::env::var("WAYMARK_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(CASES);
    check(cases, (any::<u64>(), prop::collection::vec(step(), 5..40)));
}
