//! What has changed of late on a site: a row a page, in a partition a day.

use std::ops::RangeInclusive;

use sitemap::feed::Change;
use sitemap::time::When;
use table::{Item, Query};
use tracing::warn;

use crate::error::EngineError;
use crate::keys;
use crate::sitemap_table::SitemapTable;

impl SitemapTable {
    /// A site's changes of these days (since 1970), the newest first, at most so many; read consistently. A row that
    /// cannot be read costs its own page alone.
    pub async fn changes(
        &self,
        site: &str,
        days: RangeInclusive<i64>,
        most: usize,
    ) -> Result<Vec<Change>, EngineError> {
        let mut changes = Vec::new();
        for day in days.rev() {
            let left = u32::try_from(most - changes.len()).unwrap_or(u32::MAX);
            if left == 0 {
                break;
            }
            let newest = Query::of(keys::feed_partition(site, day)).reversed();
            let mut after = None;
            loop {
                let query = Query {
                    after,
                    ..newest.clone().limited(left)
                };
                let page = self.page(query).await?;
                for item in page.items {
                    match read(&item) {
                        Some(change) => changes.push(change),
                        None => {
                            warn!(site, row = ?item.get("sk"), "not in the feed: its row is damaged");
                        }
                    }
                }
                after = page.next;
                if after.is_none() || changes.len() >= most {
                    break;
                }
            }
        }
        changes.truncate(most);
        Ok(changes)
    }
}

fn read(item: &Item) -> Option<Change> {
    let attribute = |name| item.text(name).map(str::to_owned);
    let (at, _) = keys::timer_parts(item.text("sk")?)?;
    Some(Change {
        loc: attribute("loc")?,
        title: attribute("title"),
        summary: attribute("summary"),
        published: match item.text("published") {
            Some(published) => Some(When::parse(published).ok()?),
            None => None,
        },
        at,
    })
}
