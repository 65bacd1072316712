//! The audit: it compares every row of the sitemap table and every object with what it was made from.
//!
//! Events keep the published files true. The audit finds what has no event: a row or an object that was lost, truncated or
//! overwritten, an event that never came, a slot that was offered and never used.
//!
//! - It works in pages: the sitemap table's rows, then the content table's records, then each site's objects. The daily one first
//!   finds out which of the rows and records to look at (`sums`).
//! - What seems wrong is looked at again after a pause: most of it is a change on its way.
//! - It repairs a record by a reconcile that believes the rows and not the ledger ([`Reconciler::repair`]). It repairs an object by
//!   raising a version: the row's event has the object published. So it writes only rows, under the usual conditions. It may run
//!   beside everything else, run twice, or stop anywhere.

mod objects;
mod rows;
pub(crate) mod sums;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use crate::error::EngineError;
use crate::keys::{Key, ShardId};
use crate::metrics;
use crate::reconcile::Reconciler;
use crate::rows::{AuditProgress, AuditStep};
use crate::slots::Extent;
use ::objects::{Objects, all_sites};
use sitemap::plan::{Series, Slot};
use sitemap::site::SiteSettings;
use tracing::warn;

/// Rows and records of one page.
const PAGE: u32 = 250;
/// The same if only those that are suspected are looked at.
const SIFTED: u32 = 4_000;

/// The settings of a site; nothing within if it has no row, and nothing at all for one that is not published yet or is being
/// scanned, or whose row cannot be read.
type Settled = Option<Option<SiteSettings>>;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Problem {
    /// A row whose key is not one of ours. It is left alone, because it may belong to another version.
    RowUnknown,
    /// A row that lacks an attribute or has a wrong one.
    RowDamaged,
    /// A row that a ledger names is not there, or not as the ledger says.
    RowLost,
    /// A row whose owner's ledger does not know it.
    RowStray,
    /// A ledger whose record is gone.
    RecordGone,
    /// The same, with a fence's token and nothing else. Harmless: a crash leaves some.
    FenceLeft,
    /// What is placed for a record is not what it says.
    RecordBehind,
    /// A record without a ledger, or settings without their site's row.
    RecordUnseen,
    /// A site on hold that has no scan: nobody would release it.
    SiteUnserved,
    /// A slot that was given back and holds an entry.
    SlotTaken,
    /// Slots that were offered, never used and not given back. Harmless: a crash leaves some.
    SlotsLeaked,
    /// A series' counter that has not come to where entries are, or a site's row that does not count all indexes that there are.
    CounterBehind,
    /// There is no object, or it is of a dropped table, or its bytes are not what was written.
    ObjectLost,
    /// An object says something else than its rows.
    ObjectDiffers,
    /// The summary of a shard says something else than its object.
    SummaryDiffers,
}

impl Problem {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::RowUnknown,
        Self::RowDamaged,
        Self::RowLost,
        Self::RowStray,
        Self::RecordGone,
        Self::FenceLeft,
        Self::RecordBehind,
        Self::RecordUnseen,
        Self::SiteUnserved,
        Self::SlotTaken,
        Self::SlotsLeaked,
        Self::CounterBehind,
        Self::ObjectLost,
        Self::ObjectDiffers,
        Self::SummaryDiffers,
    ];

    /// Its stable name, for counts and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RowUnknown => "row_unknown",
            Self::RowDamaged => "row_damaged",
            Self::RowLost => "row_lost",
            Self::RowStray => "row_stray",
            Self::RecordGone => "record_gone",
            Self::FenceLeft => "fence_left",
            Self::RecordBehind => "record_behind",
            Self::RecordUnseen => "record_unseen",
            Self::SiteUnserved => "site_unserved",
            Self::SlotTaken => "slot_taken",
            Self::SlotsLeaked => "slots_leaked",
            Self::CounterBehind => "counter_behind",
            Self::ObjectLost => "object_lost",
            Self::ObjectDiffers => "object_differs",
            Self::SummaryDiffers => "summary_differs",
        }
    }

    /// Whether nothing that is published is wrong because of it.
    #[must_use]
    pub fn is_harmless(self) -> bool {
        matches!(self, Self::SlotsLeaked | Self::FenceLeft | Self::RowUnknown)
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub problem: Problem,
    /// The row, record, or object.
    pub what: String,
    /// More of it.
    pub detail: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            problem,
            what,
            detail,
        } = self;
        write!(f, "{} {what}: {detail}", problem.name())
    }
}

/// A finding, and its remedy.
struct Suspect {
    finding: Finding,
    remedy: Remedy,
    /// What it was when it was looked at: an object's ETag, or a ledger's body.
    state: String,
}

/// What repairs a finding.
enum Remedy {
    /// Nothing that the audit should do.
    Nothing,
    /// Reconcile the record, with a row that seems to be its own.
    Reconcile(String, Option<Key>),
    /// Delete the row.
    Drop(Key),
    /// Empty the entry's row.
    Empty(Key),
    /// Make the series at least so large.
    Grow(Series, Extent),
    /// Give the shard's positions back.
    GiveBack(ShardId, BTreeSet<u32>),
    /// Raise the stamps of a shard's segments by so much.
    Lift(ShardId, BTreeMap<u32, u64>),
    /// Raise the version of the site's settings.
    LiftSite(String),
    /// Count the site's indexes and its llms.txt again.
    CountObjects(String),
    /// Create the site's row.
    CreateSite(String),
    /// Have the site scanned.
    Scan(String),
}

impl Suspect {
    fn new(
        problem: Problem,
        what: impl fmt::Display,
        detail: impl fmt::Display,
        remedy: Remedy,
    ) -> Self {
        let finding = Finding {
            problem,
            what: what.to_string(),
            detail: detail.to_string(),
        };
        Self {
            finding,
            remedy,
            state: String::new(),
        }
    }
}

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
    /// Does the next page of an audit, and returns what it has found.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails: `progress` is then where the next try should begin.
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

    /// Stores how far an audit is, for the next slice of it.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn save(&self, progress: &AuditProgress) -> Result<(), EngineError> {
        let table = &self.reconciler.table;
        // First: what a page of sums adds may come from a site that is noted here.
        table.note_audit(progress).await?;
        match &progress.sums {
            Some(sums) => table.note_sums(sums).await,
            None => Ok(()),
        }
    }

    /// Those of the suspects that are still there after a pause. What was written meanwhile is not one of them: of
    /// what changes all the time, some is always behind.
    async fn confirmed(
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

    /// Repairs what can be repaired, and returns how much of it was not harmless.
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
        // What is published of a series reaches as far as the series does.
        let last = segments.keys().next_back().copied().unwrap_or_default();
        let least = Extent::of_segments(last + 1);
        table.grow(&shard.series, least).await?;
        for (segment, by) in segments {
            table.lift(shard, *segment, *by).await?;
        }
        Ok(())
    }
}

/// An audit that begins now and looks at everything.
#[must_use]
pub fn beginning(now: i64) -> AuditProgress {
    AuditProgress {
        began: now,
        step: Some(AuditStep::Rows { after: None }),
        sites: BTreeSet::new(),
        found: BTreeMap::new(),
        repaired: 0,
        suspected: None,
        sums: None,
        read: 0,
    }
}

/// An audit that begins now and looks at what is suspected (`sums`).
#[must_use]
pub fn daily(now: i64) -> AuditProgress {
    AuditProgress {
        step: Some(AuditStep::Sums),
        ..beginning(now)
    }
}

/// The same, of one process that stores nothing: the clock may have an audit under way. `seed`: a random text.
#[must_use]
pub fn sifting(now: i64, seed: String) -> AuditProgress {
    AuditProgress {
        sums: Some(sums::Sums::unstored(now, seed)),
        ..daily(now)
    }
}

/// Goes on behind what can never succeed, with false: it must not keep the audit from the rest.
fn step_over(what: &str, outcome: Result<(), EngineError>) -> Result<bool, EngineError> {
    match outcome {
        Err(error) if error.is_permanent() => {
            warn!(what, %error, "the audit could not repair it");
            Ok(false)
        }
        outcome => outcome.map(|()| true),
    }
}
