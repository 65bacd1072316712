//! Reconcile: fence, read, plan, commit, for records that want one address.
//!
//! As in `engine::reconcile` and `sitemap::plan`. A record does not exist, or is at the address that all want, with one text or
//! another, or at one of its own. A slot from the series' counter was never used. It does not matter which one it is, so the
//! lowest represents all.

mod steps;
mod tests;

use stateright::{Model, Property};

use crate::Fault;

/// The most records of a configuration.
const RECORDS: usize = 3;
/// Concurrent runs.
const RUNS: usize = 3;
/// Slots: each record's own, and one for each run with an offer.
const SLOTS: usize = 5;

/// The conditions of the code, each of which can be switched off.
#[derive(Clone, Copy, Debug)]
struct Conditions {
    /// Whether the fence precedes the read of the record.
    fence_first: bool,
    /// Whether the fence writes its token, even if the run will find nothing to do.
    fence_writes: bool,
    /// Whether the commit is conditional on the token.
    token_checked: bool,
    /// Whether tokens are random, and not counters in the ledger.
    token_random: bool,
    /// Whether a claim is conditional on being free or one's own.
    claim_checked: bool,
    /// Whether a waiter is registered on condition that the claim still has its other owner.
    waiter_checked: bool,
    /// Whether the removal of a claim calls the waiters.
    waiters_called: bool,
    /// Whether a new entry is conditional on an empty slot.
    entry_checked: bool,
    /// Whether taking a slot that was given back is conditional on its being still listed as free.
    free_checked: bool,
    /// Whether the entry, the ledger and the claim are written in one transaction, and not the entry first.
    transaction: bool,
}

const ALL: Conditions = Conditions {
    fence_first: true,
    fence_writes: true,
    token_checked: true,
    token_random: true,
    claim_checked: true,
    waiter_checked: true,
    waiters_called: true,
    entry_checked: true,
    free_checked: true,
    transaction: true,
};

#[derive(Clone, Copy, Debug)]
struct Reconcile {
    conditions: Conditions,
    records: u8,
    runs: usize,
    edits: u8,
    faults: u8,
    /// The contents that a record may get.
    contents: &'static [Content],
}

/// The number of a record.
type Record = u8;
/// The content of a record.
type Content = u8;
const GONE: Content = 0;
const COMMON: Content = 1;
const COMMON_CHANGED: Content = 2;
const OWN: Content = 3;

/// An address: 0 is the common one, then each record's own.
type Address = u8;
const COMMON_ADDRESS: Address = 0;
const ADDRESSES: usize = 1 + RECORDS;

fn address(record: Record, content: Content) -> Option<Address> {
    match content {
        GONE => None,
        OWN => Some(1 + record),
        _ => Some(COMMON_ADDRESS),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Ledger {
    placed: Option<(u8, Content)>,
    claims: Option<Address>,
    /// The owner of the common address, because of whom it was refused.
    waits: Option<Record>,
    /// The token, if tokens are counters.
    count: u8,
}

impl Ledger {
    fn holds_anything(&self) -> bool {
        self.placed.is_some() || self.claims.is_some() || self.waits.is_some()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    #[default]
    Idle,
    /// Read the waiters for the address.
    Waiters,
    Fence(Option<Content>),
    Content,
    Claim,
    Offer,
    /// Write the rest of a commit whose entry was written separately.
    Rest,
    Commit,
    /// Remove the offered slot from the free ones.
    Forget,
}

/// A run of a function, with the values that it has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Run {
    step: Step,
    /// Whether its event was delivered again.
    zombie: bool,
    /// Whether the removal of the claim called it, and not a record's change.
    by_claim: bool,
    /// The current record, and the following ones.
    record: Record,
    others: [bool; RECORDS],
    /// Whether its token is still in the ledger.
    token: bool,
    count: u8,
    ledger: Ledger,
    content: Content,
    claim: Option<Record>,
    /// A slot, and whether it was given back.
    offer: Option<(u8, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    contents: [Content; RECORDS],
    edits: u8,
    faults: u8,
    ledgers: [Option<Ledger>; RECORDS],
    claims: [Option<Record>; ADDRESSES],
    /// The waiters for the common address.
    waiters: [bool; RECORDS],
    slots: [Option<(Record, Content)>; SLOTS],
    free: [bool; SLOTS],
    /// The events of records.
    changed: [bool; RECORDS],
    /// The event of the claim's removal.
    released: bool,
    runs: [Run; RUNS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Edit(Record, Content),
    Deliver(Record),
    DeliverRelease,
    Next(usize),
    /// The run's next step is to offer this slot, which was given back.
    Offer(usize, u8),
    Fails(usize, Fault),
}

/// The changes that a plan requires.
struct Plan {
    ledger: Option<Ledger>,
    changes: bool,
}

impl State {
    fn is_at_rest(&self) -> bool {
        self.runs.iter().all(|run| run.step == Step::Idle)
            && !self.released
            && self.changed.iter().all(|changed| !changed)
    }

    /// Returns the entries of an address.
    fn listed(&self, at: usize) -> impl Iterator<Item = (Record, Content)> {
        let entries = self.slots.iter().flatten().copied();
        entries.filter(move |(owner, content)| address(*owner, *content) == Some(at as Address))
    }

    /// Returns the address of a record.
    fn wants(&self, record: usize) -> Option<usize> {
        address(record as Record, self.contents[record]).map(usize::from)
    }

    /// Returns the state in a normal form. The order of runs does not matter.
    fn normal(mut self) -> Option<Self> {
        self.runs.sort_unstable();
        Some(self)
    }

    /// Invalidates the tokens of all runs for this record except that of `run`.
    fn take_token(&mut self, record: Record, run: Option<usize>) {
        for (at, other) in self.runs.iter_mut().enumerate() {
            if other.record == record && Some(at) != run {
                other.token = false;
            }
        }
    }
}

impl Model for Reconcile {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            contents: [GONE; RECORDS],
            edits: self.edits,
            faults: self.faults,
            ledgers: [None; RECORDS],
            claims: [None; ADDRESSES],
            waiters: [false; RECORDS],
            slots: [None; SLOTS],
            free: [false; SLOTS],
            changed: [false; RECORDS],
            released: false,
            runs: [Run::default(); RUNS],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.edits > 0 {
            for record in 0..self.records {
                let contents = [GONE].iter().chain(self.contents);
                let others =
                    contents.filter(|content| **content != state.contents[usize::from(record)]);
                actions.extend(others.map(|content| Action::Edit(record, *content)));
            }
        }
        let busy = state
            .runs
            .iter()
            .filter(|run| run.step != Step::Idle)
            .count();
        if busy < self.runs {
            let changed = (0..self.records).filter(|record| state.changed[usize::from(*record)]);
            actions.extend(changed.map(Action::Deliver));
            actions.extend(state.released.then_some(Action::DeliverRelease));
        }
        for (at, run) in state.runs.iter().enumerate() {
            if run.step == Step::Idle {
                continue;
            }
            let free = (0..SLOTS as u8).filter(|slot| state.free[usize::from(*slot)]);
            let before = actions.len();
            if run.step == Step::Offer {
                actions.extend(free.map(|slot| Action::Offer(at, slot)));
            }
            if actions.len() == before {
                actions.push(Action::Next(at));
            }
            if run.zombie {
                actions.push(Action::Fails(at, Fault::Vanish));
            } else if state.faults > 0 {
                actions.push(Action::Fails(at, Fault::Crash));
                actions.push(Action::Fails(at, Fault::Redeliver));
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = *last;
        // Runs are sorted, so the first one is idle if any is.
        match action {
            Action::Edit(record, content) => {
                state.edits -= 1;
                state.contents[usize::from(record)] = content;
                state.changed[usize::from(record)] = true;
            }
            Action::Deliver(record) => {
                state.changed[usize::from(record)] = false;
                state.runs[0].record = record;
                state.runs[0].begin(&self.conditions);
            }
            Action::DeliverRelease => {
                state.released = false;
                state.runs[0].by_claim = true;
                state.runs[0].step = Step::Waiters;
            }
            Action::Next(at) => state.next(at, None, &self.conditions),
            Action::Offer(at, slot) => state.next(at, Some(slot), &self.conditions),
            Action::Fails(at, fault) => {
                let run = state.runs[at];
                if fault != Fault::Vanish {
                    state.faults -= 1;
                    if run.by_claim {
                        state.released = true;
                    } else {
                        state.changed[usize::from(run.record)] = true;
                    }
                }
                if fault == Fault::Redeliver {
                    state.runs[at].zombie = true;
                } else {
                    state.runs[at] = Run::default();
                }
            }
        }
        state.normal()
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONCE, |_, state: &State| {
                (0..ADDRESSES).all(|at| state.listed(at).count() <= 1)
            }),
            Property::always(FREE, |_, state: &State| {
                (0..SLOTS).all(|slot| !(state.free[slot] && state.slots[slot].is_some()))
            }),
            Property::always(LISTED, |_, state: &State| {
                let right = |at: usize| {
                    let eligible = (0..RECORDS).any(|record| state.wants(record) == Some(at));
                    let true_entry = |(owner, content): (Record, Content)| {
                        state.contents[usize::from(owner)] == content
                    };
                    state.listed(at).count() == usize::from(eligible)
                        && state.listed(at).all(true_entry)
                };
                !state.is_at_rest() || (0..ADDRESSES).all(right)
            }),
            Property::always(BOOKS, |_, state: &State| {
                !state.is_at_rest()
                    || (0..RECORDS).all(|record| {
                        let number = record as Record;
                        let wants = state.wants(record);
                        let owns = wants.is_some_and(|at| state.claims[at] == Some(number));
                        let claims = state.claims.iter().filter(|owner| **owner == Some(number));
                        let stands = |(slot, content): (u8, Content)| {
                            state.slots[usize::from(slot)] == Some((number, content))
                        };
                        let eligible = wants.is_some();
                        // The ledger that a dead run's fence has written for a missing record is empty and harmless.
                        let ledger = state.ledgers[record].filter(Ledger::holds_anything);
                        ledger.is_some() == eligible
                            && claims.count() == usize::from(owns)
                            && state.waiters[record] == (eligible && !owns)
                            && ledger.is_none_or(|ledger| {
                                ledger.claims.is_some() == owns
                                    && ledger.waits.is_some() != owns
                                    && ledger.placed.is_some() == owns
                                    && ledger.placed.is_none_or(stands)
                            })
                    })
            }),
            Property::sometimes("a record waits at rest", |_, state: &State| {
                state.is_at_rest() && state.waiters.contains(&true)
            }),
            Property::sometimes("a slot is free at rest", |_, state: &State| {
                state.is_at_rest() && state.free.contains(&true)
            }),
        ]
    }
}

const ONCE: &str = "an address stands in one row at most";
const FREE: &str = "no slot is both free and taken";
const LISTED: &str = "at rest, what is eligible is listed once and as it is, and nothing else is";
const BOOKS: &str = "at rest, ledgers, claims and waiters say what is so";
