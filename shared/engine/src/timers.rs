//! Timers: records that time alone will change, in sixteen partitions an hour.
//!
//! To *ring* a timer is to reconcile its record. `sweep` rings the timers that are due, for some seconds. For each partition that
//! has more it writes a row. The row's event makes `regenerate` ring the next slice and write the row again, until no timer is left.
//! That goes on, too, where many are due before the next sweep: these would wait for it, and be too many for it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sitemap::time::When;
use table::{Condition, Item, Query};
use tracing::{error, info};

use crate::Deadline;
use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::keys::{self, HASH_DIGITS, RowKey};
use crate::reconcile::{Reconciled, Reconciler};
use crate::sitemap_table::{SitemapTable, item_key};

/// Timers of one digit that are read and rung at a time.
const BATCH: u32 = 100;
/// Digits whose timers `sweep` rings at the same time.
const CONCURRENT_DIGITS: usize = 4;
/// How long a slice goes on beginning new batches. In `regenerate` that counts from the beginning of its run. Edits whose rows come
/// behind it in the stream wait so long.
pub(crate) const SLICE: Duration = Duration::from_secs(1);
/// How long it does so at least, however late it begins: what is due must not wait for ever behind a busy stream.
const LEAST_SLICE: Duration = Duration::from_millis(250);
/// Seconds without a slice after which `sweep` itself rings the timers again: longer than a function runs.
const STALLED_SECONDS: i64 = 180;
/// Seconds from a sweep to the next one, at least. Slices go on where a whole batch of a digit's timers ends within them.
const UNTIL_NEXT_SWEEP: i64 = 60;

/// The ringing of a digit that goes on in slices.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ringing {
    token: String,
    /// Unix seconds of the last slice.
    at: i64,
    /// The hour that it has reached: the cursor may come so far. Nothing in a row of a release before this one.
    hour: Option<i64>,
}

/// How far a digit's timers are rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rung {
    /// The first hour in which some that are due are left, or the hour that it is.
    hour: i64,
    /// Whether another slice is to follow.
    more: bool,
}

/// A record to be reconciled at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Unix seconds.
    pub due: i64,
    /// The record.
    pub id: String,
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// The hour (since 1970) from which timers may be left; nothing if there is no site yet, or the row was lost.
    pub async fn cursor(&self) -> Result<Option<i64>, EngineError> {
        Ok(self
            .item(&keys::timer_cursor())
            .await?
            .and_then(|item| item.number("hour")))
    }

    /// Moves the cursor on.
    pub async fn set_cursor(&self, hour: i64) -> Result<(), EngineError> {
        self.put(cursor_at(hour)).await
    }

    /// Up to `most` timers of an hour with this digit, the earliest first, from behind `after`.
    pub async fn timers(
        &self,
        hour: i64,
        digit: char,
        after: Option<&Timer>,
        most: u32,
    ) -> Result<Vec<Timer>, EngineError> {
        let key = |timer: &Timer| Item::from(&keys::timer(timer.due, &timer.id));
        let query = Query {
            after: after.map(key),
            ..Query::of(keys::timer_partition(hour, digit)).limited(most)
        };
        let timer = |item: &Item| {
            let (due, id) = keys::timer_parts(item.text("sk")?)?;
            Some(Timer {
                due,
                id: id.to_owned(),
            })
        };
        Ok(self.first(query).await?.iter().filter_map(timer).collect())
    }

    /// Deletes a timer that no ledger knows.
    async fn drop_timer(&self, timer: &Timer) -> Result<(), EngineError> {
        self.delete(&keys::timer(timer.due, &timer.id)).await
    }

    /// Puts the cursor an hour behind `now`, if there is none: no timer can be older than the first site's row.
    pub(crate) async fn begin_timers(&self, now: i64) -> Result<(), EngineError> {
        let cursor = cursor_at(begin_of(now));
        self.put_if(cursor, Condition::lacks("pk")).await.map(drop)
    }

    /// The same if there is none that can be read.
    pub(crate) async fn begin_timers_again(&self, now: i64) -> Result<(), EngineError> {
        self.set_cursor(begin_of(now)).await
    }

    /// The ringing that goes on of these digits.
    async fn ringing(&self, digits: &[char]) -> Result<BTreeMap<char, Ringing>, EngineError> {
        let keys: Vec<_> = digits.iter().map(|digit| keys::ringing(*digit)).collect();
        let items = self.items(&keys).await?;
        let ringing = |item: &Item| {
            let key = item_key(item)?;
            let RowKey::Ringing(digit) = RowKey::parse(&key.pk, &key.sk)? else {
                return None;
            };
            let ringing = Ringing {
                token: item.text("token").unwrap_or_default().to_owned(),
                at: item.number("at").unwrap_or_default(),
                hour: item.number("hour"),
            };
            Some((digit, ringing))
        };
        Ok(items.iter().filter_map(ringing).collect())
    }

    /// Whether more pages are due, or will be before the next sweep, than a sweep does: slices of their own do the rest.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn is_ringing(&self) -> Result<bool, EngineError> {
        Ok(!self.ringing(&HASH_DIGITS).await?.is_empty())
    }

    /// Writes the row again if more is to follow, which is the event for the next slice, and deletes it if not. Nothing happens if
    /// another slice was faster.
    async fn advance_ringing(
        &self,
        digit: char,
        before: Option<&Ringing>,
        rung: Rung,
    ) -> Result<(), EngineError> {
        let key = keys::ringing(digit);
        let unchanged = match before {
            Some(before) => Condition::equals("token", before.token.as_str()),
            None => Condition::lacks("pk"),
        };
        if rung.more {
            let (token, at) = (self.env.token(), self.env.now());
            let row = Item::from(&key).with("token", token).with("at", at);
            let row = row.with("hour", rung.hour);
            self.put_if(row, unchanged).await.map(drop)
        } else if before.is_some() {
            self.delete_if(&key, unchanged).await.map(drop)
        } else {
            Ok(())
        }
    }
}

fn begin_of(now: i64) -> i64 {
    now.div_euclid(3_600) - 1
}

fn cursor_at(hour: i64) -> Item {
    Item::from(&keys::timer_cursor()).with("hour", hour)
}

impl Reconciler {
    /// Rings the timers that are due, from the cursor's hour on, for a slice, and moves the cursor. What is left is rung in further
    /// slices by `regenerate`. A digit that has such slices already is passed over here.
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

    /// Rings a slice of the timers that `sweep` has left of these digits, until a deadline. Returns the outcome of each digit.
    pub(crate) async fn go_on_ringing(
        &self,
        digits: &[char],
        until: Deadline,
    ) -> Vec<Result<(), EngineError>> {
        let until = until.at_least(LEAST_SLICE);
        let mut outcomes = Vec::new();
        // One after the other: each stream shard does so, and together they use what the table takes. With more at a time, edits
        // would find nothing left of that.
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

    /// Rings the timers of a digit that are due, from the cursor's hour on, for a slice.
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

    /// Reconciles the records of timers. Keeps the first failure that will pass: it holds the cursor.
    async fn ring_all(
        &self,
        timers: &[Timer],
        failure: &mut Option<EngineError>,
    ) -> Result<(), EngineError> {
        let ids: BTreeSet<&String> = timers.iter().map(|timer| &timer.id).collect();
        let ids: Vec<String> = ids.into_iter().cloned().collect();
        for (id, outcome) in ids.iter().zip(self.reconcile(&ids, None).await) {
            match outcome {
                // No ledger knows of a timer that is still there when nothing is to be done.
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
