//! Ledgers: the rows of each page. `LEDGER#<record id>`, part.

use sitemap::plan::{Claim, Ledger};
use sitemap::record::MAX_PARTS;
use table::Item;

use super::key::{Key, RowKey, id_part, key, page, page_parts};
use super::table::{SitemapTable, damaged, item_key};
use crate::error::EngineError;

/// Prefix of the partitions of ledgers.
pub const PREFIX: &str = "LEDGER#";

/// Returns the key of a page's ledger: `LEDGER#<record id>`, part.
#[must_use]
pub fn ledger(page: &str) -> Key {
    let (record, part) = page_parts(page);
    key(format!("{}{}", PREFIX, id_part(record)), part.to_string())
}

/// Returns the page whose ledger has this key.
fn page_of(rest: &str, sk: &str) -> Option<String> {
    let part = sk.parse().ok();
    let part = part.filter(|part| (1..=MAX_PARTS).contains(part))?;
    Some(page(rest, part))
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    page_of(rest, sk).map(RowKey::Ledger)
}

/// The ledgers of a page of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerPage {
    /// The ledgers, each with the name of its page.
    pub ledgers: Vec<(String, Ledger)>,
    /// The number of rows of all kinds that were read.
    pub rows: u64,
    /// The cursor of the next page. `None` at the end.
    pub next: Option<Key>,
}

/// Returns a ledger's body, or `None` if the row has only a fence's token.
pub(crate) fn read_ledger(key: &Key, item: &Item) -> Result<Option<Ledger>, EngineError> {
    let Some(body) = item.text("body") else {
        return Ok(None);
    };
    serde_json::from_str(body)
        .map(Some)
        .map_err(|_| damaged(key, "body"))
}

/// Returns the body that [`read_ledger`] reads.
pub(crate) fn ledger_body(ledger: &Ledger) -> String {
    serde_json::to_string(ledger).expect("a ledger has text keys alone")
}

/// Says which page has the address that another page waits for.
#[must_use]
pub fn duplicate_of(owner: &str) -> String {
    format!("record {owner} has the same address")
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns the ledgers among up to `limit` rows after a cursor, not read consistently. Only the needed attributes are read. A
    /// ledger that cannot be read is skipped, and an audit finds it.
    pub async fn ledgers(
        &self,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<LedgerPage, EngineError> {
        let attributes = vec!["pk".into(), "sk".into(), "body".into()];
        let (items, next) = self.scan(after, limit, Some(attributes)).await?;
        let ledgers = items.iter().filter_map(|item| {
            let key = item_key(item)?;
            let page = page_of(key.pk.strip_prefix(PREFIX)?, &key.sk)?;
            Some((page, read_ledger(&key, item).ok()??))
        });
        Ok(LedgerPage {
            ledgers: ledgers.collect(),
            rows: items.len() as u64,
            next,
        })
    }

    /// Returns the fence's token of a page's ledger, or `None` if there is no such row. Read consistently.
    pub async fn token(&self, id: &str) -> Result<Option<String>, EngineError> {
        let item = self.item(&self::ledger(id)).await?;
        Ok(item.and_then(|item| item.text("token").map(str::to_owned)))
    }

    /// Returns the highest part of a record's page that has a ledger, even if that has only a fence. Returns 0 if there is none.
    /// Read consistently.
    pub async fn highest_part(&self, id: &str) -> Result<u32, EngineError> {
        let items = self.partition(&self::ledger(id).pk).await?;
        let parts = items
            .iter()
            .filter_map(|item| item.text("sk")?.parse().ok());
        Ok(parts.max().unwrap_or(0))
    }

    /// Returns why a page is excluded: the reason's name and its text. If the page waits for an address, the address's owner is
    /// read now, because a waiting page is not reconciled for each new owner.
    pub async fn refusal(
        &self,
        page: &str,
        ledger: &Ledger,
    ) -> Result<Option<(String, String)>, EngineError> {
        let mut refused = ledger.refused.clone();
        if let (Some((_, reason)), Some(address)) = (&mut refused, &ledger.waits)
            && let Claim::Other(owner) | Claim::Departed(owner) = self.claim(address, page).await?
        {
            *reason = duplicate_of(&owner);
        }
        Ok(refused)
    }

    /// Returns a record's ledger, without a fence.
    pub async fn ledger(&self, id: &str) -> Result<Option<Ledger>, EngineError> {
        let key = self::ledger(id);
        match self.item(&key).await? {
            Some(item) => read_ledger(&key, &item),
            None => Ok(None),
        }
    }
}
