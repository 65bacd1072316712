//! URLs that search engines are still to be told of, and until when they are to be left in peace.

use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use tracing::warn;

use crate::error::{StoreError, service};
use crate::keys::{self, NOTICE_PARTITIONS};
use crate::table::{Item, SitemapTable, get_number, get_text, key_item, number};

/// Notices read of one partition at a time: all partitions together make up one request of IndexNow, 10,000 URLs
/// (<https://www.indexnow.org/documentation>).
pub const PAGE: usize = 10_000 / NOTICE_PARTITIONS.len();

/// A URL to tell search engines of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Notice {
    /// Since when nobody was told of a change, in Unix seconds.
    pub since: i64,
    /// When it last changed, in Unix seconds.
    pub at: i64,
    /// The URL.
    pub loc: String,
}

/// What went wrong with telling search engines of a site. There is no such row once they were told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Tries that have failed, one after the other.
    pub tries: u32,
    /// When the next may be, in Unix seconds.
    pub until: i64,
    /// The last request that was refused: its URLs were dropped.
    pub refused: Option<Refused>,
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

/// Notices.
pub trait Notices: Send + Sync {
    /// Up to [`PAGE`] notices of a site with this first digit.
    fn notices(
        &self,
        site: &str,
        digit: char,
    ) -> impl Future<Output = Result<Vec<Notice>, StoreError>> + Send;

    /// Deletes a notice, unless its URL has changed since.
    fn drop_notice(
        &self,
        site: &str,
        notice: &Notice,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// A site's pause, also one that is over.
    fn pause(&self, site: &str) -> impl Future<Output = Result<Option<Pause>, StoreError>> + Send;

    /// Begins a site's pause, or ends it and forgets what was refused.
    fn set_pause(
        &self,
        site: &str,
        pause: Option<Pause>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}

impl Notices for SitemapTable {
    async fn notices(&self, site: &str, digit: char) -> Result<Vec<Notice>, StoreError> {
        let pk = keys::notice_partition(site, digit);
        let limit = i32::try_from(PAGE).unwrap_or(i32::MAX);
        let mut notices = Vec::new();
        for item in self.partition(&pk, Some(limit)).await? {
            match (get_number(&item, "at"), get_text(&item, "loc")) {
                (Some(at), Some(loc)) => notices.push(Notice {
                    since: get_number(&item, "since").unwrap_or(at),
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

    async fn drop_notice(&self, site: &str, notice: &Notice) -> Result<(), StoreError> {
        let request = self
            .aws
            .dynamodb()
            .await
            .delete_item()
            .table_name(&self.name)
            .set_key(Some(key_item(&keys::notice(site, &notice.loc))))
            .condition_expression("#at = :at")
            .expression_attribute_names("#at", "at")
            .expression_attribute_values(":at", number(notice.at));
        match request.send().await {
            Ok(_) => Ok(()),
            Err(error) => match error.as_service_error() {
                Some(DeleteItemError::ConditionalCheckFailedException(_)) => Ok(()),
                _ => Err(service("DeleteItem")(error)),
            },
        }
    }

    async fn pause(&self, site: &str) -> Result<Option<Pause>, StoreError> {
        // One that cannot be read is over.
        let pause = self.item(&keys::notice_pause(site)).await?;
        Ok(pause.and_then(|item| {
            Some(Pause {
                tries: get_number(&item, "tries")?,
                until: get_number(&item, "until")?,
                refused: read_refused(&item),
            })
        }))
    }

    async fn set_pause(&self, site: &str, pause: Option<Pause>) -> Result<(), StoreError> {
        let key = keys::notice_pause(site);
        let Some(pause) = pause else {
            return self.delete(&key).await;
        };
        let mut item = key_item(&key);
        item.insert("tries".to_owned(), number(pause.tries));
        item.insert("until".to_owned(), number(pause.until));
        if let Some(Refused { status, urls, at }) = pause.refused {
            item.insert("refused_status".to_owned(), number(status));
            item.insert("refused_urls".to_owned(), number(urls));
            item.insert("refused_at".to_owned(), number(at));
        }
        self.put(item).await
    }
}

fn read_refused(item: &Item) -> Option<Refused> {
    Some(Refused {
        status: get_number(item, "refused_status")?,
        urls: get_number(item, "refused_urls")?,
        at: get_number(item, "refused_at")?,
    })
}
