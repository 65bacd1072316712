//! A load by DynamoDB's import: content is exported, its rows are imported into a new table, and the functions are switched to that
//! table, while records change.
//!
//! It is no part of the code yet: `docs/design/bulk-on-aws.md` describes it. There is one site with one sitemap. A record has two
//! rows, its ledger and its entry: a reconcile writes both in one transaction, an import writes each by itself. That publishing
//! loses no change is for the model of publishing: here a publisher reads object and rows in one step and puts in another.

mod steps;
mod tests;

use stateright::{Model, Property};

use crate::Fault;

const RECORDS: usize = 2;
/// Runs at the same time.
const RUNS: usize = 2;
/// The tables: the one that is left, and the one that is imported.
const OLD: usize = 0;
const NEW: usize = 1;

/// What is done, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Phase {
    /// The content is read. It is no snapshot: each record is read by itself.
    Export,
    /// The rows of what was read are written.
    Import,
    /// The functions get the new table. For some time Lambda may still begin runs with the old one.
    Switch,
    /// The old table is deleted: no run begins with it, and those that have it fail.
    Drop,
    /// The same without that: the time limit of a run that has begun with the old table is over.
    Wait,
    /// Each record is compared with its rows, and reconciled if they differ.
    Compare,
    /// All is published from the new table, and the site is released.
    Publish,
}

/// The order that is right.
const ORDER: &[Phase] = &[
    Phase::Export,
    Phase::Import,
    Phase::Switch,
    Phase::Drop,
    Phase::Compare,
    Phase::Publish,
];

/// What must be so beside the order, each for being switched off.
#[derive(Clone, Copy, Debug)]
struct Conditions {
    /// The site is on hold in the new table until it is published.
    held: bool,
    /// The hold is moved on before the sitemap is published, so that segments' events publish from then on.
    second_step: bool,
    /// An import that has skipped a row ends everything.
    counted: bool,
    /// The comparison looks at entries, not only at ledgers.
    entries_compared: bool,
}

const ALL: Conditions = Conditions {
    held: true,
    second_step: true,
    counted: true,
    entries_compared: true,
};

#[derive(Clone, Copy, Debug)]
struct Import {
    conditions: Conditions,
    order: &'static [Phase],
    /// There is a table whose pages are published. Without it, nobody reads events before the switch.
    rebuild: bool,
    edits: u8,
    /// Rows that the import skips.
    skips: u8,
    faults: u8,
}

/// What a record says: the number of its edit. It is gone after the second.
type Content = u8;
const FIRST: Content = 1;
const GONE: Content = 2;

/// What is listed of a record.
fn listed(content: Content) -> Option<Content> {
    (content != 0 && content != GONE).then_some(content)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Rows {
    ledger: Content,
    entry: Content,
}

impl Rows {
    fn of(content: Content) -> Self {
        Self {
            ledger: content,
            entry: content,
        }
    }
}

type Table = [Rows; RECORDS];

/// The sitemap, with the table that it was made from: its epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Object {
    table: usize,
    entries: [Content; RECORDS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Hold {
    Loading,
    Publishing,
    Released,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Cause {
    Record(usize),
    Segment,
    Compare(usize),
    Publish,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    /// The comparison: the record, then its rows.
    Look,
    Rows,
    /// Reconcile.
    Fence,
    Content,
    Commit,
    /// Publish: the hold, object and rows, the PUT.
    Hold,
    Get,
    Put,
}

/// A run of a function, with what it has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Run {
    table: usize,
    cause: Cause,
    step: Step,
    /// Its event was delivered again.
    zombie: bool,
    /// Its token still stands in the record's ledger.
    token: bool,
    content: Content,
    object: Option<Object>,
    entries: [Content; RECORDS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    contents: [Content; RECORDS],
    edits: u8,
    skips: u8,
    faults: u8,
    /// Phases that are done, and how far the next one is.
    done: usize,
    progress: usize,
    /// The import has skipped a row: nothing goes on.
    failed: bool,
    exported: [Content; RECORDS],
    tables: [Table; 2],
    hold: Hold,
    object: Option<Object>,
    /// The newest of each record that was ever published.
    seen: [Content; RECORDS],
    /// Events.
    changed: [bool; RECORDS],
    segments: [bool; 2],
    runs: [Option<Run>; RUNS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Edit(usize),
    /// The next step of the phase that is next.
    Proceed,
    /// The import skips a row.
    Skip,
    Deliver(usize, Cause),
    Next(usize),
    Fails(usize, Fault),
}

impl Model for Import {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let published = [Rows::of(FIRST); RECORDS];
        let empty = Table::default();
        vec![State {
            contents: [FIRST; RECORDS],
            edits: self.edits,
            skips: self.skips,
            faults: self.faults,
            done: 0,
            progress: 0,
            failed: false,
            exported: [0; RECORDS],
            tables: [if self.rebuild { published } else { empty }, empty],
            hold: Hold::Loading,
            object: self.rebuild.then_some(Object {
                table: OLD,
                entries: [FIRST; RECORDS],
            }),
            seen: if self.rebuild {
                [FIRST; RECORDS]
            } else {
                [0; RECORDS]
            },
            changed: [false; RECORDS],
            segments: [false; 2],
            runs: [None; RUNS],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.edits > 0 {
            actions.extend((0..RECORDS).map(Action::Edit));
        }
        if self.may_proceed(state) {
            actions.push(Action::Proceed);
            // What is gone has no rows.
            let imports = self.order.get(state.done) == Some(&Phase::Import)
                && listed(state.exported[state.progress / 2]).is_some();
            actions.extend((imports && state.skips > 0).then_some(Action::Skip));
        }
        if state.runs.contains(&None) {
            for table in self.deliverable(state) {
                let changed = (0..RECORDS).filter(|record| state.changed[*record]);
                let segment = state.segments[table].then_some(Cause::Segment);
                let causes = changed.map(Cause::Record).chain(segment);
                actions.extend(causes.map(|cause| Action::Deliver(table, cause)));
            }
        }
        for (at, run) in state.runs.iter().enumerate() {
            let Some(run) = run else { continue };
            actions.push(Action::Next(at));
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
        // The first place is empty if any is: runs are sorted.
        match action {
            Action::Edit(record) => {
                state.edits -= 1;
                state.contents[record] += 1;
                // Before a first load nobody reads the events.
                state.changed[record] = self.rebuild || self.has_done(&state, Phase::Switch);
            }
            Action::Proceed => self.proceed(&mut state)?,
            Action::Skip => {
                state.skips -= 1;
                state.failed = self.conditions.counted;
                self.advance(&mut state, 2 * RECORDS);
            }
            Action::Deliver(table, cause) => {
                match cause {
                    Cause::Record(record) => state.changed[record] = false,
                    _ => state.segments[table] = false,
                }
                state.runs[0] = Some(Run::new(table, cause));
            }
            Action::Next(at) => {
                let run = state.runs[at]?;
                state.runs[at] = None;
                state.runs[at] = self.step(&mut state, run);
            }
            Action::Fails(at, fault) => {
                let run = state.runs[at].as_mut()?;
                run.zombie = true;
                let Run { table, cause, .. } = *run;
                if fault != Fault::Vanish {
                    state.faults -= 1;
                    match cause {
                        Cause::Record(record) => state.changed[record] = true,
                        Cause::Segment => state.segments[table] = true,
                        // The phase begins its run again.
                        Cause::Compare(_) | Cause::Publish => {}
                    }
                }
                if fault != Fault::Redeliver {
                    state.runs[at] = None;
                }
            }
        }
        state.runs.sort_unstable();
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(LISTED, |model, state: &State| {
                let entries = state.object.map_or([0; RECORDS], |object| object.entries);
                state.failed
                    || !model.is_at_rest(state)
                    || entries.map(listed) == state.contents.map(listed)
            }),
            Property::always(KEPT, |_, state: &State| {
                let entries = state.object.map_or([0; RECORDS], |object| object.entries);
                (0..RECORDS).all(|record| {
                    let (entry, seen) = (entries[record], state.seen[record]);
                    entry >= seen || listed(entry) == listed(seen)
                })
            }),
            Property::always(WHOLE, |_, state: &State| {
                state.object.is_none_or(|object| {
                    let records = object.entries.iter().zip(state.contents);
                    records
                        .into_iter()
                        .all(|(entry, content)| *entry > 0 || content != FIRST)
                })
            }),
            Property::sometimes("all is done", |model, state: &State| {
                model.is_at_rest(state)
            }),
            Property::sometimes(
                "a record changes before the comparison",
                |model, state: &State| {
                    let compares = model.order.get(state.done) == Some(&Phase::Compare);
                    let stale = state.tables[NEW][0].ledger != state.contents[0];
                    compares && stale || !model.order.contains(&Phase::Compare)
                },
            ),
        ]
    }
}

const LISTED: &str = "at rest, the sitemap lists what the records say";
const KEPT: &str = "what was published of a record is never taken back";
const WHOLE: &str = "no sitemap lacks a record that has never changed";
