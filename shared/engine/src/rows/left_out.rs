//! Records that a site excludes. `OUT#<site>#<digit>`, record.

use table::{Item, Query};

use super::key::{HASH_DIGITS, Key, RowKey, escape, hash_digit, id_part, key};
use super::table::SitemapTable;
use crate::error::EngineError;

/// Prefix of the partitions of excluded records.
pub const PREFIX: &str = "OUT#";

/// Returns `OUT#<site>#<digit>`, with one of [`HASH_DIGITS`]. A site that is not known yet may exclude a million records.
#[must_use]
pub fn left_out_partition(site: &str, digit: char) -> String {
    format!("{}{}#{digit}", PREFIX, escape(site))
}

/// Returns the key of a record that a site excludes.
#[must_use]
pub fn left_out(site: &str, id: &str) -> Key {
    key(left_out_partition(site, hash_digit(id)), id_part(id))
}

pub(super) fn parse(sk: &str) -> Option<RowKey> {
    Some(RowKey::LeftOut(sk.to_owned()))
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns up to `most` records that a site excludes, after `after`, in the order of their partitions and ids.
    pub async fn left_out(
        &self,
        site: &str,
        after: Option<&str>,
        most: u32,
    ) -> Result<Vec<String>, EngineError> {
        let first = after.map_or(HASH_DIGITS[0], hash_digit);
        let mut ids: Vec<String> = Vec::new();
        for digit in HASH_DIGITS.into_iter().filter(|digit| *digit >= first) {
            let after = after.filter(|_| digit == first);
            let mut after = after.map(|id| Item::from(&self::left_out(site, id)));
            // A page may end before its limit, at 1 MB.
            loop {
                let missing = most.saturating_sub(u32::try_from(ids.len()).unwrap_or(most));
                if missing == 0 {
                    return Ok(ids);
                }
                let partition = left_out_partition(site, digit);
                let page = self.page(Query {
                    after,
                    ..Query::of(partition).limited(missing)
                });
                let page = page.await?;
                let found = page.items.iter().filter_map(|item| item.text("sk"));
                ids.extend(found.map(str::to_owned));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(ids)
    }
}
