//! A stage in memory, without time and chance, or one over the bucket of a stack.
//!
//! Where the bucket is in memory too, no time goes by and no number is drawn, so the same content gives the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::bulk::{Shard, Stage};
use engine::reconcile::KnownSites;
use engine::regenerate::index::IndexLimits;
use engine::{Env, Environment, SitemapTable};
use futures::future::BoxFuture;
use objects::{MemoryObjects, Objects};
use serde_json::Value as Json;
use sitemap::site::SiteSettings;
use table::Item;
use tokio::runtime::Handle;

use super::error::FirstLoadError;
use crate::content::item;
use crate::status::exclusions::LeftOut;

/// A deployment whose tables are in memory. Its methods that are not `async` block.
#[derive(Debug)]
pub struct World {
    stage: Stage,
    /// Answers of a bucket that is not in memory come from there.
    runtime: Handle,
    /// The hosts that have a record of settings.
    pub(crate) settled: BTreeSet<String>,
    /// The sites that have listed pages. Of each: how many, and the first by name.
    pub(crate) listed: BTreeMap<String, (u64, Option<String>)>,
    /// The excluded pages.
    pub(crate) left_out: LeftOut,
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
    /// Creates an empty world at a time in Unix seconds, with a bucket in memory.
    ///
    /// # Errors
    ///
    /// If the engine fails.
    pub(crate) async fn begin(now: i64) -> Result<Self, FirstLoadError> {
        let env = Env::new(Still {
            now,
            counted: AtomicU64::new(1),
        });
        let objects = Arc::new(MemoryObjects::default());
        Self::over(objects, KnownSites::Any, env).await
    }

    /// Creates a world without pages over an empty bucket.
    ///
    /// # Errors
    ///
    /// If the engine or the bucket fails.
    pub(crate) async fn over(
        objects: Arc<dyn Objects>,
        known: KnownSites,
        env: Env,
    ) -> Result<Self, FirstLoadError> {
        Ok(Self {
            stage: Stage::begin(objects, IndexLimits::default(), known, env).await?,
            runtime: Handle::current(),
            settled: BTreeSet::new(),
            listed: BTreeMap::new(),
            left_out: LeftOut::default(),
        })
    }

    /// Writes a record of settings.
    pub(super) fn put_settings(&self, record: &Json) -> Result<(), FirstLoadError> {
        Ok(self
            .runtime
            .block_on(self.stage.put_settings(item(record)))?)
    }

    /// Writes a row, from which nothing is to follow.
    pub(super) fn put_row(&self, row: Item) -> Result<(), FirstLoadError> {
        Ok(self.runtime.block_on(self.stage.put_row(row))?)
    }

    /// Returns a new token of rows.
    pub(super) fn token(&self) -> String {
        self.stage.regenerator.reconciler.env.token()
    }

    /// Returns the epoch of a site.
    pub(super) fn epoch(&self, host: &str) -> Result<u64, FirstLoadError> {
        let epoch = self.runtime.block_on(self.stage.epoch(host))?;
        epoch.ok_or_else(|| FirstLoadError::Unknown(host.to_owned()))
    }

    /// Publishes a sitemap.
    pub(super) fn publish_shard(
        &self,
        shard: &Shard,
        site: &SiteSettings,
        epoch: u64,
    ) -> Result<(), FirstLoadError> {
        let publish = shard.publish(&self.stage.regenerator, site, epoch);
        Ok(self.runtime.block_on(publish)?)
    }

    /// Publishes what sites have besides their sitemaps.
    pub(super) fn publish(&self, sites: &[Arc<SiteSettings>]) -> Result<(), FirstLoadError> {
        Ok(self.runtime.block_on(self.stage.publish(sites))?)
    }

    /// Returns the rows that are in memory.
    pub(super) fn rows(&self) -> Result<Vec<Item>, FirstLoadError> {
        Ok(self.runtime.block_on(self.stage.rows())?)
    }

    /// Returns the sitemap table.
    #[must_use]
    pub fn table(&self) -> &SitemapTable {
        self.stage.table()
    }

    /// Returns the bucket.
    #[must_use]
    pub fn objects(&self) -> Arc<dyn Objects> {
        self.stage.regenerator.objects.clone()
    }

    /// Returns the excluded pages, if they were counted.
    #[must_use]
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Returns which hosts are sites.
    pub(super) fn known(&self) -> KnownSites {
        self.stage.regenerator.reconciler.known.clone()
    }

    pub(crate) fn now(&self) -> i64 {
        self.stage.regenerator.reconciler.env.now()
    }
}
