//! The keys of the audit's progress and sums: `JOB#audit`, `JOB#sums`. Their bodies are read and written by
//! `sweep::audit::progress` and `sweep::audit::checksums`.

use super::key::{ALONE, JOB, Key, RowKey, key};

const AUDIT: &str = "audit";
const SUMS: &str = "sums";

/// Returns the key of the audit's progress.
#[must_use]
pub fn audit() -> Key {
    key(format!("{JOB}{AUDIT}"), ALONE)
}

/// Returns the key of the audit's sums.
#[must_use]
pub fn sums() -> Key {
    key(format!("{JOB}{SUMS}"), ALONE)
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    let row = match rest {
        AUDIT => RowKey::Audit,
        SUMS => RowKey::Sums,
        _ => return None,
    };
    (sk == ALONE).then_some(row)
}
