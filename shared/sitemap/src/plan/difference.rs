//! The changes between the present and the wanted placement.

use super::change::{Change, Plan, Reuse};
use super::holding::Holding;
use super::inputs::Inputs;
use super::ledger::{Address, Ledger, Placement};
use super::wanted::Wanted;

/// Returns the difference between the present and the wanted ledger.
pub(super) fn finish(after: Option<Ledger>, mut wanted: Wanted, inputs: &Inputs<'_>) -> Plan {
    let before = inputs.ledger;
    let remembered = after.is_some();
    let mut after = after.unwrap_or_default();
    let mut changes = Vec::new();
    for placement in &before.placed {
        let evicted = inputs.evict == Some((&placement.series, placement.slot));
        let beyond = inputs.page.site.is_some_and(|site| {
            site.host == placement.series.site
                && placement.slot.i >= site.capacity(&placement.series.name)
        });
        let mut series = wanted.entries.iter().map(|(series, _)| series);
        let stays = series.position(|series| *series == placement.series);
        match stays.filter(|_| !evicted && !beyond) {
            Some(at) => {
                let (series, rendered) = wanted.entries.remove(at);
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
    let inserted = wanted.entries.into_iter();
    changes.extend(inserted.map(|(series, rendered)| Change::Insert(series, rendered)));
    let now = inputs.page.now;
    let (held, holds): (Vec<_>, Vec<_>) =
        (rows(before, now).collect(), rows(&after, now).collect());
    // An existing row is overwritten, because a transaction may have only one action for a row.
    let left = held
        .iter()
        .filter(|row| !holds.iter().any(|holds| holds.is_same_row(row)));
    changes.extend(left.cloned().map(Change::Release));
    for row in holds.into_iter().filter(|row| !held.contains(row)) {
        match row {
            // If the owner released the address meanwhile, nothing would wake this page.
            Holding::Waiter(ref address) => {
                changes.push(Change::Require(address.clone(), wanted.owner.clone()));
                changes.push(Change::Hold(row));
            }
            Holding::Claim(address) if wanted.ousted.is_some() => {
                let ousted = wanted.ousted.take();
                changes.extend(ousted.map(|owner| Change::Take(address, owner)));
            }
            // The feed's row is written below, with its content.
            Holding::Feed(..) => {}
            Holding::Llms(..) => changes.extend(wanted.llms.take().map(Change::Llms)),
            row => changes.push(Change::Hold(row)),
        }
    }
    // What became of the page is written only under its claim, which a listed page may have taken meanwhile.
    let is_claimed = |change: &Change| matches!(change, Change::Hold(Holding::YieldingClaim(_)));
    let departs = changes.iter().find_map(|change| match change {
        Change::Hold(Holding::Departed(address, _)) => Some(address.clone()),
        _ => None,
    });
    if let Some(address) = departs.filter(|_| !changes.iter().any(is_claimed)) {
        changes.push(Change::Hold(Holding::YieldingClaim(address)));
    }
    let shown = after.feed.zip(wanted.feed);
    changes.extend(shown.map(|(at, item)| Change::Feed(at, item)));
    let is_notified = |address: &&Address| {
        let own = inputs.page.site.filter(|_| inputs.notify);
        let mut sites = own.into_iter().chain(inputs.former);
        sites.any(|site| site.host == address.site && site.indexnow_key.is_some())
    };
    let stays = |address: &&Address| {
        let claim = after.claim.as_ref();
        claim.is_some_and(|claim| claim.is_equivalent(address))
    };
    let leaves = |address: &&Address| after.departed.is_some() || !stays(address);
    let listed = before.claim.as_ref().filter(|_| before.departed.is_none());
    let released = listed.filter(leaves);
    let released = released.filter(is_notified).cloned();
    let notices = released.into_iter().chain(wanted.notify);
    changes.extend(notices.map(|address| Change::Notify(address, inputs.page.now)));
    let ledger_changes = after != *before;
    Plan {
        changes,
        ledger: remembered.then_some(after),
        ledger_changes,
    }
}

/// Returns the rows that a ledger names, except entries and the ledgers of other parts.
fn rows(ledger: &Ledger, now: i64) -> impl Iterator<Item = Holding> {
    let rows = ledger.holdings(now);
    rows.filter(|row| !matches!(row, Holding::Entry(_) | Holding::Part(_)))
}
