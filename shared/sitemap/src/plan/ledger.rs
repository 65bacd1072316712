//! The ledger: the rows of a page.

use serde::{Deserialize, Serialize};

use super::translation::Translation;
use crate::format::member::SEGMENT_SLOTS;
use crate::loc::Loc;
use crate::record::Departure;
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
    /// The series.
    pub series: Series,
    /// The slot in it.
    pub slot: Slot,
    /// The digest of its content.
    pub digest: String,
}

/// The body of a ledger: the rows of a page, and why anything of it is excluded. Each part of a multi-part page has its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The record's site.
    pub site: String,
    /// Its entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placed: Vec<Placement>,
    /// The address whose claim it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Address>,
    /// What became of its page, for the address whose claim it has. `None` if the page is listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departed: Option<Departure>,
    /// The address for which it waits, because another record has the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Address>,
    /// The archives in which it is a page, each with its lastmod there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<(Term, Option<When>)>,
    /// The archive whose page it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<Term>,
    /// Whether its site excludes it.
    #[serde(rename = "out", default, skip_serializing_if = "is_false")]
    pub left_out: bool,
    /// Its translation group, and its data as a member of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<(String, Translation)>,
    /// The full translation group in which it waits for room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_in: Option<String>,
    /// The digest of the content whose change readers would see.
    #[serde(rename = "seen", default, skip_serializing_if = "Option::is_none")]
    pub content_digest: Option<String>,
    /// The time of its row in the feed (Unix seconds): its last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed: Option<i64>,
    /// Its row for llms.txt: its lastmod there, and the digest of the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llms: Option<(Option<When>, String)>,
    /// The number of its highest part that may have rows. 0 for a page without parts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub parts: u32,
    /// When time alone will change its listing, in Unix seconds.
    #[serde(rename = "due", default, skip_serializing_if = "Option::is_none")]
    pub next_check_at: Option<i64>,
    /// The name and the text of the reason, if its page is excluded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<(String, String)>,
    /// Omitted parts of the page, and the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

// By reference, as serde requires.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// An address on a site.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Address {
    /// The site's host.
    pub site: String,
    /// The address as it is published. Two spellings of it are equivalent, not equal.
    pub loc: Loc,
}

impl Address {
    /// Returns whether both are the same address, possibly in different spellings, and so share a claim.
    #[must_use]
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self.site == other.site && self.loc.is_equivalent(&other.loc)
    }
}

/// Returns whether a change at that time is no longer in the feed. Both times are in Unix seconds.
#[must_use]
pub fn is_over(changed: i64, now: i64) -> bool {
    now.saturating_sub(changed) >= FEED_SECONDS
}
