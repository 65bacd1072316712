//! What has changed on a site in the last days, by day. `FEED#<site>#<day>`, time and page.

use super::timer::timer_parts;
use super::{Key, RowKey, escape, id_part, key, llms, unescape};

/// Their partitions.
pub const PREFIX: &str = "FEED#";

/// `FEED#<site>#<day>`: the partition of a day since 1970.
#[must_use]
pub fn feed_partition(site: &str, day: i64) -> String {
    format!("{}{}#{day}", PREFIX, escape(site))
}

/// A page that changed at a time in Unix seconds.
#[must_use]
pub fn feed(site: &str, at: i64, id: &str) -> Key {
    key(
        feed_partition(site, at.div_euclid(86_400)),
        format!("{at:012}#{}", id_part(id)),
    )
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    let (site, day) = rest.split_once('#')?;
    let site = unescape(site)?;
    if day == llms::PARTITION {
        return llms::parse(site, sk);
    }
    let (at, id) = timer_parts(sk)?;
    Some(RowKey::Feed(site, at, id.to_owned()))
}
