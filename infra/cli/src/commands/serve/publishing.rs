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

/// What a first load is at, how much of that is done, and of how much. `read` of the `records` were read by `ingest`.
fn stage_of(
    pass: Option<&Pass>,
    read: u64,
    records: u64,
    sitemaps: &[(String, String)],
) -> (Stage, u64, u64) {
    match pass.map(|pass| (&pass.step, pass.records)) {
        None => (Stage::Reading, read, records),
        Some((Step::Scan { .. }, done)) => (Stage::Entries, done, records),
        Some((Step::Publish { after }, _)) => {
            let done = sitemaps
                .iter()
                .filter(|place| Some(*place) <= after.as_ref());
            (Stage::Sitemaps, done.count() as u64, sitemaps.len() as u64)
        }
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
            let pass = self.reconciler.table.job().await?.and_then(|job| job.pass);
            if let Some(Pass {
                step: Step::Publish { .. },
                sites,
                ..
            }) = &pass
                && sitemaps.is_none()
            {
                sitemaps = Some(self.sitemaps(sites).await?);
            }
            let listed = sitemaps.as_deref().unwrap_or_default();
            let (stage, done, total) = stage_of(pass.as_ref(), self.read(), self.records, listed);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_stage_counts_what_it_is_at() {
        let place = |n: u32| ("a.example".to_owned(), format!("post-sitemap{n}.xml"));
        let sitemaps = [place(1), place(2), place(3)];
        let look = |step| {
            let pass = Pass {
                step,
                sites: BTreeSet::from(["a.example".to_owned()]),
                records: 7,
                at: 0,
            };
            stage_of(Some(&pass), 3, 9, &sitemaps)
        };
        assert_eq!(stage_of(None, 3, 9, &[]), (Stage::Reading, 3, 9));
        let scan = Step::Scan { after: None };
        assert_eq!(look(scan), (Stage::Entries, 7, 9));
        for (after, done) in [(None, 0), (Some(place(2)), 2), (Some(place(3)), 3)] {
            assert_eq!(look(Step::Publish { after }), (Stage::Sitemaps, done, 3));
        }
    }
}
