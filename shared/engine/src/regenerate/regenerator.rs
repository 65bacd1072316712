//! The inputs of publishing.

use std::sync::Arc;
use std::time::Duration;

use objects::Objects;
use tracing::{error, warn};

use super::index::lines::IndexLimits;
use crate::error::EngineError;
use crate::metrics::Metric;
use crate::reconcile::Reconciler;
use crate::rows::site::{Hold, SiteRow};

/// The time in which a slice begins new work. This applies to scans, groups, and pages that wait for an address. Edits of the
/// same stream shard wait for it. Between two slices the stream gathers its batch for a second.
pub(super) const SLICE: Duration = Duration::from_secs(6);
/// Sites whose scans run concurrently.
pub(super) const CONCURRENT_SITES: usize = 8;

/// The tables, the bucket and the limits of indexes.
#[derive(Clone, Debug)]
pub struct Regenerator {
    /// Both tables.
    pub reconciler: Reconciler,
    /// The bucket.
    pub objects: Arc<dyn Objects>,
    /// The limits of an index.
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

    /// Returns a site's row if its index, robots.txt and site file may be published. A site on hold is not published before its
    /// first load is complete, unless it is private.
    pub(super) async fn released(&self, site: &str) -> Result<Option<SiteRow>, EngineError> {
        let row = self.reconciler.table.site(site).await?;
        Ok(row.filter(|row| row.hold == Hold::Released || !row.settings.public))
    }
}

/// Logs a failure in the middle of a slice. The finished part is kept, and the next slice begins with the failed part.
pub(super) fn end_early(error: &EngineError) {
    warn!(%error, "a slice of a scan ends early");
}

/// Logs a permanent error and returns `None` for it, so that one record, shard or site does not block the others.
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
