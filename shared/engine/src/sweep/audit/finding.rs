//! The findings of an audit, and their remedies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use sitemap::plan::Series;

use crate::rows::keys::{Key, ShardId};
use crate::rows::series::Extent;

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Problem {
    /// A row whose key is unknown. It is left alone, because it may belong to another version.
    RowUnknown,
    /// A row that lacks an attribute or has an invalid one.
    RowDamaged,
    /// A row that a ledger names is missing or differs from the ledger.
    RowLost,
    /// An orphaned row: its owner's ledger does not name it.
    RowStray,
    /// A ledger whose record is gone.
    RecordGone,
    /// A ledger with only a fence's token, whose record is gone. Harmless: a crash leaves such rows.
    FenceLeft,
    /// The rows of a record do not agree with it.
    RecordBehind,
    /// A record without a ledger, or settings without their site's row.
    RecordUnseen,
    /// A site on hold without a scan: it would never be released.
    SiteUnserved,
    /// A free slot that contains an entry.
    SlotTaken,
    /// Slots that were offered, never used and not given back. Harmless: a crash leaves such slots.
    SlotsLeaked,
    /// A series' counter that is behind its entries, or a site's row that counts fewer indexes than exist.
    CounterBehind,
    /// The object is missing, comes from a dropped table, or has other bytes than were written.
    ObjectLost,
    /// An object disagrees with its rows.
    ObjectDiffers,
    /// The summary of a shard disagrees with its object.
    SummaryDiffers,
}

impl Problem {
    /// All kinds.
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

    /// Returns whether the problem leaves all published files correct.
    #[must_use]
    pub fn is_harmless(self) -> bool {
        matches!(self, Self::SlotsLeaked | Self::FenceLeft | Self::RowUnknown)
    }
}

/// A problem that an audit found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub problem: Problem,
    /// The key of the row, record or object.
    pub what: String,
    /// Further details.
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

/// A finding with its remedy.
pub(super) struct Suspect {
    pub(super) finding: Finding,
    pub(super) remedy: Remedy,
    /// The state at the time of the finding: an object's ETag, or a ledger's body.
    pub(super) state: String,
}

/// The repair of a finding.
pub(super) enum Remedy {
    /// The audit should do nothing.
    Nothing,
    /// Reconcile the record. The row, if there is one, seems to be its own.
    Reconcile(String, Option<Key>),
    /// Delete the row.
    Drop(Key),
    /// Empty the entry's row.
    Empty(Key),
    /// Raise the extent of the series to at least this.
    Grow(Series, Extent),
    /// Give the shard's positions back.
    GiveBack(ShardId, BTreeSet<u32>),
    /// Raise the stamps of a shard's segments by these numbers.
    Lift(ShardId, BTreeMap<u32, u64>),
    /// Raise the version of the site's settings.
    LiftSite(String),
    /// Count the site's indexes and its llms.txt again.
    CountObjects(String),
    /// Have this file of the site's departures published.
    Departures(String, u32),
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
