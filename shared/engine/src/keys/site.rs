//! A site: epoch, hold and settings. `SITE#<site>`.

use super::{ALONE, Key, RowKey, escape, key, unescape};

/// Their partitions.
pub const PREFIX: &str = "SITE#";

/// `SITE#<site>`.
#[must_use]
pub fn site(site: &str) -> Key {
    key(format!("{}{}", PREFIX, escape(site)), ALONE)
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    let host = unescape(rest).filter(|_| sk == ALONE)?;
    Some(RowKey::Site(host))
}
