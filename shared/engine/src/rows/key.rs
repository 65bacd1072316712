//! The parts of the sitemap table's primary keys, and the kinds of rows.
//!
//! All parts of a partition key but the last are `[A-Za-z0-9._-]` or percent-escaped, so that `#` always separates.

use objects::ObjectKey;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};
use sitemap::plan::{Series, Slot};
use sitemap::record::MAX_ID_BYTES;
use sitemap::time::When;

/// Rows whose number grows with a site are spread over 16 partitions, by the first hex digit of a hash.
pub const HASH_DIGITS: [char; 16] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
];
/// The sort key of an item that is the only or the first one of its partition.
pub const ALONE: &str = "-";
/// Sort key prefix of the records that wait for an address, or for room in a group.
pub const WAITER: &str = "w#";
/// Sort key prefix of the record from which a listed page has taken an address.
pub const OUSTED: &str = "o#";

/// Prefix of the partitions of jobs: the functions' unfinished work, and work for `sweep`.
pub const JOB: &str = "JOB#";

/// The character before and after the number of a page's part.
const PART_MARK: char = '~';

/// Prefix of the hashed form of an id that is too long for a key.
pub const HASHED_ID: &str = "sha256:";

const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-');

/// A partition key and a sort key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The partition key.
    pub pk: String,
    /// The sort key.
    pub sk: String,
}

pub(super) fn key(pk: String, sk: impl Into<String>) -> Key {
    Key { pk, sk: sk.into() }
}

pub(super) fn escape(part: &str) -> String {
    utf8_percent_encode(part, ESCAPED).to_string()
}

pub(super) fn unescape(part: &str) -> Option<String> {
    percent_decode_str(part).decode_utf8().ok().map(Into::into)
}

/// Returns a series from its escaped parts of a key.
pub(super) fn read_series(site: &str, name: &str) -> Option<Series> {
    let (site, name) = (unescape(site)?, unescape(name)?);
    Some(Series { site, name })
}

/// Returns the SHA-256 of a text in lower-case hex.
#[must_use]
pub fn sha256_hex(text: &str) -> String {
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let half = |bytes: Option<&[u8; 16]>| u128::from_be_bytes(bytes.copied().unwrap_or_default());
    format!(
        "{:032x}{:032x}",
        half(hash.first_chunk()),
        half(hash.last_chunk())
    )
}

/// Returns the one of [`HASH_DIGITS`] to which a text belongs.
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
    /// Returns the key of the shard's object.
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

/// Returns a record's id as it is in keys. A record with an over-long id has no page, but it has a ledger with the reason.
pub(super) fn id_part(page: &str) -> String {
    if page_parts(page).0.len() <= MAX_ID_BYTES {
        page.to_owned()
    } else {
        format!("{HASHED_ID}{}", sha256_hex(page))
    }
}

/// Returns the name of a page in keys and rows: the record's id for the page itself, `~<part>~<id>` for another part of it.
#[must_use]
pub fn page(id: &str, part: u32) -> String {
    if part == 1 && !id.starts_with(PART_MARK) {
        id.to_owned()
    } else {
        format!("{PART_MARK}{part}{PART_MARK}{id}")
    }
}

/// Returns the record's id and the part from a name that [`page`] made.
#[must_use]
pub fn page_parts(page: &str) -> (&str, u32) {
    let marked = page.strip_prefix(PART_MARK);
    let part = marked.and_then(|rest| {
        let (part, id) = rest.split_once(PART_MARK)?;
        Some((id, part.parse().ok()?))
    });
    part.unwrap_or((page, 1))
}

/// A mark of a site: work that `sweep` has to do for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The site may have notices for search engines.
    Notices,
    /// Delete the mark when its time has come. The deletion is the event that publishes the feed.
    Feed,
    /// Delete the mark when its time has come. The deletion is the event that publishes llms.txt.
    Llms,
}

/// The kind of a row and the parts of its primary key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowKey {
    /// The ledger of this page.
    Ledger(String),
    /// An entry, or the stub of a removed one.
    Entry(Series, Slot),
    /// The claim of an address.
    Claim,
    /// The record with this id waits for an address.
    Waiter(String),
    /// The page of this record departed from an address, which a listed page has taken.
    Ousted(String),
    /// What became of the page at an address of this site, and the number of the published file to which it belongs.
    Departed(String, u32),
    /// A published file of a site's departures that was called for.
    DepartureCall(String, u32),
    /// A series' counter.
    Series(Series),
    /// A slot that was given back.
    Free(Series, Slot),
    /// A published shard.
    Summary(ShardId),
    /// A timer: its time in Unix seconds, and the id of the record.
    Timer(i64, String),
    /// The record with this id is a page of an archive, with this lastmod.
    TermMember(Option<When>, String),
    /// The record with this id is an archive's page.
    Archive(String),
    /// The site excludes the record with this id.
    LeftOut(String),
    /// The record with this id is a member of a group.
    GroupMember(String),
    /// The record with this id waits for room in a group.
    GroupWaiter(String),
    /// Where the calls of a group's records continue.
    GroupCalls,
    /// A change of the feed: the site, the time in Unix seconds, and the record's id.
    Feed(String, i64, String),
    /// A row for llms.txt: the site and the record's id.
    Llms(String, String),
    /// A URL of this site that is still to be sent to search engines.
    Notice(String),
    /// The pause in notifying search engines of a site.
    NoticePause,
    /// The hour from which timers may be left.
    Cursor,
    /// The site with this host.
    Site(String),
    /// The scan of all content.
    ContentScan,
    /// The scan of the site with this host.
    SiteScan(String),
    /// The slices of due timers with this digit.
    Ringing(char),
    /// The turn of the sweep.
    Sweep,
    /// This mark of the site with this host.
    Mark(Mark, String),
    /// The audit.
    Audit,
    /// The audit's sums.
    Sums,
}

impl RowKey {
    /// Returns the page whose ledger names the row, if the key says it.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        match self {
            Self::Waiter(id)
            | Self::Ousted(id)
            | Self::Timer(_, id)
            | Self::TermMember(_, id)
            | Self::Archive(id)
            | Self::LeftOut(id)
            | Self::GroupMember(id)
            | Self::GroupWaiter(id)
            | Self::Feed(_, _, id)
            | Self::Llms(_, id) => Some(id),
            _ => None,
        }
    }
}
