//! What a primary key says of its row.

use sitemap::plan::{Series, Slot};
use sitemap::time::When;

use super::{
    Mark, ShardId, claim, entry, feed, free, group, job, ledger, left_out, notice, prefix, scan,
    series, site, summary, term, timer,
};

/// What an item of the sitemap table is about, for those that something else depends on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A segment of a shard.
    Segment(ShardId, u32),
    /// A shard's summary.
    Summary(ShardId),
    /// The claim of an address, or one that waits for it: the partition key, and the waiter.
    Claim(String, Option<String>),
    /// A site's row.
    Site(String),
    /// The scan of all content.
    ContentScan,
    /// A site's scan.
    SiteScan(String),
    /// Timers with this digit that are left to ring.
    Timers(char),
    /// An archive and its pages; the partition key.
    Term(String),
    /// A group's members; the partition key.
    Group(String),
    /// Who waits for room in a group; the partition key.
    GroupWaiters(String),
    /// The calls of a group's records that go on; the partition key.
    GroupCalls(String),
    /// What has changed on a site in the last days.
    Feed(String),
    /// The mark of a site whose feed is to be published.
    MarkedFeed(String),
    /// What llms.txt may say of a site's pages.
    Llms(String),
    /// The mark of a site whose llms.txt is to be published.
    MarkedLlms(String),
}

impl Subject {
    /// What the item with this primary key is about, or nothing if nothing depends on it.
    #[must_use]
    pub fn of(pk: &str, sk: &str) -> Option<Self> {
        match RowKey::parse(pk, sk)? {
            RowKey::Entry(series, slot) => {
                let (n, segment) = (slot.n, slot.segment());
                Some(Self::Segment(ShardId { series, n }, segment))
            }
            RowKey::Summary(shard) => Some(Self::Summary(shard)),
            RowKey::Site(host) => Some(Self::Site(host)),
            RowKey::Claim => Some(Self::Claim(pk.to_owned(), None)),
            RowKey::Waiter(id) => Some(Self::Claim(pk.to_owned(), Some(id))),
            RowKey::ContentScan => Some(Self::ContentScan),
            RowKey::SiteScan(host) => Some(Self::SiteScan(host)),
            RowKey::Ringing(digit) => Some(Self::Timers(digit)),
            RowKey::TermMember(..) | RowKey::Archive(_) => Some(Self::Term(pk.to_owned())),
            RowKey::GroupMember(_) => Some(Self::Group(pk.to_owned())),
            RowKey::GroupWaiter(_) => Some(Self::GroupWaiters(pk.to_owned())),
            RowKey::GroupCalls => Some(Self::GroupCalls(pk.to_owned())),
            RowKey::Feed(site, ..) => Some(Self::Feed(site)),
            RowKey::Mark(Mark::Feed, site) => Some(Self::MarkedFeed(site)),
            RowKey::Llms(site, _) => Some(Self::Llms(site)),
            RowKey::Mark(Mark::Llms, site) => Some(Self::MarkedLlms(site)),
            _ => None,
        }
    }
}

/// Which row has a primary key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowKey {
    /// The ledger of this page.
    Ledger(String),
    /// An entry, or what is left of one.
    Entry(Series, Slot),
    /// The claim of an address.
    Claim,
    /// The record with this id waits for an address.
    Waiter(String),
    /// A series' counter.
    Series(Series),
    /// A slot given back.
    Free(Series, Slot),
    /// A published shard.
    Summary(ShardId),
    /// A time in Unix seconds, and the record with this id.
    Timer(i64, String),
    /// The record with this id is a page of an archive, with this lastmod.
    TermMember(Option<When>, String),
    /// The record with this id is an archive's page.
    Archive(String),
    /// The record with this id is left out by a site.
    LeftOut(String),
    /// The record with this id is a member of a group.
    GroupMember(String),
    /// The record with this id waits for room in a group.
    GroupWaiter(String),
    /// Where the calls of a group's records go on.
    GroupCalls,
    /// The site, the time in Unix seconds, and the id of the record that has changed.
    Feed(String, i64, String),
    /// The site, and the id of the record that its llms.txt may list.
    Llms(String, String),
    /// The site of a URL that is still to be sent to search engines.
    Notice(String),
    /// Until when nothing of a site is sent to search engines.
    NoticePause,
    /// The hour from which timers may be left.
    Cursor,
    /// The site with this host.
    Site(String),
    /// The scan of all content.
    ContentScan,
    /// The scan of the site with this host.
    SiteScan(String),
    /// The ringing of timers with this digit.
    Ringing(char),
    /// Whose turn it is to sweep.
    Sweep,
    /// This mark of the site with this host.
    Mark(Mark, String),
    /// The audit.
    Audit,
    /// The audit's sums.
    Sums,
}

impl RowKey {
    /// The page whose ledger knows the row, if its key says so.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        match self {
            Self::Waiter(id)
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

    /// Reads what the functions of this module have written, or nothing for a key that none of them writes.
    #[must_use]
    pub fn parse(pk: &str, sk: &str) -> Option<Self> {
        let (prefix, rest) = pk.split_at_checked(pk.find('#')? + 1)?;
        match prefix {
            prefix::LEDGER => ledger::parse(rest, sk),
            prefix::SEGMENT => entry::parse(rest, sk),
            prefix::LOC => claim::parse(sk),
            prefix::SERIES => series::parse(rest, sk),
            prefix::FREE => free::parse(rest, sk),
            prefix::INDEX => summary::parse(rest, sk),
            prefix::TERM => term::parse(sk),
            prefix::OUT => left_out::parse(sk),
            prefix::GROUP => group::parse(sk),
            prefix::FEED => feed::parse(rest, sk),
            prefix::NOTICE => notice::parse(rest, sk),
            prefix::TIMER => timer::parse(rest, sk),
            prefix::SITE => site::parse(rest, sk),
            prefix::SCAN => scan::parse(rest, sk),
            prefix::JOB => job::parse(rest, sk),
            _ => None,
        }
    }
}
