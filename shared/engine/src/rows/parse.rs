//! Parses primary keys.

use super::key::{self, Mark, RowKey, ShardId};
use super::{
    audit, claim, departed, entry, feed, group, ledger, left_out, llms, mark, notice, scan, series,
    site, slot, summary, term, timer, turn,
};

/// The subject of an item of the sitemap table, for items on which something depends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A segment of a shard.
    Segment(ShardId, u32),
    /// A shard's summary.
    Summary(ShardId),
    /// The claim of an address, or a page that waits for it: the partition key, and the waiting page.
    Claim(String, Option<String>),
    /// A page that lost its address to a listed page: the partition key of the claim, and the page.
    Ousted(String, String),
    /// A published file of a site's departures.
    Departures(String, u32),
    /// A site's row.
    Site(String),
    /// The scan of all content.
    ContentScan,
    /// A site's scan.
    SiteScan(String),
    /// Due timers with this digit that are left for further slices.
    Timers(char),
    /// An archive and its pages: the partition key.
    Term(String),
    /// A group's members: the partition key.
    Group(String),
    /// The pages that wait for room in a group: the partition key.
    GroupWaiters(String),
    /// The calls of a group's records that continue: the partition key.
    GroupCalls(String),
    /// The recent changes of this site.
    Feed(String),
    /// The mark for the feed of this site.
    MarkedFeed(String),
    /// The rows for llms.txt of this site.
    Llms(String),
    /// The mark for llms.txt of this site.
    MarkedLlms(String),
}

impl Subject {
    /// Returns the subject of the item with this primary key, or `None` if nothing depends on it.
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
            RowKey::Ousted(id) => Some(Self::Ousted(pk.to_owned(), id)),
            RowKey::Departed(site, file) | RowKey::DepartureCall(site, file) => {
                Some(Self::Departures(site, file))
            }
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

impl RowKey {
    /// Parses a key that the functions of the row kinds have written. Returns `None` for any other key.
    #[must_use]
    pub fn parse(pk: &str, sk: &str) -> Option<Self> {
        let (prefix, rest) = pk.split_at_checked(pk.find('#')? + 1)?;
        match prefix {
            ledger::PREFIX => ledger::parse(rest, sk),
            entry::PREFIX => entry::parse(rest, sk),
            claim::PREFIX => claim::parse(sk),
            departed::PREFIX => departed::parse(rest, sk),
            series::PREFIX => series::parse(rest, sk),
            slot::PREFIX => slot::parse(rest, sk),
            summary::PREFIX => summary::parse(rest, sk),
            term::PREFIX => term::parse(sk),
            left_out::PREFIX => left_out::parse(sk),
            group::PREFIX => group::parse(sk),
            feed::PREFIX => match rest.split_once('#')? {
                (site, llms::PARTITION) => llms::parse(site, sk),
                (site, _) => feed::parse(site, sk),
            },
            notice::PREFIX => notice::parse(rest, sk),
            timer::PREFIX => timer::parse(rest, sk),
            site::PREFIX => site::parse(rest, sk),
            scan::PREFIX => scan::parse(rest, sk),
            key::JOB => mark::parse(rest, sk)
                .or_else(|| scan::parse_content(rest, sk))
                .or_else(|| timer::parse_ringing(rest, sk))
                .or_else(|| turn::parse(rest, sk))
                .or_else(|| audit::parse(rest, sk)),
            _ => None,
        }
    }
}
