//! The pages that a site's llms.txt may list: one row for each page of the listed types. `FEED#<site>#llms`, lastmod and page.
//!
//! They share the prefix with the feed's rows, whose partitions have the number of a day instead of `llms`.

use sitemap::llms::Page;
use sitemap::plan::LlmsItem;
use sitemap::time::When;
use table::{Item, Query};
use tracing::warn;

use super::feed::PREFIX;
use super::key::{Key, RowKey, escape, id_part, key, unescape};
use super::table::SitemapTable;
use super::term::{time, time_parts};
use crate::error::EngineError;

/// The part of the key that replaces the day.
pub(super) const PARTITION: &str = "llms";

/// Returns `FEED#<site>#llms`, the partition of a site.
#[must_use]
pub fn llms_partition(site: &str) -> String {
    format!("{PREFIX}{}#{PARTITION}", escape(site))
}

/// Returns the key of a page's row. It begins with the lastmod, so that the last row of the partition is the newest page.
#[must_use]
pub fn llms(site: &str, lastmod: Option<When>, id: &str) -> Key {
    let sk = format!("{}#{}", time(lastmod), id_part(id));
    key(llms_partition(site), sk)
}

pub(super) fn parse(site: &str, sk: &str) -> Option<RowKey> {
    let site = unescape(site)?;
    let (_, id) = time_parts(sk)?;
    Some(RowKey::Llms(site, id.to_owned()))
}

impl SitemapTable {
    /// Returns up to `most` of a site's newest pages, read consistently. A row that cannot be read is skipped.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn llms_pages(&self, site: &str, most: usize) -> Result<Vec<Page>, EngineError> {
        let newest = Query::of(llms_partition(site)).reversed();
        let (mut pages, mut after) = (Vec::new(), None);
        loop {
            let left = u32::try_from(most - pages.len()).unwrap_or(u32::MAX);
            let query = Query {
                after,
                ..newest.clone().limited(left)
            };
            let found = self.page(query).await?;
            for item in found.items {
                match read(&item) {
                    Some((page, _)) => pages.push(page),
                    None => {
                        warn!(site, row = ?item.get("sk"), "a page is not in llms.txt: its row is damaged");
                    }
                }
            }
            after = found.next;
            if after.is_none() || pages.len() >= most {
                break;
            }
        }
        pages.truncate(most);
        Ok(pages)
    }
}

/// Returns the row of a page.
#[must_use]
pub fn row(id: &str, item: &LlmsItem) -> Item {
    let LlmsItem {
        site,
        lastmod,
        page,
    } = item;
    let mut row = Item::from(&self::llms(site, *lastmod, id))
        .with("loc", page.loc.as_str())
        .with("type", page.type_name.as_str())
        .with("digest", LlmsItem::digest_of(page));
    let texts = [("title", &page.title), ("description", &page.description)];
    for (name, text) in texts {
        if let Some(text) = text {
            row.set(name, text.as_str());
        }
    }
    row
}

/// Returns the content of a row and its digest, or `None` if the row is invalid.
pub(crate) fn read(item: &Item) -> Option<(Page, String)> {
    let attribute = |name| item.text(name).map(str::to_owned);
    let page = Page {
        loc: attribute("loc")?,
        type_name: attribute("type")?,
        title: attribute("title"),
        description: attribute("description"),
    };
    let digest = LlmsItem::digest_of(&page);
    (item.text("digest")? == digest).then_some((page, digest))
}
