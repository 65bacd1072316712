//! The primary keys of the sitemap table, one file a row kind: each writes its key and reads it.
//!
//! Key parts but the last are `[A-Za-z0-9._-]` or percent-escaped, so that `#` always separates.

use objects::ObjectKey;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};
use sitemap::plan::Series;

mod claim;
mod entry;
mod feed;
mod free;
mod group;
mod job;
mod ledger;
mod left_out;
mod llms;
mod notice;
mod row;
mod scan;
mod series;
mod site;
mod summary;
mod term;
#[cfg(test)]
mod tests;
mod timer;

pub use claim::{claim, is_claim_of, waiter};
pub use entry::{entry, segment};
pub use feed::{feed, feed_partition};
pub use free::{free, free_partition, free_prefix, free_slot};
pub use group::{MEMBER, group_calls, group_member, group_partition, group_waiter};
pub use job::{Mark, audit, content_scan, mark, marks_partition, ringing, sums, sweep};
pub use ledger::{HASHED_ID, ledger, page, page_parts};
pub use left_out::{left_out, left_out_partition};
pub use llms::{llms, llms_partition};
pub use notice::{notice, notice_partition, notice_pause};
pub use row::{RowKey, Subject};
pub use scan::{site_scan, site_scans_partition};
pub use series::{series, series_partition};
pub use site::site;
pub use summary::{index_partition, summary, summary_shard};
pub use term::{ARCHIVE, archive, term_member, term_partition};
pub use timer::{timer, timer_cursor, timer_partition, timer_parts};

use ledger::id_part;

/// Partition key prefixes. The stream's filter in `template.yaml` names some of them.
pub mod prefix {
    pub use super::claim::PREFIX as LOC;
    pub use super::entry::PREFIX as SEGMENT;
    pub use super::feed::PREFIX as FEED;
    pub use super::free::PREFIX as FREE;
    pub use super::group::PREFIX as GROUP;
    pub use super::job::PREFIX as JOB;
    pub use super::ledger::PREFIX as LEDGER;
    pub use super::left_out::PREFIX as OUT;
    pub use super::notice::PREFIX as NOTICE;
    pub use super::scan::PREFIX as SCAN;
    pub use super::series::PREFIX as SERIES;
    pub use super::site::PREFIX as SITE;
    pub use super::summary::PREFIX as INDEX;
    pub use super::term::PREFIX as TERM;
    pub use super::timer::PREFIX as TIMER;
}

/// What grows with a site is spread over as many partitions, one a first digit of a hash.
pub const HASH_DIGITS: [char; 16] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
];
/// The sort key of an item that is alone in its partition, or first in it.
pub const ALONE: &str = "-";
/// Sort key prefix of the records that wait for an address, or for room in a group.
pub const WAITER: &str = "w#";

const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-');

/// A partition key and a sort key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Partition key.
    pub pk: String,
    /// Sort key.
    pub sk: String,
}

fn key(pk: String, sk: impl Into<String>) -> Key {
    Key { pk, sk: sk.into() }
}

fn escape(part: &str) -> String {
    utf8_percent_encode(part, ESCAPED).to_string()
}

fn unescape(part: &str) -> Option<String> {
    percent_decode_str(part).decode_utf8().ok().map(Into::into)
}

/// A series of which both parts of the key are escaped.
fn read_series(site: &str, name: &str) -> Option<Series> {
    let (site, name) = (unescape(site)?, unescape(name)?);
    Some(Series { site, name })
}

/// Lower-case hex of the SHA-256 of a text.
#[must_use]
pub fn sha256_hex(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Which of [`HASH_DIGITS`] a text belongs to.
#[must_use]
pub fn hash_digit(text: &str) -> char {
    sha256_hex(text).chars().next().unwrap_or('0')
}

/// A shard of a series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId {
    /// Its series.
    pub series: Series,
    /// Its number, from 1.
    pub n: u32,
}

impl ShardId {
    /// Its object.
    #[must_use]
    pub fn object(&self) -> ObjectKey {
        ObjectKey::Shard {
            site: self.series.site.clone(),
            series: self.series.name.clone(),
            n: self.n,
        }
    }
}

impl std::fmt::Display for ShardId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.series.site, self.series.name, self.n)
    }
}
