//! Timers: records that change only because of the time, in sixteen partitions an hour.
//!
//! To *ring* a timer is to reconcile its record. `sweep` rings the timers that are due, for some seconds. For each partition with
//! more due timers it writes a row. The row's event makes `regenerate` ring the next slice and write the row again, until no
//! timer is left. Slices continue if a full batch is due before the next sweep, because that sweep could not handle them all.

use std::collections::BTreeSet;
use std::time::Duration;

use sitemap::time::When;
use tracing::{error, info};

use crate::concurrency::concurrently;
use crate::env::Deadline;
use crate::error::EngineError;
use crate::reconcile::{Reconciled, Reconciler};
use crate::rows::keys::HASH_DIGITS;
use crate::rows::timer::Rung;
pub use crate::rows::timer::Timer;

/// Timers of one digit that are read and reconciled at a time.
const BATCH: u32 = 100;
/// Digits whose timers `sweep` handles concurrently.
const CONCURRENT_DIGITS: usize = 4;
/// The time in which a slice begins new batches. In `regenerate` it counts from the beginning of the run. Edits that are behind
/// it in the stream wait for it.
pub(crate) const SLICE: Duration = Duration::from_secs(1);
/// The minimum of that time, however late a slice begins, so that due timers make progress even if the stream is busy.
const LEAST_SLICE: Duration = Duration::from_millis(250);
/// Seconds without a slice after which `sweep` itself handles the timers again: longer than a function runs.
const STALLED_SECONDS: i64 = 180;
/// The shortest time in seconds from a sweep to the next one. Slices continue if a whole batch of a digit's timers is due in it.
const UNTIL_NEXT_SWEEP: i64 = 60;

impl Reconciler {
    /// Reconciles the records of due timers from the cursor's hour on, for a slice, and moves the cursor. `regenerate` does the
    /// rest in further slices. A digit that has such slices already is skipped here.
    pub(crate) async fn begin_ringing(&self, cursor: i64) -> Result<(), EngineError> {
        let ringing = self.table.ringing(&HASH_DIGITS).await?;
        let until = self.env.deadline(SLICE);
        let this_hour = self.env.now().div_euclid(3_600);
        let ring = HASH_DIGITS.map(|digit| {
            let before = ringing.get(&digit);
            let until = &until;
            async move {
                let now = self.env.now();
                if before.is_some_and(|before| now - before.at <= STALLED_SECONDS) {
                    return Ok(before.and_then(|before| before.hour).unwrap_or(cursor));
                }
                let rung = self.ring(cursor, digit, until).await?;
                self.table.advance_ringing(digit, before, rung).await?;
                Ok::<_, EngineError>(rung.hour)
            }
        });
        // An hour behind, because the clock of the run that wrote a timer may be a little slow.
        let mut reached = this_hour - 1;
        for hour in concurrently(CONCURRENT_DIGITS, ring).await {
            reached = reached.min(hour?);
        }
        if cursor < reached {
            self.table.set_cursor(reached).await?;
        }
        Ok(())
    }

    /// Runs a slice of the timers of these digits that `sweep` has left, until a deadline. Returns the outcome of each digit.
    pub(crate) async fn go_on_ringing(
        &self,
        digits: &[char],
        until: Deadline,
    ) -> Vec<Result<(), EngineError>> {
        let until = until.at_least(LEAST_SLICE);
        let mut outcomes = Vec::new();
        // One digit after the other. All stream shards do so concurrently, and together they use the capacity of the table. With
        // more concurrency, none would be left for edits.
        for digit in digits {
            outcomes.push(self.go_on_ringing_one(*digit, &until).await);
        }
        outcomes
    }

    async fn go_on_ringing_one(&self, digit: char, until: &Deadline) -> Result<(), EngineError> {
        let table = &self.table;
        let mut ringing = table.ringing(&[digit]).await?;
        let Some(ringing) = ringing.remove(&digit) else {
            return Ok(());
        };
        let rung = match table.cursor().await? {
            Some(cursor) => self.ring(cursor, digit, until).await?,
            None => Rung {
                hour: 0,
                more: false,
            },
        };
        table.advance_ringing(digit, Some(&ringing), rung).await
    }

    /// Reconciles the records of a digit's due timers, from the cursor's hour on, for a slice.
    async fn ring(&self, cursor: i64, digit: char, until: &Deadline) -> Result<Rung, EngineError> {
        let now = self.env.now();
        let (this_hour, soon) = (now.div_euclid(3_600), now + UNTIL_NEXT_SWEEP);
        let (mut failure, mut more) = (None, false);
        for hour in cursor..=soon.div_euclid(3_600) {
            let mut last = None;
            loop {
                let timers = self.table.timers(hour, digit, last.as_ref(), BATCH);
                let mut timers = timers.await?;
                let is_full = timers.len() == BATCH as usize;
                let ends_soon = |last: &Timer| (now + 1..=soon).contains(&last.due);
                more |= is_full && timers.last().is_some_and(ends_soon);
                timers.retain(|timer| timer.due <= now);
                if !timers.is_empty() && until.has_passed() {
                    return failure.map_or(Ok(Rung { hour, more: true }), Err);
                }
                self.ring_all(&timers, &mut failure).await?;
                let may_be_more = timers.len() == BATCH as usize;
                last = timers.pop();
                if !may_be_more {
                    break;
                }
            }
        }
        let hour = this_hour;
        failure.map_or(Ok(Rung { hour, more }), Err)
    }

    /// Reconciles the records of timers. Returns the first temporary failure, which keeps the cursor from moving.
    async fn ring_all(
        &self,
        timers: &[Timer],
        failure: &mut Option<EngineError>,
    ) -> Result<(), EngineError> {
        let ids: BTreeSet<&String> = timers.iter().map(|timer| &timer.id).collect();
        let ids: Vec<String> = ids.into_iter().cloned().collect();
        for (id, outcome) in ids.iter().zip(self.reconcile(&ids, None).await) {
            match outcome {
                // If nothing had to be done, no ledger names the timer.
                Ok(Reconciled::Unchanged) => {
                    for timer in timers.iter().filter(|timer| timer.id == *id) {
                        self.table.drop_timer(timer).await?;
                    }
                }
                Ok(Reconciled::Changed) => {}
                Err(error) => {
                    error!(record = id, %error, "a due record was not reconciled");
                    if !error.is_permanent() {
                        failure.get_or_insert(error);
                    }
                }
            }
        }
        if !ids.is_empty() {
            let at = When::at(self.env.now());
            info!(records = ids.len(), %at, "due records were reconciled");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
