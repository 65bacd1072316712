//! The steps of the phases and of the functions.

use super::*;

impl Import {
    pub(super) fn has_done(&self, state: &State, phase: Phase) -> bool {
        self.order[..state.done].contains(&phase)
    }

    /// The tables that runs may begin with.
    pub(super) fn deliverable(&self, state: &State) -> Vec<usize> {
        let mut tables = Vec::new();
        if self.rebuild
            && ![Phase::Drop, Phase::Wait]
                .iter()
                .any(|over| self.has_done(state, *over))
        {
            tables.push(OLD);
        }
        if self.has_done(state, Phase::Switch) {
            tables.push(NEW);
        }
        tables
    }

    pub(super) fn is_at_rest(&self, state: &State) -> bool {
        state.done == self.order.len()
            && state.runs == [None; RUNS]
            && !state.changed.contains(&true)
            && !self
                .deliverable(state)
                .iter()
                .any(|table| state.segments[*table])
    }

    pub(super) fn may_proceed(&self, state: &State) -> bool {
        let mut runs = state.runs.iter().flatten();
        match self.order.get(state.done) {
            None => false,
            _ if state.failed => false,
            Some(Phase::Wait) => runs.all(|run| run.table == NEW),
            // The run that it has begun is under way.
            Some(Phase::Compare | Phase::Publish) => {
                let begun = |run: &Run| {
                    !run.zombie && matches!(run.cause, Cause::Compare(_) | Cause::Publish)
                };
                !runs.any(begun) && state.runs.contains(&None)
            }
            Some(_) => true,
        }
    }

    /// Counts a step of a phase that has so many.
    pub(super) fn advance(&self, state: &mut State, steps: usize) {
        state.progress += 1;
        if state.progress == steps {
            state.progress = 0;
            state.done += 1;
        }
    }

    pub(super) fn proceed(&self, state: &mut State) -> Option<()> {
        let at = state.progress;
        match self.order.get(state.done)? {
            Phase::Export => {
                state.exported[at] = state.contents[at];
                self.advance(state, RECORDS);
            }
            Phase::Import => {
                let record = at / 2;
                // What is gone has no rows: they are as listed as rows that say so.
                let (content, rows) = (state.exported[record], &mut state.tables[NEW][record]);
                if at.is_multiple_of(2) {
                    rows.ledger = content;
                    // The row has another token than any run.
                    state.take_tokens(NEW, record);
                } else {
                    rows.entry = content;
                }
                self.advance(state, 2 * RECORDS);
            }
            Phase::Switch => {
                if !self.conditions.held {
                    state.hold = Hold::Released;
                }
                self.advance(state, 1);
            }
            Phase::Drop | Phase::Wait => self.advance(state, 1),
            Phase::Compare => state.runs[0] = Some(Run::new(NEW, Cause::Compare(at))),
            Phase::Publish if at == 0 => {
                if self.conditions.second_step {
                    state.hold = Hold::Publishing;
                }
                self.advance(state, 3);
            }
            Phase::Publish if at == 1 => state.runs[0] = Some(Run::new(NEW, Cause::Publish)),
            Phase::Publish => {
                state.hold = Hold::Released;
                self.advance(state, 3);
            }
        }
        Some(())
    }

    /// Does the next step of a run; returns what is left of the run.
    pub(super) fn step(&self, state: &mut State, mut run: Run) -> Option<Run> {
        let table = run.table;
        if table == OLD && run.step != Step::Put && self.has_done(state, Phase::Drop) {
            // Its call fails: its event is delivered again, and is one for the other table.
            if let Cause::Record(record) = run.cause {
                state.changed[record] = true;
            }
            return None;
        }
        run.step = match run.step {
            Step::Look => {
                run.content = state.contents[run.cause.record()?];
                Step::Rows
            }
            Step::Rows => {
                let rows = state.tables[table][run.cause.record()?];
                let entry = if self.conditions.entries_compared {
                    rows.entry
                } else {
                    rows.ledger
                };
                let found = [rows.ledger, entry].map(listed);
                if found == [listed(run.content); 2] {
                    return self.compared(state, run);
                }
                Step::Fence
            }
            Step::Fence => {
                let record = run.cause.record()?;
                state.take_tokens(table, record);
                run.token = true;
                Step::Content
            }
            Step::Content => {
                run.content = state.contents[run.cause.record()?];
                Step::Commit
            }
            Step::Commit => {
                let rows = &mut state.tables[table][run.cause.record()?];
                // Only who repairs doubts that the entry is as the ledger says.
                let repairs = matches!(run.cause, Cause::Compare(_));
                let same = rows.ledger == run.content && (!repairs || rows.entry == run.content);
                if !same {
                    if run.token {
                        *rows = Rows::of(run.content);
                        state.segments[table] = true;
                    } else {
                        run.step = Step::Fence;
                        return Some(run);
                    }
                }
                return self.compared(state, run);
            }
            Step::Hold => {
                if table == NEW && state.hold == Hold::Loading {
                    return None;
                }
                Step::Get
            }
            Step::Get => {
                run.object = state.object;
                run.entries = state.tables[table].map(|rows| rows.entry);
                let object = Object {
                    table,
                    entries: run.entries,
                };
                if run.object == Some(object) {
                    return self.published(state, run);
                }
                Step::Put
            }
            Step::Put => {
                if state.object != run.object {
                    run.step = Step::Get;
                    return Some(run);
                }
                state.object = Some(Object {
                    table,
                    entries: run.entries,
                });
                for (seen, entry) in state.seen.iter_mut().zip(run.entries) {
                    *seen = entry.max(*seen);
                }
                return self.published(state, run);
            }
        };
        Some(run)
    }

    /// Ends a run that is done with a record. The phase counts a run that it still waits for.
    fn compared(&self, state: &mut State, run: Run) -> Option<Run> {
        let waits = self.order.get(state.done) == Some(&Phase::Compare);
        if waits && run.cause == Cause::Compare(state.progress) {
            self.advance(state, RECORDS);
        }
        None
    }

    fn published(&self, state: &mut State, run: Run) -> Option<Run> {
        let waits = self.order.get(state.done) == Some(&Phase::Publish);
        if waits && run.cause == Cause::Publish && state.progress == 1 {
            self.advance(state, 3);
        }
        None
    }
}

impl State {
    /// From now on no run has the token of a record's ledger.
    fn take_tokens(&mut self, table: usize, record: usize) {
        for run in self.runs.iter_mut().flatten() {
            run.token &= run.table != table || run.cause.record() != Some(record);
        }
    }
}

impl Cause {
    pub(super) fn record(self) -> Option<usize> {
        match self {
            Self::Record(record) | Self::Compare(record) => Some(record),
            Self::Segment | Self::Publish => None,
        }
    }
}

impl Run {
    pub(super) fn new(table: usize, cause: Cause) -> Self {
        let step = match cause {
            Cause::Record(_) => Step::Fence,
            Cause::Compare(_) => Step::Look,
            Cause::Segment => Step::Hold,
            Cause::Publish => Step::Get,
        };
        Self {
            table,
            cause,
            step,
            zombie: false,
            token: false,
            content: 0,
            object: None,
            entries: [0; RECORDS],
        }
    }
}
