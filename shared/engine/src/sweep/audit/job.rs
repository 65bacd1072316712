//! What all steps of an audit share.

use std::time::Duration;

use objects::Objects;
use sitemap::site::SiteSettings;

use super::finding::Suspect;
use crate::error::EngineError;
use crate::reconcile::Reconciler;

/// Rows and records of one page.
pub(super) const PAGE: u32 = 250;
/// The same if only those that are suspected are looked at.
pub(super) const SIFTED: u32 = 4_000;

/// The settings of a site; nothing within if it has no row, and nothing at all for one that is not published yet or is being
/// scanned, or whose row cannot be read.
pub(super) type Settled = Option<Option<SiteSettings>>;

/// An audit of a deployment.
#[derive(Debug)]
pub struct Audit<'a> {
    /// Both tables.
    pub reconciler: &'a Reconciler,
    /// The bucket.
    pub objects: &'a dyn Objects,
    /// Whether findings are repaired.
    pub repair: bool,
    /// The pause before what seems wrong is looked at again: longer than a change usually takes. Without one nothing is: also
    /// what is on its way is a finding.
    pub second_look: Duration,
}

impl Audit<'_> {
    /// Returns those of the suspects that are still there after a pause. What was written meanwhile is not one of them: of what
    /// changes all the time, some is always behind.
    pub(super) async fn confirmed(
        &self,
        suspects: Vec<Suspect>,
        again: impl Future<Output = Result<Vec<Suspect>, EngineError>> + Send,
    ) -> Result<Vec<Suspect>, EngineError> {
        if suspects.is_empty() || self.second_look.is_zero() {
            return Ok(suspects);
        }
        self.reconciler.env.sleep(self.second_look).await;
        let seen = |suspect: &Suspect| {
            suspects.iter().any(|first| {
                first.finding.problem == suspect.finding.problem
                    && first.finding.what == suspect.finding.what
                    && first.state == suspect.state
            })
        };
        Ok(again.await?.into_iter().filter(seen).collect())
    }
}
