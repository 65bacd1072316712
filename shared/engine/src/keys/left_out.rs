//! Records that a site leaves out. `OUT#<site>#<digit>`, record.

use super::{Key, RowKey, escape, id_part, key, sha256_hex};

/// Their partitions.
pub const PREFIX: &str = "OUT#";

/// `OUT#<site>#<digit>`, one of [`HASH_DIGITS`](super::HASH_DIGITS): a site that is not known yet may leave out a million.
#[must_use]
pub fn left_out_partition(site: &str, digit: char) -> String {
    format!("{}{}#{digit}", PREFIX, escape(site))
}

/// The digit of a record's partition.
#[must_use]
pub fn left_out_digit(id: &str) -> char {
    sha256_hex(id).chars().next().unwrap_or('0')
}

/// A record that a site leaves out.
#[must_use]
pub fn left_out(site: &str, id: &str) -> Key {
    key(left_out_partition(site, left_out_digit(id)), id_part(id))
}

pub(super) fn parse(sk: &str) -> Option<RowKey> {
    Some(RowKey::LeftOut(sk.to_owned()))
}
