//! The steps of a run.

use super::*;

impl Publish {
    /// Returns the rows of a shard, each with its segment.
    fn rows_of(&self, shard: usize) -> impl Iterator<Item = (usize, usize)> {
        let rows = self.rows.iter().enumerate();
        rows.filter(move |(_, (of, _))| *of == shard)
            .map(|(row, (_, segment))| (row, *segment))
    }

    /// Returns an object with a shard's current rows.
    pub(super) fn object(&self, state: &State, shard: usize) -> Object {
        let mut object = Object {
            epoch: state.epoch,
            stamps: [0; SEGMENTS],
            texts: [0; ROWS],
        };
        for (row, segment) in self.rows_of(shard) {
            object.stamps[segment] += state.rows[row].version;
            object.texts[row] = state.rows[row].text;
        }
        object
    }

    /// Returns the object that may be spliced.
    fn base(&self, run: &Run) -> Option<Object> {
        let ours = |object: &Object| object.epoch == run.epoch || !self.conditions.epoch_checked;
        run.object.filter(ours)
    }

    /// Returns whether a run has to read a row.
    fn reads(&self, run: &Run, shard: usize, touched: [bool; SEGMENTS], row: usize) -> bool {
        let known = run.rows[row].is_some() && !self.conditions.rows_read_again;
        let whole = self.base(run).is_none() || !self.conditions.object_first;
        self.rows[row].0 == shard && (whole || touched[self.rows[row].1]) && !known
    }

    /// Sets the next step of reading a shard's rows, or the step after them.
    fn after_rows(&self, run: &mut Run, shard: usize, touched: [bool; SEGMENTS], from: usize) {
        let next = (from..self.rows.len()).find(|row| self.reads(run, shard, touched, *row));
        match next {
            Some(row) => run.step = Step::Read(row),
            None if !self.conditions.object_first => run.step = Step::Get,
            None => self.build(run, shard),
        }
    }

    fn build(&self, run: &mut Run, shard: usize) {
        let base = self.base(run);
        let mut built = base.unwrap_or(Object {
            epoch: run.epoch,
            stamps: [0; SEGMENTS],
            texts: [0; ROWS],
        });
        for segment in 0..SEGMENTS {
            let rows = self.rows_of(shard).filter(|(_, of)| *of == segment);
            let read: Vec<_> = rows
                .filter_map(|(row, _)| Some((row, run.rows[row]?)))
                .collect();
            if !read.is_empty() {
                built.stamps[segment] = read.iter().map(|(_, row)| row.version).sum();
                for (row, read) in read {
                    built.texts[row] = read.text;
                }
            }
        }
        let equal = match base {
            Some(base) if self.conditions.stamps => base.stamps == built.stamps,
            Some(base) => base.texts == built.texts,
            // No slot of it was ever used.
            None => run.object.is_none() && built.stamps == [0; SEGMENTS],
        };
        run.settled = equal;
        run.built = if equal { base } else { Some(built) };
        run.step = match (equal, self.conditions.object_before_summary) {
            (false, true) => Step::Put,
            _ => Step::Summarise,
        };
    }

    /// Executes a step of a run for a shard. Returns the rest of the run.
    pub(super) fn shard_step(
        &self,
        state: &mut State,
        mut run: Run,
        shard: usize,
        touched: [bool; SEGMENTS],
    ) -> Option<Run> {
        let conditions = &self.conditions;
        match run.step {
            Step::Site => {
                run.epoch = state.epoch;
                if conditions.object_first {
                    run.step = Step::Get;
                } else {
                    self.after_rows(&mut run, shard, touched, 0);
                }
            }
            Step::Get => {
                run.object = state.objects[shard];
                if conditions.object_first {
                    self.after_rows(&mut run, shard, touched, 0);
                } else {
                    self.build(&mut run, shard);
                }
            }
            Step::Read(row) => {
                run.rows[row] = Some(state.rows[row]);
                self.after_rows(&mut run, shard, touched, row + 1);
            }
            Step::Put => {
                if conditions.if_match && state.objects[shard] != run.object {
                    return Some(self.again(run));
                }
                state.objects[shard] = run.built;
                if !conditions.object_before_summary {
                    return None;
                }
                run.settled = true;
                run.object = None;
                run.rows = [None; ROWS];
                run.step = Step::Summarise;
            }
            Step::Summarise => {
                let built = run.built?;
                let summary = Summary {
                    generation: built.stamps.iter().sum(),
                    entries: built.texts.iter().filter(|text| **text > 0).count() as u8,
                    newest: built.texts.into_iter().max().unwrap_or_default(),
                };
                let equal = run.settled && run.object.is_some();
                let rises = state.summaries[shard]
                    .is_none_or(|before| before.generation < summary.generation);
                if (conditions.summary_always || !equal)
                    && (rises || !conditions.summary_rises)
                    && state.summaries[shard] != Some(summary)
                {
                    state.summaries[shard] = Some(summary);
                    state.summarised = true;
                }
                if run.settled {
                    return None;
                }
                run.step = Step::Put;
            }
        }
        Some(run)
    }

    /// Returns the run started again from the object, without anything that was read.
    fn again(&self, run: Run) -> Run {
        let rows = if self.conditions.rows_read_again {
            [None; ROWS]
        } else {
            run.rows
        };
        let step = if self.conditions.object_first {
            Step::Get
        } else {
            Step::Site
        };
        Run {
            rows,
            epoch: run.epoch,
            step,
            ..begin(run.cause, run.zombie)
        }
    }

    /// Executes a step of a run for the index. Returns the rest of the run.
    pub(super) fn index_step(&self, state: &mut State, mut run: Run) -> Option<Run> {
        let conditions = &self.conditions;
        let shards = 1 + self.rows.iter().map(|(shard, _)| *shard).max().unwrap_or(0);
        match run.step {
            Step::Get => {
                run.index = state.index;
                run.step = if conditions.index_first {
                    Step::Site
                } else {
                    Step::Put
                };
            }
            Step::Site => {
                run.epoch = state.epoch;
                run.step = Step::Read(0);
            }
            Step::Read(shard) => {
                run.summaries[shard] = state.summaries[shard];
                run.step = match shard + 1 {
                    next if next < shards => Step::Read(next),
                    _ if conditions.index_first => Step::Put,
                    _ => Step::Get,
                };
            }
            Step::Put => {
                let line = |summary: Summary| (summary.entries > 0).then_some(summary.newest);
                let built = Index {
                    epoch: run.epoch,
                    // The version of the settings is part of the stamp, so an index without summaries has one too.
                    stamp: 1 + run
                        .summaries
                        .iter()
                        .flatten()
                        .map(|summary| summary.generation)
                        .sum::<u8>(),
                    lines: run.summaries.map(|summary| summary.and_then(line)),
                };
                let equal = run.index.is_some_and(|index| {
                    index.epoch == built.epoch
                        && if conditions.index_stamp {
                            index.stamp == built.stamp
                        } else {
                            index.lines == built.lines
                        }
                });
                if equal {
                    return None;
                }
                if conditions.index_if_match && state.index != run.index {
                    return Some(begin_index(conditions, run.zombie));
                }
                state.index = Some(built);
                return None;
            }
            Step::Summarise => {}
        }
        Some(run)
    }
}
