//! Pages that a site's llms.txt may list. `FEED#<site>#llms`, lastmod and page. They share the prefix with what has changed,
//! whose partitions have the number of a day there.

use sitemap::time::When;

use super::feed::PREFIX;
use super::term::{time, time_parts};
use super::{Key, RowKey, escape, id_part, key};

/// What is in place of the day.
pub(super) const PARTITION: &str = "llms";

/// `FEED#<site>#llms`: the partition of a site.
#[must_use]
pub fn llms_partition(site: &str) -> String {
    format!("{PREFIX}{}#{PARTITION}", escape(site))
}

/// A page, by its lastmod: the last of the partition is the newest.
#[must_use]
pub fn llms(site: &str, lastmod: Option<When>, id: &str) -> Key {
    let sk = format!("{}#{}", time(lastmod), id_part(id));
    key(llms_partition(site), sk)
}

pub(super) fn parse(site: String, sk: &str) -> Option<RowKey> {
    let (_, id) = time_parts(sk)?;
    Some(RowKey::Llms(site, id.to_owned()))
}
