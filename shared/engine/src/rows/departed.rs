//! What became of pages that departed from their addresses. `MOVED#<site>#<digit>`, hash of the address.
//!
//! Only the page that has the claim of an address writes its row, in a transaction that checks the claim. A page that takes the
//! claim deletes the row.

use std::collections::BTreeMap;

use sitemap::loc::normalized;
use sitemap::plan::Address;
use sitemap::record::Departure;
use sitemap::redirects::Departed;
use table::{Item, Query};

use super::key::{HASH_DIGITS, Key, RowKey, escape, key, page_parts, sha256_hex, unescape};
use super::table::{SitemapTable, damaged, item_key};
use crate::error::EngineError;

/// Prefix of the partitions of departures.
pub const PREFIX: &str = "MOVED#";

/// The first hex digits of an address's hash that number the published file.
const FILE_DIGITS: usize = 3;
const _: () = assert!(16_u32.pow(FILE_DIGITS as u32) == sitemap::departures::FILES);

fn partition(site: &str, digit: &str) -> String {
    format!("{PREFIX}{}#{digit}", escape(site))
}

/// Returns the key of the row of an address.
#[must_use]
pub fn departed(site: &str, loc: &str) -> Key {
    let hash = sha256_hex(&normalized(loc));
    key(partition(site, &hash[..1]), hash)
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    let (site, _) = rest.split_once('#')?;
    let (site, file) = (unescape(site)?, file_in(sk)?);
    Some(if sk.len() == FILE_DIGITS {
        RowKey::DepartureCall(site, file)
    } else {
        RowKey::Departed(site, file)
    })
}

/// Returns the number of the file from a sort key.
fn file_in(sk: &str) -> Option<u32> {
    u32::from_str_radix(sk.get(..FILE_DIGITS)?, 16).ok()
}

fn file_digits(file: u32) -> String {
    format!("{file:0FILE_DIGITS$x}")
}

/// Returns the site and the hash of the address whose row has this key. Returns `None` if the key is another row's.
#[must_use]
pub fn departed_address(pk: &str, sk: &str) -> Option<(String, String)> {
    match RowKey::parse(pk, sk)? {
        RowKey::Departed(site, _) => Some((site, sk.to_owned())),
        _ => None,
    }
}

/// Returns the key of the row whose writing has a file published.
#[must_use]
pub fn departure_call(site: &str, file: u32) -> Key {
    let digits = file_digits(file);
    key(partition(site, &digits[..1]), digits)
}

/// Returns the row of a page.
pub(super) fn row(page: &str, address: &Address, departure: &Departure) -> Item {
    let row = Item::from(&departed(&address.site, address.loc.as_str()));
    let row = row.with("owner", page).with("loc", address.loc.as_str());
    let departure = serde_json::to_string(departure).expect("texts alone");
    row.with("departure", departure)
}

/// Reads a row. Checks that its key is that of its address.
pub(super) fn read(key: &Key, item: &Item) -> Result<Departure, EngineError> {
    let loc = item.text("loc").ok_or_else(|| damaged(key, "loc"))?;
    if key.sk != sha256_hex(&normalized(loc)) {
        return Err(damaged(key, "loc"));
    }
    item.text("owner").ok_or_else(|| damaged(key, "owner"))?;
    let departure = item.text("departure");
    let departure = departure.and_then(|departure| serde_json::from_str(departure).ok());
    departure.ok_or_else(|| damaged(key, "departure"))
}

/// Reads the departures among these rows of a site. A row that cannot be read is skipped.
fn departures_in<'i>(site: &'i str, items: &'i [Item]) -> impl Iterator<Item = Departed> + 'i {
    let rows = items
        .iter()
        .filter_map(|item| Some((item_key(item)?, item)));
    // Calls have keys in the same partition.
    let rows = rows.filter(|(key, _)| key.sk.len() != FILE_DIGITS);
    rows.filter_map(move |(key, item)| {
        let (Ok(departure), Some(loc), Some(owner)) =
            (read(&key, item), item.text("loc"), item.text("owner"))
        else {
            let row = key.sk;
            tracing::warn!(site, row, "a page does not redirect: its row is damaged");
            return None;
        };
        Some(Departed {
            loc: loc.to_owned(),
            departure,
            record: page_parts(owner).0.to_owned(),
        })
    })
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns up to `most` departures of a site that belong to a file, by the normal form of the address, read consistently. A row
    /// that cannot be read is skipped.
    pub async fn departures(
        &self,
        site: &str,
        file: u32,
        most: usize,
    ) -> Result<BTreeMap<String, Departure>, EngineError> {
        let call = departure_call(site, file);
        let query = Query::of(call.pk).beginning_with(call.sk);
        let mut departures = BTreeMap::new();
        let mut after = None;
        loop {
            let left = u32::try_from(most - departures.len()).unwrap_or(u32::MAX);
            let page = self.page(Query {
                after,
                ..query.clone().limited(left)
            });
            let page = page.await?;
            let read = departures_in(site, &page.items);
            departures
                .extend(read.map(|read| (normalized(&read.loc).into_owned(), read.departure)));
            after = page.next;
            if after.is_none() || departures.len() >= most {
                return Ok(departures);
            }
        }
    }

    /// Returns all departures of a site, also those that a file has no room for, read consistently. A row that cannot be read is
    /// skipped.
    pub async fn departures_of(&self, site: &str) -> Result<Vec<Departed>, EngineError> {
        let mut departures = Vec::new();
        for digit in HASH_DIGITS {
            departures.extend(self.departures_under(site, digit).await?);
        }
        Ok(departures)
    }

    /// Returns the departures of a site from addresses whose hashes begin with this digit, as [`SitemapTable::departures_of`].
    pub async fn departures_under(
        &self,
        site: &str,
        digit: char,
    ) -> Result<Vec<Departed>, EngineError> {
        let items = self.all(Query::of(partition(site, &digit.to_string())));
        Ok(departures_in(site, &items.await?).collect())
    }

    /// Returns the departure of a site from the address whose hash begins with these digits, read consistently. Enough of them name
    /// one address. A row that cannot be read counts as none.
    pub async fn departure(&self, site: &str, hash: &str) -> Result<Option<Departed>, EngineError> {
        let Some(digit) = hash.get(..1) else {
            return Ok(None);
        };
        let query = Query::of(partition(site, digit)).beginning_with(hash);
        let found = self.first(query.limited(1)).await?;
        Ok(departures_in(site, &found).next())
    }

    /// Has a file published, by the event of a written row.
    pub async fn call_departures(&self, site: &str, file: u32) -> Result<(), EngineError> {
        let call = Item::from(&departure_call(site, file));
        self.put(call.with("token", self.env.token())).await
    }

    /// Returns the numbers of the files to which departures of a site belong, after `after`. At most `most` of them.
    pub async fn files_of_departures(
        &self,
        site: &str,
        after: Option<u32>,
        most: usize,
    ) -> Result<Vec<u32>, EngineError> {
        let mut files = Vec::new();
        let mut from = after.map_or(0, |after| after + 1);
        while files.len() < most && from < sitemap::departures::FILES {
            // The row with this key may exist, but all rows of the file are behind it.
            let call = departure_call(site, from);
            let query = Query {
                after: Some(Item::from(&call)),
                ..Query::of(call.pk).limited(1)
            };
            let found = self.first(query).await?;
            let found = found.first().and_then(|item| item.text("sk"));
            match found.and_then(|sk| Some((sk.len(), file_in(sk)?))) {
                // A call says nothing about rows: the search goes on behind it.
                Some((FILE_DIGITS, file)) => from = file,
                Some((_, file)) => {
                    files.push(file);
                    from = file + 1;
                }
                // The next partition.
                None => from = (from / 256 + 1) * 256,
            }
        }
        Ok(files)
    }
}
