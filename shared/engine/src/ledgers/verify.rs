//! A ledger held against the rows: it says no more than they do.

use std::collections::BTreeMap;

use sitemap::plan::Placement;
use table::Item;

use super::{Fenced, claim_key, entry_key, waiter_key};
use crate::keys::{self, Key, RowKey};
use crate::relations::read_translation;
use crate::segments::read_rendered;

/// Takes from a ledger what the rows do not bear out, and takes in what was found.
pub(super) fn verify(id: &str, fenced: &mut Fenced, items: &BTreeMap<Key, Item>, found: &[&Key]) {
    let mut ledger = fenced.ledger.clone();
    let owner = |key: &Key| items.get(key).and_then(|item| item.text("owner"));
    // What is not the record's own has a digest that no entry has: it is written again.
    let digest = |key: &Key| {
        let mine = items.get(key).filter(|_| owner(key) == Some(id));
        let rendered = mine.and_then(|item| read_rendered(key, item).ok().flatten());
        rendered.map_or_else(String::new, |rendered| rendered.digest())
    };
    ledger.placed.retain_mut(|placement| {
        let key = entry_key(placement);
        placement.digest = digest(&key);
        owner(&key).is_none_or(|owner| owner == id)
    });
    let (entries, others): (Vec<&Key>, Vec<&Key>) = found
        .iter()
        .copied()
        .filter(|key| items.contains_key(key))
        .partition(|key| key.pk.starts_with(keys::prefix::SEGMENT));
    for key in entries {
        if let Some(RowKey::Entry(series, slot)) = RowKey::parse(&key.pk, &key.sk)
            && owner(key) == Some(id)
        {
            let digest = digest(key);
            ledger.placed.push(Placement {
                series,
                slot,
                digest,
            });
        }
    }
    ledger
        .claim
        .take_if(|address| owner(&claim_key(address)) != Some(id));
    ledger
        .waits
        .take_if(|address| !items.contains_key(&waiter_key(address, id)));
    ledger
        .due
        .take_if(|due| !items.contains_key(&keys::timer(*due, id)));
    ledger
        .terms
        .retain(|(term, lastmod)| items.contains_key(&keys::term_member(term, *lastmod, id)));
    ledger
        .archive
        .take_if(|term| !items.contains_key(&keys::archive(term, id)));
    ledger.group.take_if(|(group, translation)| {
        let row = items.get(&keys::group_member(group, id));
        row.and_then(read_translation).as_ref() != Some(translation)
    });
    ledger
        .waits_in
        .take_if(|group| !items.contains_key(&keys::group_waiter(group, id)));
    // Nobody is told a second time by a repair, so its time must not be forgotten.
    fenced.feed_lost = ledger
        .feed
        .is_some_and(|at| !items.contains_key(&keys::feed(&ledger.site, at, id)));
    fenced.untrue = ledger != fenced.ledger;
    fenced.ledger = ledger;
    fenced.strays = others
        .into_iter()
        .filter(|key| match RowKey::parse(&key.pk, &key.sk) {
            Some(RowKey::Claim) => owner(key) == Some(id),
            Some(kind) if kind.owner().is_some_and(|of| of == id) => true,
            _ => false,
        })
        .cloned()
        .collect();
}
