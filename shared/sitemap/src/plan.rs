//! The plan: from what is true of a record and what was placed for it, the changes that make the two agree.
//!
//! - `plan` is pure. Every one of its inputs has an event that leads to another reconcile when it changes.
//! - A plan is applied whole, in one transaction, or not at all.
//! - A record that is already placed rightly has a plan without changes.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::eligibility::{self, Refusal};
use crate::entry::{self, Entry};
use crate::loc::Loc;
use crate::member::SEGMENT_SLOTS;
use crate::record::{ContentRecord, cut};
use crate::site::{SITE_TYPE, SiteSettings};
use crate::time::When;

/// Bytes of one rendered entry, so that its row stays well under DynamoDB's 400 KB and a reconcile under a
/// transaction's 4 MB.
pub const MAX_ENTRY_BYTES: usize = 300 * 1024;

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

/// What a record has placed where, and why the rest of it is left out: the ledger's body.
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

/// All that a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The record as it is, or nothing if it is gone.
    pub record: Option<&'a ContentRecord>,
    /// Its site's settings, or nothing if the site is not known.
    pub site: Option<&'a SiteSettings>,
    /// What was placed for it.
    pub ledger: &'a Ledger,
    /// The claim of [`wanted_address`].
    pub claim: &'a Claim,
    /// A slot that the record has to leave, since its shard is over its byte limit.
    pub evict: Option<(&'a Series, Slot)>,
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
        let mut hasher = Sha256::new();
        hasher.update(&self.xml);
        if let Some(lastmod) = self.lastmod {
            hasher.update(lastmod.to_string());
        }
        hasher.finalize()[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
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
    /// Claim the address.
    Claim(Address),
    /// Give the claim up.
    Release(Address),
    /// Wait for the address while the named record has the claim.
    Wait(Address, String),
    /// Wait no longer.
    StopWaiting(Address),
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
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// The series in which a new slot is needed: at most one, since a record has one page.
    #[must_use]
    pub fn needs_slot(&self) -> Option<&Series> {
        self.changes.iter().find_map(|change| match change {
            Change::Insert(series, _) => Some(series),
            _ => None,
        })
    }

    /// Names the slot of the entry to be inserted.
    pub fn place(&mut self, slot: Slot) {
        for change in &mut self.changes {
            if let Change::Insert(series, rendered) = change {
                let placement = Placement {
                    series: series.clone(),
                    slot,
                    digest: rendered.digest(),
                };
                self.ledger
                    .get_or_insert_default()
                    .placed
                    .push(placement.clone());
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

/// The address whose claim must be read before planning: the one the record wants and does not own.
#[must_use]
pub fn wanted_address(
    record: Option<&ContentRecord>,
    site: Option<&SiteSettings>,
    ledger: &Ledger,
    now: i64,
) -> Option<Address> {
    let loc = eligibility::eligible(record?, site, now).ok()?;
    let address = Address {
        site: site?.host.clone(),
        loc,
    };
    (ledger.claim.as_ref() != Some(&address)).then_some(address)
}

/// What to change so that what is placed for a record agrees with what is true at `now` (Unix seconds).
#[must_use]
pub fn plan(inputs: &Inputs<'_>, now: i64) -> Plan {
    let before = inputs.ledger;
    // A site's settings are no page: nothing of them is remembered here, unless nobody can find them.
    let Some(record) = inputs
        .record
        .filter(|record| record.type_name != SITE_TYPE || record.closing_problem().is_some())
    else {
        return finish(before, None, Wanted::default(), inputs);
    };
    let mut after = Ledger {
        site: record.site.clone(),
        due: eligibility::next_due(record, now),
        notes: record
            .problems
            .iter()
            .filter(|problem| !problem.closes)
            .map(ToString::to_string)
            .collect(),
        ..Ledger::default()
    };
    let mut wanted = Wanted::default();
    match (eligibility::eligible(record, inputs.site, now), inputs.site) {
        (Ok(loc), Some(site)) => {
            let address = Address {
                site: site.host.clone(),
                loc,
            };
            if let Claim::Other(owner) = inputs.claim {
                after.refused = Some(reason(&Refusal::Duplicate(owner.clone())));
                after.waits = Some(address);
                wanted.owner = owner.clone();
            } else {
                let rendered = render(record, site, &address.loc, now, &mut after.notes);
                let series = Series {
                    site: site.host.clone(),
                    name: record.type_name.clone(),
                };
                wanted.entry = Some((series, rendered));
                after.claim = Some(address);
            }
        }
        (Err(refusal), _) => after.refused = Some(reason(&refusal)),
        (Ok(_), None) => after.refused = Some(reason(&Refusal::UnknownSite(record.site.clone()))),
    }
    finish(before, Some(after), wanted, inputs)
}

/// What is wanted beyond the ledger's own fields.
#[derive(Default)]
struct Wanted {
    entry: Option<(Series, Rendered)>,
    /// Who has the address that is waited for.
    owner: String,
}

/// The difference between the ledger as it is and as it should be.
fn finish(before: &Ledger, after: Option<Ledger>, wanted: Wanted, inputs: &Inputs<'_>) -> Plan {
    let remembered = after.is_some();
    let mut after = after.unwrap_or_default();
    let mut changes = Vec::new();
    let mut entry = wanted.entry;
    for placement in &before.placed {
        let evicted = inputs.evict == Some((&placement.series, placement.slot));
        let beyond = inputs.site.is_some_and(|site| {
            site.host == placement.series.site && placement.slot.i >= site.entries_per_sitemap
        });
        let stays = entry
            .as_ref()
            .is_some_and(|(series, _)| *series == placement.series)
            && !evicted
            && !beyond;
        match entry.take_if(|_| stays) {
            Some((series, rendered)) => {
                let placement = Placement {
                    series,
                    slot: placement.slot,
                    digest: rendered.digest(),
                };
                if !before.placed.contains(&placement) {
                    changes.push(Change::Replace(placement.clone(), rendered));
                }
                after.placed.push(placement);
            }
            None => {
                let reuse = if evicted || beyond {
                    Reuse::Never
                } else {
                    Reuse::Free
                };
                changes.push(Change::Remove(placement.clone(), reuse));
            }
        }
    }
    if let Some((series, rendered)) = entry {
        changes.push(Change::Insert(series, rendered));
    }
    let owner = wanted.owner;
    difference(
        &mut changes,
        &before.claim,
        &after.claim,
        Change::Release,
        Change::Claim,
    );
    difference(
        &mut changes,
        &before.waits,
        &after.waits,
        Change::StopWaiting,
        |address| Change::Wait(address, owner),
    );
    difference(
        &mut changes,
        &before.due,
        &after.due,
        Change::ClearTimer,
        Change::SetTimer,
    );
    let ledger_changes = after != *before;
    Plan {
        changes,
        ledger: remembered.then_some(after),
        ledger_changes,
    }
}

fn difference<T: Clone + PartialEq>(
    changes: &mut Vec<Change>,
    before: &Option<T>,
    after: &Option<T>,
    end: impl FnOnce(T) -> Change,
    begin: impl FnOnce(T) -> Change,
) {
    if before != after {
        changes.extend(before.clone().map(end));
        changes.extend(after.clone().map(begin));
    }
}

fn reason(refusal: &Refusal) -> (String, String) {
    (refusal.name().to_owned(), cut(&refusal.to_string()))
}

/// The page's entry, with as many images as fit.
fn render(
    record: &ContentRecord,
    site: &SiteSettings,
    loc: &Loc,
    now: i64,
    notes: &mut Vec<String>,
) -> Rendered {
    let lastmod = eligibility::lastmod(record, now);
    if lastmod.is_none()
        && let Some(at) = record.last_change()
    {
        notes.push(format!("lastmod: {at} is in the future (future_lastmod)"));
    }
    let defaults = site.type_settings(&record.type_name);
    let mut page = Entry {
        loc,
        lastmod,
        changefreq: record.changefreq.or(defaults.changefreq),
        priority: record.priority.or(defaults.priority),
        images: &[],
        alternates: &record.alternates,
    };
    let mut xml = Vec::new();
    entry::render(&page, &mut xml);
    if xml.len() > MAX_ENTRY_BYTES {
        notes.push(format!(
            "alternates: left out, with them the entry has {} bytes, at most {MAX_ENTRY_BYTES}",
            xml.len()
        ));
        page.alternates = &[];
        xml.clear();
        entry::render(&page, &mut xml);
    }
    if !record.images.is_empty() {
        let mut room = MAX_ENTRY_BYTES - xml.len();
        let fitting = record.images.iter().take_while(|image| {
            let bytes = entry::image_len(image);
            let fits = bytes <= room;
            room = room.saturating_sub(bytes);
            fits
        });
        page.images = &record.images[..fitting.count()];
        if page.images.len() < record.images.len() {
            let (given, kept) = (record.images.len(), page.images.len());
            notes.push(format!(
                "images: {given} given, the first {kept} fit into {MAX_ENTRY_BYTES} bytes"
            ));
        }
        xml.clear();
        entry::render(&page, &mut xml);
    }
    // The renderer writes ASCII locs and escaped text, from strings: this cannot fail, and if it did nothing is lost.
    let xml = String::from_utf8(xml)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Rendered { xml, lastmod }
}

#[cfg(test)]
mod tests;
