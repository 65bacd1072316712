//! Publishing: object, rows, stamps, PUT, summary, index, while rows keep changing.
//!
//! As in `engine::regenerate::shard`, `engine::regenerate::site_files` and `engine::rows::entry`. An object's ETag depends on its
//! bytes, so two objects are the same if their contents are: stamps, epoch and document. A query is not a snapshot: each of a
//! segment's rows, and each of an index's summaries, is read separately.

mod steps;
mod tests;

use stateright::{Model, Property};

use crate::Fault;

/// The most rows of a configuration, and the most shards. A segment's number in a shard is 0 or 1.
const ROWS: usize = 3;
const SHARDS: usize = 2;
const SEGMENTS: usize = 2;
/// Concurrent runs.
const RUNS: usize = 3;

/// The conditions of the code, each of which can be switched off.
#[derive(Clone, Copy, Debug)]
struct Conditions {
    /// Whether a shard is put under `If-Match` or `If-None-Match: *`.
    if_match: bool,
    /// Whether rows are read after the object.
    object_first: bool,
    /// Whether rows are read again after a lost PUT.
    rows_read_again: bool,
    /// Whether a PUT is skipped for equal stamps, and not for equal documents.
    stamps: bool,
    /// Whether a removed entry's row stays, with its version.
    stubs: bool,
    /// Whether the summary is written even if nothing was put.
    summary_always: bool,
    /// Whether the summary is conditional on a lower generation.
    summary_rises: bool,
    /// Whether the summary is written after the object.
    object_before_summary: bool,
    /// Whether the index has a stamp, and is not compared as a document.
    index_stamp: bool,
    /// Whether the index is put under a condition.
    index_if_match: bool,
    /// Whether the summaries are read after the index.
    index_first: bool,
    /// Whether an object of another epoch is built whole.
    epoch_checked: bool,
}

const ALL: Conditions = Conditions {
    if_match: true,
    object_first: true,
    rows_read_again: true,
    stamps: true,
    stubs: true,
    summary_always: true,
    summary_rises: true,
    object_before_summary: true,
    index_stamp: true,
    index_if_match: true,
    index_first: true,
    epoch_checked: true,
};

#[derive(Clone, Copy, Debug)]
struct Publish {
    conditions: Conditions,
    /// The shard and the segment of each row.
    rows: &'static [(usize, usize)],
    runs: usize,
    writes: u8,
    faults: u8,
    /// How often the sitemap table is dropped and built again.
    drops: u8,
    /// Whether runs may continue after their table was dropped.
    outlive: bool,
    /// The number of texts that an entry may have, besides being absent.
    texts: u8,
}

/// An entry's text. 0 if there is none.
type Text = u8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Row {
    version: u8,
    text: Text,
}

/// A shard's object: its directory and its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Object {
    epoch: u8,
    stamps: [u8; SEGMENTS],
    texts: [Text; ROWS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Summary {
    generation: u8,
    entries: u8,
    newest: Text,
}

/// The index: the lastmod of each listed shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Index {
    epoch: u8,
    stamp: u8,
    lines: [Option<Text>; SHARDS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Cause {
    Shard {
        shard: usize,
        touched: [bool; SEGMENTS],
    },
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    /// Read the site's row.
    Site,
    Get,
    /// Read this row or this shard's summary, or the next relevant one.
    Read(usize),
    Put,
    Summarise,
}

/// A run of a function, with the values that it has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Run {
    cause: Cause,
    step: Step,
    /// Whether its event was delivered again.
    zombie: bool,
    epoch: u8,
    object: Option<Object>,
    rows: [Option<Row>; ROWS],
    built: Option<Object>,
    /// Whether the object was put, or needs no PUT.
    settled: bool,
    index: Option<Index>,
    summaries: [Option<Summary>; SHARDS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    epoch: u8,
    rows: [Row; ROWS],
    writes: u8,
    faults: u8,
    drops: u8,
    objects: [Option<Object>; SHARDS],
    summaries: [Option<Summary>; SHARDS],
    index: Option<Index>,
    /// The events of segments.
    touched: [[bool; SEGMENTS]; SHARDS],
    /// The event of a summary, or of the site's row.
    summarised: bool,
    runs: [Option<Run>; RUNS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Write(usize, Text),
    Drop,
    /// Deliver a batch with the events of one segment, or of all.
    Deliver(usize, Option<usize>),
    DeliverIndex,
    Next(usize),
    Fails(usize, Fault),
}

fn begin(cause: Cause, zombie: bool) -> Run {
    Run {
        cause,
        step: Step::Site,
        zombie,
        epoch: 0,
        object: None,
        rows: [None; ROWS],
        built: None,
        settled: false,
        index: None,
        summaries: [None; SHARDS],
    }
}

fn begin_index(conditions: &Conditions, zombie: bool) -> Run {
    let step = if conditions.index_first {
        Step::Get
    } else {
        Step::Site
    };
    Run {
        step,
        ..begin(Cause::Index, zombie)
    }
}

impl State {
    fn is_at_rest(&self) -> bool {
        self.runs.iter().all(Option::is_none)
            && !self.summarised
            && self.touched == [[false; SEGMENTS]; SHARDS]
    }
}

impl Model for Publish {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            epoch: 1,
            rows: [Row::default(); ROWS],
            writes: self.writes,
            faults: self.faults,
            drops: self.drops,
            objects: [None; SHARDS],
            summaries: [None; SHARDS],
            index: None,
            touched: [[false; SEGMENTS]; SHARDS],
            summarised: true,
            runs: [None; RUNS],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.writes > 0 {
            for row in 0..self.rows.len() {
                let others = (0..=self.texts).filter(|text| *text != state.rows[row].text);
                actions.extend(others.map(|text| Action::Write(row, text)));
            }
        }
        actions.extend((state.drops > 0).then_some(Action::Drop));
        if state.runs.iter().flatten().count() < self.runs {
            for (shard, touched) in state.touched.iter().enumerate() {
                match touched {
                    [true, true] => actions.extend([
                        Action::Deliver(shard, Some(0)),
                        Action::Deliver(shard, Some(1)),
                        Action::Deliver(shard, None),
                    ]),
                    [false, false] => {}
                    _ => actions.push(Action::Deliver(shard, None)),
                }
            }
            actions.extend(state.summarised.then_some(Action::DeliverIndex));
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
        // Runs are sorted, so the first place is empty if any is.
        match action {
            Action::Write(row, text) => {
                state.writes -= 1;
                let version = state.rows[row].version + 1;
                state.rows[row] = if text == 0 && !self.conditions.stubs {
                    Row::default()
                } else {
                    Row { version, text }
                };
                let (shard, segment) = self.rows[row];
                state.touched[shard][segment] = true;
            }
            Action::Drop => {
                state.drops -= 1;
                state.epoch += 1;
                state.summaries = [None; SHARDS];
                // The pass that rebuilds the table publishes every shard that has an object, and the index.
                state.summarised = true;
                for (row, (shard, segment)) in state.rows.iter_mut().zip(self.rows) {
                    row.version = u8::from(row.text > 0);
                    state.touched[*shard][*segment] = true;
                }
                // The old stream was deleted together with the table.
                for run in &mut state.runs {
                    *run = run.filter(|_| self.outlive).map(|run| Run {
                        zombie: true,
                        ..run
                    });
                }
            }
            Action::Deliver(shard, segment) => {
                let mut touched = state.touched[shard];
                if let Some(segment) = segment {
                    touched[1 - segment] = false;
                }
                for (left, taken) in state.touched[shard].iter_mut().zip(touched) {
                    *left &= !taken;
                }
                state.runs[0] = Some(begin(Cause::Shard { shard, touched }, false));
            }
            Action::DeliverIndex => {
                state.summarised = false;
                state.runs[0] = Some(begin_index(&self.conditions, false));
            }
            Action::Next(at) => {
                let run = state.runs[at]?;
                state.runs[at] = match run.cause {
                    Cause::Shard { shard, touched } => {
                        self.shard_step(&mut state, run, shard, touched)
                    }
                    Cause::Index => self.index_step(&mut state, run),
                };
            }
            Action::Fails(at, fault) => {
                let run = state.runs[at].as_mut()?;
                if fault != Fault::Vanish {
                    state.faults -= 1;
                    match run.cause {
                        Cause::Shard { shard, touched } => {
                            for (left, taken) in state.touched[shard].iter_mut().zip(touched) {
                                *left |= taken;
                            }
                        }
                        Cause::Index => state.summarised = true,
                    }
                }
                run.zombie = true;
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
                let lines = state.index.map(|index| index.lines).unwrap_or_default();
                let missing = |(line, object): (&Option<Text>, &Option<Object>)| {
                    line.is_some() && object.is_none()
                };
                !lines.iter().zip(&state.objects).any(missing)
            }),
            Property::always(SHARD, |model, state: &State| {
                !state.is_at_rest()
                    || (0..SHARDS).all(|shard| {
                        let texts = state.objects[shard].map(|object| object.texts);
                        texts.unwrap_or_default() == model.object(state, shard).texts
                    })
            }),
            Property::always(INDEX, |model, state: &State| {
                !state.is_at_rest()
                    || state.index.is_some_and(|index| {
                        (0..SHARDS).all(|shard| {
                            let newest = model.object(state, shard).texts.into_iter().max();
                            index.lines[shard].unwrap_or(0) == newest.unwrap_or(0)
                        })
                    })
            }),
            Property::sometimes("a shard is emptied", |_, state: &State| {
                let empty = |object: &Object| object.texts == [0; ROWS];
                state.is_at_rest() && state.objects.iter().flatten().any(empty)
            }),
        ]
    }
}

const WHOLE: &str = "an index lists no sitemap that is not there";
const SHARD: &str = "at rest, a published shard is what its rows are";
const INDEX: &str = "at rest, the index is what the shards are";
