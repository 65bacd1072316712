//! The progress of a first load between "loaded" and "ready".

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use engine::error::EngineError;
use engine::reconcile::Reconciler;
use engine::rows::scan::{Pass, SiteStep, Step};
use engine::rows::series::shards_of;
use local::stack::{Reading, Stack};
use objects::Objects;

use crate::terminal::progress::{Progress, Unit};

/// Scans of sites that are looked at.
const SITES: u32 = 1_000;
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

/// The scans of sites that go on, with their steps.
type Sites = BTreeMap<String, SiteStep>;

/// Returns the stage of a first load, how much of it is done, and of how much. `read` of the `records` were read by `ingest`.
fn stage_of(
    content: Option<&Pass>,
    sites: &Sites,
    read: u64,
    records: u64,
    sitemaps: &[(String, String)],
) -> (Stage, u64, u64) {
    match content.map(|pass| (&pass.step, pass.records)) {
        Some((Step::Content { .. }, done)) => (Stage::Entries, done, records),
        None if sites.is_empty() || sitemaps.is_empty() => (Stage::Reading, read, records),
        _ => {
            let is_done = |(site, path): &&(String, String)| match sites.get(site) {
                None => true,
                Some(SiteStep::Publish { after }) => Some(path) <= after.as_ref(),
                Some(_) => false,
            };
            let done = sitemaps.iter().filter(is_done).count() as u64;
            (Stage::Sitemaps, done, sitemaps.len() as u64)
        }
    }
}

/// A look at what a stack publishes.
pub(crate) struct Publishing {
    reconciler: Reconciler,
    objects: Arc<dyn Objects>,
    reading: Reading,
    records: u64,
}

impl Publishing {
    /// Creates the progress of this stack.
    ///
    /// # Errors
    ///
    /// If a table cannot be described.
    pub(crate) async fn of(stack: &Stack) -> Result<Self, EngineError> {
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
    pub(crate) async fn show(&self) -> Result<Infallible, EngineError> {
        let mut shown: Option<(Stage, Progress)> = None;
        // The sitemaps to be published: listed once.
        let mut sitemaps = None;
        loop {
            let table = &self.reconciler.table;
            let content = table.content_scan().await?.and_then(|scan| scan.pass);
            let mut sites = Sites::new();
            for (host, scan) in table.site_scans(None, SITES).await? {
                sites.insert(host, scan?.step);
            }
            let is_read = |pass: &Pass| matches!(pass.step, Step::Sites { .. });
            if content.as_ref().is_some_and(is_read) && sitemaps.is_none() {
                sitemaps = Some(self.sitemaps(sites.keys()).await?);
            }
            let listed = sitemaps.as_deref().unwrap_or_default();
            let read = self.read();
            let (stage, done, total) =
                stage_of(content.as_ref(), &sites, read, self.records, listed);
            // With the scans' end reading has long been over.
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
    use super::*;

    #[test]
    fn each_stage_counts_what_it_is_at() {
        let place = |n: u32| ("a.example".to_owned(), format!("post-sitemap{n}.xml"));
        let sitemaps = [place(1), place(2), place(3)];
        let look = |step, sites: &Sites| {
            let pass = Pass {
                revision: String::new(),
                step,
                records: 7,
                at: 0,
            };
            stage_of(Some(&pass), sites, 3, 9, &sitemaps)
        };
        let scanned = |step| Sites::from([("a.example".to_owned(), step)]);
        let waiting = scanned(SiteStep::LeftOut { after: None });
        assert_eq!(stage_of(None, &waiting, 3, 9, &[]), (Stage::Reading, 3, 9));
        let content = Step::Content { after: None };
        assert_eq!(look(content, &waiting), (Stage::Entries, 7, 9));
        for (after, done) in [(None, 0), (Some(place(2).1), 2), (Some(place(3).1), 3)] {
            let sites = scanned(SiteStep::Publish { after });
            let all_read = Step::Sites { after: None };
            assert_eq!(look(all_read, &sites), (Stage::Sitemaps, done, 3));
        }
        let ended = look(Step::Sites { after: None }, &Sites::new());
        assert_eq!(ended, (Stage::Sitemaps, 3, 3));
    }
}
