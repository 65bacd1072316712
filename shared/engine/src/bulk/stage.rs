//! A sitemap table in memory in which a first load is placed, over the bucket in which it is published.
//!
//! - The scan of all content is done before there is any: all that is placed is placed in bulk, while the sites are on hold.
//! - What follows from a site's row is published by the engine, as everywhere: its indexes, robots.txt, feed and llms.txt.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use objects::Objects;
use sitemap::site::SiteSettings;
use table::{Item, MemoryTable, Scan, Schema, Table as _};

use crate::content::Content;
use crate::env::Env;
use crate::error::EngineError;
use crate::metrics::Metrics;
use crate::reconcile::{KnownSites, Reconciler};
use crate::regenerate::index::IndexLimits;
use crate::regenerate::{Regenerator, subject};
use crate::rows::keys::Subject;
use crate::rows::site::Hold;
use crate::rows::table::SitemapTable;
use crate::stream::{Handled, StreamRecord};

/// Rounds of following changes. A few are needed. More mean that the changes never end, which is a bug.
const MAX_ROUNDS: usize = 1_000;

/// What follows from changes, each once.
type Changes = Arc<Mutex<BTreeMap<Subject, StreamRecord>>>;

/// Tables in memory, and the engine over them and a bucket.
#[derive(Clone, Debug)]
pub struct Stage {
    content: MemoryTable,
    rows: MemoryTable,
    changes: Changes,
    /// The engine.
    pub regenerator: Regenerator,
}

impl Stage {
    /// Creates a stage without pages over an empty bucket.
    ///
    /// # Errors
    ///
    /// If the bucket fails.
    pub async fn begin(
        objects: Arc<dyn Objects>,
        limits: IndexLimits,
        known: KnownSites,
        env: Env,
    ) -> Result<Self, EngineError> {
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
        let reconciler = Reconciler {
            content: Content::new(Arc::new(content.clone()), env.clone()),
            table: SitemapTable::new(Arc::new(rows.clone()), env.clone()),
            known,
            env,
            metrics: Metrics::default(),
        };
        let stage = Self {
            content,
            rows,
            changes,
            regenerator: Regenerator {
                reconciler,
                objects,
                limits,
            },
        };
        stage.table().begin_content_scan(None).await?;
        stage.follow().await?;
        Ok(stage)
    }

    /// Returns the sitemap table.
    #[must_use]
    pub fn table(&self) -> &SitemapTable {
        &self.regenerator.reconciler.table
    }

    /// Writes the record of a site's settings. Records of pages are not kept, because nobody reads them.
    ///
    /// # Errors
    ///
    /// If no table takes the record.
    pub async fn put_settings(&self, record: Item) -> Result<(), EngineError> {
        Ok(self.content.put(record, None).await?)
    }

    /// Writes a row, from which nothing is to follow.
    ///
    /// # Errors
    ///
    /// If no table takes the row.
    pub async fn put_row(&self, row: Item) -> Result<(), EngineError> {
        Ok(self.rows.put(row, None).await?)
    }

    /// Returns the epoch of a known site. Creates the site, on hold, if it is missing.
    ///
    /// # Errors
    ///
    /// If the site's settings cannot be read.
    pub async fn epoch(&self, host: &str) -> Result<Option<u64>, EngineError> {
        let row = self.regenerator.reconciler.ensure_site(host).await?;
        Ok(row.map(|row| row.epoch))
    }

    /// Releases these sites, of which all sitemaps are published, and publishes what else they have.
    ///
    /// # Errors
    ///
    /// If the bucket fails.
    pub async fn publish(&self, sites: &[Arc<SiteSettings>]) -> Result<(), EngineError> {
        for site in sites {
            self.epoch(&site.host).await?;
            self.release(&site.host).await?;
        }
        // What follows from pages' rows is placed already.
        self.lock()
            .retain(|subject, _| matches!(subject, Subject::Site(_) | Subject::Departures(..)));
        self.follow().await
    }

    /// Returns all rows.
    ///
    /// # Errors
    ///
    /// None in memory.
    pub async fn rows(&self) -> Result<Vec<Item>, EngineError> {
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let scan = Scan {
                after,
                limit: None,
                attributes: None,
                consistent: true,
            };
            let page = self.rows.scan(scan).await?;
            rows.extend(page.items);
            after = page.next;
            if after.is_none() {
                return Ok(rows);
            }
        }
    }

    /// Releases a site. What is published of it follows from the event of its row.
    async fn release(&self, host: &str) -> Result<(), EngineError> {
        let (table, now) = (self.table(), self.regenerator.reconciler.env.now());
        table
            .move_hold(host, Hold::Loading, Hold::Publishing)
            .await?;
        if let Some(scan) = table.site_scan(host).await? {
            table.advance_site_scan(host, &scan, None, now).await?;
        }
        table
            .move_hold(host, Hold::Publishing, Hold::Released)
            .await
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Subject, StreamRecord>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles all changes and what follows from them, until no change is left.
    async fn follow(&self) -> Result<(), EngineError> {
        for _ in 0..MAX_ROUNDS {
            let due: Vec<StreamRecord> = std::mem::take(&mut *self.lock()).into_values().collect();
            if due.is_empty() {
                return Ok(());
            }
            if self.regenerator.regenerate(&due).await != Handled::All {
                return Err(stuck(due.len()));
            }
        }
        Err(stuck(self.lock().len()))
    }
}

fn stuck(changes: usize) -> EngineError {
    EngineError::Service {
        operation: "publishing",
        message: format!("{changes} changes were not handled; the log says why"),
    }
}
