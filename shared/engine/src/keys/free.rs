//! Slots that were given back. `FREE#<site>#<series>`, shard and position.

use sitemap::plan::{Series, Slot};

use super::{Key, RowKey, escape, key, read_series};

/// Their partitions.
pub const PREFIX: &str = "FREE#";

/// `FREE#<site>#<series>`.
#[must_use]
pub fn free_partition(series: &Series) -> String {
    format!(
        "{}{}#{}",
        PREFIX,
        escape(&series.site),
        escape(&series.name)
    )
}

/// A slot that was given back.
#[must_use]
pub fn free(series: &Series, slot: Slot) -> Key {
    key(
        free_partition(series),
        format!("{}{:05}", free_prefix(slot.n), slot.i),
    )
}

/// What the sort keys of a shard's free slots begin with.
#[must_use]
pub fn free_prefix(n: u32) -> String {
    format!("{n:010}#")
}

/// The slot that [`free`] wrote as a sort key.
#[must_use]
pub fn free_slot(sk: &str) -> Option<Slot> {
    let (n, i) = sk.split_once('#')?;
    Some(Slot {
        n: n.parse().ok()?,
        i: i.parse().ok()?,
    })
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    let (site, name) = rest.split_once('#')?;
    Some(RowKey::Free(read_series(site, name)?, free_slot(sk)?))
}
