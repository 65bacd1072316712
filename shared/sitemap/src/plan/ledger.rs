//! The ledger: what was placed for a page.

use serde::{Deserialize, Serialize};

use super::translation::Translation;
use crate::format::member::SEGMENT_SLOTS;
use crate::loc::Loc;
use crate::series::Series;
use crate::time::When;

/// Seconds for which the feed lists a change.
pub const FEED_SECONDS: i64 = 48 * 3_600;

/// The archive of a term on one site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Term {
    /// The site's host.
    pub site: String,
    /// For example `category`.
    pub taxonomy: String,
    /// For example `news`.
    pub term: String,
}

/// An entry's permanent place in a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// The shard's number, from 1.
    pub n: u32,
    /// The position in it, from 0.
    pub i: u32,
}

impl Slot {
    /// Returns the segment that the position belongs to.
    #[must_use]
    pub fn segment(self) -> u32 {
        self.i / SEGMENT_SLOTS
    }
}

/// An entry that a record has in a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Where: which series.
    pub series: Series,
    /// Where: which slot of it.
    pub slot: Slot,
    /// The digest of the entry in it.
    pub digest: String,
}

/// What a page has placed where, and why the rest of it is left out: the ledger's body. Each part of a multi-part page
/// has its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The record's site.
    pub site: String,
    /// Its entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placed: Vec<Placement>,
    /// The address that it owns the claim of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Address>,
    /// The address that it waits for, since another record has claimed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Address>,
    /// The archives that it is a page of, with its lastmod there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<(Term, Option<When>)>,
    /// The archive that it is the page of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<Term>,
    /// Whether it is among what its site leaves out.
    #[serde(rename = "out", default, skip_serializing_if = "is_false")]
    pub left_out: bool,
    /// What it is in which translation group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<(String, Translation)>,
    /// The full translation group that it waits for room in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_in: Option<String>,
    /// The digest of what readers of the page would see as a change.
    #[serde(rename = "seen", default, skip_serializing_if = "Option::is_none")]
    pub content_digest: Option<String>,
    /// The time (Unix seconds) of its row in the feed: when it last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed: Option<i64>,
    /// Its row for llms.txt: its lastmod there, and the digest of what the row says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llms: Option<(Option<When>, String)>,
    /// The number of its highest part that may have anything placed; 0 for a page without parts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub parts: u32,
    /// When time alone will change what is listed of it, in Unix seconds.
    #[serde(rename = "due", default, skip_serializing_if = "Option::is_none")]
    pub next_check_at: Option<i64>,
    /// The refusal's name and text, if its page is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<(String, String)>,
    /// What else is left out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

// By reference, as serde asks for it.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// A loc on a site.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Address {
    /// The site's host.
    pub site: String,
    /// The loc, as it is published. Two spellings of it are equivalent, not equal.
    pub loc: Loc,
}

impl Address {
    /// Returns whether both are the same address, perhaps spelled differently: one claim.
    #[must_use]
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self.site == other.site && self.loc.is_equivalent(&other.loc)
    }
}

/// Returns whether a change of that time is no longer listed by the feed; both in Unix seconds.
#[must_use]
pub fn is_over(changed: i64, now: i64) -> bool {
    now.saturating_sub(changed) >= FEED_SECONDS
}
