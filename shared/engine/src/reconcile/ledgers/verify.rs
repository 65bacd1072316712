//! Compares a ledger with the rows, and removes from it what they do not have.

use std::collections::BTreeMap;

use sitemap::plan::{Holding, Placement};

use super::fenced::Fenced;
use crate::rows::holding::{Loss, key, loss};
use crate::rows::keys::{self, Key, RowKey};
use crate::rows::row::{Holds, Row};

/// Removes from a ledger what the rows do not confirm, and adds what was found.
pub(super) fn verify(
    page: &str,
    fenced: &mut Fenced,
    rows: &BTreeMap<Key, Row>,
    found: &[&Key],
    now: i64,
) {
    let before = fenced.ledger.clone();
    for holding in before.holdings(now) {
        if let Some(loss) = loss(page, &holding, rows.get(&key(page, &holding))) {
            correct(fenced, &holding, loss);
        }
    }
    for (key, row) in found.iter().filter_map(|key| rows.get_key_value(key)) {
        let is_owned = row.owner.as_deref() == Some(page);
        match &row.kind {
            Some(RowKey::Entry(series, slot)) if is_owned => fenced.ledger.placed.push(Placement {
                series: series.clone(),
                slot: *slot,
                digest: match &row.holds {
                    Ok(Holds::Entry(Some((_, digest)))) => digest.clone(),
                    _ => String::new(),
                },
            }),
            Some(RowKey::Claim) if is_owned => fenced.strays.push(key.clone()),
            Some(kind) if kind.owner() == Some(page) => fenced.strays.push(key.clone()),
            _ => {}
        }
    }
    fenced.untrue = fenced.ledger != before;
}

/// Corrects what a ledger says of a row.
fn correct(fenced: &mut Fenced, holding: &Holding, loss: Loss) {
    match (holding, loss) {
        // Written again, in its place. No entry has an empty digest. The audit may have given its slot back meanwhile.
        (Holding::Entry(placed), Loss::Missing | Loss::Empty | Loss::Unreadable) => {
            fenced.strays.push(keys::free(&placed.series, placed.slot));
            redigest(fenced, placed, String::new());
        }
        (Holding::Entry(placed), Loss::Differs(digest)) => redigest(fenced, placed, digest),
        // Nobody is notified a second time by a repair, so its time must not be forgotten.
        (Holding::Feed(..), Loss::Missing) => fenced.feed_lost = true,
        (Holding::GroupMember(..), Loss::Unreadable) => fenced.ledger.forget(holding),
        // The audit deletes it, and then it is missing.
        (_, Loss::Unreadable) => {}
        _ => fenced.ledger.forget(holding),
    }
}

fn redigest(fenced: &mut Fenced, placed: &Placement, digest: String) {
    let placed = fenced.ledger.placed.iter_mut().find(|at| *at == placed);
    if let Some(placed) = placed {
        placed.digest = digest;
    }
}
