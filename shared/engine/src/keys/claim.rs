//! Who has an address, and who waits for it. `LOC#<site>#<hash>`, `-` or a waiter.
//!
//! The hash is of the normal form, so that all spellings of an address share one partition.

use sitemap::loc::normalized;

use super::{ALONE, Key, RowKey, WAITER, escape, id_part, key, sha256_hex};

/// Their partitions.
pub const PREFIX: &str = "LOC#";

fn loc_partition(site: &str, loc: &str) -> String {
    let hash = sha256_hex(&normalized(loc));
    format!("{}{}#{hash}", PREFIX, escape(site))
}

/// The claim of an address.
#[must_use]
pub fn claim(site: &str, loc: &str) -> Key {
    key(loc_partition(site, loc), ALONE)
}

/// Returns whether a claim is that of this address, however it is spelled.
#[must_use]
pub fn is_claim_of(claim: &Key, loc: &str) -> bool {
    claim.pk.ends_with(&sha256_hex(&normalized(loc)))
}

/// A record that waits for an address.
#[must_use]
pub fn waiter(site: &str, loc: &str, id: &str) -> Key {
    key(loc_partition(site, loc), format!("{WAITER}{}", id_part(id)))
}

pub(super) fn parse(sk: &str) -> Option<RowKey> {
    match sk.strip_prefix(WAITER) {
        Some(id) => Some(RowKey::Waiter(id.to_owned())),
        None => (sk == ALONE).then_some(RowKey::Claim),
    }
}
