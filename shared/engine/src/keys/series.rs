//! The next slot of each series of a site. `SERIES#<site>`, series.

use sitemap::plan::Series;

use super::{Key, RowKey, escape, key, unescape};

/// Their partitions.
pub const PREFIX: &str = "SERIES#";

/// `SERIES#<site>`, series.
#[must_use]
pub fn series(series: &Series) -> Key {
    key(series_partition(&series.site), &series.name)
}

/// The partition of a site's series.
#[must_use]
pub fn series_partition(site: &str) -> String {
    format!("{}{}", PREFIX, escape(site))
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    let (site, name) = (unescape(rest)?, sk.to_owned());
    Some(RowKey::Series(Series { site, name }))
}
