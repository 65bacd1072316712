//! How far a first load is, between "loaded" and "ready".

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use cli::progress::{Progress, Unit};
use engine::error::EngineError;
use engine::reconcile::Reconciler;
use engine::sites::{Pass, Step};
use engine::slots::shards_of;
use local::stack::{Reading, Stack};
use objects::Objects;

/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What a first load goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// `ingest` reads what has changed.
    Reading,
    /// The scan makes entries of records.
    Entries,
    /// The scan publishes sitemaps.
    Sitemaps,
}

impl Stage {
    fn progress(self, total: u64) -> Progress {
        let (what, unit) = match self {
            Self::Reading => ("reading changes", "records"),
            Self::Entries => ("making entries", "records"),
            Self::Sitemaps => ("publishing", "sitemaps"),
        };
        Progress::begin(what, Unit::Things(unit), Some(total))
    }
}

/// A look at what a stack publishes.
pub(super) struct Publishing {
    reconciler: Reconciler,
    objects: Arc<dyn Objects>,
    reading: Reading,
    records: u64,
}

impl Publishing {
    /// Of this stack.
    ///
    /// # Errors
    ///
    /// If a table cannot be described.
    pub(super) async fn of(stack: &Stack) -> Result<Self, EngineError> {
        Ok(Self {
            reconciler: stack.reconciler.clone(),
            objects: stack.objects.clone(),
            reading: stack.reading(),
            records: stack.count_records().await?,
        })
    }

    /// Shows how far the publishing is, until this is dropped: the caller knows when it has ended.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails.
    pub(super) async fn show(&self) -> Result<Infallible, EngineError> {
        let mut shown: Option<(Stage, Progress)> = None;
        // The sitemaps to be published, in the scan's order: listed once.
        let mut sitemaps = None;
        loop {
            let job = self.reconciler.table.job().await?;
            let (stage, done, total) = match job.and_then(|job| job.pass) {
                None => (Stage::Reading, self.read(), self.records),
                Some(Pass {
                    step: Step::Scan { .. },
                    records,
                    ..
                }) => (Stage::Entries, records, self.records),
                Some(Pass {
                    step: Step::Publish { after },
                    sites,
                    ..
                }) => {
                    if sitemaps.is_none() {
                        sitemaps = Some(self.sitemaps(&sites).await?);
                    }
                    let all = sitemaps.as_deref().unwrap_or_default();
                    let done = all.iter().filter(|place| Some(*place) <= after.as_ref());
                    (Stage::Sitemaps, done.count() as u64, all.len() as u64)
                }
            };
            // With the scan's end the row is gone, and reading has long been over.
            let is_over = stage == Stage::Reading
                && shown
                    .as_ref()
                    .is_some_and(|(stage, _)| *stage != Stage::Reading);
            if !is_over {
                if shown.as_ref().is_none_or(|(before, _)| *before != stage) {
                    shown = Some((stage, stage.progress(total)));
                }
                if let Some((_, progress)) = &mut shown {
                    progress.reach(done);
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn read(&self) -> u64 {
        let sources = self.reading.get().into_iter().flatten();
        sources.map(|source| source().done).sum()
    }

    async fn sitemaps<'a>(
        &self,
        sites: impl IntoIterator<Item = &'a String>,
    ) -> Result<Vec<(String, String)>, EngineError> {
        let mut places = Vec::new();
        for site in sites {
            let shards = shards_of(&self.reconciler.table, &*self.objects, site).await?;
            places.extend(shards.into_iter().map(|(path, _)| (site.clone(), path)));
        }
        Ok(places)
    }
}
