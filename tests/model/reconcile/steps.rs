//! The steps of a run.

use super::*;

impl Run {
    /// Returns whether the run needs a slot for a new entry.
    fn inserts(&self) -> bool {
        self.content != GONE && self.ledger.placed.is_none() && self.other().is_none()
    }

    fn wanted(&self) -> Option<Address> {
        address(self.record, self.content)
    }

    /// Returns the other record that has the claim.
    fn other(&self) -> Option<Record> {
        let owned = self.ledger.claims.is_some() && self.ledger.claims == self.wanted();
        self.claim.filter(|owner| !owned && *owner != self.record)
    }

    fn plan(&self) -> Plan {
        let before = self.ledger;
        if self.content == GONE {
            return Plan {
                ledger: None,
                changes: true,
            };
        }
        let after = match self.other() {
            Some(owner) => Ledger {
                waits: Some(owner),
                count: before.count,
                ..Ledger::default()
            },
            None => Ledger {
                placed: before
                    .placed
                    .map(|(slot, _)| slot)
                    .or(self.offer.map(|(slot, _)| slot))
                    .map(|slot| (slot, self.content)),
                claims: self.wanted(),
                waits: None,
                count: before.count,
            },
        };
        Plan {
            changes: after != before,
            ledger: Some(after),
        }
    }

    /// Starts the current record, or the next one, or ends the run.
    fn next_record(&mut self, conditions: &Conditions) {
        match self.others.iter().position(|waits| *waits) {
            Some(next) => {
                self.others[next] = false;
                self.record = next as Record;
                self.begin(conditions);
            }
            None => *self = Run::default(),
        }
    }

    pub(super) fn begin(&mut self, conditions: &Conditions) {
        *self = Run {
            step: if conditions.fence_first {
                Step::Fence(None)
            } else {
                Step::Content
            },
            zombie: self.zombie,
            by_claim: self.by_claim,
            record: self.record,
            others: self.others,
            ..Run::default()
        };
    }
}

impl State {
    /// Stores the values that have been read, and sets a next step.
    pub(super) fn next(&mut self, at: usize, given_back: Option<u8>, conditions: &Conditions) {
        let run = self.runs[at];
        let record = usize::from(run.record);
        match run.step {
            Step::Idle => {}
            Step::Waiters => {
                if self.claims[usize::from(COMMON_ADDRESS)].is_none() {
                    self.runs[at].others = self.waiters;
                }
                self.runs[at].next_record(conditions);
            }
            Step::Fence(read) => {
                if conditions.fence_writes {
                    self.take_token(run.record, Some(at));
                    let ledger = self.ledgers[record].get_or_insert_default();
                    if !conditions.token_random {
                        ledger.count += 1;
                    }
                }
                let run = &mut self.runs[at];
                run.token = true;
                run.ledger = self.ledgers[record].unwrap_or_default();
                run.count = run.ledger.count;
                run.step = match read {
                    None => Step::Content,
                    Some(content) => {
                        run.content = content;
                        Self::after_content(run)
                    }
                };
            }
            Step::Content => {
                let content = self.contents[record];
                let run = &mut self.runs[at];
                if conditions.fence_first {
                    run.content = content;
                    run.step = Self::after_content(run);
                } else {
                    run.step = Step::Fence(Some(content));
                }
            }
            Step::Claim => {
                let run = &mut self.runs[at];
                run.claim = run
                    .wanted()
                    .and_then(|address| self.claims[usize::from(address)]);
                run.step = Self::after_claim(run);
            }
            Step::Offer => {
                let held = self
                    .runs
                    .iter()
                    .filter_map(|run| Some(run.offer?.0))
                    .collect::<Vec<_>>();
                // A slot with a row, or among the free ones, was offered before.
                let fresh = (0..SLOTS as u8).find(|slot| {
                    let known =
                        self.slots[usize::from(*slot)].is_some() || self.free[usize::from(*slot)];
                    !known && !held.contains(slot)
                });
                self.runs[at].offer = given_back
                    .map(|slot| (slot, true))
                    .or(fresh.map(|slot| (slot, false)));
                assert!(self.runs[at].offer.is_some(), "too few slots in the model");
                self.runs[at].step = Step::Commit;
            }
            Step::Commit => self.commit(at, conditions),
            Step::Rest => self.write(at, conditions, false),
            Step::Forget => {
                if let Some((slot, _)) = run.offer {
                    self.free[usize::from(slot)] = false;
                }
                self.runs[at].begin(conditions);
            }
        }
    }

    fn after_content(run: &Run) -> Step {
        if run.content != GONE && run.ledger.claims != run.wanted() {
            Step::Claim
        } else {
            Self::after_claim(run)
        }
    }

    fn after_claim(run: &Run) -> Step {
        if run.inserts() {
            Step::Offer
        } else {
            Step::Commit
        }
    }

    fn commit(&mut self, at: usize, conditions: &Conditions) {
        let run = self.runs[at];
        let plan = run.plan();
        if !plan.changes {
            return self.runs[at].next_record(conditions);
        }
        let record = usize::from(run.record);
        let token = if conditions.token_random {
            run.token
        } else {
            self.ledgers[record].is_some_and(|ledger| ledger.count == run.count)
        };
        let mut lost = conditions.token_checked && !token;
        let mut occupied = false;
        if let Some((slot, given_back)) = run.offer {
            let slot = usize::from(slot);
            occupied = conditions.entry_checked
                && self.slots[slot].is_some_and(|(owner, _)| owner != run.record);
            lost |= occupied || given_back && conditions.free_checked && !self.free[slot];
        }
        if let Some(ledger) = plan.ledger {
            let anothers = |address: Address| {
                self.claims[usize::from(address)].is_some_and(|owner| owner != run.record)
            };
            let claims = ledger.claims.filter(|_| ledger.claims != run.ledger.claims);
            lost |= conditions.claim_checked && claims.is_some_and(anothers);
            // Only a new waiter. An existing one is called when the claim is removed.
            let registers = ledger.waits.is_some() && run.ledger.waits.is_none();
            lost |= conditions.waiter_checked
                && registers
                && self.claims[usize::from(COMMON_ADDRESS)] != ledger.waits;
        }
        if lost {
            let free = run.offer.is_some_and(|(_, given_back)| given_back);
            if occupied && free {
                self.runs[at].step = Step::Forget;
            } else {
                self.runs[at].begin(conditions);
            }
        } else if conditions.transaction || run.content != GONE && run.ledger.placed.is_none() {
            self.write(at, conditions, true);
        } else {
            self.write_entry(&run);
            self.runs[at].step = Step::Rest;
        }
    }

    fn write_entry(&mut self, run: &Run) {
        let wanted = run.plan().ledger.and_then(|ledger| ledger.placed);
        match (run.ledger.placed, wanted) {
            (Some((slot, _)), None) => {
                self.slots[usize::from(slot)] = None;
                self.free[usize::from(slot)] = true;
            }
            (_, Some((slot, content))) => {
                self.slots[usize::from(slot)] = Some((run.record, content));
                self.free[usize::from(slot)] = false;
            }
            (None, None) => {}
        }
    }

    fn write(&mut self, at: usize, conditions: &Conditions, with_entry: bool) {
        let run = self.runs[at];
        if with_entry {
            self.write_entry(&run);
        }
        let record = usize::from(run.record);
        let after = run.plan().ledger;
        let claims = after.and_then(|after| after.claims);
        let waits = after.is_some_and(|after| after.waits.is_some());
        if claims != run.ledger.claims {
            if let Some(address) = run.ledger.claims {
                self.claims[usize::from(address)] = None;
                self.released |= conditions.waiters_called && address == COMMON_ADDRESS;
            }
            if let Some(address) = claims {
                self.claims[usize::from(address)] = Some(run.record);
            }
        }
        if waits != run.ledger.waits.is_some() {
            self.waiters[record] = waits;
        }
        self.ledgers[record] = after;
        if !conditions.fence_writes || after.is_none() {
            self.take_token(run.record, None);
        }
        self.runs[at].next_record(conditions);
    }
}
