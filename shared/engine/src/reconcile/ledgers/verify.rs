//! Compares a ledger with the rows, and removes what the rows do not confirm.

use std::collections::BTreeMap;

use sitemap::plan::{Holding, Placement};

use super::fenced::Fenced;
use crate::rows::holding::{Loss, key, loss};
use crate::rows::keys::{self, Key, RowKey};
use crate::rows::row::{Holds, Row};

/// Removes from a ledger what the rows do not confirm, and adds the found rows that belong to it.
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
            Some(RowKey::Claim | RowKey::Departed(..)) if is_owned => {
                fenced.strays.push(key.clone())
            }
            Some(kind) if kind.owner() == Some(page) => fenced.strays.push(key.clone()),
            _ => {}
        }
    }
    fenced.untrue = fenced.ledger != before;
}

/// Corrects the ledger's statement about a row.
fn correct(fenced: &mut Fenced, holding: &Holding, loss: Loss) {
    match (holding, loss) {
        // The entry is rewritten in its slot, because no entry has an empty digest. The audit may have given the slot back
        // meanwhile.
        (Holding::Entry(placed), Loss::Missing | Loss::Empty | Loss::Unreadable) => {
            fenced.strays.push(keys::free(&placed.series, placed.slot));
            redigest(fenced, placed, String::new());
        }
        (Holding::Entry(placed), Loss::Differs(digest)) => redigest(fenced, placed, digest),
        // The ledger keeps the feed row's time, so that the repair does not report the change a second time.
        (Holding::Feed(..), Loss::Missing) => fenced.feed_lost = true,
        (Holding::GroupMember(..), Loss::Unreadable) => fenced.ledger.forget(holding),
        // The audit deletes the unreadable row. After that it is missing.
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
