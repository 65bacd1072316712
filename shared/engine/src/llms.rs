//! What llms.txt may say of a site's pages: a row a page of the types that it lists.

use sitemap::llms::Page;
use sitemap::plan::LlmsItem;
use table::{Item, Query};
use tracing::warn;

use crate::error::EngineError;
use crate::keys;
use crate::sitemap_table::SitemapTable;

impl SitemapTable {
    /// The newest of a site's pages, at most so many; read consistently. A row that cannot be read costs its own page alone.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn llms_pages(&self, site: &str, most: usize) -> Result<Vec<Page>, EngineError> {
        let newest = Query::of(keys::llms_partition(site)).reversed();
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

/// The row of a page.
#[must_use]
pub fn row(id: &str, item: &LlmsItem) -> Item {
    let LlmsItem {
        site,
        lastmod,
        page,
    } = item;
    let mut row = Item::from(&keys::llms(site, *lastmod, id))
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

/// What a row says, and the digest of that; nothing if it does not say what was written.
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
