//! Timers: records that time alone will change, in a partition an hour.
//!
//! `sweep` rings those whose time has come, for some seconds. If more are left, it writes the row of the ringing: its event has
//! `regenerate` do the next slice, which writes the row again, until none is left.

use std::collections::BTreeSet;
use std::time::Duration;

use sitemap::time::When;
use table::{Condition, Item, Query};
use tracing::{error, info};

use crate::error::EngineError;
use crate::keys;
use crate::reconcile::{Reconciled, Reconciler};
use crate::sitemap_table::SitemapTable;

/// Timers that are read and rung at a time.
const BATCH: u32 = 500;
/// How long a slice goes on beginning new batches.
const SLICE: Duration = Duration::from_secs(5);
/// Seconds without a slice after which `sweep` rings again itself: longer than a function runs.
const STALLED_SECONDS: i64 = 180;

/// The ringing that goes on in slices.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ringing {
    token: String,
    /// Unix seconds of the last slice.
    at: i64,
}

/// A record to be reconciled at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Unix seconds.
    pub due: i64,
    /// The record.
    pub id: String,
}

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

    /// The timers of an hour behind one of them, the earliest first, at most so many.
    pub async fn timers(
        &self,
        hour: i64,
        after: Option<&Timer>,
        most: u32,
    ) -> Result<Vec<Timer>, EngineError> {
        let key = |timer: &Timer| Item::from(&keys::timer(timer.due, &timer.id));
        let query = Query {
            after: after.map(key),
            ..Query::of(keys::timer_partition(hour)).limited(most)
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
        let cursor = cursor_at(now.div_euclid(3_600) - 1);
        self.put_if(cursor, Condition::lacks("pk")).await.map(drop)
    }

    async fn ringing(&self) -> Result<Option<Ringing>, EngineError> {
        let item = self.item(&keys::ringing()).await?;
        Ok(item.map(|item| Ringing {
            token: item.text("token").unwrap_or_default().to_owned(),
            at: item.number("at").unwrap_or_default(),
        }))
    }

    /// Writes the row again if more is left, which is the event for the next slice, and deletes it if not. Nothing happens if
    /// another slice was faster.
    async fn advance_ringing(
        &self,
        before: Option<&Ringing>,
        more: bool,
    ) -> Result<(), EngineError> {
        let key = keys::ringing();
        let unchanged = match before {
            Some(before) => Condition::equals("token", before.token.as_str()),
            None => Condition::lacks("pk"),
        };
        if more {
            let (token, at) = (self.env.token(), self.env.now());
            let row = Item::from(&key).with("token", token).with("at", at);
            self.put_if(row, unchanged).await.map(drop)
        } else if before.is_some() {
            self.delete_if(&key, unchanged).await.map(drop)
        } else {
            Ok(())
        }
    }
}

fn cursor_at(hour: i64) -> Item {
    Item::from(&keys::timer_cursor()).with("hour", hour)
}

impl Reconciler {
    /// Rings the timers whose time has come, from the cursor's hour on, for a slice. What is left, slices of their own do: while
    /// they go on, nothing happens here.
    pub(crate) async fn begin_ringing(&self, cursor: i64) -> Result<(), EngineError> {
        let ringing = self.table.ringing().await?;
        let now = self.env.now();
        let goes_on = |ringing: &Ringing| now - ringing.at <= STALLED_SECONDS;
        if ringing.as_ref().is_some_and(goes_on) {
            return Ok(());
        }
        let more = self.ring(cursor).await?;
        self.table.advance_ringing(ringing.as_ref(), more).await
    }

    /// Does a slice of what `sweep` has left to ring.
    pub(crate) async fn go_on_ringing(&self) -> Result<(), EngineError> {
        let Some(ringing) = self.table.ringing().await? else {
            return Ok(());
        };
        let more = match self.table.cursor().await? {
            Some(cursor) => self.ring(cursor).await?,
            None => false,
        };
        self.table.advance_ringing(Some(&ringing), more).await
    }

    /// Reconciles the records whose time has come, from the cursor's hour on, for a slice, and moves the cursor. True if any are
    /// left.
    async fn ring(&self, cursor: i64) -> Result<bool, EngineError> {
        let until = self.env.deadline(SLICE);
        let now = self.env.now();
        let this_hour = now.div_euclid(3_600);
        let (mut failure, mut left) = (None, None);
        'hours: for hour in cursor..=this_hour {
            let mut last = None;
            loop {
                let mut timers = self.table.timers(hour, last.as_ref(), BATCH).await?;
                timers.retain(|timer| timer.due <= now);
                let may_be_more = timers.len() == BATCH as usize;
                self.ring_all(&timers, &mut failure).await?;
                last = timers.pop();
                if !may_be_more {
                    break;
                }
                if until.has_passed() {
                    left = Some(hour);
                    break 'hours;
                }
            }
        }
        // One that will pass holds the cursor.
        if let Some(failure) = failure.filter(|failure| !failure.is_permanent()) {
            return Err(failure);
        }
        // An hour behind: a timer is written for the future of a clock that may be a little slow.
        let reached = left.unwrap_or(this_hour).min(this_hour - 1);
        if cursor < reached {
            self.table.set_cursor(reached).await?;
        }
        Ok(left.is_some())
    }

    /// Reconciles the records of timers. Keeps the first failure, and one that will pass rather than a permanent one.
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
                    if failure.as_ref().is_none_or(EngineError::is_permanent) {
                        *failure = Some(error);
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
