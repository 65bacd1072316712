//! What an audit finds, and what repairs it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use sitemap::plan::Series;

use crate::rows::keys::{Key, ShardId};
use crate::rows::series::Extent;

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

    /// Returns the problem's stable name, for counts and metrics.
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

    /// Returns whether nothing that is published is wrong because of it.
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
pub(super) struct Suspect {
    pub(super) finding: Finding,
    pub(super) remedy: Remedy,
    /// What it was when it was looked at: an object's ETag, or a ledger's body.
    pub(super) state: String,
}

/// What repairs a finding.
pub(super) enum Remedy {
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
    pub(super) fn new(
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
