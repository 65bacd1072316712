//! The scan of all content, the ringing of timers, and the audit. `JOB#scan`, `JOB#timers`, `JOB#audit`.

use super::{ALONE, Key, RowKey, key};

/// Their partitions.
pub const PREFIX: &str = "JOB#";
const SCAN: &str = "scan";
const TIMERS: &str = "timers";
const AUDIT: &str = "audit";

/// The scan of all content.
#[must_use]
pub fn content_scan() -> Key {
    key(format!("{PREFIX}{SCAN}"), ALONE)
}

/// The ringing of timers that goes on where `sweep` has left off.
#[must_use]
pub fn ringing() -> Key {
    key(format!("{PREFIX}{TIMERS}"), ALONE)
}

/// The audit's progress.
#[must_use]
pub fn audit() -> Key {
    key(format!("{PREFIX}{AUDIT}"), ALONE)
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    let row = match rest {
        SCAN => RowKey::ContentScan,
        TIMERS => RowKey::Ringing,
        AUDIT => RowKey::Audit,
        _ => return None,
    };
    (sk == ALONE).then_some(row)
}
