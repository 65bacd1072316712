//! The inputs and helpers that all steps of an audit share.

use std::time::Duration;

use objects::Objects;
use sitemap::site::SiteSettings;

use super::finding::Suspect;
use crate::error::EngineError;
use crate::reconcile::Reconciler;

/// Rows and records of one page if all are looked at.
pub(super) const PAGE: u32 = 250;
/// Rows and records of one page if only suspected ones are looked at.
pub(super) const SIFTED: u32 = 4_000;

/// The settings of a site. The inner value is `None` if the site has no row. The outer value is `None` if the site cannot be
/// judged: it is not published yet or being scanned, or its row cannot be read.
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
    /// The pause before a suspected problem is checked again: longer than a change usually takes. If it is zero, there is no
    /// second check, and changes that are still being handled are findings too.
    pub second_look: Duration,
}

impl Audit<'_> {
    /// Returns the suspects that are still wrong after a pause. Those that were written meanwhile are dropped, because rows that
    /// change all the time are always a little behind.
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
