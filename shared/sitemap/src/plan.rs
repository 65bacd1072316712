//! The plan: from what is true of a record and what was placed for it, the changes that make the two agree.
//!
//! - `plan` is pure. Every one of its inputs has an event that leads to another reconcile when it changes.
//! - A plan is applied whole, in one transaction, or not at all.
//! - A record that is already placed rightly has a plan without changes.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::eligibility::{self, Newest, Refusal};
use crate::loc::Loc;
use crate::member::SEGMENT_SLOTS;
use crate::record::{ContentRecord, cut};
use crate::site::{SITE_TYPE, SiteSettings};
use crate::time::When;

mod difference;
mod group;
mod listing;
mod render;
#[cfg(test)]
mod tests;

use self::difference::{Wanted, finish};
pub use self::group::{Translation, Translations};
use self::listing::Listing;

/// Bytes of one rendered entry, so that its row stays well under DynamoDB's 400 KB and a reconcile under a
/// transaction's 4 MB.
pub const MAX_ENTRY_BYTES: usize = 300 * 1024;
/// Pages that can be translations of each other: each of them lists all.
pub const MAX_GROUP: usize = 200;
/// Seconds for which a change stands in the feed.
pub const FEED_SECONDS: i64 = 48 * 3_600;
/// Characters of a page's title and description in the feed.
const MAX_FEED_CHARS: usize = 1_000;

/// All sitemaps of one type on one site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Series {
    /// The site's host.
    pub site: String,
    /// The series' name: the type's.
    pub name: String,
}

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
    /// The segment that the position belongs to.
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
    /// The digest of the entry that stands there.
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
    /// What it is in which translation group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<(String, Translation)>,
    /// The full translation group that it waits for room in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_in: Option<String>,
    /// The digest of what readers of the page would see as a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// Since when (Unix seconds) its last change stands in the feed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed: Option<i64>,
    /// The number of its highest part that may have anything placed; 0 for a page without parts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub parts: u32,
    /// When time alone will change what is listed of it, in Unix seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<i64>,
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

/// A loc on a site.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Address {
    /// The site's host.
    pub site: String,
    /// The loc.
    pub loc: Loc,
}

/// Who has the claim of the address that a record wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The record wants no address, or its ledger says that it has the claim.
    Unread,
    /// Nobody.
    Free,
    /// The record with this id.
    Other(String),
}

/// What is to be planned: a record's own page, or another part of it.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The record as it is, or nothing if it is gone.
    pub record: Option<&'a ContentRecord>,
    /// 1 for the page itself.
    pub part: u32,
    /// The settings of the record's site, or of the one where its page was listed if it is gone. Nothing if that site is
    /// not known.
    pub site: Option<&'a SiteSettings>,
}

/// All that a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The page.
    pub page: Page<'a>,
    /// What was placed for it.
    pub ledger: &'a Ledger,
    /// The newest page of [`Page::wanted_term`].
    pub newest: Newest,
    /// The claim of [`Page::wanted_address`].
    pub claim: &'a Claim,
    /// What [`Page::wanted_group`] holds, the page's own row perhaps among it.
    pub group: &'a Translations,
    /// A slot that the record has to leave, since its shard is over its byte limit.
    pub evict: Option<(&'a Series, Slot)>,
    /// Whether a change is news to anybody: not on a site's first load, and not when settings are applied.
    pub told: bool,
    /// Whether the row of the feed that the ledger names is lost: then it is written again.
    pub feed_lost: bool,
    /// The highest part beyond [`Page::last_part`] that has a ledger; 0 if none has.
    pub left: u32,
}

/// The members of no group.
static NO_TRANSLATIONS: Translations = Translations::new();

impl<'a> Inputs<'a> {
    /// Of a page that is neither an archive nor in a translation group, and of whose changes nobody is told.
    #[must_use]
    pub fn of(page: Page<'a>, ledger: &'a Ledger, claim: &'a Claim) -> Self {
        Self {
            page,
            ledger,
            newest: Newest::Unread,
            claim,
            group: &NO_TRANSLATIONS,
            evict: None,
            told: false,
            feed_lost: false,
            left: 0,
        }
    }
}

/// A rendered entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// `<url>…</url>` and a newline.
    pub xml: String,
    /// As in the xml.
    pub lastmod: Option<When>,
}

impl Rendered {
    /// The digest by which a ledger knows the entry that stands in a slot: 16 hex digits of SHA-256.
    #[must_use]
    pub fn digest(&self) -> String {
        let lastmod = self.lastmod.map(|at| at.to_string()).unwrap_or_default();
        digest([self.xml.as_str(), &lastmod])
    }
}

fn digest<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut hasher = Sha256::new();
    texts.into_iter().for_each(|text| hasher.update(text));
    let hash = hasher.finalize();
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
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

/// One change that a plan asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Write the entry into a slot that already is the record's.
    Replace(Placement, Rendered),
    /// Write the entry into a new slot, to be named by [`Plan::place`].
    Insert(Series, Rendered),
    /// Remove the entry; the slot is given back if `reuse` is set.
    Remove(Placement, Reuse),
    /// Claim the address.
    Claim(Address),
    /// Give the claim up.
    Release(Address),
    /// Wait for the address while the named record has the claim.
    Wait(Address, String),
    /// Wait no longer.
    StopWaiting(Address),
    /// Be a page of the archive, with this lastmod.
    JoinTerm(Term, Option<When>),
    /// Be no page of the archive with this lastmod any more.
    LeaveTerm(Term, Option<When>),
    /// Be told of the archive's pages.
    KeepArchive(Term),
    /// Be told no longer.
    DropArchive(Term),
    /// Be this in the translation group, or something else than before.
    JoinGroup(String, Translation),
    /// Leave the translation group.
    LeaveGroup(String),
    /// Wait for room in the translation group.
    WaitInGroup(String),
    /// Wait for room there no longer.
    StopWaitingInGroup(String),
    /// Stand in the feed since this time.
    Feed(i64, FeedItem),
    /// Stand in the feed of this site since this time no longer.
    Unfeed(String, i64),
    /// Have search engines told of the address, which has changed at this time.
    Tell(Address, i64),
    /// Be called at that time.
    SetTimer(i64),
    /// Be called no longer.
    ClearTimer(i64),
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
    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.ledger_changes
    }

    /// The series in which new slots are needed: no more than the page's own, the videos' and the news'.
    pub fn needs_slots(&self) -> impl Iterator<Item = &Series> {
        self.changes.iter().filter_map(|change| match change {
            Change::Insert(series, _) => Some(series),
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

impl<'a> Page<'a> {
    /// The record, unless nothing is to be remembered of it: it is gone, or has fewer parts, or is a site's settings, which
    /// are no page, in a place where they are found.
    fn shown(&self) -> Option<&'a ContentRecord> {
        self.record.filter(|record| {
            let settings = record.type_name == SITE_TYPE && record.closing_problem().is_none();
            !settings && self.part <= record.pages
        })
    }

    fn eligible(&self, newest: Newest, now: i64) -> Option<(&'a ContentRecord, Loc)> {
        let record = self.shown()?;
        let loc = eligibility::eligible(record, self.part, self.site, newest, now).ok()?;
        Some((record, loc))
    }

    /// The archive whose newest page must be read before anything else of the page is known.
    #[must_use]
    pub fn wanted_term(&self, now: i64) -> Option<Term> {
        let (record, _) = self.eligible(Newest::Unread, now)?;
        let archive = record.archive_of.as_ref()?;
        Some(Term {
            site: self.site?.host.clone(),
            taxonomy: archive.taxonomy.clone(),
            term: archive.term.clone(),
        })
    }

    /// The address whose claim must be read before planning: the one the page wants and does not own.
    #[must_use]
    pub fn wanted_address(&self, newest: Newest, ledger: &Ledger, now: i64) -> Option<Address> {
        let (_, loc) = self.eligible(newest, now)?;
        let site = self.site?.host.clone();
        let address = Address { site, loc };
        (ledger.claim.as_ref() != Some(&address)).then_some(address)
    }

    /// The last part of a page whose ledger says that there may be ledgers of later ones: whether there are must be read
    /// before planning.
    #[must_use]
    pub fn last_part(&self, ledger: &Ledger) -> Option<u32> {
        let pages = self.shown().map_or(0, |record| record.pages);
        (self.part == 1 && ledger.parts > pages).then_some(pages.max(1))
    }

    /// The translation group that must be read before planning.
    #[must_use]
    pub fn wanted_group(&self, newest: Newest, now: i64) -> Option<&'a str> {
        let (record, _) = self.eligible(newest, now)?;
        let group = record.translation_group.as_deref();
        group.filter(|_| self.part == 1)
    }
}

/// What to change so that what is placed for a page agrees with what is true at `now` (Unix seconds). `id` is its
/// record's.
#[must_use]
pub fn plan(id: &str, inputs: &Inputs<'_>, now: i64) -> Plan {
    let Inputs { page, ledger, .. } = inputs;
    let Some(record) = page.shown() else {
        // Its parts are found by what is remembered here.
        let left = (inputs.left > 0).then(|| Ledger {
            site: ledger.site.clone(),
            parts: inputs.left,
            ..Ledger::default()
        });
        return finish(left, Wanted::default(), inputs, now);
    };
    let mut after = Ledger {
        site: record.site.clone(),
        ..Ledger::default()
    };
    let mut due = Vec::new();
    if page.part == 1 {
        let parts = if record.pages > 1 { record.pages } else { 0 };
        after.parts = parts.max(inputs.left);
        after.archive = page.wanted_term(now);
        let notes = record.problems.iter().filter(|problem| !problem.closes);
        after.notes = notes.map(ToString::to_string).collect();
        due.extend(eligibility::next_due(record, now));
    }
    let mut wanted = Wanted::default();
    let listed = eligibility::eligible(record, page.part, page.site, inputs.newest, now);
    match (listed, page.site) {
        (Ok(loc), Some(site)) => {
            let site_host = site.host.clone();
            let address = Address {
                site: site_host,
                loc,
            };
            if let Claim::Other(owner) = inputs.claim {
                after.refused = Some(reason(&Refusal::Duplicate(owner.clone())));
                after.waits = Some(address);
                wanted.owner = owner.clone();
            } else {
                let listing = Listing {
                    id,
                    record,
                    site,
                    loc: &address.loc,
                    inputs,
                    now,
                };
                listing.fill(&mut after, &mut wanted, &mut due);
                after.claim = Some(address);
            }
        }
        (Err(refusal), _) => after.refused = Some(reason(&refusal)),
        (Ok(_), None) => after.refused = Some(reason(&Refusal::UnknownSite(record.site.clone()))),
    }
    // What is listed of the parts changes with the page, which has them reconciled.
    after.due = due.into_iter().filter(|_| page.part == 1).min();
    finish(Some(after), wanted, inputs, now)
}

fn reason(refusal: &Refusal) -> (String, String) {
    (refusal.name().to_owned(), cut(&refusal.to_string()))
}
