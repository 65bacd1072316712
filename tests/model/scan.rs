//! The scans and the hold: a filled table's first load, new settings, and a site that becomes known, while records change.
//!
//! As in `engine::regenerate::{content_scan, site_scan}`, `engine::rows::site`, and the parts of `engine::ingest`,
//! `engine::reconcile` and `engine::regenerate` that ask for the site's row. There is one site, and the events of one of its
//! records are long gone. A run's first request and its event's delivery are one action, because before it the run has no state.
//! The model of publishing covers that a publisher never restores an older state, so a shard and an index are one step each here.
//! A listed record has one slot and stays there.

mod steps;
mod tests;

use stateright::{Model, Property};

use crate::Fault;

const RECORDS: usize = 2;
/// Concurrent runs.
const RUNS: usize = 3;

/// The conditions of the code, each of which can be switched off.
#[derive(Clone, Copy, Debug)]
struct Conditions {
    /// Whether the hold moves on before shards are published, so that segments' events publish from then on.
    second_step: bool,
    /// Whether `ingest` leaves a record to the scan of content only while its pass has not begun.
    left_while_waiting: bool,
    /// Whether it leaves only existing records to the scan, which sees no others.
    left_if_there: bool,
    /// Whether a run that has placed a record in a new place reads the site's row once more. A scan may have passed that place
    /// before.
    looks_again: bool,
    /// Whether a site's row and its scan are written in one transaction.
    created_with_scan: bool,
    /// Whether a site's scan reads the excluded records.
    left_out_listed: bool,
    /// Whether it reads them once more after the entries. A record may have moved between both reads.
    left_out_again: bool,
    /// Whether it starts from its beginning if there are entries, even if the site's row is new.
    entries_first: bool,
    /// Whether the scan of a site on hold does nothing before all content was scanned.
    content_first: bool,
    /// Whether it requests that scan if there was no request.
    content_wanted: bool,
    /// Whether the scan of content wakes the sites' scans at its end.
    sites_woken: bool,
    /// Whether the progress of a site's scan is conditional on its token.
    progress_checked: bool,
    /// Whether that token is random, and not a counter in the row.
    token_random: bool,
    /// Whether the progress of the content's scan is conditional on its token.
    pass_checked: bool,
    /// Whether it is also conditional on the absence of a new request.
    wanted_checked: bool,
    /// Whether shards are published before the site is released.
    shards_first: bool,
}

const ALL: Conditions = Conditions {
    second_step: true,
    left_while_waiting: true,
    left_if_there: true,
    looks_again: true,
    created_with_scan: true,
    left_out_listed: true,
    left_out_again: true,
    entries_first: true,
    content_first: true,
    content_wanted: true,
    sites_woken: true,
    progress_checked: true,
    token_random: true,
    pass_checked: true,
    wanted_checked: true,
    shards_first: true,
};

/// The initial state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// A table that was never read.
    Empty,
    /// A published site.
    Released,
    /// An unknown site, whose content may have been scanned for others.
    Unknown,
    /// A site whose content is to be scanned for others.
    Waiting,
    /// The row of the site is lost, or that of the scan of content during a first load.
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Scan {
    conditions: Conditions,
    start: Start,
    contents: [Content; RECORDS],
    runs: usize,
    edits: u8,
    /// Changes that come only from the passing of time.
    timers: u8,
    settings: u8,
    /// Changes of the mapping. They make no event, but all content is scanned again.
    mappings: u8,
    faults: u8,
    /// Whether a slice of the site's scan may do more than one part. Its token is not checked in between.
    long_slices: bool,
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

/// The scan of all content. Its row stays at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Job {
    wanted: bool,
    pass: Option<Pass>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Pass {
    Content(usize),
    Sites,
}

/// The site's own scan. Its row is deleted at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct SiteScan {
    part: Part,
    /// The token, if tokens are counters.
    count: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    LeftOut,
    Entries,
    LeftOutAgain,
    Publish,
}

/// The content of a record. 0 if the record does not exist.
type Content = u8;
const CONTENTS: Content = 2;
/// An entry: the record's content in the form that the settings require.
type Entry = (Content, u8);

/// The place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Row {
    /// Excluded under these settings. `None` if its site is not known.
    LeftOut(Option<u8>),
    Entry(Entry),
}

impl Row {
    /// Returns the row that a record should have. Each change of the settings lists the excluded records, and excludes the listed
    /// ones.
    fn of(content: Content, settings: Option<u8>) -> Option<Self> {
        match settings {
            _ if content == 0 => None,
            Some(settings) if (content + settings) % 2 == 1 => {
                Some(Self::Entry((content, settings)))
            }
            settings => Some(Self::LeftOut(settings)),
        }
    }

    fn entry(self) -> Option<Entry> {
        match self {
            Self::Entry(entry) => Some(entry),
            Self::LeftOut(_) => None,
        }
    }
}

fn entries(rows: [Option<Row>; RECORDS]) -> [Option<Entry>; RECORDS] {
    rows.map(|row| row.and_then(Row::entry))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Cause {
    Record,
    Timer,
    /// A timer that the commit has removed. There is no further event for it.
    Nobody,
    /// The settings of an unknown site.
    Settings,
    Segment,
    Index,
    Job,
    Scan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Step {
    /// `ingest` checks whether a pass over the content will begin, the record exists, and its site is on hold.
    Waiting,
    There,
    Held,
    /// Reconcile.
    Fence,
    Content,
    Site,
    Create,
    Enqueue,
    Commit,
    Look,
    /// `regenerate` reads the site's row, and then publishes the shard.
    Hold,
    Publish,
    Index,
    /// A slice of the content's scan.
    Job,
    Page,
    Advance,
    /// A slice of the site's scan.
    Scan,
    OnHold,
    Complete,
    Want,
    List,
    Move,
    Row,
    Shards,
    Release,
    Progress,
}

/// A run of a function, with the values that it has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Run {
    cause: Cause,
    step: Step,
    /// Whether its event was delivered again.
    zombie: bool,
    record: usize,
    /// Whether its token is still in the record's ledger.
    token: bool,
    before: Option<Row>,
    content: Content,
    settings: Option<u8>,
    job: Job,
    /// Whether the pass is unchanged since it was read.
    job_token: bool,
    scan: Option<SiteScan>,
    /// The rest of its work.
    part: Option<Part>,
    /// Whether the site's scan is unchanged since it was read.
    scan_token: bool,
    /// Records that are still to be reconciled.
    listed: [bool; RECORDS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    contents: [Content; RECORDS],
    /// Whether the first record has changed.
    edited: bool,
    edits: u8,
    timers: u8,
    known: bool,
    settings: u8,
    mappings: u8,
    faults: u8,
    site: Option<Site>,
    job: Option<Job>,
    scan: Option<SiteScan>,
    rows: [Option<Row>; RECORDS],
    shard: Option<[Option<Entry>; RECORDS]>,
    /// Whether the index lists the shard. `None` if there is no index.
    index: Option<bool>,
    /// Pending events.
    changed: [bool; RECORDS],
    due: [bool; RECORDS],
    announced: bool,
    segment: bool,
    summarised: bool,
    progressed: bool,
    scanned: bool,
    runs: [Option<Run>; RUNS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Edit(usize, Content),
    Ring(usize, Content),
    ChangeSettings,
    ChangeMapping,
    Deliver(Cause, usize),
    Next(usize),
    /// A slice of the site's scan has time left, and continues.
    GoesOn(usize),
    Fails(usize, Fault),
}

impl State {
    fn is_at_rest(&self) -> bool {
        let others = [
            self.announced,
            self.segment,
            self.summarised,
            self.progressed,
            self.scanned,
        ];
        self.runs.iter().all(Option::is_none)
            && !others
                .iter()
                .chain(&self.changed)
                .chain(&self.due)
                .any(|event| *event)
    }

    fn is_released(&self) -> bool {
        self.site.is_some_and(|site| site.hold == Hold::Released)
    }

    /// Returns the pending event of a run. A timer's event never comes again.
    fn event(&mut self, cause: Cause, record: usize) -> Option<&mut bool> {
        match cause {
            Cause::Record => Some(&mut self.changed[record]),
            Cause::Timer => Some(&mut self.due[record]),
            Cause::Nobody => None,
            Cause::Settings => Some(&mut self.announced),
            Cause::Segment => Some(&mut self.segment),
            Cause::Index => Some(&mut self.summarised),
            Cause::Job => Some(&mut self.progressed),
            Cause::Scan => Some(&mut self.scanned),
        }
    }

    /// Starts the site's scan anew. Without entries no record can move between both reads.
    fn scan_anew(&mut self, entries: bool, conditions: &Conditions) {
        let part = match (entries, conditions.left_out_listed) {
            (true, true) => Part::LeftOut,
            (true, false) => Part::Entries,
            (false, true) => Part::LeftOutAgain,
            (false, false) => Part::Publish,
        };
        let count = self.scan.map_or(0, |scan| scan.count) + u8::from(!conditions.token_random);
        self.write_scan(Some(SiteScan { part, count }));
    }

    fn write_scan(&mut self, scan: Option<SiteScan>) {
        self.scan = scan;
        self.scanned |= scan.is_some();
        for run in self.runs.iter_mut().flatten() {
            run.scan_token = false;
        }
    }

    /// Requests a scan of the content if it has no row.
    fn want_job(&mut self) {
        if self.job.is_none() {
            self.write_job(Job {
                wanted: true,
                pass: None,
            });
        }
    }

    fn write_job(&mut self, job: Job) {
        self.job = Some(job);
        // The event of a finished scan finds nothing to do.
        self.progressed |= job != Job::default();
        for run in self.runs.iter_mut().flatten() {
            run.job_token = false;
        }
    }

    fn publish(&mut self) {
        let entries = entries(self.rows);
        let new = entries.iter().any(Option::is_some) || self.shard.is_some();
        if new && self.shard != Some(entries) {
            self.shard = Some(entries);
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
        let empty = State {
            contents: self.contents,
            edited: false,
            edits: self.edits,
            timers: self.timers,
            known: !matches!(self.start, Start::Unknown | Start::Waiting),
            settings: 0,
            mappings: self.mappings,
            faults: self.faults,
            site: None,
            job: None,
            scan: None,
            rows: [None; RECORDS],
            shard: None,
            index: None,
            changed: [false, true],
            due: [false; RECORDS],
            announced: false,
            segment: false,
            summarised: false,
            progressed: false,
            scanned: false,
            runs: [None; RUNS],
        };
        let scanned = State {
            job: Some(Job::default()),
            rows: [Row::of(self.contents[0], empty.known.then_some(0)), None],
            ..empty
        };
        let wanted = State {
            job: Some(Job {
                wanted: true,
                pass: None,
            }),
            progressed: true,
            ..empty
        };
        let site = |hold| Site { hold, settings: 0 };
        let shard = Some(entries(scanned.rows)).filter(|shard| shard[0].is_some());
        let released = State {
            site: Some(site(Hold::Released)),
            shard,
            index: Some(shard.is_some()),
            ..scanned
        };
        match self.start {
            Start::Empty => vec![empty],
            Start::Unknown => vec![empty, scanned],
            Start::Waiting => vec![wanted],
            Start::Released => vec![released],
            Start::Lost => vec![
                State {
                    site: None,
                    ..released
                },
                State {
                    site: Some(site(Hold::Loading)),
                    scan: Some(SiteScan {
                        part: Part::LeftOutAgain,
                        count: 0,
                    }),
                    scanned: true,
                    ..empty
                },
            ],
        }
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (record, content) in state.contents.iter().enumerate() {
            let others = (0..=CONTENTS).filter(|other| other != content);
            if state.edits > 0 {
                actions.extend(others.clone().map(|to| Action::Edit(record, to)));
            }
            // A timer is set by the run that places the record.
            if state.timers > 0 && state.rows[record].is_some() && *content > 0 {
                let others = others.filter(|other| *other > 0);
                actions.extend(others.map(|to| Action::Ring(record, to)));
            }
        }
        actions.extend((state.settings < self.settings).then_some(Action::ChangeSettings));
        let mapped = state.mappings > 0 && state.job.is_some() && state.contents[0] > 0;
        actions.extend(mapped.then_some(Action::ChangeMapping));
        if state.runs.iter().flatten().count() < self.runs {
            let records = (0..RECORDS).flat_map(|record| {
                let changed = state.changed[record].then_some(Cause::Record);
                let due = state.due[record].then_some(Cause::Timer);
                let causes = changed.into_iter().chain(due);
                causes.map(move |cause| Action::Deliver(cause, record))
            });
            actions.extend(records);
            let others = [
                (state.announced, Cause::Settings),
                (state.segment, Cause::Segment),
                (state.summarised, Cause::Index),
                (state.progressed, Cause::Job),
                (state.scanned, Cause::Scan),
            ];
            let pending = others.into_iter().filter(|(pending, _)| *pending);
            actions.extend(pending.map(|(_, cause)| Action::Deliver(cause, 0)));
        }
        for (at, run) in state.runs.iter().enumerate() {
            let Some(run) = run else { continue };
            actions.push(Action::Next(at));
            let left = self.long_slices && run.step == Step::Progress && run.part.is_some();
            actions.extend(left.then_some(Action::GoesOn(at)));
            if run.zombie {
                actions.push(Action::Fails(at, Fault::Vanish));
            } else if state.faults > 0 {
                actions.push(Action::Fails(at, Fault::Crash));
                if run.cause != Cause::Nobody {
                    actions.push(Action::Fails(at, Fault::Redeliver));
                }
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = *last;
        // Runs are sorted, so the first place is empty if any is.
        match action {
            Action::Edit(record, content) => {
                state.edits -= 1;
                state.contents[record] = content;
                state.edited |= record == 0;
                state.changed[record] = true;
            }
            Action::Ring(record, content) => {
                state.timers -= 1;
                state.contents[record] = content;
                state.edited |= record == 0;
                state.due[record] = true;
            }
            // In one step, because the model of settings covers how the site's row follows.
            Action::ChangeSettings => {
                state.settings += 1;
                state.announced |= state.site.is_none();
                state.known = true;
                if let Some(site) = &mut state.site {
                    site.settings = state.settings;
                    state.summarised = true;
                    state.scan_anew(true, &self.conditions);
                }
            }
            Action::ChangeMapping => {
                state.mappings -= 1;
                state.contents[0] = CONTENTS + 1 - state.contents[0];
                state.edited = true;
                // The token stays, because this may be sent twice.
                state.job.as_mut()?.wanted = true;
                state.progressed = true;
            }
            Action::Deliver(cause, record) => {
                *state.event(cause, record)? = false;
                let step = match cause {
                    // A released site stays released. None of its records is left to the scan, whatever `ingest` reads.
                    Cause::Record if !state.is_released() => Step::Waiting,
                    Cause::Record | Cause::Timer | Cause::Nobody => Step::Fence,
                    Cause::Settings => Step::Create,
                    Cause::Segment => Step::Hold,
                    Cause::Index => Step::Index,
                    Cause::Job => Step::Job,
                    Cause::Scan => Step::Scan,
                };
                let run = Run {
                    cause,
                    step,
                    zombie: false,
                    record,
                    token: false,
                    before: None,
                    content: 0,
                    settings: None,
                    job: Job::default(),
                    job_token: false,
                    scan: None,
                    part: None,
                    scan_token: false,
                    listed: [false; RECORDS],
                };
                state.runs[0] = state.next(run, &self.conditions);
            }
            Action::Next(at) => {
                let run = state.runs[at]?;
                state.runs[at] = None;
                state.runs[at] = state.next(run, &self.conditions);
            }
            Action::GoesOn(at) => {
                let mut run = state.runs[at]?;
                run.step = state.go_on(&run, &self.conditions);
                state.runs[at] = Some(run);
            }
            Action::Fails(at, fault) => {
                let run = state.runs[at].as_mut()?;
                run.zombie = true;
                let Run { cause, record, .. } = *run;
                if fault != Fault::Vanish {
                    state.faults -= 1;
                    if let Some(event) = state.event(cause, record) {
                        *event = true;
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
            Property::always(WHOLE, |model, state: &State| {
                let listed = state.shard.is_some_and(|shard| shard[0].is_some());
                let placed = state.rows[0].is_some_and(|row| row != Row::LeftOut(None));
                (state.shard.is_none() && state.index.is_none())
                    || state.edited
                    || listed
                    || model.settings > 0 && placed
            }),
            Property::always(LISTED, |_, state: &State| {
                let settings = state.known.then_some(state.settings);
                let mut wanted = state.contents.map(|content| Row::of(content, settings));
                // Without a site, no run has read a record whose event is long gone.
                if state.site.is_none() && state.rows[0].is_none() && !state.edited {
                    wanted[0] = None;
                }
                let listed = entries(wanted);
                let any = listed.iter().any(Option::is_some);
                !state.is_at_rest()
                    || state.rows == wanted
                        && state.shard.unwrap_or_default() == listed
                        && state.index.unwrap_or(false) == any
            }),
            Property::always(DONE, |_, state: &State| {
                let on_hold = state.site.is_some_and(|site| site.hold != Hold::Released);
                let under_way = state.job.is_some_and(|job| job != Job::default());
                !state.is_at_rest() || !on_hold && state.scan.is_none() && !under_way
            }),
            Property::sometimes(
                "settings change during a first load",
                |model, state: &State| {
                    let loads = state.site.is_some_and(|site| site.hold == Hold::Publishing);
                    let anew = state.scan.is_some_and(|scan| scan.part == Part::LeftOut);
                    model.start != Start::Empty || model.settings == 0 || loads && anew
                },
            ),
            Property::sometimes(
                "a site's scan waits for the content's",
                |model, state: &State| {
                    let waits = state.scan.is_some();
                    let pass = state.job.and_then(|job| job.pass);
                    model.start != Start::Empty || waits && pass == Some(Pass::Content(0))
                },
            ),
        ]
    }
}

const WHOLE: &str = "nothing is published before the load is complete";
const LISTED: &str = "at rest, everything is listed or left out as the settings say";
const DONE: &str = "at rest, no site is on hold and no scan under way";
