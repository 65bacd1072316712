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
            Step::Fence => {
                for other in self.runs.iter_mut().flatten() {
                    other.token &= other.record != run.record;
                }
                run.token = true;
                run.before = self.rows[run.record];
                Step::Content
            }
            Step::Content => {
                run.content = self.contents[run.record];
                // A record that is gone leaves whatever site it was on.
                if run.content > 0 {
                    Step::Site
                } else {
                    Step::Commit
                }
            }
            Step::Site => match self.site {
                None if self.known => Step::Create,
                site => {
                    run.settings = site.map(|site| site.settings);
                    Step::Commit
                }
            },
            Step::Create => {
                if self.site.is_none() {
                    self.site = Some(Site {
                        hold: Hold::Loading,
                        settings: self.settings,
                    });
                    if conditions.created_with_scan {
                        self.scan_anew(conditions);
                    }
                }
                match run.cause {
                    _ if !conditions.created_with_scan => Step::Enqueue,
                    Cause::Settings => return None,
                    _ => Step::Site,
                }
            }
            Step::Enqueue => {
                self.scan_anew(conditions);
                match run.cause {
                    Cause::Settings => return None,
                    _ => Step::Site,
                }
            }
            Step::Commit => {
                let row = Row::of(run.content, run.settings);
                if row == run.before {
                    return self.reconciled(run);
                }
                if run.token {
                    self.rows[run.record] = row;
                    let entry = |row: Option<Row>| row.and_then(Row::entry);
                    self.segment |= entry(run.before) != entry(row);
                    if run.cause == Cause::Timer {
                        run.cause = Cause::Nobody;
                    }
                    // What was placed before, a site's scan finds, or has fenced.
                    let is_new = run.before.is_none() && row.is_some();
                    if !is_new || !conditions.looks_again {
                        return self.reconciled(run);
                    }
                    Step::Look
                } else {
                    Step::Fence
                }
            }
            Step::Look => {
                if self.site.map(|site| site.settings) == run.settings {
                    return self.reconciled(run);
                }
                Step::Fence
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
                    None if run.job.wanted => Step::Advance,
                    None => return None,
                    Some(Pass::Content(record)) => {
                        run.record = record;
                        Step::Page
                    }
                    Some(Pass::Sites) => Step::Scan,
                }
            }
            // The page names the records that there are.
            Step::Page if self.contents[run.record] > 0 => Step::Fence,
            Step::Page => Step::Advance,
            Step::Advance => {
                self.advance(&run, conditions);
                return None;
            }
            Step::Scan => {
                run.scan = self.scan;
                run.scan_token = true;
                match run.scan {
                    None => return self.scan_sliced(run),
                    Some(scan) if scan.part == Part::Publish => Step::Complete,
                    Some(_) => Step::List,
                }
            }
            Step::List => {
                let entries = run.scan?.part == Part::Entries;
                let listed = |row: Row| row.entry().is_some() == entries;
                run.listed = self.rows.map(|row| row.is_some_and(listed));
                return self.reconciled(run);
            }
            Step::Complete => match self.job {
                None => Step::Want,
                Some(job) => {
                    let complete = !job.wanted && !matches!(job.pass, Some(Pass::Content(_)));
                    if complete || !conditions.content_first {
                        self.move_or_release(conditions)
                    } else {
                        return self.scan_sliced(run);
                    }
                }
            },
            Step::Want => {
                if self.job.is_none() {
                    self.write_job(Job {
                        wanted: true,
                        pass: None,
                    });
                }
                if conditions.content_first {
                    return self.scan_sliced(run);
                }
                self.move_or_release(conditions)
            }
            Step::Move => {
                self.move_hold(Hold::Loading, published);
                Step::Row
            }
            Step::Row => match self.site {
                Some(site) if site.hold == published => Step::Shards,
                _ => Step::Progress,
            },
            Step::Shards => {
                self.publish();
                if conditions.shards_first {
                    Step::Release
                } else {
                    Step::Progress
                }
            }
            Step::Release => {
                if conditions.shards_first {
                    self.move_hold(published, Hold::Released);
                    Step::Progress
                } else {
                    self.move_hold(Hold::Loading, Hold::Released);
                    Step::Shards
                }
            }
            Step::Progress => {
                self.progress(&run, conditions);
                return self.scan_sliced(run);
            }
        };
        Some(run)
    }

    fn move_or_release(&self, conditions: &Conditions) -> Step {
        if !conditions.shards_first {
            Step::Release
        } else if conditions.second_step {
            Step::Move
        } else {
            Step::Row
        }
    }

    /// What a run does when it is done with a record.
    fn reconciled(&mut self, mut run: Run) -> Option<Run> {
        run.token = false;
        run.before = None;
        run.content = 0;
        run.settings = None;
        run.step = match run.scan {
            None if run.cause == Cause::Job => Step::Advance,
            None => return None,
            Some(_) => match run.listed.iter().position(|listed| *listed) {
                Some(record) => {
                    run.listed[record] = false;
                    run.record = record;
                    Step::Fence
                }
                None => {
                    run.record = 0;
                    Step::Progress
                }
            },
        };
        Some(run)
    }

    /// What a run does after a slice of the site's scan: there is no other site.
    fn scan_sliced(&self, mut run: Run) -> Option<Run> {
        run.scan = None;
        run.scan_token = false;
        run.step = Step::Advance;
        (run.cause == Cause::Job).then_some(run)
    }

    fn progress(&mut self, run: &Run, conditions: &Conditions) {
        let Some(before) = run.scan else { return };
        let stands = if conditions.token_random {
            run.scan_token
        } else {
            self.scan.is_some_and(|scan| scan.count == before.count)
        };
        if !stands && conditions.progress_checked {
            return;
        }
        let next = match before.part {
            Part::LeftOut => Some(Part::Entries),
            Part::Entries if conditions.left_out_listed && conditions.left_out_again => {
                Some(Part::LeftOutAgain)
            }
            Part::Entries | Part::LeftOutAgain => Some(Part::Publish),
            Part::Publish => None,
        };
        let count = before.count + u8::from(!conditions.token_random);
        self.write_scan(next.map(|part| SiteScan { part, count }));
    }

    fn advance(&mut self, run: &Run, conditions: &Conditions) {
        let Some(job) = self.job else { return };
        let before = run.job;
        if !run.job_token && conditions.pass_checked
            || job.wanted != before.wanted && conditions.wanted_checked
        {
            return;
        }
        let begin = Job {
            wanted: false,
            pass: Some(Pass::Content(0)),
        };
        let go_on = |pass| Job {
            pass,
            wanted: before.wanted,
        };
        self.write_job(match before.pass {
            Some(Pass::Content(record)) if record + 1 < RECORDS => {
                go_on(Some(Pass::Content(record + 1)))
            }
            Some(Pass::Content(_)) if conditions.sites_woken => go_on(Some(Pass::Sites)),
            _ if before.wanted => begin,
            _ => Job::default(),
        });
    }
}
