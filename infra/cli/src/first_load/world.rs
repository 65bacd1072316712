//! Tables and a bucket in memory, and the engine over them.
//!
//! - The scan of all content is done before there is any: all that is placed is placed in bulk, in the order of the input, while the
//!   sites are on hold.
//! - What follows from a site's row is published by the engine, as everywhere: its indexes, robots.txt, feed and llms.txt.
//! - No time goes by and no number is drawn, so the same content gives the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::bulk::{Shard, release};
use engine::content::Content;
use engine::error::EngineError;
use engine::keys::Subject;
use engine::metrics::Metrics;
use engine::reconcile::{KnownSites, Reconciler};
use engine::regenerate::index::IndexLimits;
use engine::regenerate::{Regenerator, subject};
use engine::stream::{Handled, StreamRecord};
use engine::{Env, Environment, SitemapTable};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use objects::{MemoryObjects, Objects};
use serde_json::Value as Json;
use sitemap::site::SiteSettings;
use table::{Item, MemoryTable, Schema, Table as _};

use super::error::BuildError;
use crate::content::item;
use crate::status::exclusions::LeftOut;

/// Rounds of following changes. A few are needed. More mean that the changes never end, which is a bug.
const MAX_ROUNDS: usize = 1_000;

/// What follows from changes, each once.
type Changes = Arc<Mutex<BTreeMap<Subject, StreamRecord>>>;

/// A deployment in memory.
#[derive(Debug)]
pub struct World {
    content: MemoryTable,
    rows: MemoryTable,
    changes: Changes,
    regenerator: Regenerator,
    now: i64,
    /// The hosts that have a record of settings.
    pub(super) settled: BTreeSet<String>,
    /// The sites that have listed pages. Of each: how many, and the first by name.
    pub(super) listed: BTreeMap<String, (u64, Option<String>)>,
    /// The excluded pages.
    pub(super) left_out: LeftOut,
}

/// A world without time and chance.
#[derive(Debug)]
struct Still {
    now: i64,
    counted: AtomicU64,
}

impl Environment for Still {
    fn now(&self) -> i64 {
        self.now
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }

    /// Numbers that look drawn (Steele, Lea and Flood: SplitMix): tokens have to differ, and slots are offered by chance.
    fn random(&self) -> u64 {
        let mut number = self
            .counted
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }
}

impl World {
    pub(super) async fn begin(now: i64) -> Result<Self, BuildError> {
        let env = Env::new(Still {
            now,
            counted: AtomicU64::new(1),
        });
        let changes = Changes::default();
        let noted = changes.clone();
        let rows = MemoryTable::watched(Schema::of_texts(&["pk", "sk"]), move |change| {
            let record = StreamRecord::from(&change);
            if let Some(subject) = subject(&record) {
                let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
                noted.insert(subject, record);
            }
        });
        let content = MemoryTable::new(Schema::of_texts(&["id"]));
        let world = Self {
            regenerator: Regenerator {
                reconciler: Reconciler {
                    content: Content::new(Arc::new(content.clone()), env.clone()),
                    table: SitemapTable::new(Arc::new(rows.clone()), env.clone()),
                    known: KnownSites::Any,
                    env,
                    metrics: Metrics::default(),
                },
                objects: Arc::new(MemoryObjects::default()),
                limits: IndexLimits::default(),
            },
            content,
            rows,
            changes,
            now,
            settled: BTreeSet::new(),
            listed: BTreeMap::new(),
            left_out: LeftOut::default(),
        };
        let table = &world.regenerator.reconciler.table;
        table.begin_content_scan(None).await?;
        world.follow(|_| true).await?;
        Ok(world)
    }

    /// Writes a record of settings. Records of pages are not kept: nobody reads them again.
    pub(super) fn put_settings(&self, record: &Json) -> Result<(), BuildError> {
        let put = self.content.put(item(record), None);
        at_once(put.map(|put| put.map_err(|error| EngineError::from(error).into())))
    }

    /// Writes a row, of which nothing is to follow.
    pub(super) fn put_row(&self, row: Item) -> Result<(), BuildError> {
        let put = self.rows.put(row, None);
        at_once(put.map(|put| put.map_err(|error| EngineError::from(error).into())))
    }

    /// Returns the epoch of a known site. Creates the site, on hold, if it is missing.
    pub(super) fn epoch(&self, host: &str) -> Result<Option<u64>, BuildError> {
        let site = self.regenerator.reconciler.ensure_site(host);
        let row = at_once(site.map(|row| row.map_err(BuildError::from)))?;
        Ok(row.map(|row| row.epoch))
    }

    /// Publishes a sitemap.
    pub(super) fn publish_shard(
        &self,
        shard: &Shard,
        site: &SiteSettings,
        epoch: u64,
    ) -> Result<(), BuildError> {
        let publish = shard.publish(&self.regenerator, site, epoch);
        at_once(publish.map(|published| published.map_err(BuildError::from)))
    }

    /// Releases these sites, of which all sitemaps are published, and publishes what else they have.
    pub(super) async fn publish(&self, sites: &[Arc<SiteSettings>]) -> Result<(), BuildError> {
        for site in sites {
            let table = &self.regenerator.reconciler.table;
            release(table, &site.host, self.now).await?;
        }
        // What follows from pages' rows is placed already.
        self.lock()
            .retain(|subject, _| matches!(subject, Subject::Site(_)));
        self.follow(|_| true).await
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Subject, StreamRecord>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles the changes of some kind and what follows from them, until no change of that kind is left.
    async fn follow(&self, is_due: impl Fn(&Subject) -> bool) -> Result<(), BuildError> {
        for _ in 0..MAX_ROUNDS {
            let due: Vec<StreamRecord> = {
                let mut changes = self.lock();
                let due = changes.extract_if(.., |subject, _| is_due(subject));
                due.map(|(_, record)| record).collect()
            };
            if due.is_empty() {
                return Ok(());
            }
            // Nothing fails in memory for a reason that passes.
            if self.regenerator.regenerate(&due).await != Handled::All {
                return Err(BuildError::Stuck(due.len()));
            }
        }
        Err(BuildError::Stuck(self.lock().len()))
    }

    /// Returns the sitemap table.
    #[must_use]
    pub fn table(&self) -> &SitemapTable {
        &self.regenerator.reconciler.table
    }

    /// Returns the bucket.
    #[must_use]
    pub fn objects(&self) -> Arc<dyn Objects> {
        self.regenerator.objects.clone()
    }

    /// Returns the excluded pages, if they were counted.
    #[must_use]
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    pub(super) fn now(&self) -> i64 {
        self.now
    }
}

/// Returns the answer of what is in memory, which comes at once.
fn at_once<T>(answer: impl Future<Output = Result<T, BuildError>>) -> Result<T, BuildError> {
    let none = || Err(BuildError::Stuck(1));
    answer.now_or_never().unwrap_or_else(none)
}
