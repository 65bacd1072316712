//! The primary keys of the sitemap table: one place that writes them and one that reads them.
//!
//! Key parts but the last are `[A-Za-z0-9._-]` or percent-escaped, so that `#` always separates.

use objects::ObjectKey;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};
use sitemap::plan::{Series, Slot, Term};
use sitemap::record::MAX_ID_BYTES;
use sitemap::time::When;

mod row;
#[cfg(test)]
mod tests;

pub use row::{RowKey, Subject};

/// Partition key prefixes. The stream's filter in `template.yaml` names some of them.
pub mod prefix {
    /// What a record has placed where.
    pub const LEDGER: &str = "LEDGER#";
    /// Entries, 500 slots to a partition.
    pub const SEGMENT: &str = "SEGMENT#";
    /// Who has an address, and who waits for it.
    pub const LOC: &str = "LOC#";
    /// The next slot of each series of a site.
    pub const SERIES: &str = "SERIES#";
    /// Slots given back.
    pub const FREE: &str = "FREE#";
    /// Published shards of a site.
    pub const INDEX: &str = "INDEX#";
    /// Pages of an archive, and the archive.
    pub const TERM: &str = "TERM#";
    /// Translations of each other.
    pub const GROUP: &str = "GROUP#";
    /// What has changed of late on a site, by days.
    pub const FEED: &str = "FEED#";
    /// What search engines are still to be told of.
    pub const NOTICE: &str = "NOTICE#";
    /// Records to be reconciled at a time.
    pub const TIMER: &str = "TIMER#";
    /// A site's epoch, hold and settings.
    pub const SITE: &str = "SITE#";
    /// The background scan, and the audit.
    pub const JOB: &str = "JOB#";
}

/// The sort key of an item that is alone in its partition, or first in it.
pub const ALONE: &str = "-";
/// Stands before and behind the number of a page's part.
const PART_MARK: char = '~';
/// What stands in keys for an id that is too long begins so.
pub const HASHED_ID: &str = "sha256:";
/// Sort key prefix of the records that wait for an address, or for room in a group.
pub const WAITER: &str = "w#";
/// Sort key prefix of a group's members.
pub const MEMBER: &str = "m#";
/// Sort key prefix of an archive's own records: before every page's.
pub const ARCHIVE: &str = "!";
/// What is added to Unix seconds that stand in sort keys: no lastmod, before the year 1, is 0.
const SECONDS_OFFSET: i64 = 62_135_596_801;
/// How precise the time of a sort key is.
const DATE: &str = "d";
/// The same.
const SECOND: &str = "s";
/// A site's notices are spread over as many partitions, one a first digit of their hash.
pub const NOTICE_PARTITIONS: [char; 16] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
];

/// What stands in place of the digit in the key of a site's pause.
const PAUSE: &str = "pause";

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

/// Lower-case hex of the SHA-256 of a text.
#[must_use]
pub fn sha256_hex(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A record's id as it stands in keys. One that is too long has no page, but still a ledger that says so.
fn id_part(page: &str) -> String {
    if page_parts(page).0.len() <= MAX_ID_BYTES {
        page.to_owned()
    } else {
        format!("{HASHED_ID}{}", sha256_hex(page))
    }
}

/// A page as it stands in keys and rows: the record's id for the page itself, `~<part>~<id>` for another part of it.
#[must_use]
pub fn page(id: &str, part: u32) -> String {
    if part == 1 && !id.starts_with(PART_MARK) {
        id.to_owned()
    } else {
        format!("{PART_MARK}{part}{PART_MARK}{id}")
    }
}

/// The record's id and the part that [`page`] wrote.
#[must_use]
pub fn page_parts(page: &str) -> (&str, u32) {
    let marked = page.strip_prefix(PART_MARK);
    let part = marked.and_then(|rest| {
        let (part, id) = rest.split_once(PART_MARK)?;
        Some((id, part.parse().ok()?))
    });
    part.unwrap_or((page, 1))
}

/// `LEDGER#<record id>`, part.
#[must_use]
pub fn ledger(page: &str) -> Key {
    let (record, part) = page_parts(page);
    key(
        format!("{}{}", prefix::LEDGER, id_part(record)),
        part.to_string(),
    )
}

/// `SEGMENT#<site>#<series>#<n>#<k>`.
#[must_use]
pub fn segment(shard: &ShardId, segment: u32) -> String {
    let ShardId { series, n } = shard;
    format!(
        "{}{}#{}#{n}#{segment}",
        prefix::SEGMENT,
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

fn loc_partition(site: &str, loc: &str) -> String {
    format!("{}{}#{}", prefix::LOC, escape(site), sha256_hex(loc))
}

/// The claim of an address.
#[must_use]
pub fn claim(site: &str, loc: &str) -> Key {
    key(loc_partition(site, loc), ALONE)
}

/// A record that waits for an address.
#[must_use]
pub fn waiter(site: &str, loc: &str, id: &str) -> Key {
    key(loc_partition(site, loc), format!("{WAITER}{}", id_part(id)))
}

/// `SERIES#<site>`, series.
#[must_use]
pub fn series(series: &Series) -> Key {
    key(series_partition(&series.site), &series.name)
}

/// The partition of a site's series.
#[must_use]
pub fn series_partition(site: &str) -> String {
    format!("{}{}", prefix::SERIES, escape(site))
}

/// `FREE#<site>#<series>`.
#[must_use]
pub fn free_partition(series: &Series) -> String {
    format!(
        "{}{}#{}",
        prefix::FREE,
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

/// `INDEX#<site>`.
#[must_use]
pub fn index_partition(site: &str) -> String {
    format!("{}{}", prefix::INDEX, escape(site))
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

/// `TIMER#<hour>`: the partition of an hour since 1970.
#[must_use]
pub fn timer_partition(hour: i64) -> String {
    format!("{}{hour}", prefix::TIMER)
}

/// A timer, due at a time in Unix seconds.
#[must_use]
pub fn timer(due: i64, id: &str) -> Key {
    key(
        timer_partition(due.div_euclid(3_600)),
        format!("{due:012}#{}", id_part(id)),
    )
}

/// The due time and the record id of a timer's sort key.
#[must_use]
pub fn timer_parts(sk: &str) -> Option<(i64, &str)> {
    let (due, id) = sk.split_once('#')?;
    Some((due.parse().ok()?, id))
}

/// `TERM#<site>#<taxonomy>#<term>`.
#[must_use]
pub fn term_partition(term: &Term) -> String {
    format!(
        "{}{}#{}#{}",
        prefix::TERM,
        escape(&term.site),
        escape(&term.taxonomy),
        escape(&term.term)
    )
}

/// A page of an archive, by its lastmod: the last of the partition is the newest.
#[must_use]
pub fn term_member(term: &Term, lastmod: Option<When>, id: &str) -> Key {
    // A date is older than the first second of its day, and so it sorts.
    let (seconds, precision) = match lastmod {
        None => (0, DATE),
        Some(at) if at.is_date() => (at.seconds() + SECONDS_OFFSET, DATE),
        Some(at) => (at.seconds() + SECONDS_OFFSET, SECOND),
    };
    key(
        term_partition(term),
        format!("{seconds:012}{precision}#{}", id_part(id)),
    )
}

/// The lastmod and the page that [`term_member`] wrote as a sort key.
fn term_parts(sk: &str) -> Option<(Option<When>, &str)> {
    let (at, id) = sk.split_once('#')?;
    let (seconds, precision) = at.split_at_checked(at.len().checked_sub(1)?)?;
    let seconds = seconds.parse::<i64>().ok()?;
    let lastmod = match (seconds, precision) {
        (0, DATE) => None,
        (seconds, DATE) => Some(When::midnight(seconds - SECONDS_OFFSET)?),
        (seconds, SECOND) => Some(When::at(seconds - SECONDS_OFFSET)),
        _ => return None,
    };
    Some((lastmod, id))
}

/// The record that is an archive's page.
#[must_use]
pub fn archive(term: &Term, id: &str) -> Key {
    key(term_partition(term), format!("{ARCHIVE}{}", id_part(id)))
}

/// `GROUP#<group>`.
#[must_use]
pub fn group_partition(group: &str) -> String {
    format!("{}{}", prefix::GROUP, escape(group))
}

/// A member of a group.
#[must_use]
pub fn group_member(group: &str, id: &str) -> Key {
    key(group_partition(group), format!("{MEMBER}{}", id_part(id)))
}

/// A record that waits for room in a group.
#[must_use]
pub fn group_waiter(group: &str, id: &str) -> Key {
    key(group_partition(group), format!("{WAITER}{}", id_part(id)))
}

/// `FEED#<site>#<day>`: the partition of a day since 1970.
#[must_use]
pub fn feed_partition(site: &str, day: i64) -> String {
    format!("{}{}#{day}", prefix::FEED, escape(site))
}

/// A page that changed at a time in Unix seconds.
#[must_use]
pub fn feed(site: &str, at: i64, id: &str) -> Key {
    key(
        feed_partition(site, at.div_euclid(86_400)),
        format!("{at:012}#{}", id_part(id)),
    )
}

/// `NOTICE#<site>#<digit>`.
#[must_use]
pub fn notice_partition(site: &str, digit: char) -> String {
    format!("{}{}#{digit}", prefix::NOTICE, escape(site))
}

/// A URL that search engines are still to be told of.
#[must_use]
pub fn notice(site: &str, loc: &str) -> Key {
    let hash = sha256_hex(loc);
    let digit = hash.chars().next().unwrap_or('0');
    key(notice_partition(site, digit), hash)
}

/// Until when search engines are told of nothing on a site.
#[must_use]
pub fn notice_pause(site: &str) -> Key {
    key(format!("{}{}#{PAUSE}", prefix::NOTICE, escape(site)), ALONE)
}

/// The hour from which `sweep` reads timers.
#[must_use]
pub fn timer_cursor() -> Key {
    key(format!("{}cursor", prefix::TIMER), ALONE)
}

/// `SITE#<site>`.
#[must_use]
pub fn site(site: &str) -> Key {
    key(format!("{}{}", prefix::SITE, escape(site)), ALONE)
}

/// The one background scan.
#[must_use]
pub fn job() -> Key {
    key(format!("{}scan", prefix::JOB), ALONE)
}

/// The audit's progress.
#[must_use]
pub fn audit() -> Key {
    key(format!("{}audit", prefix::JOB), ALONE)
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
