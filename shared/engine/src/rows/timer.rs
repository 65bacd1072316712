//! Records that are reconciled at a time: `TIMER#<hour>#<digit>`, time and record; and the hour from which they are read. Which
//! digits ring on: `JOB#timers#<digit>`.

use std::collections::BTreeMap;

use table::{Condition, Item, Query};

use super::key::{ALONE, HASH_DIGITS, JOB, Key, RowKey, hash_digit, id_part, key};
use super::table::{SitemapTable, item_key};
use crate::error::EngineError;

/// Their partitions.
pub const PREFIX: &str = "TIMER#";
/// What is in place of the hour in the cursor's key.
const CURSOR: &str = "cursor";
/// The job of ringing on.
const RINGING: &str = "timers#";

/// Returns `TIMER#<hour>#<digit>`, with an hour since 1970 and one of [`HASH_DIGITS`]: a million records may be due in one hour.
#[must_use]
pub fn timer_partition(hour: i64, digit: char) -> String {
    format!("{PREFIX}{hour}#{digit}")
}

/// Returns the key of a timer, due at a time in Unix seconds.
#[must_use]
pub fn timer(due: i64, id: &str) -> Key {
    key(
        timer_partition(due.div_euclid(3_600), hash_digit(id)),
        format!("{due:012}#{}", id_part(id)),
    )
}

/// Returns the due time and the record id of a timer's sort key.
#[must_use]
pub fn timer_parts(sk: &str) -> Option<(i64, &str)> {
    let (due, id) = sk.split_once('#')?;
    Some((due.parse().ok()?, id))
}

/// Returns the key of the hour from which `sweep` reads timers.
#[must_use]
pub fn timer_cursor() -> Key {
    key(format!("{PREFIX}{CURSOR}"), ALONE)
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    if rest == CURSOR {
        return (sk == ALONE).then_some(RowKey::Cursor);
    }
    let (due, id) = timer_parts(sk)?;
    Some(RowKey::Timer(due, id.to_owned()))
}

/// Returns the key of the ringing of timers with this digit that goes on where `sweep` has left off.
#[must_use]
pub fn ringing(digit: char) -> Key {
    key(format!("{JOB}{RINGING}{digit}"), ALONE)
}

/// Returns the digit whose ringing has this key.
fn digit_of(rest: &str, sk: &str) -> Option<char> {
    let rest = rest.strip_prefix(RINGING).filter(|_| sk == ALONE)?;
    let is = |digit: &char| rest.strip_prefix(*digit) == Some("");
    HASH_DIGITS.into_iter().find(is)
}

pub(super) fn parse_ringing(rest: &str, sk: &str) -> Option<RowKey> {
    digit_of(rest, sk).map(RowKey::Ringing)
}

/// The ringing of a digit that goes on in slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ringing {
    token: String,
    /// Unix seconds of the last slice.
    pub(crate) at: i64,
    /// The hour that it has reached: the cursor may come so far. Nothing in a row of a release before this one.
    pub(crate) hour: Option<i64>,
}

/// How far a digit's timers are rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rung {
    /// The first hour in which some that are due are left, or the hour that it is.
    pub(crate) hour: i64,
    /// Whether another slice is to follow.
    pub(crate) more: bool,
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
    /// Returns the hour (since 1970) from which timers may be left, or `None` if there is no site yet, or the row was lost.
    pub async fn cursor(&self) -> Result<Option<i64>, EngineError> {
        Ok(self
            .item(&timer_cursor())
            .await?
            .and_then(|item| item.number("hour")))
    }

    /// Moves the cursor on.
    pub async fn set_cursor(&self, hour: i64) -> Result<(), EngineError> {
        self.put(cursor_at(hour)).await
    }

    /// Returns up to `most` timers of an hour with this digit, the earliest first, from behind `after`.
    pub async fn timers(
        &self,
        hour: i64,
        digit: char,
        after: Option<&Timer>,
        most: u32,
    ) -> Result<Vec<Timer>, EngineError> {
        let key = |timer: &Timer| Item::from(&self::timer(timer.due, &timer.id));
        let query = Query {
            after: after.map(key),
            ..Query::of(timer_partition(hour, digit)).limited(most)
        };
        let timer = |item: &Item| {
            let (due, id) = timer_parts(item.text("sk")?)?;
            Some(Timer {
                due,
                id: id.to_owned(),
            })
        };
        Ok(self.first(query).await?.iter().filter_map(timer).collect())
    }

    /// Deletes a timer that no ledger knows.
    pub(crate) async fn drop_timer(&self, timer: &Timer) -> Result<(), EngineError> {
        self.delete(&self::timer(timer.due, &timer.id)).await
    }

    /// Puts the cursor an hour behind `now`, if there is none: no timer can be older than the first site's row.
    pub(crate) async fn begin_timers(&self, now: i64) -> Result<(), EngineError> {
        let cursor = cursor_at(begin_of(now));
        self.put_if(cursor, Condition::lacks("pk")).await.map(drop)
    }

    /// Returns the same if there is none that can be read.
    pub(crate) async fn begin_timers_again(&self, now: i64) -> Result<(), EngineError> {
        self.set_cursor(begin_of(now)).await
    }

    /// Returns the ringing that goes on of these digits.
    pub(crate) async fn ringing(
        &self,
        digits: &[char],
    ) -> Result<BTreeMap<char, Ringing>, EngineError> {
        let keys: Vec<_> = digits.iter().map(|digit| self::ringing(*digit)).collect();
        let items = self.items(&keys).await?;
        let ringing = |item: &Item| {
            let key = item_key(item)?;
            let digit = digit_of(key.pk.strip_prefix(JOB)?, &key.sk)?;
            let ringing = Ringing {
                token: item.text("token").unwrap_or_default().to_owned(),
                at: item.number("at").unwrap_or_default(),
                hour: item.number("hour"),
            };
            Some((digit, ringing))
        };
        Ok(items.iter().filter_map(ringing).collect())
    }

    /// Returns whether more pages are due, or will be before the next sweep, than a sweep does: slices of their own do the rest.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn is_ringing(&self) -> Result<bool, EngineError> {
        Ok(!self.ringing(&HASH_DIGITS).await?.is_empty())
    }

    /// Writes the row again if more is to follow, which is the event for the next slice, and deletes it if not. Nothing happens if
    /// another slice was faster.
    pub(crate) async fn advance_ringing(
        &self,
        digit: char,
        before: Option<&Ringing>,
        rung: Rung,
    ) -> Result<(), EngineError> {
        let key = self::ringing(digit);
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
    Item::from(&timer_cursor()).with("hour", hour)
}
