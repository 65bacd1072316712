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
                    digest: digest(&rendered.xml),
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
    // A site's settings are no page: nothing of it is remembered here.
    let Some(record) = inputs.record.filter(|record| record.type_name != SITE_TYPE) else {
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
                    digest: digest(&rendered.xml),
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

/// The digest by which a ledger knows the entry that stands in a slot: 16 hex digits of SHA-256.
fn digest(xml: &str) -> String {
    Sha256::digest(xml.as_bytes())[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn record(fields: Value) -> ContentRecord {
        let mut item = json!({"type": "post", "url": "https://www.example.com/a", "modified_at": "2026-01-01"});
        item.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        ContentRecord::parse("post/1", &item)
    }

    fn site() -> SiteSettings {
        SiteSettings::default_for("www.example.com").unwrap()
    }

    fn planned(record: Option<&ContentRecord>, ledger: &Ledger, claim: Claim) -> Plan {
        plan(
            &Inputs {
                record,
                site: Some(&site()),
                ledger,
                claim: &claim,
                evict: None,
            },
            NOW,
        )
    }

    /// The ledger after a record was first placed in the first slot.
    fn placed(record: &ContentRecord) -> Ledger {
        let mut plan = planned(Some(record), &Ledger::default(), Claim::Free);
        assert_eq!(plan.needs_slot().unwrap().name, "post");
        plan.place(Slot { n: 1, i: 0 });
        assert_eq!(plan.needs_slot(), None);
        plan.ledger.unwrap()
    }

    fn names(plan: &Plan) -> Vec<String> {
        let name = |change: &Change| {
            format!("{change:?}")
                .split('(')
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let mut names: Vec<String> = plan.changes.iter().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_new_page_is_inserted_and_claims_its_address() {
        let plan = planned(Some(&record(json!({}))), &Ledger::default(), Claim::Free);
        assert_eq!(names(&plan), ["Claim", "Insert"]);
    }

    #[test]
    fn an_unchanged_page_has_nothing_to_write() {
        let record = record(json!({}));
        let ledger = placed(&record);
        assert_eq!(
            wanted_address(Some(&record), Some(&site()), &ledger, NOW),
            None
        );
        assert!(planned(Some(&record), &ledger, Claim::Unread).is_empty());
    }

    #[test]
    fn a_changed_page_keeps_its_slot() {
        let ledger = placed(&record(json!({})));
        let plan = planned(
            Some(&record(json!({"modified_at": "2026-02-02"}))),
            &ledger,
            Claim::Unread,
        );
        assert_eq!(names(&plan), ["Replace"]);
        assert_eq!(plan.ledger.unwrap().placed[0].slot, ledger.placed[0].slot);
    }

    #[test]
    fn a_page_that_goes_leaves_nothing_and_says_why() {
        let ledger = placed(&record(json!({})));
        let plan = planned(
            Some(&record(json!({"noindex": true}))),
            &ledger,
            Claim::Unread,
        );
        assert_eq!(names(&plan), ["Release", "Remove"]);
        assert_eq!(plan.ledger.unwrap().refused.unwrap().0, "noindex");
        let plan = planned(None, &ledger, Claim::Unread);
        assert_eq!(
            (names(&plan), plan.ledger),
            (vec!["Release".to_owned(), "Remove".to_owned()], None)
        );
    }

    #[test]
    fn a_page_that_moves_changes_its_claim_or_its_series() {
        let ledger = placed(&record(json!({})));
        let moved = record(json!({"url": "https://www.example.com/b"}));
        assert!(wanted_address(Some(&moved), Some(&site()), &ledger, NOW).is_some());
        assert_eq!(
            names(&planned(Some(&moved), &ledger, Claim::Free)),
            ["Claim", "Release", "Replace"]
        );
        let retyped = record(json!({"type": "page"}));
        assert_eq!(
            names(&planned(Some(&retyped), &ledger, Claim::Unread)),
            ["Insert", "Remove"]
        );
    }

    #[test]
    fn a_duplicate_waits_and_takes_over() {
        let record = record(json!({}));
        let plan = planned(
            Some(&record),
            &Ledger::default(),
            Claim::Other("post/0".to_owned()),
        );
        assert_eq!(names(&plan), ["Wait"]);
        let ledger = plan.ledger.unwrap();
        assert_eq!(ledger.refused.as_ref().unwrap().0, "duplicate");
        assert!(planned(Some(&record), &ledger, Claim::Other("post/0".to_owned())).is_empty());
        assert_eq!(
            names(&planned(Some(&record), &ledger, Claim::Free)),
            ["Claim", "Insert", "StopWaiting"]
        );
        assert_eq!(
            names(&planned(None, &ledger, Claim::Unread)),
            ["StopWaiting"]
        );
    }

    #[test]
    fn positions_beyond_the_capacity_and_evicted_ones_move_and_are_not_reused() {
        let record = record(json!({}));
        let mut ledger = placed(&record);
        ledger.placed[0].slot.i = 1_000;
        let plan = planned(Some(&record), &ledger, Claim::Unread);
        assert_eq!(names(&plan), ["Insert", "Remove"]);
        assert!(
            plan.changes
                .iter()
                .any(|change| matches!(change, Change::Remove(_, Reuse::Never)))
        );
        ledger.placed[0].slot.i = 10;
        let evict = ledger.placed[0].clone();
        let inputs = Inputs {
            record: Some(&record),
            site: Some(&site()),
            ledger: &ledger,
            claim: &Claim::Unread,
            evict: Some((&evict.series, evict.slot)),
        };
        assert_eq!(names(&super::plan(&inputs, NOW)), ["Insert", "Remove"]);
    }

    #[test]
    fn time_sets_and_clears_timers() {
        let scheduled = record(json!({"published_at": "2027-02-01"}));
        let plan = planned(Some(&scheduled), &Ledger::default(), Claim::Unread);
        assert_eq!(names(&plan), ["SetTimer"]);
        let ledger = plan.ledger.unwrap();
        let at = ledger.due.unwrap();
        let inputs = Inputs {
            record: Some(&scheduled),
            site: Some(&site()),
            ledger: &ledger,
            claim: &Claim::Free,
            evict: None,
        };
        assert_eq!(
            names(&super::plan(&inputs, at)),
            ["Claim", "ClearTimer", "Insert"]
        );
        let future = record(json!({"modified_at": "2027-02-01"}));
        assert_eq!(
            planned(Some(&future), &Ledger::default(), Claim::Free)
                .ledger
                .unwrap()
                .notes
                .len(),
            1
        );
    }

    #[test]
    fn images_that_make_an_entry_too_large_are_left_out_with_a_note() {
        let images: Vec<Value> = (0..1_000)
            .map(|i| json!({"url": format!("https://a.example/{i}{}", "x".repeat(1_000))}))
            .collect();
        let mut plan = planned(
            Some(&record(json!({"images": images}))),
            &Ledger::default(),
            Claim::Free,
        );
        plan.place(Slot { n: 1, i: 0 });
        let size = plan.changes.iter().find_map(|change| match change {
            Change::Replace(_, rendered) => Some(rendered.xml.len()),
            _ => None,
        });
        assert!((MAX_ENTRY_BYTES - 2_000..=MAX_ENTRY_BYTES).contains(&size.unwrap()));
        assert_eq!(plan.ledger.unwrap().notes.len(), 1);
    }

    #[test]
    fn a_settings_record_is_no_page() {
        let settings = record(json!({"type": "site"}));
        let plan = planned(Some(&settings), &Ledger::default(), Claim::Unread);
        assert!(plan.is_empty() && plan.ledger.is_none());
    }
}
