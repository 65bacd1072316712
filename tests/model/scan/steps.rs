//! The steps of a run.

use super::*;

impl State {
    /// Executes the next step of a run. Returns the rest of the run.
    pub(super) fn next(&mut self, mut run: Run, conditions: &Conditions) -> Option<Run> {
        let published = if conditions.second_step {
            Hold::Publishing
        } else {
            Hold::Loading
        };
        run.step = match run.step {
            Step::Waiting => {
                let is_to_begin = |job: Job| job.wanted && job.pass.is_none();
                let left = |job| is_to_begin(job) || !conditions.left_while_waiting;
                if self.job.is_some_and(left) {
                    Step::There
                } else {
                    Step::Fence
                }
            }
            Step::There => {
                if self.contents[run.record] > 0 || !conditions.left_if_there {
                    Step::Held
                } else {
                    Step::Fence
                }
            }
            Step::Held => match self.site {
                Some(site) if site.hold == Hold::Loading => return None,
                _ => Step::Fence,
            },
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
                // A deleted record leaves whatever site it was on.
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
                // Whether there are entries, and a row of the content's scan, is read before. Without a site's row no entry is
                // written. A content's scan that another site has begun would be requested once more, as by a mapping.
                if self.site.is_none() {
                    self.site = Some(Site {
                        hold: Hold::Loading,
                        settings: self.settings,
                    });
                    self.want_job();
                    if conditions.created_with_scan {
                        self.scan_created(conditions);
                    }
                }
                match run.cause {
                    _ if !conditions.created_with_scan => Step::Enqueue,
                    Cause::Settings => return None,
                    _ => Step::Site,
                }
            }
            Step::Enqueue => {
                self.scan_created(conditions);
                match run.cause {
                    Cause::Settings => return None,
                    _ => Step::Site,
                }
            }
            Step::Commit => {
                let row = Row::of(run.content, run.settings);
                if row == run.before {
                    return self.reconciled(run, conditions);
                }
                if run.token {
                    self.rows[run.record] = row;
                    let entry = |row: Option<Row>| row.and_then(Row::entry);
                    self.segment |= entry(run.before) != entry(row);
                    if run.cause == Cause::Timer {
                        run.cause = Cause::Nobody;
                    }
                    // If the row stays of the same kind, a site's scan finds it, or has fenced it.
                    let kind = |row: Row| row.entry().is_some();
                    let appears = row.is_some() && row.map(kind) != run.before.map(kind);
                    if !appears || !conditions.looks_again {
                        return self.reconciled(run, conditions);
                    }
                    run.forget_but_settings();
                    Step::Look
                } else {
                    run.forget();
                    Step::Fence
                }
            }
            Step::Look => {
                if self.site.map(|site| site.settings) == run.settings {
                    return self.reconciled(run, conditions);
                }
                run.forget();
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
                if self.is_released() {
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
            // The page contains the existing records.
            Step::Page if self.contents[run.record] > 0 => Step::Fence,
            Step::Page => Step::Advance,
            Step::Advance => {
                self.advance(&run, conditions);
                return None;
            }
            Step::Scan => {
                run.scan = self.scan;
                run.scan_token = true;
                run.part = run.scan.map(|scan| scan.part);
                if run.scan.is_none() {
                    return self.scan_sliced(run);
                }
                self.go_on(&run, conditions)
            }
            Step::OnHold => match self.site {
                Some(site) if site.hold != Hold::Released && conditions.content_first => {
                    Step::Complete
                }
                _ => begin(&run, conditions),
            },
            Step::Complete => match self.job {
                None if conditions.content_wanted => Step::Want,
                Some(job) if !job.wanted && !matches!(job.pass, Some(Pass::Content(_))) => {
                    begin(&run, conditions)
                }
                _ => return self.wait(run),
            },
            Step::Want => {
                self.want_job();
                return self.wait(run);
            }
            Step::List => {
                let entries = run.part == Some(Part::Entries);
                let listed = |row: Row| row.entry().is_some() == entries;
                run.listed = self.rows.map(|row| row.is_some_and(listed));
                return self.reconciled(run, conditions);
            }
            Step::Move => {
                self.move_hold(Hold::Loading, published);
                Step::Row
            }
            Step::Row => match self.site {
                Some(site) if site.hold == published => Step::Shards,
                _ => run.finish_part(conditions),
            },
            Step::Shards => {
                self.publish();
                if conditions.shards_first {
                    Step::Release
                } else {
                    run.finish_part(conditions)
                }
            }
            Step::Release => {
                if conditions.shards_first {
                    self.move_hold(published, Hold::Released);
                    run.finish_part(conditions)
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

    /// Writes the scan of a site whose row is new.
    fn scan_created(&mut self, conditions: &Conditions) {
        // While there is no row, nothing is published, so the shard is as old as its series' row.
        let entries = self.shard.is_some();
        self.scan_anew(entries && conditions.entries_first, conditions);
    }

    /// Returns the rest of a run after a record.
    fn reconciled(&mut self, mut run: Run, conditions: &Conditions) -> Option<Run> {
        run.forget();
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
                    run.finish_part(conditions)
                }
            },
        };
        Some(run)
    }

    /// Returns the step at which a slice of the site's scan continues.
    pub(super) fn go_on(&self, run: &Run, conditions: &Conditions) -> Step {
        // It stays released.
        if self.is_released() {
            begin(run, conditions)
        } else {
            Step::OnHold
        }
    }

    /// Returns the rest of a slice that has to wait for the content. A write would only be an event for the same again.
    fn wait(&self, mut run: Run) -> Option<Run> {
        if run.part == run.scan?.part.into() {
            return self.scan_sliced(run);
        }
        run.step = Step::Progress;
        Some(run)
    }

    /// Returns the rest of a run after a slice of the site's scan. There is no other site.
    fn scan_sliced(&self, mut run: Run) -> Option<Run> {
        run.scan = None;
        run.part = None;
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
        let count = before.count + u8::from(!conditions.token_random);
        self.write_scan(run.part.map(|part| SiteScan { part, count }));
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
            Some(_) => go_on(None),
            None => begin,
        });
    }
}

impl Run {
    fn finish_part(&mut self, conditions: &Conditions) -> Step {
        self.part = match self.part {
            Some(Part::LeftOut) => Some(Part::Entries),
            Some(Part::Entries) if conditions.left_out_listed && conditions.left_out_again => {
                Some(Part::LeftOutAgain)
            }
            Some(Part::Entries | Part::LeftOutAgain) => Some(Part::Publish),
            Some(Part::Publish) | None => None,
        };
        Step::Progress
    }

    /// Drops the values of a record that is finished or restarted.
    fn forget(&mut self) {
        self.forget_but_settings();
        self.settings = None;
    }

    fn forget_but_settings(&mut self) {
        self.token = false;
        self.before = None;
        self.content = 0;
    }
}

/// Returns the first step of a part of the site's scan.
fn begin(run: &Run, conditions: &Conditions) -> Step {
    match run.part {
        Some(Part::LeftOut | Part::Entries | Part::LeftOutAgain) => Step::List,
        _ if !conditions.shards_first => Step::Release,
        _ if conditions.second_step => Step::Move,
        _ => Step::Row,
    }
}
