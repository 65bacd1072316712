//! Records that a site leaves out. `OUT#<site>#<digit>`, record.

use super::{Key, RowKey, escape, hash_digit, id_part, key};

/// Their partitions.
pub const PREFIX: &str = "OUT#";

/// `OUT#<site>#<digit>`, one of [`HASH_DIGITS`](super::HASH_DIGITS): a site that is not known yet may leave out a million.
#[must_use]
pub fn left_out_partition(site: &str, digit: char) -> String {
    format!("{}{}#{digit}", PREFIX, escape(site))
}

/// A record that a site leaves out.
#[must_use]
pub fn left_out(site: &str, id: &str) -> Key {
    key(left_out_partition(site, hash_digit(id)), id_part(id))
}

pub(super) fn parse(sk: &str) -> Option<RowKey> {
    Some(RowKey::LeftOut(sk.to_owned()))
}
