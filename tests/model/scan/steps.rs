//! The steps of a run.

use super::*;

impl State {
    /// Does the next step of a run; returns what is left of the run.
    pub(super) fn next(&mut self, mut run: Run, conditions: &Conditions) -> Option<Run> {
        let published = if conditions.second_step {
            Hold::Publishing
        } else {
            Hold::Loading
        };
        run.step = match run.step {
            Step::Waiting => {
                let left = self
                    .job
                    .is_some_and(|job| job.waiting || !conditions.left_while_waiting);
                if left { Step::Held } else { Step::Fence }
            }
            Step::Held => match self.site {
                Some(Site {
                    hold: Hold::Loading,
                    ..
                }) => Step::There,
                _ => Step::Fence,
            },
            Step::There => {
                if self.contents[run.record] > 0 || !conditions.left_if_there {
                    return None;
                }
                Step::Fence
            }
            Step::Fence => {
                for other in self.runs.iter_mut().flatten() {
                    other.token &= other.record != run.record;
                }
                run.token = true;
                Step::Content
            }
            Step::Content => {
                run.content = self.contents[run.record];
                Step::Site
            }
            Step::Site => match self.site {
                Some(site) => {
                    run.settings = site.settings;
                    Step::Commit
                }
                None => Step::Create,
            },
            Step::Create => {
                let none = self.site.is_none();
                self.site.get_or_insert(Site {
                    hold: Hold::Loading,
                    settings: self.settings,
                });
                if conditions.created_waiting {
                    if none {
                        self.enqueue(conditions);
                    }
                    Step::Site
                } else {
                    Step::Enqueue
                }
            }
            Step::Enqueue => {
                self.enqueue(conditions);
                Step::Site
            }
            Step::Commit => {
                let entry = (run.content > 0).then_some((run.content, run.settings));
                let changes = entry != self.rows[run.record];
                if changes && !run.token {
                    Step::Fence
                } else {
                    self.rows[run.record] = entry;
                    self.segment |= changes;
                    if run.cause == Cause::Record {
                        return None;
                    }
                    Step::Advance
                }
            }
            Step::Hold => match self.site {
                Some(site) if site.hold != Hold::Loading => Step::Publish,
                _ => return None,
            },
            Step::Publish => {
                self.publish();
                return None;
            }
            Step::Index => {
                if self.site.is_some_and(|site| site.hold == Hold::Released) {
                    let entries = self.shard.iter().flatten().flatten().count();
                    self.index = Some(entries > 0);
                }
                return None;
            }
            Step::Job => {
                run.job = self.job?;
                run.job_token = true;
                match run.job.pass {
                    None => Step::Advance,
                    Some(Pass::Scan(record)) => {
                        run.record = record;
                        Step::Page
                    }
                    Some(Pass::Publish) if conditions.shards_first => Step::Move,
                    Some(Pass::Publish) => Step::Release,
                }
            }
            // The page names the records that there are.
            Step::Page if self.contents[run.record] > 0 => Step::Fence,
            Step::Page => Step::Advance,
            Step::Move => {
                if conditions.second_step {
                    self.move_hold(Hold::Loading, published);
                }
                Step::Row
            }
            Step::Row => match self.site {
                Some(site) if site.hold == published => Step::Shards,
                _ => Step::Release,
            },
            Step::Shards => {
                self.publish();
                if !conditions.shards_first {
                    Step::Advance
                } else {
                    Step::Release
                }
            }
            Step::Release => {
                if conditions.shards_first {
                    self.move_hold(published, Hold::Released);
                    Step::Advance
                } else {
                    self.move_hold(Hold::Loading, Hold::Released);
                    Step::Shards
                }
            }
            Step::Advance => {
                self.advance(&run, conditions);
                return None;
            }
        };
        Some(run)
    }

    fn advance(&mut self, run: &Run, conditions: &Conditions) {
        let stands = if conditions.token_random {
            run.job_token
        } else {
            self.job.is_some_and(|job| job.count == run.job.count)
        };
        if !stands && conditions.progress_checked {
            return;
        }
        let before = run.job;
        let pass = match before.pass {
            None => before.waiting.then_some(Pass::Scan(0)),
            Some(Pass::Scan(record)) if record + 1 < RECORDS => Some(Pass::Scan(record + 1)),
            Some(Pass::Scan(_)) => Some(Pass::Publish),
            Some(Pass::Publish) => None,
        };
        let waiting = before.waiting && before.pass.is_some();
        let count = before.count + u8::from(!conditions.token_random);
        self.job = (waiting || pass.is_some()).then_some(Job {
            waiting,
            pass,
            count,
        });
        self.job_written();
    }
}
