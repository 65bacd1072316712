//! The plan: compares a record with what was placed for it, and returns the changes that make the two agree.
//!
//! - `plan` is pure. A change of any input is an event that leads to another reconcile.
//! - A plan is applied whole, in one transaction, or not at all.
//! - If the placement is correct already, the plan has no changes.

mod change;
mod difference;
mod group;
mod holding;
mod inputs;
mod ledger;
mod listing;
mod render;
#[cfg(test)]
mod tests;
mod translation;
mod wanted;

pub use self::change::{Change, FeedItem, LlmsItem, Plan, Rendered, Reuse};
pub use self::group::MAX_GROUP;
pub use self::holding::Holding;
pub use self::inputs::{Assessed, Claim, Inputs, Page};
pub use self::ledger::{Address, FEED_SECONDS, Ledger, Placement, Slot, Term, is_over};
pub use self::render::MAX_ENTRY_BYTES;
pub use self::translation::{Translation, Translations};
pub use crate::series::Series;

use self::difference::finish;
use self::listing::Listing;
use self::wanted::Wanted;
use crate::eligibility::{self, Refusal};
use crate::problem::cut;
use crate::site::is_site_host;

/// The note of a page that departed from an address with a query.
const QUERY_IS_NOT_SEEN: &str = "url: it has a query, which the CDN drops, so requests for it are not answered; \
                                 `waymark export --redirects` has it for the site's own server";

/// Returns the changes that make the placement of a page agree with its record. `id` is the record's id.
#[must_use]
pub fn plan(id: &str, inputs: &Inputs<'_>) -> Plan {
    let Inputs { page, ledger, .. } = inputs;
    let Some((record, listed)) = page.verdict(inputs.newest) else {
        // Later runs find the parts by this ledger.
        let left = (inputs.left > 0).then(|| Ledger {
            site: ledger.site.clone(),
            parts: inputs.left,
            ..Ledger::default()
        });
        return finish(left, Wanted::default(), inputs);
    };
    let mut after = Ledger {
        site: record.site.clone(),
        ..Ledger::default()
    };
    let mut due = Vec::new();
    if page.part == 1 {
        let parts = if record.pages > 1 { record.pages } else { 0 };
        after.parts = parts.max(inputs.left);
        after.archive = page.wanted_term();
        let notes = record.problems.iter().filter(|problem| !problem.closes);
        after.notes = notes.map(ToString::to_string).collect();
        if listed.as_ref().err().is_none_or(Refusal::may_pass) {
            due.extend(eligibility::next_due(record, page.now));
        }
    }
    let mut wanted = Wanted::default();
    let departed = page.departed.as_ref();
    let wants = listed.as_ref().ok().map(|(_, address)| *address);
    let owner = match (inputs.claim, departed) {
        (Claim::Other(owner), _) | (Claim::Departed(owner), Some(_)) => Some(owner),
        _ => None,
    };
    match (
        listed,
        wants.or(departed.map(|(address, _)| address)).zip(owner),
    ) {
        (_, Some((address, owner))) => {
            after.left_out = true;
            after.refused = Some(reason(&Refusal::Duplicate));
            after.waits = Some(address.clone());
            wanted.owner = owner.clone();
        }
        (Err(refusal), None) => {
            after.left_out = !matches!(refusal, Refusal::BadField(_));
            after.refused = Some(reason(&refusal));
            if let Some((address, departure)) = departed {
                after.claim = Some(address.clone());
                after.departed = Some(departure.clone());
                if address.loc.as_str().contains('?') {
                    after.notes.push(QUERY_IS_NOT_SEEN.to_owned());
                }
            }
        }
        (Ok((site, address)), None) => {
            if let Claim::Departed(owner) = inputs.claim {
                wanted.ousted = Some(owner.clone());
            }
            let listing = Listing {
                id,
                record,
                site,
                loc: &address.loc,
                inputs,
                now: page.now,
            };
            listing.fill(&mut after, &mut wanted, &mut due);
            after.claim = Some(address.clone());
        }
    }
    // The parts are reconciled with the page. A record without a valid host is excluded under any settings.
    after.left_out &= page.part == 1 && is_site_host(&record.site);
    // The timer belongs to the page, whose reconcile includes the parts.
    after.next_check_at = due.into_iter().filter(|_| page.part == 1).min();
    finish(Some(after), wanted, inputs)
}

fn reason(refusal: &Refusal) -> (String, String) {
    (refusal.name().to_owned(), cut(&refusal.to_string()))
}
