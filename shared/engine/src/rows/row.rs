//! Every row of the sitemap table, as the audit reads it.
//!
//! No repair writes an entry, a claim or an object. Records are repaired by a reconcile, and published files by the event of a
//! raised version.

use std::collections::BTreeMap;

use sitemap::plan::{Ledger, Translation};
use sitemap::record::Departure;
use table::Item;

use super::claim::read_owner;
use super::entry::read_entry;
use super::group::read_translation;
use super::key::{Key, RowKey};
use super::ledger::read_ledger;
use super::scan::{ContentScan, SiteScan, read_content_scan, read_site_scan};
use super::series::{Extent, read_extent};
use super::site::{SiteRow, read_site};
use super::summary::{Summary, read_summary};
use super::table::{SitemapTable, damaged, item_key};
use super::{departed, feed, llms, notice};
use crate::error::EngineError;

/// A row.
#[derive(Debug)]
pub struct Row {
    /// Its primary key.
    pub key: Key,
    /// The parsed key. `None` if the key was not written by this version.
    pub kind: Option<RowKey>,
    /// The page that it belongs to, if the row names one itself.
    pub owner: Option<String>,
    /// The row's body, or which attribute is missing or invalid.
    pub holds: Result<Holds, EngineError>,
}

/// The body of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Holds {
    /// A ledger. It is the default if the row has only a fence's token.
    Ledger(Ledger),
    /// An entry's owner and digest. `None` if the slot is empty.
    Entry(Option<(String, String)>),
    /// The owner of an address, and whether its claim yields to a listed page.
    Claim(String, bool),
    /// What became of a page.
    Departed(Departure),
    /// The extent of a series.
    Series(Extent),
    /// A member of a translation group.
    Translation(Translation),
    /// The digest of a row for llms.txt.
    Llms(String),
    /// The summary of a published shard.
    Summary(Summary),
    /// A site.
    Site(SiteRow),
    /// The scan of all content.
    ContentScan(ContentScan),
    /// A site's scan.
    SiteScan(SiteScan),
    /// The audit looks at nothing but the key.
    Key,
}

fn read(item: &Item) -> Option<Row> {
    let key = item_key(item)?;
    let kind = RowKey::parse(&key.pk, &key.sk);
    let holds = match &kind {
        Some(RowKey::Ledger(_)) => {
            read_ledger(&key, item).map(|ledger| Holds::Ledger(ledger.unwrap_or_default()))
        }
        Some(RowKey::Entry(..)) => read_entry(&key, item).map(Holds::Entry),
        Some(RowKey::Claim) => {
            read_owner(&key, item).map(|(owner, yields)| Holds::Claim(owner, yields))
        }
        Some(RowKey::Departed(..)) => departed::read(&key, item).map(Holds::Departed),
        Some(RowKey::Series(_)) => read_extent(&key, item).map(Holds::Series),
        Some(RowKey::GroupMember(_)) => {
            let translation = read_translation(item).ok_or_else(|| damaged(&key, "href"));
            translation.map(Holds::Translation)
        }
        Some(RowKey::Feed(..)) => match feed::read(item) {
            Some(_) => Ok(Holds::Key),
            None => Err(damaged(&key, "digest")),
        },
        Some(RowKey::Llms(..)) => match llms::read(item) {
            Some((_, digest)) => Ok(Holds::Llms(digest)),
            None => Err(damaged(&key, "digest")),
        },
        Some(RowKey::Notice(_)) => notice::check(&key, item).map(|()| Holds::Key),
        Some(RowKey::Summary(_)) => read_summary(&key, item).map(Holds::Summary),
        Some(RowKey::Site(host)) => read_site(host, item).map(Holds::Site),
        Some(RowKey::ContentScan) => read_content_scan(&key, item).map(Holds::ContentScan),
        Some(RowKey::SiteScan(_)) => read_site_scan(&key, item).map(Holds::SiteScan),
        _ => Ok(Holds::Key),
    };
    let owner = item.text("owner").map(str::to_owned);
    Some(Row {
        key,
        kind,
        owner,
        holds,
    })
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns up to `limit` rows after a cursor, in the table's own order, and the next cursor, which is `None` at the end. The
    /// rows are not read consistently, so callers check again what they find.
    pub async fn rows(
        &self,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<(Vec<Row>, Option<Key>), EngineError> {
        let (items, next) = self.scan(after, limit, None).await?;
        Ok((items.iter().filter_map(read).collect(), next))
    }

    /// Returns the rows with these keys that exist, read consistently.
    pub async fn rows_with(
        &self,
        keys: impl IntoIterator<Item = &Key>,
    ) -> Result<BTreeMap<Key, Row>, EngineError> {
        let items = self.items(keys).await?;
        let rows = items.iter().filter_map(read);
        Ok(rows.map(|row| (row.key.clone(), row)).collect())
    }

    /// Deletes a row that is wrong or cannot be read.
    pub async fn drop_row(&self, key: &Key) -> Result<(), EngineError> {
        self.delete(key).await
    }
}
