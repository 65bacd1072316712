//! The scan and the hold: the first load of a filled table while records and settings go on changing.
//!
//! As in `engine::regenerate::scan`, `engine::sites`, and the parts of `ingest` and `regenerate` that ask for the hold.
//! There is one site, loaded from a table that holds records whose events are long gone. That a publisher leaves no older state
//! behind is for the model of publishing: here it is one step.

mod steps;
mod tests;

use stateright::{Model, Property};

use crate::Fault;

const RECORDS: usize = 2;
/// Runs at the same time.
const RUNS: usize = 3;

/// What the code promises itself, each for being switched off.
#[derive(Clone, Copy, Debug)]
struct Conditions {
    /// The hold is moved on before shards are published, so that segments' events publish from then on.
    second_step: bool,
    /// `ingest` leaves a record to the scan only while the pass has not begun.
    left_while_waiting: bool,
    /// It leaves only records that there are: the scan sees no others.
    left_if_there: bool,
    /// A site's row and its place in the scan are written in one transaction.
    created_waiting: bool,
    /// The scan's progress is conditional on its token.
    progress_checked: bool,
    /// That token is random, not a counter of the row's own.
    token_random: bool,
    /// Shards are published before the site is released.
    shards_first: bool,
}

const ALL: Conditions = Conditions {
    second_step: true,
    left_while_waiting: true,
    left_if_there: true,
    created_waiting: true,
    progress_checked: true,
    token_random: true,
    shards_first: true,
};

#[derive(Clone, Copy, Debug)]
struct Scan {
    conditions: Conditions,
    runs: usize,
    edits: u8,
    settings: u8,
    faults: u8,
    /// Contents beside being gone.
    contents: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Hold {
    Loading,
    Publishing,
    Released,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Site {
    hold: Hold,
    settings: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Pass {
    Scan(usize),
    Publish,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Job {
    waiting: bool,
    pass: Option<Pass>,
    /// The token, if tokens are counted.
    count: u8,
}

/// What a record says, 0 if it is gone.
type Content = u8;
/// An entry: the record's content, in the form that the settings ask for.
type Entry = (Content, u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Cause {
    Record,
    Segment,
    Index,
    Job,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    /// `ingest`: does a site wait for the scan, is it on hold, and is the record there?
    Waiting,
    Held,
    There,
    /// Reconcile.
    Fence,
    Content,
    Site,
    Create,
    Enqueue,
    Commit,
    /// `regenerate`: the site's row, then the shard.
    Hold,
    Publish,
    Index,
    /// A slice of the scan.
    Job,
    Page,
    Move,
    Row,
    Shards,
    Release,
    Advance,
}

/// A run of a function, with what it has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Run {
    cause: Cause,
    step: Step,
    /// Its event was delivered again.
    zombie: bool,
    record: usize,
    /// Its token still stands in the record's ledger.
    token: bool,
    content: Content,
    settings: u8,
    job: Job,
    /// The scan's row is as it was read.
    job_token: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    contents: [Content; RECORDS],
    edited: [bool; RECORDS],
    edits: u8,
    settings: u8,
    faults: u8,
    site: Option<Site>,
    job: Option<Job>,
    rows: [Option<Entry>; RECORDS],
    shard: Option<[Option<Entry>; RECORDS]>,
    /// Whether the index lists the shard.
    index: Option<bool>,
    /// Events.
    changed: [bool; RECORDS],
    segment: bool,
    summarised: bool,
    progressed: bool,
    runs: [Option<Run>; RUNS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Edit(usize, Content),
    ChangeSettings,
    Deliver(Cause, usize),
    Next(usize),
    Fails(usize, Fault),
}

impl State {
    fn is_at_rest(&self) -> bool {
        self.runs.iter().all(Option::is_none)
            && !(self.segment || self.summarised || self.progressed || self.changed.contains(&true))
    }

    /// Lets the site wait for the scan.
    fn enqueue(&mut self, conditions: &Conditions) {
        let job = self.job.get_or_insert_default();
        job.waiting = true;
        if !conditions.token_random {
            job.count += 1;
        }
        self.job_written();
    }

    fn job_written(&mut self) {
        self.progressed |= self.job.is_some();
        for run in self.runs.iter_mut().flatten() {
            run.job_token = false;
        }
    }

    fn publish(&mut self) {
        let new = self.rows.iter().any(Option::is_some) || self.shard.is_some();
        if new && self.shard != Some(self.rows) {
            self.shard = Some(self.rows);
            self.summarised = true;
        }
    }

    fn move_hold(&mut self, from: Hold, to: Hold) {
        if let Some(site) = self.site.as_mut().filter(|site| site.hold == from) {
            site.hold = to;
            self.summarised = true;
        }
    }
}

impl Model for Scan {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            contents: [1, 0],
            edited: [false; RECORDS],
            edits: self.edits,
            settings: 0,
            faults: self.faults,
            site: None,
            job: None,
            rows: [None; RECORDS],
            shard: None,
            index: None,
            changed: [false, true],
            segment: false,
            summarised: false,
            progressed: false,
            runs: [None; RUNS],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.edits > 0 {
            for (record, content) in state.contents.iter().enumerate() {
                let others = (0..=self.contents).filter(|other| other != content);
                actions.extend(others.map(|content| Action::Edit(record, content)));
            }
        }
        actions.extend((state.settings < self.settings).then_some(Action::ChangeSettings));
        if state.runs.iter().flatten().count() < self.runs {
            let changed = (0..RECORDS).filter(|record| state.changed[*record]);
            actions.extend(changed.map(|record| Action::Deliver(Cause::Record, record)));
            let others = [
                (state.segment, Cause::Segment),
                (state.summarised, Cause::Index),
                (state.progressed, Cause::Job),
            ];
            let pending = others.into_iter().filter(|(pending, _)| *pending);
            actions.extend(pending.map(|(_, cause)| Action::Deliver(cause, 0)));
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
            Action::Edit(record, content) => {
                state.edits -= 1;
                state.contents[record] = content;
                state.edited[record] = true;
                state.changed[record] = true;
            }
            // In one step: how the site's row follows is for the model of settings.
            Action::ChangeSettings => {
                state.settings += 1;
                if let Some(site) = &mut state.site {
                    site.settings = state.settings;
                    state.summarised = true;
                    state.enqueue(&self.conditions);
                }
            }
            Action::Deliver(cause, record) => {
                let (event, step) = match cause {
                    Cause::Record => (&mut state.changed[record], Step::Waiting),
                    Cause::Segment => (&mut state.segment, Step::Hold),
                    Cause::Index => (&mut state.summarised, Step::Index),
                    Cause::Job => (&mut state.progressed, Step::Job),
                };
                *event = false;
                state.runs[0] = Some(Run {
                    cause,
                    step,
                    zombie: false,
                    record,
                    token: false,
                    content: 0,
                    settings: 0,
                    job: Job::default(),
                    job_token: false,
                });
            }
            Action::Next(at) => {
                let run = state.runs[at]?;
                state.runs[at] = None;
                state.runs[at] = state.next(run, &self.conditions);
            }
            Action::Fails(at, fault) => {
                let run = state.runs[at].as_mut()?;
                run.zombie = true;
                let run = *run;
                if fault != Fault::Vanish {
                    state.faults -= 1;
                    match run.cause {
                        Cause::Record => state.changed[run.record] = true,
                        Cause::Segment => state.segment = true,
                        Cause::Index => state.summarised = true,
                        Cause::Job => state.progressed = true,
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
            Property::always(WHOLE, |_, state: &State| {
                let listed =
                    |record: usize| state.shard.is_some_and(|shard| shard[record].is_some());
                (state.shard.is_none() && state.index.is_none()) || state.edited[0] || listed(0)
            }),
            Property::always(LISTED, |_, state: &State| {
                let wanted = state
                    .contents
                    .map(|content| (content > 0).then_some((content, state.settings)));
                let any = wanted.iter().any(Option::is_some);
                // A record that was gone before anybody looked leaves no site to be made.
                !state.is_at_rest()
                    || state.shard.unwrap_or_default() == wanted
                        && state.index.unwrap_or(false) == any
            }),
            Property::always(DONE, |_, state: &State| {
                let on_hold = state.site.is_some_and(|site| site.hold != Hold::Released);
                !state.is_at_rest() || !on_hold && state.job.is_none()
            }),
            Property::sometimes("settings change during a pass", |model, state: &State| {
                let both = |job: Job| job.waiting && job.pass.is_some();
                model.settings == 0 || state.job.is_some_and(both)
            }),
        ]
    }
}

const WHOLE: &str = "nothing is published before the load is complete";
const LISTED: &str = "at rest, what is eligible is listed as it is, and nothing else is";
const DONE: &str = "at rest, no site is on hold and no pass under way";
