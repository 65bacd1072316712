//! URLs to send to search engines, and the pauses in sending them. `NOTICE#<site>#<digit>`, hash; and `NOTICE#<site>#pause`.

use sitemap::loc::normalized;
use table::{Condition, Item, Query, Update};
use tracing::warn;

use super::key::{ALONE, HASH_DIGITS, Key, RowKey, escape, hash_digit, key, sha256_hex, unescape};
use super::table::{SitemapTable, damaged, item_key};
use crate::error::EngineError;

/// Prefix of the partitions of notices.
pub const PREFIX: &str = "NOTICE#";

/// The part of a site's pause key that replaces the digit.
const PAUSE: &str = "pause";

/// Returns `NOTICE#<site>#<digit>`, with one of [`HASH_DIGITS`].
#[must_use]
pub fn notice_partition(site: &str, digit: char) -> String {
    format!("{}{}#{digit}", PREFIX, escape(site))
}

/// Returns the key of a notice: a changed URL that was not yet sent to search engines. All spellings of an address share one.
#[must_use]
pub fn notice(site: &str, loc: &str) -> Key {
    let address = normalized(loc);
    let hash = sha256_hex(&address);
    key(notice_partition(site, hash_digit(&address)), hash)
}

/// Returns the key of a site's pause in notifying search engines.
#[must_use]
pub fn notice_pause(site: &str) -> Key {
    key(format!("{}{}#{PAUSE}", PREFIX, escape(site)), ALONE)
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    match rest.split_once('#')? {
        (_, PAUSE) => (sk == ALONE).then_some(RowKey::NoticePause),
        (site, _) => Some(RowKey::Notice(unescape(site)?)),
    }
}

/// Notices that are read of one partition at a time. All partitions together fill one request of IndexNow, 10,000 URLs
/// (<https://www.indexnow.org/documentation>).
pub const PAGE: usize = 10_000 / HASH_DIGITS.len();

/// A URL to send to search engines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Notice {
    /// The time of the first unsent change, in Unix seconds.
    pub since: i64,
    /// The time of the last change, in Unix seconds.
    pub at: i64,
    /// The URL.
    pub loc: String,
}

/// The state of notifying search engines of a site. The row does not exist before the first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The number of consecutive failed tries.
    pub tries: u32,
    /// The earliest time of the next try, in Unix seconds.
    pub until: i64,
    /// The last request, if it was refused. Its URLs were dropped.
    pub refused: Option<Refused>,
    /// The last accepted request.
    pub sent: Option<Sent>,
}

/// A request that a search engine accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The number of its URLs.
    pub urls: u64,
    /// The time of the request, in Unix seconds.
    pub at: i64,
}

/// A request that a search engine refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status.
    pub status: u16,
    /// The number of its URLs.
    pub urls: u64,
    /// The time of the request, in Unix seconds.
    pub at: i64,
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns up to [`PAGE`] notices of a site with this first digit.
    pub async fn notices(&self, site: &str, digit: char) -> Result<Vec<Notice>, EngineError> {
        let pk = self::notice_partition(site, digit);
        let limit = u32::try_from(PAGE).unwrap_or(u32::MAX);
        let mut notices = Vec::new();
        for item in self.first(Query::of(pk).limited(limit)).await? {
            match read_notice(site, &item) {
                Some(notice) => notices.push(notice),
                None => self.drop_unreadable(site, &item).await?,
            }
        }
        Ok(notices)
    }

    /// Deletes a notice that cannot be read, unless it was written again since. It could never be sent, or an engine would refuse
    /// the whole request because of it.
    async fn drop_unreadable(&self, site: &str, item: &Item) -> Result<(), EngineError> {
        let Some(key) = item_key(item) else {
            return Ok(());
        };
        warn!(
            site,
            row = key.sk,
            "search engines are not notified: its row is damaged, and deleted"
        );
        let same = |name: &'static str| match item.get(name) {
            Some(value) => Condition::equals(name, value.clone()),
            None => Condition::lacks(name),
        };
        let unchanged = same("at").and(same("loc"));
        self.delete_if(&key, unchanged).await.map(drop)
    }

    /// Deletes a notice, unless its URL has changed since.
    pub async fn drop_notice(&self, site: &str, notice: &Notice) -> Result<(), EngineError> {
        let unchanged = Condition::equals("at", notice.at);
        let key = self::notice(site, &notice.loc);
        self.delete_if(&key, unchanged).await.map(drop)
    }

    /// Returns a site's pause, also one that is over.
    pub async fn pause(&self, site: &str) -> Result<Option<Pause>, EngineError> {
        // A pause that cannot be read counts as over.
        let pause = self.item(&self::notice_pause(site)).await?;
        Ok(pause.and_then(|item| {
            Some(Pause {
                tries: item.number("tries")?,
                until: item.number("until")?,
                refused: read_refused(&item),
                sent: read_sent(&item),
            })
        }))
    }

    /// Writes the state of notifying search engines of a site: the number of failed tries, the time of the next try, and the
    /// answer to the last request. Without an answer, the stored earlier answers are kept, because another sweep may be writing
    /// them.
    pub async fn set_pause(
        &self,
        site: &str,
        (tries, until): (u32, i64),
        answer: Option<Result<Sent, Refused>>,
    ) -> Result<(), EngineError> {
        let update = Update::new().set("tries", tries).set("until", until);
        let update = match answer {
            None => update,
            Some(Ok(Sent { urls, at })) => update
                .set("sent_urls", urls)
                .set("sent_at", at)
                .remove("refused_status")
                .remove("refused_urls")
                .remove("refused_at"),
            Some(Err(Refused { status, urls, at })) => update
                .set("refused_status", status)
                .set("refused_urls", urls)
                .set("refused_at", at),
        };
        self.update(&self::notice_pause(site), update)
            .await
            .map(drop)
    }
}

/// Returns a notice, or `None` if an attribute is missing, or if the URL does not match the key.
fn read_notice(site: &str, item: &Item) -> Option<Notice> {
    let (at, loc) = (item.number("at")?, item.text("loc")?);
    (item_key(item)? == self::notice(site, loc)).then(|| Notice {
        since: item.number("since").unwrap_or(at),
        at,
        loc: loc.to_owned(),
    })
}

fn read_sent(item: &Item) -> Option<Sent> {
    Some(Sent {
        urls: item.number("sent_urls")?,
        at: item.number("sent_at")?,
    })
}

fn read_refused(item: &Item) -> Option<Refused> {
    Some(Refused {
        status: item.number("refused_status")?,
        urls: item.number("refused_urls")?,
        at: item.number("refused_at")?,
    })
}

/// Checks that a notice has its attributes.
pub(super) fn check(key: &Key, item: &Item) -> Result<(), EngineError> {
    item.text("loc").ok_or_else(|| damaged(key, "loc"))?;
    let at = item.number::<i64>("at");
    at.map(drop).ok_or_else(|| damaged(key, "at"))
}

#[cfg(test)]
mod tests {
    use table::Table;

    use super::*;
    use crate::testing::Repeating;

    #[tokio::test]
    async fn a_damaged_notice_is_deleted_and_the_others_are_read() {
        let (site, loc) = ("a.example", "https://a.example/one");
        let rows = Repeating::default();
        let table = rows.engine();
        let sound = Item::from(&super::notice(site, loc))
            .with("loc", loc)
            .with("at", 7);
        let partition = super::notice(site, loc).pk;
        let beside = |sk: &str| {
            Item::new()
                .with("pk", partition.as_str())
                .with("sk", sk)
                .with("loc", "https://elsewhere.example/")
                .with("at", 7)
        };
        let (mut no_url, mut no_time) = (beside("2"), beside("3"));
        no_url.remove("loc");
        no_time.set("at", "\u{1}{");
        for row in [&sound, &beside("1"), &no_url, &no_time] {
            rows.table.put(row.clone(), None).await.unwrap();
        }
        let digit = partition.chars().next_back().unwrap();
        let read = table.notices(site, digit).await.unwrap();
        let notice = Notice {
            since: 7,
            at: 7,
            loc: loc.to_owned(),
        };
        assert_eq!(read, [notice]);
        assert_eq!(table.partition(&partition).await.unwrap(), [sound]);
    }
}
