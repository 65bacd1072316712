//! URLs that are still to be sent to search engines, and the pauses in sending them.

use table::{Condition, Item, Query};
use tracing::warn;

use crate::error::EngineError;
use crate::keys::{self, HASH_DIGITS};
use crate::sitemap_table::SitemapTable;

/// Notices read of one partition at a time: all partitions together make up one request of IndexNow, 10,000 URLs
/// (<https://www.indexnow.org/documentation>).
pub const PAGE: usize = 10_000 / HASH_DIGITS.len();

/// A URL to send to search engines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Notice {
    /// When the first change that was not sent happened, in Unix seconds.
    pub since: i64,
    /// When it last changed, in Unix seconds.
    pub at: i64,
    /// The URL.
    pub loc: String,
}

/// How telling search engines of a site goes. There is no such row before the first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Tries that have failed, one after the other.
    pub tries: u32,
    /// When the next may be, in Unix seconds.
    pub until: i64,
    /// The last request, if it was refused: its URLs were dropped.
    pub refused: Option<Refused>,
    /// The last request that was accepted.
    pub sent: Option<Sent>,
}

/// A request that a search engine accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its URLs.
    pub urls: u64,
    /// When, in Unix seconds.
    pub at: i64,
}

/// A request that a search engine refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status.
    pub status: u16,
    /// Its URLs.
    pub urls: u64,
    /// When, in Unix seconds.
    pub at: i64,
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Up to [`PAGE`] notices of a site with this first digit.
    pub async fn notices(&self, site: &str, digit: char) -> Result<Vec<Notice>, EngineError> {
        let pk = keys::notice_partition(site, digit);
        let limit = u32::try_from(PAGE).unwrap_or(u32::MAX);
        let mut notices = Vec::new();
        for item in self.first(Query::of(pk).limited(limit)).await? {
            match (item.number("at"), item.text("loc")) {
                (Some(at), Some(loc)) => notices.push(Notice {
                    since: item.number("since").unwrap_or(at),
                    at,
                    loc: loc.to_owned(),
                }),
                _ => {
                    warn!(site, row = ?item.get("sk"), "search engines are not notified: its row is damaged")
                }
            }
        }
        Ok(notices)
    }

    /// Deletes a notice, unless its URL has changed since.
    pub async fn drop_notice(&self, site: &str, notice: &Notice) -> Result<(), EngineError> {
        let unchanged = Condition::equals("at", notice.at);
        let key = keys::notice(site, &notice.loc);
        self.delete_if(&key, unchanged).await.map(drop)
    }

    /// A site's pause, also one that is over.
    pub async fn pause(&self, site: &str) -> Result<Option<Pause>, EngineError> {
        // One that cannot be read is over.
        let pause = self.item(&keys::notice_pause(site)).await?;
        Ok(pause.and_then(|item| {
            Some(Pause {
                tries: item.number("tries")?,
                until: item.number("until")?,
                refused: read_refused(&item),
                sent: read_sent(&item),
            })
        }))
    }

    /// Notes how telling search engines of a site goes.
    pub async fn set_pause(&self, site: &str, pause: Pause) -> Result<(), EngineError> {
        let mut item = Item::from(&keys::notice_pause(site))
            .with("tries", pause.tries)
            .with("until", pause.until);
        if let Some(Refused { status, urls, at }) = pause.refused {
            item.set("refused_status", status);
            item.set("refused_urls", urls);
            item.set("refused_at", at);
        }
        if let Some(Sent { urls, at }) = pause.sent {
            item.set("sent_urls", urls);
            item.set("sent_at", at);
        }
        self.put(item).await
    }
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
