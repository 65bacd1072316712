//! Scans of single sites. `SCAN#sites`, site.

use super::{Key, RowKey, escape, key, unescape};

/// Their partition's prefix.
pub const PREFIX: &str = "SCAN#";
/// All of them are in one partition, so that one query finds what waits.
const SITES: &str = "sites";

/// `SCAN#sites`.
#[must_use]
pub fn site_scans_partition() -> String {
    format!("{PREFIX}{SITES}")
}

/// A site's scan.
#[must_use]
pub fn site_scan(site: &str) -> Key {
    key(site_scans_partition(), escape(site))
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    let host = unescape(sk).filter(|_| rest == SITES)?;
    Some(RowKey::SiteScan(host))
}
