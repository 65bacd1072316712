//! From what is placed and what is wanted, the changes.

use super::change::{Change, FeedItem, Plan, Rendered, Reuse};
use super::inputs::Inputs;
use super::ledger::{Address, Ledger, Placement};
use crate::series::Series;

/// What is wanted beyond the ledger's own fields.
#[derive(Default)]
pub(super) struct Wanted {
    pub(super) entries: Vec<(Series, Rendered)>,
    /// Who has the address that is waited for.
    pub(super) owner: String,
    /// What the feed says of it, if that is to be written.
    pub(super) feed: Option<FeedItem>,
    /// What search engines are to be told of.
    pub(super) tell: Option<Address>,
}

/// The difference between the ledger as it is and as it should be.
pub(super) fn finish(
    after: Option<Ledger>,
    mut wanted: Wanted,
    inputs: &Inputs<'_>,
    now: i64,
) -> Plan {
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
    let left = before
        .terms
        .iter()
        .filter(|term| !after.terms.contains(term));
    changes.extend(left.map(|(term, at)| Change::LeaveTerm(term.clone(), *at)));
    let joined = after
        .terms
        .iter()
        .filter(|term| !before.terms.contains(term));
    changes.extend(joined.map(|(term, at)| Change::JoinTerm(term.clone(), *at)));
    difference(
        &mut changes,
        &before.archive,
        &after.archive,
        Change::DropArchive,
        Change::KeepArchive,
    );
    if before.group != after.group {
        let name = |ledger: &Ledger| ledger.group.as_ref().map(|(name, _)| name.clone());
        // A row is written over: two actions of one transaction must not be of one row.
        let left = name(before).filter(|group| Some(group) != name(&after).as_ref());
        changes.extend(left.map(Change::LeaveGroup));
        let joined = after.group.clone();
        changes.extend(joined.map(|(group, translation)| Change::JoinGroup(group, translation)));
    }
    difference(
        &mut changes,
        &before.waits_in,
        &after.waits_in,
        Change::StopWaitingInGroup,
        Change::WaitInGroup,
    );
    let stays = (before.feed, &before.site) == (after.feed, &after.site);
    let left = before.feed.filter(|_| !stays);
    changes.extend(left.map(|at| Change::Unfeed(before.site.clone(), at)));
    let shown = after.feed.zip(wanted.feed);
    changes.extend(shown.map(|(at, item)| Change::Feed(at, item)));
    let is_heard = |address: &&Address| {
        let site = inputs.page.site.filter(|site| site.host == address.site);
        inputs.told && site.is_some_and(|site| site.indexnow_key.is_some())
    };
    let released = before
        .claim
        .as_ref()
        .filter(|_| before.claim != after.claim);
    let released = released.filter(is_heard).cloned();
    let told = released.into_iter().chain(wanted.tell);
    changes.extend(told.map(|address| Change::Tell(address, now)));
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
