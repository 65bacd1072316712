//! Entries, 500 slots to a partition. `SEGMENT#<site>#<series>#<n>#<k>`, position.

use sitemap::member::MAX_SEGMENTS;
use sitemap::plan::{Series, Slot};

use super::{Key, RowKey, ShardId, escape, key, read_series};

/// Their partitions.
pub const PREFIX: &str = "SEGMENT#";

/// `SEGMENT#<site>#<series>#<n>#<k>`.
#[must_use]
pub fn segment(shard: &ShardId, segment: u32) -> String {
    let ShardId { series, n } = shard;
    format!(
        "{}{}#{}#{n}#{segment}",
        PREFIX,
        escape(&series.site),
        escape(&series.name)
    )
}

/// An entry: its segment's partition, and its position.
#[must_use]
pub fn entry(series: &Series, slot: Slot) -> Key {
    let shard = ShardId {
        series: series.clone(),
        n: slot.n,
    };
    key(segment(&shard, slot.segment()), format!("{:05}", slot.i))
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    let mut parts = rest.split('#');
    let series = read_series(parts.next()?, parts.next()?)?;
    let n = parts.next()?.parse().ok()?;
    let k: u32 = parts.next()?.parse().ok()?;
    let i = sk.parse().ok()?;
    let slot = Slot { n, i };
    let is_ours = (k as usize) < MAX_SEGMENTS && slot.segment() == k;
    is_ours.then_some(RowKey::Entry(series, slot))
}
