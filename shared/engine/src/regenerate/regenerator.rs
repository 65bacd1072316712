//! What all that is published needs.

use std::sync::Arc;
use std::time::Duration;

use objects::Objects;
use tracing::{error, warn};

use super::index::lines::IndexLimits;
use crate::error::EngineError;
use crate::metrics::Metric;
use crate::reconcile::Reconciler;
use crate::rows::site::{Hold, SiteRow};

/// How long a slice of a scan, or of the calls for an address or of a group, goes on beginning new work: edits of the same
/// stream shard wait for it. Between two slices the stream gathers its batch for a second.
pub(super) const SLICE: Duration = Duration::from_secs(6);
/// Sites whose scans go on at the same time.
pub(super) const CONCURRENT_SITES: usize = 8;

/// The tables, the bucket and the clock.
#[derive(Clone, Debug)]
pub struct Regenerator {
    /// Both tables.
    pub reconciler: Reconciler,
    /// The bucket.
    pub objects: Arc<dyn Objects>,
    /// How much an index may hold.
    pub limits: IndexLimits,
}

impl Regenerator {
    pub(super) fn note(&self, metric: &Metric, value: u64) {
        self.reconciler.metrics.note(metric, value);
    }

    pub(super) fn note_since(&self, metric: &Metric, since: Option<i64>) {
        let Reconciler { metrics, env, .. } = &self.reconciler;
        metrics.note_since(metric, since, env.now());
    }

    /// Returns a site's row, if index, robots.txt and site file may be published: not before a first load is complete, unless they
    /// are those of a private site.
    pub(super) async fn released(&self, site: &str) -> Result<Option<SiteRow>, EngineError> {
        let row = self.reconciler.table.site(site).await?;
        Ok(row.filter(|row| row.hold == Hold::Released || !row.settings.public))
    }
}

/// A failure of a slice behind what it has done: that is kept, and the next slice begins with what has failed.
pub(super) fn end_early(error: &EngineError) {
    warn!(%error, "a slice of a scan ends early");
}

/// Goes on behind what can never succeed, with nothing: one record, shard or site must not hold up the others.
pub(super) fn step_over<T>(
    what: &str,
    outcome: Result<T, EngineError>,
) -> Result<Option<T>, EngineError> {
    match outcome {
        Err(error) if error.is_permanent() => {
            error!(what, %error, "passed over: it cannot succeed until it is corrected");
            Ok(None)
        }
        outcome => outcome.map(Some),
    }
}
