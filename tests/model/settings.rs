//! A site's row and the texts that are made from it: settings change while the first page creates the site.
//!
//! As in `engine::reconcile` (`ensure_site`, `reconcile_site`), `engine::rows::site` and `engine::regenerate::site_files`
//! (`publish_text`). S3's ETag depends only on the bytes, not on the metadata, which contain the stamp of a text.

use stateright::{Model, Property};

use crate::{Fault, holds, refutes};

/// Concurrent runs.
const RUNS: usize = 2;

/// The conditions of the code, each of which can be switched off.
#[derive(Clone, Copy, Debug)]
struct Conditions {
    /// Whether a run that creates a row compares it with the record once more, under a fence.
    made_twice: bool,
    /// Whether a run that finds a row that was never compared does so, too.
    confirmed: bool,
    /// Whether `sweep` compares the row with the record some time after each change of the row.
    swept: bool,
    /// Whether the fence precedes the read of the settings.
    fence_first: bool,
    /// Whether a change is conditional on the fence's token.
    token_checked: bool,
    /// Whether the row is read again after a PUT.
    looks_again: bool,
    /// Whether the bytes differ if the stamps do.
    stamped_bytes: bool,
}

const ALL: Conditions = Conditions {
    made_twice: true,
    confirmed: false,
    swept: true,
    fence_first: true,
    token_checked: true,
    looks_again: false,
    stamped_bytes: true,
};

/// The settings of a site without a settings record.
const DEFAULT: u8 = 0;

#[derive(Clone, Copy, Debug)]
struct Settings {
    conditions: Conditions,
    edits: u8,
    faults: u8,
    /// Whether the texts are part of the model.
    texts: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Row {
    version: u8,
    settings: u8,
    confirmed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Text {
    version: u8,
    settings: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Cause {
    Page,
    Settings,
    Site,
    Sweep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    /// The clock's run: it reads the row, then the settings.
    Look,
    Compare,
    /// A page's run: it reads the row, then the settings for a new one.
    Row,
    ReadNew,
    Create,
    /// The settings' run.
    Fence,
    Read,
    Change,
    /// A text: the object, the row, the PUT.
    Head,
    TextRow,
    Put,
}

/// A run of a function, with the values that it has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Run {
    cause: Cause,
    step: Step,
    /// Whether its event was delivered again.
    zombie: bool,
    /// Whether its token is still in the row.
    token: bool,
    row: Option<Row>,
    settings: u8,
    text: Option<Text>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    settings: u8,
    edits: u8,
    faults: u8,
    row: Option<Row>,
    text: Option<Text>,
    /// Pending events.
    page: bool,
    changed: bool,
    site: bool,
    sweep: bool,
    runs: [Option<Run>; RUNS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Edit,
    Deliver(Cause),
    Next(usize),
    Fails(usize, Fault),
}

impl Settings {
    fn etag(&self, text: Option<Text>) -> Option<(u8, u8)> {
        let stamp = |text: Text| {
            if self.conditions.stamped_bytes {
                text.version
            } else {
                0
            }
        };
        text.map(|text| (stamp(text), text.settings))
    }

    /// Executes the next step of a run. Returns the rest of the run.
    fn step(&self, state: &mut State, mut run: Run) -> Option<Run> {
        let conditions = &self.conditions;
        let begins = if conditions.fence_first {
            Step::Fence
        } else {
            Step::Read
        };
        run.step = match run.step {
            Step::Look => {
                run.row = state.row;
                Step::Compare
            }
            Step::Compare => {
                if run.row?.settings == state.settings {
                    return None;
                }
                begins
            }
            Step::Row => match state.row {
                Some(row) if row.confirmed || !conditions.confirmed => return None,
                Some(_) => begins,
                None => Step::ReadNew,
            },
            Step::ReadNew => {
                run.settings = state.settings;
                Step::Create
            }
            Step::Create => {
                if state.row.is_none() {
                    state.row = Some(Row {
                        version: 1,
                        settings: run.settings,
                        confirmed: false,
                    });
                    state.site = self.texts;
                    state.sweep = conditions.swept;
                }
                if !conditions.made_twice {
                    return None;
                }
                begins
            }
            Step::Fence => match state.row {
                // Without a record, the first page creates the site.
                None if state.settings == DEFAULT => return None,
                None => Step::Row,
                Some(_) => {
                    for other in state.runs.iter_mut().flatten() {
                        other.token = false;
                    }
                    run.token = true;
                    run.row = state.row;
                    if conditions.fence_first {
                        Step::Read
                    } else {
                        Step::Change
                    }
                }
            },
            Step::Read => {
                run.settings = state.settings;
                if conditions.fence_first {
                    Step::Change
                } else {
                    Step::Fence
                }
            }
            Step::Change => {
                let row = run.row?;
                if row.settings == run.settings && (row.confirmed || !conditions.confirmed) {
                    return None;
                }
                if !run.token && conditions.token_checked {
                    begins
                } else {
                    state.row = Some(Row {
                        version: state.row?.version + 1,
                        settings: run.settings,
                        confirmed: true,
                    });
                    state.site = self.texts;
                    state.sweep = conditions.swept;
                    return None;
                }
            }
            Step::Head => {
                run.text = state.text;
                Step::TextRow
            }
            Step::TextRow => {
                run.row = state.row;
                let row = run.row?;
                if run.text.is_some_and(|text| text.version == row.version) {
                    return None;
                }
                Step::Put
            }
            Step::Put => {
                let Row {
                    version, settings, ..
                } = run.row?;
                if self.etag(state.text) == self.etag(run.text) {
                    state.text = Some(Text { version, settings });
                    if !conditions.looks_again {
                        return None;
                    }
                }
                run.text = None;
                run.row = None;
                Step::Head
            }
        };
        Some(run)
    }
}

impl Model for Settings {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            settings: DEFAULT,
            edits: self.edits,
            faults: self.faults,
            row: None,
            text: None,
            page: true,
            changed: false,
            site: false,
            sweep: false,
            runs: [None; RUNS],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.extend((state.edits > 0).then_some(Action::Edit));
        if state.runs.contains(&None) {
            let events = [
                (state.page, Cause::Page),
                (state.changed, Cause::Settings),
                (state.site, Cause::Site),
                (state.sweep, Cause::Sweep),
            ];
            let pending = events.into_iter().filter(|(pending, _)| *pending);
            actions.extend(pending.map(|(_, cause)| Action::Deliver(cause)));
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
            Action::Edit => {
                state.edits -= 1;
                state.settings = 1 - state.settings;
                state.changed = true;
            }
            Action::Deliver(cause) => {
                let first_read = if self.conditions.fence_first {
                    Step::Fence
                } else {
                    Step::Read
                };
                let (event, step) = match cause {
                    Cause::Page => (&mut state.page, Step::Row),
                    Cause::Settings => (&mut state.changed, first_read),
                    Cause::Site => (&mut state.site, Step::Head),
                    Cause::Sweep => (&mut state.sweep, Step::Look),
                };
                *event = false;
                state.runs[0] = Some(Run {
                    cause,
                    step,
                    zombie: false,
                    token: false,
                    row: None,
                    settings: 0,
                    text: None,
                });
            }
            Action::Next(at) => {
                let run = state.runs[at]?;
                state.runs[at] = None;
                state.runs[at] = self.step(&mut state, run);
            }
            Action::Fails(at, fault) => {
                let run = state.runs[at].as_mut()?;
                run.zombie = true;
                let cause = run.cause;
                if fault != Fault::Vanish {
                    state.faults -= 1;
                    match cause {
                        Cause::Page => state.page = true,
                        Cause::Settings => state.changed = true,
                        Cause::Site => state.site = true,
                        Cause::Sweep => state.sweep = true,
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
        fn rests(state: &State) -> bool {
            !(state.page || state.changed || state.site || state.sweep)
                && state.runs == [None; RUNS]
        }
        vec![
            Property::always(ROW, |_, state: &State| {
                !rests(state) || state.row.is_some_and(|row| row.settings == state.settings)
            }),
            Property::always(TEXT, |model, state: &State| {
                !rests(state)
                    || !model.texts
                    || state
                        .text
                        .is_some_and(|text| text.settings == state.settings)
            }),
        ]
    }
}

const ROW: &str = "at rest, a site's row has the settings of its record";
const TEXT: &str = "at rest, robots.txt is what the settings are";

const SMALL: Settings = Settings {
    conditions: ALL,
    edits: 3,
    faults: 2,
    texts: false,
};
const TEXTS: Settings = Settings {
    texts: true,
    ..SMALL
};
/// A configuration that would be correct without the sweep.
const CONFIRMED: Settings = Settings {
    conditions: Conditions {
        confirmed: true,
        swept: false,
        ..ALL
    },
    ..SMALL
};

#[test]
fn settings_change_while_the_first_page_makes_the_site() {
    holds("settings", SMALL);
    holds("settings and texts", TEXTS);
    holds("settings, confirmed and not swept", CONFIRMED);
}

#[test]
fn every_condition_is_needed() {
    let without = |name: &str, mut model: Settings, off: fn(&mut Conditions), property| {
        off(&mut model.conditions);
        refutes(&format!("settings without {name}"), model, property);
    };
    without("the sweep", SMALL, |c| c.swept = false, ROW);
    without(
        "the fence before the read",
        CONFIRMED,
        |c| c.fence_first = false,
        ROW,
    );
    without(
        "the token's condition",
        CONFIRMED,
        |c| c.token_checked = false,
        ROW,
    );
    without(
        "stamps in the bytes",
        TEXTS,
        |c| c.stamped_bytes = false,
        TEXT,
    );
    without(
        "stamps in the bytes, with another look",
        TEXTS,
        |c| {
            c.stamped_bytes = false;
            c.looks_again = true;
        },
        TEXT,
    );
}
