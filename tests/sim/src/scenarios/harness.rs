//! A deployment whose calls take time and do not fail, and a crawler that reads its published files.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::SitemapTable;
use engine::content::Content;
use engine::metrics::Metrics;
use engine::reconcile::{KnownSites, Reconciler};
use engine::regenerate::Regenerator;
use engine::regenerate::index::IndexLimits;
use engine::sweep::audit::{Audit, Finding, beginning};
use objects::{ObjectKey, Objects};
use serde_json::Value;
use table::{Item, Table};

use super::calls::{Seen, Watcher};
use crate::audit::Row;
use crate::cases::number;
use crate::crawler::{Crawler, Entry};
use crate::deployment::PLAIN;
use crate::records::SITE;
use crate::runtime::Sim;
use crate::world;

/// The time limit of a wait, in virtual time: far longer than necessary.
const PATIENCE: Duration = Duration::from_secs(3 * 3_600);
/// The pause between two checks of a condition.
const GLANCE: Duration = Duration::from_secs(1);

/// The pause before an audit checks again: longer than a change takes from its event to the bucket.
const SECOND_LOOK: Duration = Duration::from_secs(30);
/// The audits of one repair. Each may reveal more problems.
const ROUNDS: u32 = 6;

/// The seed of each test's world; `WAYMARK_SEED` is another.
const SEED: u64 = 1;

/// Runs a test in a simulated world.
pub(super) fn simulated(test: impl AsyncFnOnce(Sim)) {
    let sim = Sim::new(number("WAYMARK_SEED").unwrap_or(SEED));
    sim.run(test(sim.clone()));
}

/// Options for a deployment.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// The deployment's sites.
    pub(super) known: KnownSites,
    /// Whether `sweep` runs by itself. A test that calls it may want nothing else to run.
    pub(super) sweeps: bool,
    /// The limits of an index.
    pub(super) index_limits: IndexLimits,
    /// Watches the functions' calls.
    pub(super) watcher: Option<Arc<dyn Watcher>>,
    /// The functions' metrics.
    pub(super) metrics: Metrics,
}

impl Default for Options {
    /// Returns options with any site, and without a watcher.
    fn default() -> Self {
        Self {
            known: KnownSites::Any,
            sweeps: true,
            index_limits: IndexLimits::default(),
            watcher: None,
            metrics: Metrics::default(),
        }
    }
}

/// A deployment and its crawler.
pub(super) struct World {
    inner: world::World,
    /// The clock.
    pub(super) clock: Sim,
    /// Reads the published files.
    pub(super) crawler: Crawler,
    options: Options,
}

impl World {
    /// Starts a deployment that was never loaded.
    pub(super) async fn start(sim: &Sim) -> Self {
        Self::with(sim, Options::default(), &[]).await
    }

    /// Starts a deployment with these records in its content table.
    pub(super) async fn with(sim: &Sim, options: Options, records: &[Value]) -> Self {
        let mut world = Self::idle(sim, options);
        for record in records {
            world.put(record).await;
        }
        world.begin().await;
        world.settle().await;
        if world.options.sweeps {
            // The first sweep of the day marks all feeds, and the next publishes them.
            world.sweep().await;
            world.sweep().await;
            world.settle().await;
        }
        world
    }

    /// Creates a deployment whose functions do not run yet.
    pub(super) fn idle(sim: &Sim, options: Options) -> Self {
        let mut inner = world::World::new(sim, world::Options::sound(1), PLAIN);
        let crawler = Crawler::new(Arc::new(inner.public()), SITE);
        let (tables, bucket) = inner.ports();
        let functions = code(sim, &options, tables, bucket, options.watcher.as_ref());
        let (tables, bucket) = inner.memory();
        let tables = tables.map(|table| Arc::new(table) as Arc<dyn Table>);
        let operator = Options {
            metrics: Metrics::default(),
            ..options.clone()
        };
        let operator = code(sim, &operator, tables, Arc::new(bucket), None);
        inner.replace(functions, operator);
        Self {
            inner,
            clock: sim.clone(),
            crawler,
            options,
        }
    }

    /// Starts the functions of an idle deployment. Earlier records are left to the scan, which begins with the first event of the
    /// sitemap table's stream. So that stream is read last.
    pub(super) async fn begin(&mut self) {
        self.inner.begin_content();
        let ingested = async || self.inner.is_ingested();
        self.until("the content's stream is read", ingested).await;
        self.inner.begin_sitemaps();
        if self.options.sweeps {
            self.inner.begin_clock();
        }
    }

    /// Returns the functions' code with calls that take no time, for direct calls.
    pub(super) fn functions(&self, watcher: Option<Arc<dyn Watcher>>) -> Regenerator {
        let (tables, bucket) = self.inner.memory();
        let tables = tables.map(|table| Arc::new(table) as Arc<dyn Table>);
        let bucket = Arc::new(bucket);
        code(&self.clock, &self.options, tables, bucket, watcher.as_ref())
    }

    /// Returns the functions' code with calls that take time, so that several can run concurrently.
    pub(super) fn deployed(&self) -> Regenerator {
        let (tables, bucket) = self.inner.ports();
        code(&self.clock, &self.options, tables, bucket, None)
    }

    /// Returns the operator's view of the tables.
    pub(super) fn reconciler(&self) -> &Reconciler {
        &self.inner.operator().reconciler
    }

    /// Returns the operator's view of the bucket.
    pub(super) fn objects(&self) -> &dyn Objects {
        &*self.inner.operator().objects
    }

    /// Returns the number of the functions' successful puts so far, and of those that lost to another.
    pub(super) fn puts(&self) -> [u64; 2] {
        self.inner.puts()
    }

    /// Writes a record into the content table.
    pub(super) async fn put(&self, record: &Value) {
        self.inner.put(record).await;
    }

    /// Writes a row of the sitemap table.
    pub(super) async fn put_row(&self, row: Item) {
        self.inner.damage_row(row).await;
    }

    /// Deletes a record of the content table.
    pub(super) async fn delete(&self, id: &str) {
        self.inner.delete(id).await;
    }

    /// Waits until a condition is met.
    pub(super) async fn until(&self, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
        let deadline = self.clock.elapsed() + PATIENCE;
        while !is_so().await {
            assert!(
                self.clock.elapsed() < deadline,
                "waited {PATIENCE:?} in vain until {what}"
            );
            self.clock.sleep(GLANCE).await;
        }
    }

    /// Waits until every event is handled and no scan is running.
    pub(super) async fn settle(&self) {
        let handled = async || self.inner.is_handled().await;
        self.until("all that has happened is published", handled)
            .await;
    }

    /// Settles, and returns the listed entries by loc.
    pub(super) async fn listed(&self) -> BTreeMap<String, Entry> {
        self.settle().await;
        self.crawler.entries().await
    }

    /// Settles, and returns the listed paths, in order.
    pub(super) async fn paths(&self) -> Vec<String> {
        let prefix = format!("https://{SITE}");
        self.listed()
            .await
            .into_keys()
            .map(|loc| loc.strip_prefix(&prefix).expect("on the site").to_owned())
            .collect()
    }

    /// Settles, and returns the names of the sitemaps that the index lists.
    pub(super) async fn sitemaps(&self) -> Vec<String> {
        self.settle().await;
        let name = |(loc, _): (String, _)| loc.rsplit('/').next().unwrap_or_default().to_owned();
        self.crawler.index().await.into_iter().map(name).collect()
    }

    /// Returns the rows of the sitemap table, as they are stored.
    pub(super) async fn items(&self) -> Vec<Item> {
        self.inner.items().await
    }

    /// Returns the rows of the sitemap table whose partition key has this prefix, by key.
    pub(super) async fn rows(&self, prefix: &str) -> BTreeMap<(String, String), Row> {
        let mut rows = self.inner.rows().await.0;
        rows.retain(|(pk, _), _| pk.starts_with(prefix));
        rows
    }

    /// Deletes a row of the sitemap table.
    pub(super) async fn delete_row(&self, pk: &str, sk: &str) {
        self.inner.lose_row(pk, sk).await;
    }

    /// Replaces an attribute of a row by a text, or removes it.
    pub(super) async fn damage(&self, (pk, sk): (&str, &str), name: &str, text: Option<&str>) {
        let is_it = |item: &Item| (item.text("pk"), item.text("sk")) == (Some(pk), Some(sk));
        let mut row = self.inner.items_that(is_it).await.pop().expect("there");
        match text {
            Some(text) => row.set(name.to_owned(), text),
            None => drop(row.remove(name)),
        }
        self.put_row(row).await;
    }

    /// Deletes an object, cuts it, or overwrites it, as `how` selects.
    pub(super) async fn lose_object(&self, key: &ObjectKey, how: usize) {
        let bucket = self.inner.bucket();
        let found = bucket.get(key).await.expect("an object");
        let (meta, bytes) = found.expect("there");
        match how % 3 {
            0 => assert!(bucket.lose(key), "there"),
            1 => {
                let half = &bytes[..bytes.len() / 2];
                self.inner.damage_object(key, half, meta.document);
            }
            _ => {
                let other = vec![b'#'; bytes.len()];
                self.inner.damage_object(key, &other, meta.document);
            }
        }
    }

    /// Overwrites an object.
    pub(super) fn overwrite(&self, key: &ObjectKey, bytes: &[u8]) {
        self.inner.damage_object(key, bytes, None);
    }

    /// Drops the sitemap table together with its stream, while no function runs, and creates a new one.
    pub(super) async fn drop_sitemap_table(&self) {
        self.settle().await;
        self.inner.drop_sitemap_table();
    }

    /// Runs a further sweep, besides those of the clock.
    pub(super) async fn sweep(&self) {
        self.inner.sweep().await.expect("a sweep");
    }

    /// Audits everything, and with `repair` repairs the findings, until nothing is left, as the command does. Returns the
    /// findings of the last round, or `None` if a scan is running. `report` is called with each finding.
    pub(super) async fn audit(
        &self,
        repair: bool,
        mut report: impl FnMut(&Finding),
    ) -> Option<Vec<Finding>> {
        let reconciler = self.reconciler();
        for round in 0.. {
            let only_looks = repair && round == 0;
            if !self.inner.is_handled().await {
                return None;
            }
            let audit = Audit {
                reconciler,
                objects: self.objects(),
                repair: repair && !only_looks,
                second_look: SECOND_LOOK,
            };
            let (mut findings, mut progress) = (Vec::new(), beginning(self.clock.now()));
            while progress.step.is_some() {
                findings.extend(audit.page(&mut progress).await.expect("an audit's page"));
            }
            if only_looks && !findings.is_empty() {
                // The next round finds them again.
                continue;
            }
            findings.iter().for_each(&mut report);
            let harmless = findings.iter().all(|finding| finding.problem.is_harmless());
            if !repair || harmless || round == ROUNDS {
                return Some(findings);
            }
            self.clock.sleep(SECOND_LOOK).await;
        }
        unreachable!("the last round returns")
    }

    /// Returns the name of the reason why a record's page is excluded.
    pub(super) async fn refusal(&self, id: &str) -> Option<String> {
        self.settle().await;
        let ledger = self.reconciler().table.ledger(id).await.expect("read");
        ledger
            .and_then(|ledger| ledger.refused)
            .map(|(name, _)| name)
    }

    /// Ends the deployment. Checks that no batch was given up.
    pub(super) fn stop(self) {
        assert_eq!(self.inner.given_up(), 0, "no batch was given up");
    }
}

/// Returns the functions over these tables, the content's first, and this bucket.
fn code(
    sim: &Sim,
    options: &Options,
    tables: [Arc<dyn Table>; 2],
    objects: Arc<dyn Objects>,
    watcher: Option<&Arc<dyn Watcher>>,
) -> Regenerator {
    let ([content, sitemap], objects) = match watcher {
        None => (tables, objects),
        Some(watcher) => (
            tables.map(|table| Arc::new(Seen::new(table, watcher)) as Arc<dyn Table>),
            Arc::new(Seen::new(objects, watcher)) as Arc<dyn Objects>,
        ),
    };
    let env = sim.env();
    Regenerator {
        reconciler: Reconciler {
            content: Content::new(content, env.clone()),
            table: SitemapTable::new(sitemap, env.clone()),
            known: options.known.clone(),
            env,
            metrics: options.metrics.clone(),
        },
        objects,
        limits: options.index_limits,
    }
}
