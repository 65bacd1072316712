//! Published shards of a site. `INDEX#<site>`, series and number.

use sitemap::plan::Series;

use super::{Key, RowKey, ShardId, escape, key, unescape};

/// Their partitions.
pub const PREFIX: &str = "INDEX#";

/// `INDEX#<site>`.
#[must_use]
pub fn index_partition(site: &str) -> String {
    format!("{}{}", PREFIX, escape(site))
}

/// A published shard's summary.
#[must_use]
pub fn summary(shard: &ShardId) -> Key {
    key(
        index_partition(&shard.series.site),
        format!("{}#{:010}", escape(&shard.series.name), shard.n),
    )
}

/// The shard whose summary has this sort key.
#[must_use]
pub fn summary_shard(site: &str, sk: &str) -> Option<ShardId> {
    let (name, n) = sk.split_once('#')?;
    Some(ShardId {
        series: Series {
            site: site.to_owned(),
            name: unescape(name)?,
        },
        n: n.parse().ok()?,
    })
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    Some(RowKey::Summary(summary_shard(&unescape(rest)?, sk)?))
}
