//! The changes of a plan.

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
    /// The lastmod in the xml. `None` if it has none.
    pub lastmod: Option<When>,
}

impl Rendered {
    /// Returns the entry's digest for the ledger: 16 hex digits of SHA-256.
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

/// The feed's data about a changed page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedItem {
    /// The page's address.
    pub address: Address,
    /// Its title.
    pub title: Option<String>,
    /// Its description.
    pub summary: Option<String>,
    /// The time of the first publication.
    pub published: Option<When>,
}

/// The data of a page for llms.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlmsItem {
    /// The host of its site.
    pub site: String,
    /// Its lastmod.
    pub lastmod: Option<When>,
    /// The page as llms.txt lists it.
    pub page: llms::Page,
}

impl LlmsItem {
    /// Returns the row's digest for the ledger.
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

/// One change of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Write the entry into a slot that is the record's already.
    Replace(Placement, Rendered),
    /// Write the entry into a new slot, which [`Plan::place`] will name.
    Insert(Series, Rendered),
    /// Remove the entry, and give the slot back if `reuse` allows it.
    Remove(Placement, Reuse),
    /// Write a row whose content is in the ledger.
    Hold(Holding),
    /// Delete a row that is not an entry.
    Release(Holding),
    /// Take the claim of the address from the record with this id, whose page has departed from it. That page is called.
    Take(Address, String),
    /// Commit only while the record with this id has the claim of the address.
    Require(Address, String),
    /// Write the page's row of the feed, with this time of the change (Unix seconds).
    Feed(i64, FeedItem),
    /// Write the page's row for llms.txt.
    Llms(LlmsItem),
    /// Write a notice for search engines that the address changed at this time (Unix seconds).
    Notify(Address, i64),
}

/// What happens to a slot that was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Another entry may have it.
    Free,
    /// It is beyond the shard's capacity, or in a shard that is too large.
    Never,
}

/// The changes that make the placement of a page agree with its record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The changes, in no particular order: they are one transaction.
    pub changes: Vec<Change>,
    /// The new ledger. `None` if it is deleted. Slots of inserted entries are missing until [`Plan::place`].
    pub ledger: Option<Ledger>,
    /// Whether the ledger differs from the present one.
    pub ledger_changes: bool,
}

impl Plan {
    /// Returns whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.ledger_changes
    }

    /// Returns the series in which new slots are needed: at most the page's own, the videos' and the news'.
    pub fn needs_slots(&self) -> impl Iterator<Item = &Series> {
        self.insertions().map(|(series, _)| series)
    }

    /// Returns the same series, each with the bytes of its entry.
    pub fn insertions(&self) -> impl Iterator<Item = (&Series, u64)> {
        self.changes.iter().filter_map(|change| match change {
            Change::Insert(series, rendered) => Some((series, rendered.xml.len() as u64)),
            _ => None,
        })
    }

    /// Sets the slot of the entry to be inserted into a series.
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
