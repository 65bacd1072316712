//! The changes that a plan asks for.

use sha2::{Digest, Sha256};

use super::holding::Holding;
use super::ledger::{Address, Ledger, Placement, Slot};
use crate::format::llms;
use crate::series::Series;
use crate::time::When;

/// A rendered entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// `<url>…</url>` and a newline.
    pub xml: String,
    /// As in the xml.
    pub lastmod: Option<When>,
}

impl Rendered {
    /// Returns the digest by which a ledger knows the entry in a slot: 16 hex digits of SHA-256.
    #[must_use]
    pub fn digest(&self) -> String {
        let lastmod = self.lastmod.map(|at| at.to_string()).unwrap_or_default();
        digest([self.xml.as_str(), &lastmod])
    }
}

/// Returns 16 hex digits of the SHA-256 of the texts.
pub(super) fn digest<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut hasher = Sha256::new();
    texts.into_iter().for_each(|text| hasher.update(text));
    let hash: [u8; 32] = hasher.finalize().into();
    let first = hash.first_chunk().copied().unwrap_or_default();
    format!("{:016x}", u64::from_be_bytes(first))
}

/// What the feed says of a page that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedItem {
    /// Where it is.
    pub address: Address,
    /// Its title.
    pub title: Option<String>,
    /// Its description.
    pub summary: Option<String>,
    /// When it was first published.
    pub published: Option<When>,
}

/// What llms.txt may say of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlmsItem {
    /// The host of its site.
    pub site: String,
    /// Its lastmod.
    pub lastmod: Option<When>,
    /// What is said of it.
    pub page: llms::Page,
}

impl LlmsItem {
    /// Returns the digest by which a ledger knows what a row says.
    #[must_use]
    pub fn digest_of(page: &llms::Page) -> String {
        let llms::Page {
            loc,
            type_name,
            title,
            description,
        } = page;
        digest([format!("{loc:?} {type_name:?} {title:?} {description:?}").as_str()])
    }
}

/// One change that a plan asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Write the entry into a slot that already is the record's.
    Replace(Placement, Rendered),
    /// Write the entry into a new slot, to be named by [`Plan::place`].
    Insert(Series, Rendered),
    /// Remove the entry; the slot is given back if `reuse` is set.
    Remove(Placement, Reuse),
    /// Write a row of which the ledger says all.
    Hold(Holding),
    /// Delete a row, which is no entry.
    Release(Holding),
    /// Commit only while the record with this id has the claim of the address.
    Require(Address, String),
    /// Put the page into the feed, as changed at this time (Unix seconds).
    Feed(i64, FeedItem),
    /// Write what llms.txt may say of the page.
    Llms(LlmsItem),
    /// Put a notice for search engines into the queue: the address has changed at this time.
    Notify(Address, i64),
}

/// What becomes of a slot that was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Another entry may have it.
    Free,
    /// It lies beyond the shard's capacity, or in a shard that is too large.
    Never,
}

/// The changes that make what is placed agree with what is true.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// In no particular order: they are one transaction.
    pub changes: Vec<Change>,
    /// The ledger afterwards, or nothing if nothing is to be remembered. Slots of inserted entries are missing until
    /// [`Plan::place`].
    pub ledger: Option<Ledger>,
    /// Whether the ledger differs from what it was.
    pub ledger_changes: bool,
}

impl Plan {
    /// Returns whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.ledger_changes
    }

    /// Returns the series in which new slots are needed: no more than the page's own, the videos' and the news'.
    pub fn needs_slots(&self) -> impl Iterator<Item = &Series> {
        self.insertions().map(|(series, _)| series)
    }

    /// Returns the same, each with the bytes of its entry.
    pub fn insertions(&self) -> impl Iterator<Item = (&Series, u64)> {
        self.changes.iter().filter_map(|change| match change {
            Change::Insert(series, rendered) => Some((series, rendered.xml.len() as u64)),
            _ => None,
        })
    }

    /// Names the slot of the entry to be inserted into a series.
    pub fn place(&mut self, series: &Series, slot: Slot) {
        for change in &mut self.changes {
            if let Change::Insert(wanted, rendered) = change
                && wanted == series
            {
                let placement = Placement {
                    series: series.clone(),
                    slot,
                    digest: rendered.digest(),
                };
                let placed = &mut self.ledger.get_or_insert_default().placed;
                placed.push(placement.clone());
                let rendered = Rendered {
                    xml: std::mem::take(&mut rendered.xml),
                    lastmod: rendered.lastmod,
                };
                *change = Change::Replace(placement, rendered);
                return;
            }
        }
    }
}
