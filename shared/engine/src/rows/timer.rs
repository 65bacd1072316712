//! Timers of records: `TIMER#<hour>#<digit>`, time and record. The cursor: the hour from which they are read. The digits whose
//! due timers are handled in further slices: `JOB#timers#<digit>`.

use std::collections::BTreeMap;

use table::{Condition, Item, Query};

use super::key::{ALONE, HASH_DIGITS, JOB, Key, RowKey, hash_digit, id_part, key};
use super::table::{SitemapTable, item_key};
use crate::error::EngineError;

/// Prefix of the partitions of timers.
pub const PREFIX: &str = "TIMER#";
/// The part of the cursor's key that replaces the hour.
const CURSOR: &str = "cursor";
/// The name of the job for further slices.
const RINGING: &str = "timers#";

/// Returns `TIMER#<hour>#<digit>`, with an hour since 1970 and one of [`HASH_DIGITS`]. A million records may be due in one hour.
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

/// Returns the key of the cursor, the hour from which `sweep` reads timers.
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

/// Returns the key of the slices that handle due timers of this digit after `sweep`.
#[must_use]
pub fn ringing(digit: char) -> Key {
    key(format!("{JOB}{RINGING}{digit}"), ALONE)
}

/// Returns the digit in the key of a row for slices.
fn digit_of(rest: &str, sk: &str) -> Option<char> {
    let rest = rest.strip_prefix(RINGING).filter(|_| sk == ALONE)?;
    let is = |digit: &char| rest.strip_prefix(*digit) == Some("");
    HASH_DIGITS.into_iter().find(is)
}

pub(super) fn parse_ringing(rest: &str, sk: &str) -> Option<RowKey> {
    digit_of(rest, sk).map(RowKey::Ringing)
}

/// The slices of a digit's due timers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ringing {
    token: String,
    /// The time of the last slice, in Unix seconds.
    pub(crate) at: i64,
    /// The hour that the slices have reached, up to which the cursor may move. `None` in a row of an earlier release.
    pub(crate) hour: Option<i64>,
}

/// The outcome of a slice of a digit's timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rung {
    /// The first hour with due timers that are left, or the current hour.
    pub(crate) hour: i64,
    /// Whether another slice is to follow.
    pub(crate) more: bool,
}

/// A record to reconcile at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// When it is due, in Unix seconds.
    pub due: i64,
    /// The record's id.
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

    /// Returns up to `most` timers of an hour with this digit, the earliest first, after `after`.
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

    /// Deletes a timer that no ledger names.
    pub(crate) async fn drop_timer(&self, timer: &Timer) -> Result<(), EngineError> {
        self.delete(&self::timer(timer.due, &timer.id)).await
    }

    /// Writes the cursor an hour before `now`, if there is none. No timer can be older than the first site's row.
    pub(crate) async fn begin_timers(&self, now: i64) -> Result<(), EngineError> {
        let cursor = cursor_at(begin_of(now));
        self.put_if(cursor, Condition::lacks("pk")).await.map(drop)
    }

    /// Writes the cursor an hour before `now`, if there is none that can be read.
    pub(crate) async fn begin_timers_again(&self, now: i64) -> Result<(), EngineError> {
        self.set_cursor(begin_of(now)).await
    }

    /// Returns the slices of these digits that continue.
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

    /// Returns whether more pages are due, or will be before the next sweep, than a sweep handles. Further slices handle the
    /// rest.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn is_ringing(&self) -> Result<bool, EngineError> {
        Ok(!self.ringing(&HASH_DIGITS).await?.is_empty())
    }

    /// Writes the row again if more slices are to follow, which is the event for the next one. Otherwise deletes it. Has no
    /// effect if another slice was faster.
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
