//! What has changed of late on a site: a row a page, in a partition a day.

use std::ops::RangeInclusive;

use sitemap::feed::Change;
use sitemap::time::When;
use tracing::warn;

use crate::error::{StoreError, service};
use crate::keys;
use crate::table::{Item, SitemapTable, get_text, text};

/// Changes of the last days.
pub trait Changes: Send + Sync {
    /// A site's changes of these days (since 1970), the newest first, at most so many; read consistently. A row that
    /// cannot be read costs its own page alone.
    fn changes(
        &self,
        site: &str,
        days: RangeInclusive<i64>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Change>, StoreError>> + Send;
}

impl Changes for SitemapTable {
    async fn changes(
        &self,
        site: &str,
        days: RangeInclusive<i64>,
        most: usize,
    ) -> Result<Vec<Change>, StoreError> {
        let mut changes = Vec::new();
        for day in days.rev() {
            let query = self
                .aws
                .dynamodb()
                .await
                .query()
                .table_name(&self.name)
                .consistent_read(true)
                .key_condition_expression("pk = :pk")
                .expression_attribute_values(":pk", text(keys::feed_partition(site, day)))
                .scan_index_forward(false)
                .limit(i32::try_from(most).unwrap_or(i32::MAX));
            let mut pages = query.into_paginator().send();
            while let Some(page) = pages.next().await {
                for item in page.map_err(service("Query"))?.items.unwrap_or_default() {
                    match read(&item) {
                        Some(change) => changes.push(change),
                        None => {
                            warn!(site, row = ?item.get("sk"), "not in the feed: its row is damaged")
                        }
                    }
                }
                if changes.len() >= most {
                    changes.truncate(most);
                    return Ok(changes);
                }
            }
        }
        Ok(changes)
    }
}

fn read(item: &Item) -> Option<Change> {
    let attribute = |name| get_text(item, name).map(str::to_owned);
    let (at, _) = keys::timer_parts(get_text(item, "sk")?)?;
    Some(Change {
        loc: attribute("loc")?,
        title: attribute("title"),
        summary: attribute("summary"),
        published: match get_text(item, "published") {
            Some(published) => Some(When::parse(published).ok()?),
            None => None,
        },
        at,
    })
}
