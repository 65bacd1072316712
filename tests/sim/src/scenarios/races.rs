//! Tests that the protocols' steps are necessary: one run is delayed between two calls, and another overtakes it.
//!
//! The functions are called directly, so that nothing else happens. `tests/outside/planted_faults.py` shows that each test fails
//! if its step is omitted.

mod departures;
mod indexes;
mod loads;
mod parts;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use engine::ingest::ingest;
use engine::keys::{self, ShardId, prefix};
use engine::regenerate::Regenerator;
use engine::regenerate::index::IndexLimits;
use engine::stream::{EventName, Handled, StreamRecord};
use objects::{Closure, ObjectKey, SiteFile};
use serde_json::{Value, json};
use sitemap::plan::Series;
use sitemap::time::When;
use table::Item;

use super::calls::{Fuse, Gate, Watcher, overtaken};
use super::harness::{Options, World, simulated};
use crate::records::{SITE, post, settings, with};
use crate::runtime::Sim;

/// The duration of a slice of a site's scan.
const SLICE: Duration = Duration::from_secs(60);

/// A deployment whose functions do not run.
struct Bench {
    world: World,
    /// Functions whose calls take no time.
    fast: Regenerator,
}

impl Bench {
    async fn with(sim: &Sim, records: &[Value]) -> Self {
        // More than one sitemap needs more than one index.
        let index_limits = IndexLimits {
            lines: 1,
            ..IndexLimits::default()
        };
        let options = Options {
            index_limits,
            ..Options::default()
        };
        let world = World::idle(sim, options);
        let bench = Self {
            fast: world.functions(None),
            world,
        };
        for record in records {
            bench.put(record).await;
        }
        bench
    }

    /// Creates a bench with a released site, on which these records are published.
    async fn released(sim: &Sim, records: &[Value]) -> Self {
        let bench = Self::with(sim, records).await;
        bench.ingest(records).await;
        bench.scan_until(async |_| false).await;
        bench.fast.publish_index(SITE, None).await.unwrap();
        bench.fast.publish_robots(SITE).await.unwrap();
        bench.fast.publish_site_file(SITE).await.unwrap();
        bench
    }

    /// Returns functions whose calls are watched.
    fn slow(&self, watcher: &Arc<impl Watcher + 'static>) -> Regenerator {
        self.world.functions(Some(watcher.clone()))
    }

    async fn put(&self, record: &Value) {
        self.world.put(record).await;
    }

    async fn ingest(&self, records: &[Value]) {
        let ids = records.iter().map(|record| record["id"].as_str().unwrap());
        let keys = ids.map(|id| Item::new().with("id", id)).collect();
        let handled = ingest(&self.fast.reconciler, &event(EventName::Modify, keys)).await;
        assert_eq!(handled, Handled::All);
    }

    /// Writes a record and reconciles it.
    async fn edit(&self, record: &Value) {
        self.put(record).await;
        self.ingest(std::slice::from_ref(record)).await;
    }

    /// Handles the event of the shard's first entry.
    async fn regenerate(&self) {
        let key = Item::new().with("pk", keys::segment(&shard(), 0));
        let key = key.with("sk", "00000");
        let event = event(EventName::Modify, vec![key]);
        assert_eq!(self.fast.regenerate(&event).await, Handled::All);
    }

    /// Deletes every item of the sitemap table.
    async fn drop_table(&self) {
        for (pk, sk) in self.world.rows("").await.into_keys() {
            self.world.delete_row(&pk, &sk).await;
        }
    }

    /// Runs slices of the scans until none is left, or until `enough` returns true.
    async fn scan_until(&self, enough: impl AsyncFn(&Self) -> bool) {
        let table = &self.fast.reconciler.table;
        let is_active = async || {
            let scan = table.content_scan().await.unwrap();
            scan.is_some_and(|scan| scan.is_active())
        };
        while !enough(self).await {
            if is_active().await {
                self.fast.scan_content().await.unwrap();
            } else if table.site_scan(SITE).await.unwrap().is_some() {
                let until = self.fast.reconciler.env.deadline(SLICE);
                self.fast.scan_site(SITE, &until).await.unwrap();
            } else {
                return;
            }
        }
    }

    /// Returns the document of an object.
    async fn document(&self, key: &ObjectKey) -> String {
        let (_, bytes) = self
            .fast
            .objects
            .get(key)
            .await
            .unwrap()
            .expect("published");
        let mut text = String::new();
        match std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*bytes), &mut text) {
            Ok(_) => text,
            Err(_) => String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    async fn publish(&self, functions: &Regenerator) {
        functions
            .publish(&shard(), Some(&[0].into()))
            .await
            .unwrap();
    }
}

fn event(event: EventName, keys: Vec<Item>) -> Vec<StreamRecord> {
    let record = |(n, key): (usize, Item)| StreamRecord {
        key,
        event,
        sequence_number: n.to_string(),
        ..StreamRecord::default()
    };
    keys.into_iter().enumerate().map(record).collect()
}

fn shard() -> ShardId {
    shard_of("post")
}

fn shard_of(series: &str) -> ShardId {
    let series = Series {
        site: SITE.to_owned(),
        name: series.to_owned(),
    };
    ShardId { series, n: 1 }
}

fn object() -> ObjectKey {
    ObjectKey::Shard {
        site: SITE.to_owned(),
        series: "post".to_owned(),
        n: 1,
    }
}

fn index() -> ObjectKey {
    nth_index(1)
}

fn nth_index(n: u32) -> ObjectKey {
    let site = SITE.to_owned();
    ObjectKey::Index { site, n }
}

/// Returns a record with a day, which appears in its published entry.
fn day(day: u32) -> Value {
    post("/a", day)
}

fn says(document: &str, day: u32) -> bool {
    document.contains(&format!("2026-01-{day:02}T"))
}

/// Reconciles one page.
async fn reconcile(functions: &Regenerator, page: &str) {
    let pages = [page.to_owned()];
    for outcome in functions.reconciler.reconcile(&pages, None).await {
        outcome.unwrap();
    }
}

#[test]
fn a_run_that_read_an_older_record_commits_nothing_after_one_that_had_nothing_to_do() {
    simulated(async |sim| {
        let bench = Bench::released(&sim, &[day(1)]).await;
        bench.put(&day(2)).await;
        let gate = Arc::new(Gate::behind("BatchGetItem", "post/a"));
        let slow = bench.slow(&gate);
        let zombie = async { reconcile(&slow, "post/a").await };
        overtaken(&gate, zombie, bench.edit(&day(1))).await;
        bench.publish(&bench.fast).await;
        assert!(says(&bench.document(&object()).await, 1));
    });
}

/// Tests the order of fence and clock. A run that read the clock first would list the page for as long as it takes to look again.
#[test]
fn a_page_that_expires_while_a_run_takes_its_fence_is_never_listed() {
    simulated(async |sim| {
        let bench = Bench::released(&sim, &[]).await;
        let over = When::at(bench.world.clock.now() + 60).to_string();
        bench.put(&with(&day(1), json!({"expires_at": over}))).await;
        let gate = Arc::new(Gate::behind("UpdateItem", "post/a"));
        let slow = bench.slow(&gate);
        let zombie = async { reconcile(&slow, "post/a").await };
        overtaken(&gate, zombie, async { bench.world.clock.leap(61) }).await;
        assert!(bench.world.rows(prefix::SEGMENT).await.is_empty());
    });
}

#[test]
fn a_slow_publisher_of_a_shard_puts_nothing_over_a_faster_one() {
    simulated(async |sim| {
        // The faster one publishes something newer, or the same as before.
        for last in [3, 1] {
            let bench = Bench::released(&sim, &[day(1)]).await;
            bench.edit(&day(2)).await;
            let gate = Arc::new(Gate::behind("Query", "SEGMENT#"));
            let slow = bench.slow(&gate);
            let slow = async { slow.publish(&shard(), Some(&[0].into())).await.unwrap() };
            let fast = async {
                bench.edit(&day(last)).await;
                bench.publish(&bench.fast).await;
            };
            overtaken(&gate, slow, fast).await;
            assert!(says(&bench.document(&object()).await, last), "{last}");
        }
    });
}

#[test]
fn a_publisher_that_lost_publishes_what_it_has_read() {
    simulated(async |sim| {
        let bench = Bench::released(&sim, &[day(1)]).await;
        bench.edit(&day(2)).await;
        let gate = Arc::new(Gate::behind("GET", object().path()));
        let slow = bench.slow(&gate);
        let slow = async { slow.publish(&shard(), Some(&[0].into())).await.unwrap() };
        let fast = async {
            bench.publish(&bench.fast).await;
            bench.edit(&day(3)).await;
        };
        overtaken(&gate, slow, fast).await;
        assert!(says(&bench.document(&object()).await, 3));
    });
}

#[test]
fn a_slow_publisher_of_an_older_frame_puts_nothing_over_a_faster_one() {
    simulated(async |sim| {
        let style = |name: &str| settings(json!({"stylesheet": name}));
        // The settings that it has read are followed by others, or by those of the present object.
        for last in ["none", "css"] {
            let bench = Bench::released(&sim, &[style("css"), day(1)]).await;
            let scan = async || bench.scan_until(async |_| false).await;
            bench.edit(&style("xsl")).await;
            let gate = Arc::new(Gate::behind("GetItem", "SITE#"));
            let slow = bench.slow(&gate);
            let slow = async { slow.publish(&shard(), Some(&[0].into())).await.unwrap() };
            let fast = async {
                bench.edit(&style(last)).await;
                scan().await;
            };
            overtaken(&gate, slow, fast).await;
            let document = bench.document(&object()).await;
            assert!(!document.contains(".xsl"), "{last}");
            assert_eq!(document.contains("/sitemap.css"), last == "css");
        }
    });
}

#[test]
fn a_slow_publisher_of_the_index_puts_nothing_over_a_faster_one() {
    simulated(async |sim| {
        // Each reads the whole index, or only the block of the sitemap.
        let publish = async |functions: &Regenerator, a_block: bool| {
            let shard = shard_of("post");
            let block = BTreeSet::from([&shard]);
            let touched = a_block.then_some(&block);
            functions.publish_index(SITE, touched).await.unwrap();
        };
        for (slowly, fastly) in [(false, false), (false, true), (true, false), (true, true)] {
            for last in [3, 1] {
                let bench = Bench::released(&sim, &[day(1)]).await;
                bench.edit(&day(2)).await;
                bench.publish(&bench.fast).await;
                let gate = Arc::new(Gate::behind("Query", "INDEX#"));
                let slow = bench.slow(&gate);
                let slow = async { publish(&slow, slowly).await };
                let fast = async {
                    bench.edit(&day(last)).await;
                    bench.publish(&bench.fast).await;
                    publish(&bench.fast, fastly).await;
                };
                overtaken(&gate, slow, fast).await;
                let document = bench.document(&index()).await;
                assert!(says(&document, last), "{last} {slowly} {fastly}");
            }
        }
    });
}

#[test]
fn older_settings_do_not_stay_in_robots_txt_over_newer_ones_that_read_the_same() {
    simulated(async |sim| {
        let rules = |path: &str| {
            settings(json!({"robots": ["User-agent: *", format!("Disallow: {path}")]}))
        };
        let bench = Bench::released(&sim, &[rules("/1"), day(1)]).await;
        bench.edit(&rules("/2")).await;
        let gate = Arc::new(Gate::behind("GetItem", "SITE#"));
        let slow = bench.slow(&gate);
        let slow = async {
            slow.publish_robots(SITE).await.unwrap();
            slow.publish_site_file(SITE).await.unwrap();
        };
        let fast = async {
            bench.edit(&rules("/1")).await;
            bench.fast.publish_robots(SITE).await.unwrap();
            bench.fast.publish_site_file(SITE).await.unwrap();
        };
        overtaken(&gate, slow, fast).await;
        let robots = ObjectKey::Robots {
            site: SITE.to_owned(),
        };
        assert!(bench.document(&robots).await.contains("Disallow: /1\n"));
    });
}

#[test]
fn no_summary_is_written_before_its_object() {
    simulated(async |sim| {
        let fuse = Arc::new(Fuse::default());
        let bench = Bench::released(&sim, &[with(&day(1), json!({"type": "page"}))]).await;
        bench
            .edit(&with(
                &day(1),
                json!({"id": "b", "url": format!("https://{SITE}/b")}),
            ))
            .await;
        let dying = bench.slow(&fuse);
        for writes in 0..2 {
            fuse.set(writes);
            assert!(dying.publish(&shard(), Some(&[0].into())).await.is_err());
            let summarised = bench.fast.reconciler.table.summaries(SITE).await.unwrap();
            let published = bench.fast.objects.head(&object()).await.unwrap();
            assert!(
                published.is_some() || !summarised.contains_key(&shard()),
                "{writes}"
            );
        }
    });
}

#[test]
fn a_late_event_of_a_removal_removes_nothing_that_is_there() {
    simulated(async |sim| {
        let bench = Bench::released(&sim, &[day(1)]).await;
        let late = event(EventName::Remove, vec![Item::new().with("id", "post/a")]);
        let handled = ingest(&bench.fast.reconciler, &late).await;
        assert_eq!(handled, Handled::All);
        assert!(
            bench
                .fast
                .reconciler
                .content
                .item("post/a")
                .await
                .unwrap()
                .is_some()
        );
        bench.publish(&bench.fast).await;
        assert!(says(&bench.document(&object()).await, 1));
    });
}

#[test]
fn an_object_of_a_dropped_table_whose_stamps_are_equal_is_built_again() {
    simulated(async |sim| {
        let bench = Bench::released(&sim, &[day(1)]).await;
        bench.drop_table().await;
        bench.put(&day(2)).await;
        bench.ingest(&[day(2)]).await;
        bench.scan_until(async |_| false).await;
        assert!(says(&bench.document(&object()).await, 2));
    });
}

#[test]
fn the_index_follows_the_settings_before_the_scan_does() {
    simulated(async |sim| {
        let bench = Bench::released(&sim, &[settings(json!({})), day(1)]).await;
        let is_listed = async || bench.document(&index()).await.contains("<sitemap>");
        for (unlisted, fields) in [
            (false, json!({})),
            (true, json!({"types": {"post": {"public": false}}})),
            (false, json!({"types": {"page": {"public": false}}})),
            (true, json!({"public": false})),
        ] {
            bench.edit(&settings(fields.clone())).await;
            bench.fast.publish_index(SITE, None).await.unwrap();
            assert_eq!(is_listed().await, !unlisted, "{fields}");
            // An index that lists a sitemap which the site file still closes would list a 404.
            let file = ObjectKey::SiteFile {
                site: SITE.to_owned(),
            };
            let file: SiteFile = serde_json::from_str(&bench.document(&file).await).unwrap();
            let closure = file.closure(Some("post"));
            assert_eq!(matches!(closure, Closure::Closed(_)), unlisted, "{fields}");
        }
    });
}

#[test]
fn regression_who_waits_learns_of_an_owner_that_came_before_it() {
    simulated(async |sim| {
        let at = |id: &str, path: &str| {
            let url = format!("https://{SITE}{path}");
            with(&day(1), json!({"id": id, "url": url}))
        };
        let bench = Bench::released(&sim, &[at("first", "/x")]).await;
        bench.edit(&at("waits", "/x")).await;
        bench.edit(&at("first", "/y")).await;
        bench.edit(&at("second", "/x")).await;
        let claim = keys::claim(SITE, &format!("https://{SITE}/x"));
        let key = Item::new().with("pk", claim.pk).with("sk", claim.sk);
        let event = event(EventName::Remove, vec![key]);
        assert_eq!(bench.fast.regenerate(&event).await, Handled::All);
        let table = &bench.fast.reconciler.table;
        let ledger = table.ledger("waits").await.unwrap().unwrap();
        let (name, text) = table.refusal("waits", &ledger).await.unwrap().unwrap();
        assert_eq!(
            (name.as_str(), text.as_str()),
            ("duplicate", "record second has the same address")
        );
    });
}
