//! Recent changes of a site: one row for each page, one partition for each day. `FEED#<site>#<day>`, time and page. DynamoDB
//! deletes a row some time after the feed no longer needs it.

use std::ops::RangeInclusive;

use sitemap::feed::Change;
use sitemap::plan::{Address, FEED_SECONDS, FeedItem};
use sitemap::time::When;
use table::{Item, Query};
use tracing::warn;

use super::key::{Key, RowKey, escape, id_part, key, sha256_hex, unescape};
use super::table::SitemapTable;
use super::timer::timer_parts;
use crate::error::EngineError;

/// Prefix of the partitions of the feed's and llms.txt's rows.
pub const PREFIX: &str = "FEED#";

/// Returns `FEED#<site>#<day>`: the partition of a day since 1970.
#[must_use]
pub fn feed_partition(site: &str, day: i64) -> String {
    format!("{}{}#{day}", PREFIX, escape(site))
}

/// Returns the key of the row of a page that changed at a time in Unix seconds.
#[must_use]
pub fn feed(site: &str, at: i64, id: &str) -> Key {
    key(
        feed_partition(site, at.div_euclid(86_400)),
        format!("{at:012}#{}", id_part(id)),
    )
}

pub(super) fn parse(site: &str, sk: &str) -> Option<RowKey> {
    let site = unescape(site)?;
    let (at, id) = timer_parts(sk)?;
    Some(RowKey::Feed(site, at, id.to_owned()))
}

/// The attribute with the time from which DynamoDB may delete a row, in Unix seconds. `template.yaml` names it.
pub const EXPIRES: &str = "expires";
/// Seconds that a row is kept beyond its time. No clock is that far behind.
const SPARE_SECONDS: i64 = 3_600;

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns up to `most` changes of a site on these days (since 1970), the newest first, read consistently. A row that cannot
    /// be read is skipped.
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
            let newest = Query::of(feed_partition(site, day)).reversed();
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
                            warn!(site, row = ?item.get("sk"), "a change is not in the feed: its row is damaged");
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

/// Returns the row of a page that changed at a time in Unix seconds.
#[must_use]
pub fn row(at: i64, page: &str, feed_item: &FeedItem) -> Item {
    let FeedItem {
        address: Address { site, loc },
        title,
        summary,
        published,
    } = feed_item;
    let mut row = Item::from(&self::feed(site, at, page))
        .with("loc", loc.as_str())
        .with(EXPIRES, at + FEED_SECONDS + SPARE_SECONDS);
    let published = published.map(|at| at.to_string());
    let texts = [
        ("title", title),
        ("summary", summary),
        ("published", &published),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            row.set(name, text.as_str());
        }
    }
    let digest = digest(&row);
    row.with("digest", digest)
}

/// Returns the change that a row describes, or `None` if the row is invalid.
pub(crate) fn read(item: &Item) -> Option<Change> {
    if item.text("digest")? != digest(item) {
        return None;
    }
    let attribute = |name| item.text(name).map(str::to_owned);
    let (at, _) = timer_parts(item.text("sk")?)?;
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

/// Returns the digest of a row's content. The ledger has no digest of it, so the row has its own.
fn digest(item: &Item) -> String {
    let texts = ["loc", "title", "summary", "published"].map(|name| item.text(name));
    sha256_hex(&format!("{texts:?}"))
}
