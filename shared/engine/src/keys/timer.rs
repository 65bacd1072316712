//! Records that are reconciled at a time. `TIMER#<hour>#<digit>`, time and record; and the hour from which they are read.

use super::{ALONE, Key, RowKey, hash_digit, id_part, key};

/// Their partitions.
pub const PREFIX: &str = "TIMER#";
/// What is in place of the hour in the cursor's key.
const CURSOR: &str = "cursor";

/// `TIMER#<hour>#<digit>`, an hour since 1970 and one of [`HASH_DIGITS`](super::HASH_DIGITS): a million records may be due in
/// one hour.
#[must_use]
pub fn timer_partition(hour: i64, digit: char) -> String {
    format!("{PREFIX}{hour}#{digit}")
}

/// A timer, due at a time in Unix seconds.
#[must_use]
pub fn timer(due: i64, id: &str) -> Key {
    key(
        timer_partition(due.div_euclid(3_600), hash_digit(id)),
        format!("{due:012}#{}", id_part(id)),
    )
}

/// The due time and the record id of a timer's sort key.
#[must_use]
pub fn timer_parts(sk: &str) -> Option<(i64, &str)> {
    let (due, id) = sk.split_once('#')?;
    Some((due.parse().ok()?, id))
}

/// The hour from which `sweep` reads timers.
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
