//! The audit compares every row of the sitemap table and every object with its source.
//!
//! Events keep the published files correct. The audit finds problems without an event: a row or an object that was lost,
//! truncated or overwritten, an event that was never delivered, a slot that was offered and never used.
//!
//! - It works in pages: the sitemap table's rows, then the content table's records, then each site's objects. The daily audit
//!   first finds out which of the rows and records to look at (`sums`).
//! - A suspected problem is checked again after a pause, because most differences are changes that are still being handled.
//! - It repairs a record by a reconcile that trusts the rows and not the ledger ([`Reconciler::repair`]). It repairs an object by
//!   raising a version, because the row's event publishes the object. So it writes only rows, under the usual conditions. It may
//!   run concurrently with everything else, run twice, or stop anywhere.

mod checksums;
mod finding;
mod job;
mod objects;
pub mod progress;
mod rows;
mod sums;

pub use self::finding::{Finding, Problem};
pub use self::job::Audit;
pub use self::progress::{AuditProgress, AuditStep, Reading, beginning, daily, sifting};

use std::collections::{BTreeMap, BTreeSet};

use sitemap::plan::Slot;
use tracing::warn;

use self::finding::{Remedy, Suspect};
use crate::error::EngineError;
use crate::metrics;
use crate::reconcile::Reconciler;
use crate::rows::keys::{Key, ShardId};
use crate::rows::series::Extent;
use ::objects::all_sites;

impl Audit<'_> {
    /// Runs the next page of an audit, and returns its findings.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails. `progress` is then where the next try should begin.
    pub async fn page(&self, progress: &mut AuditProgress) -> Result<Vec<Finding>, EngineError> {
        let (suspects, next) = match progress.step.clone() {
            None => return Ok(Vec::new()),
            Some(AuditStep::Sums) => {
                let next = self.add_up(progress).await?;
                (Vec::new(), Some(next))
            }
            Some(AuditStep::Rows { after }) => {
                let after = after.map(|(pk, sk)| Key { pk, sk });
                self.page_of_rows(after, progress).await?
            }
            Some(AuditStep::Records { after }) => self.page_of_records(after, progress).await?,
            Some(AuditStep::Objects { after }) => {
                if after.is_none() {
                    progress.sites.extend(all_sites(self.objects).await?);
                }
                self.page_of_objects(after, progress).await?
            }
            Some(AuditStep::Departures { site, after }) => {
                self.page_of_departures(&site, after, progress).await?
            }
        };
        if self.repair {
            progress.repaired += self.make_good(&suspects).await?;
        }
        progress.step = next;
        let findings: Vec<Finding> = suspects
            .into_iter()
            .map(|suspect| suspect.finding)
            .collect();
        for finding in &findings {
            let name = finding.problem.name().to_owned();
            *progress.found.entry(name).or_default() += 1;
        }
        Ok(findings)
    }

    /// Stores the progress of an audit for its next slice.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn save(&self, progress: &AuditProgress) -> Result<(), EngineError> {
        let table = &self.reconciler.table;
        // The progress first, because the sums of a page may come from a site that is noted in it.
        table.note_audit(progress).await?;
        match &progress.sums {
            Some(sums) => table.note_sums(sums).await,
            None => Ok(()),
        }
    }

    /// Repairs the suspects, and returns how many of the repaired ones were not harmless.
    async fn make_good(&self, suspects: &[Suspect]) -> Result<u64, EngineError> {
        let table = &self.reconciler.table;
        let mut records: BTreeMap<String, Vec<Key>> = BTreeMap::new();
        let mut left = BTreeSet::new();
        for Suspect {
            finding, remedy, ..
        } in suspects
        {
            let outcome = match remedy {
                Remedy::Nothing => Ok(()),
                Remedy::Reconcile(id, found) => {
                    records.entry(id.clone()).or_default().extend(found.clone());
                    Ok(())
                }
                Remedy::Drop(key) => table.drop_row(key).await,
                Remedy::Empty(key) => table.empty(key).await,
                Remedy::Grow(series, least) => table.grow(series, *least).await,
                Remedy::GiveBack(shard, positions) => self.give_back(shard, positions).await,
                Remedy::Lift(shard, segments) => self.lift(shard, segments).await,
                Remedy::LiftSite(host) => table.lift_site(host).await,
                Remedy::CountObjects(host) => table.count_objects(host, self.objects).await,
                Remedy::Departures(host, file) => table.call_departures(host, *file).await,
                Remedy::CreateSite(host) => self.reconciler.ensure_site(host).await.map(drop),
                Remedy::Scan(host) => {
                    let now = self.reconciler.env.now();
                    table.begin_site_scan(host, now).await
                }
            };
            if !step_over(&finding.what, outcome)? {
                left.insert(finding.what.as_str());
            }
        }
        let outcomes = self.reconciler.repair(&records).await;
        for (id, outcome) in records.keys().zip(outcomes) {
            if !step_over(id, outcome.map(drop))? {
                left.insert(id.as_str());
            }
        }
        let made_good = suspects.iter().filter(|suspect| {
            let Suspect {
                finding, remedy, ..
            } = suspect;
            let is_left = match remedy {
                Remedy::Nothing => true,
                Remedy::Reconcile(id, _) => left.contains(id.as_str()),
                _ => left.contains(finding.what.as_str()),
            };
            !is_left && !finding.problem.is_harmless()
        });
        let repaired = made_good.count() as u64;
        let Reconciler { metrics, .. } = self.reconciler;
        metrics.note(&metrics::FINDINGS_REPAIRED, repaired);
        Ok(repaired)
    }

    async fn give_back(
        &self,
        shard: &ShardId,
        positions: &BTreeSet<u32>,
    ) -> Result<(), EngineError> {
        for i in positions {
            let slot = Slot { n: shard.n, i: *i };
            self.reconciler.table.give_back(&shard.series, slot).await?;
        }
        Ok(())
    }

    async fn lift(
        &self,
        shard: &ShardId,
        segments: &BTreeMap<u32, u64>,
    ) -> Result<(), EngineError> {
        let table = &self.reconciler.table;
        // The published segments show how far the series extends.
        let last = segments.keys().next_back().copied().unwrap_or_default();
        let least = Extent::of_segments(last + 1);
        table.grow(&shard.series, least).await?;
        for (segment, by) in segments {
            table.lift(shard, *segment, *by).await?;
        }
        Ok(())
    }
}

/// Logs a permanent error and returns `false` for it, so that the audit continues with the rest.
fn step_over(what: &str, outcome: Result<(), EngineError>) -> Result<bool, EngineError> {
    match outcome {
        Err(error) if error.is_permanent() => {
            warn!(what, %error, "the audit could not repair it");
            Ok(false)
        }
        outcome => outcome.map(|()| true),
    }
}
