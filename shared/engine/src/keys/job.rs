//! What the functions go on with, and what waits for `sweep`. `JOB#scan`, `JOB#timers#<digit>`, `JOB#audit`, `JOB#sweep`;
//! `JOB#notices`, site.

use super::{ALONE, HASH_DIGITS, Key, RowKey, escape, key, unescape};

/// Their partitions.
pub const PREFIX: &str = "JOB#";
const SCAN: &str = "scan";
const TIMERS: &str = "timers#";
const AUDIT: &str = "audit";
const SWEEP: &str = "sweep";
const NOTICES: &str = "notices";

/// The scan of all content.
#[must_use]
pub fn content_scan() -> Key {
    key(format!("{PREFIX}{SCAN}"), ALONE)
}

/// The ringing of timers with this digit that goes on where `sweep` has left off.
#[must_use]
pub fn ringing(digit: char) -> Key {
    key(format!("{PREFIX}{TIMERS}{digit}"), ALONE)
}

/// The audit's progress.
#[must_use]
pub fn audit() -> Key {
    key(format!("{PREFIX}{AUDIT}"), ALONE)
}

/// Whose turn it is to sweep, and how far it has looked at the sites.
#[must_use]
pub fn sweep() -> Key {
    key(format!("{PREFIX}{SWEEP}"), ALONE)
}

/// The partition of the marks of sites.
#[must_use]
pub fn marks_partition() -> String {
    format!("{PREFIX}{NOTICES}")
}

/// The mark of a site that search engines may have to be told of.
#[must_use]
pub fn mark(site: &str) -> Key {
    key(marks_partition(), escape(site))
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    if rest == NOTICES {
        return unescape(sk).map(RowKey::Mark);
    }
    let row = match rest {
        SCAN => RowKey::ContentScan,
        AUDIT => RowKey::Audit,
        SWEEP => RowKey::Sweep,
        _ => RowKey::Ringing(digit(rest.strip_prefix(TIMERS)?)?),
    };
    (sk == ALONE).then_some(row)
}

fn digit(rest: &str) -> Option<char> {
    let is = |digit: &char| rest.strip_prefix(*digit) == Some("");
    HASH_DIGITS.into_iter().find(is)
}
