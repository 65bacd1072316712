//! The claim of an address, and the pages that wait for it. `LOC#<site>#<hash>`, `-` or a waiter.
//!
//! The hash is of the normal form, so that all spellings of an address share one partition.

use std::collections::{BTreeMap, BTreeSet};

use sitemap::loc::normalized;
use sitemap::plan::{Address, Claim};
use table::{Condition, Item, Query, Update};

use super::key::{ALONE, Key, OUSTED, RowKey, WAITER, escape, id_part, key, sha256_hex};
use super::table::{SitemapTable, damaged, item_key};
use crate::error::EngineError;

/// Prefix of the partitions of claims and waiters.
pub const PREFIX: &str = "LOC#";

fn loc_partition(site: &str, loc: &str) -> String {
    let hash = sha256_hex(&normalized(loc));
    format!("{}{}#{hash}", PREFIX, escape(site))
}

/// Returns the key of the claim of an address.
#[must_use]
pub fn claim(site: &str, loc: &str) -> Key {
    key(loc_partition(site, loc), ALONE)
}

/// Returns whether a claim is that of this address, in any spelling.
#[must_use]
pub fn is_claim_of(claim: &Key, loc: &str) -> bool {
    claim.pk.ends_with(&sha256_hex(&normalized(loc)))
}

/// Returns the key of the row of a record that waits for an address.
#[must_use]
pub fn waiter(site: &str, loc: &str, id: &str) -> Key {
    key(loc_partition(site, loc), format!("{WAITER}{}", id_part(id)))
}

/// Returns the key of the row that calls a record from which a listed page has taken an address.
#[must_use]
pub fn ousted(site: &str, loc: &str, id: &str) -> Key {
    key(loc_partition(site, loc), format!("{OUSTED}{}", id_part(id)))
}

pub(super) fn parse(sk: &str) -> Option<RowKey> {
    let of = |prefix| sk.strip_prefix(prefix).map(str::to_owned);
    let waiter = of(WAITER).map(RowKey::Waiter);
    let ousted = || of(OUSTED).map(RowKey::Ousted);
    let claim = || (sk == ALONE).then_some(RowKey::Claim);
    waiter.or_else(ousted).or_else(claim)
}

/// The attribute of a claim that yields to a listed page: its owner's page has departed from the address.
pub const YIELDS: &str = "yields";

/// Returns the row of a claim.
pub(super) fn row(page: &str, address: &Address, yields: bool) -> Item {
    let row = Item::from(&claim_key(address));
    let row = row.with("owner", page).with("loc", address.loc.as_str());
    match yields {
        true => row.with(YIELDS, 1),
        false => row,
    }
}

/// Returns whether a claim yields to a listed page.
fn yields(item: &Item) -> bool {
    item.number(YIELDS) == Some(1)
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns the claim of an address, as it concerns page `id`: whether another page owns it.
    pub async fn claim(&self, address: &Address, id: &str) -> Result<Claim, EngineError> {
        let item = self.item(&claim_key(address)).await?;
        read_claim(item.as_ref(), address, id)
    }

    /// Returns the claims of several pages in one call, in their order. A page without an address has [`Claim::Unread`].
    pub async fn claims(
        &self,
        wanted: &[Option<(&Address, &str)>],
    ) -> Vec<Result<Claim, EngineError>> {
        // Several pages may want the same address.
        let addresses = wanted.iter().flatten();
        let keys: BTreeSet<Key> = addresses.map(|(address, _)| claim_key(address)).collect();
        let found = self.items(&keys).await;
        let found = found.map(|items| {
            let keyed = items.into_iter();
            let keyed = keyed.filter_map(|item| Some((item_key(&item)?, item)));
            keyed.collect::<BTreeMap<_, _>>()
        });
        let claim = |wanted: &Option<(&Address, &str)>| match (wanted, &found) {
            (None, _) => Ok(Claim::Unread),
            (Some(_), Err(error)) => Err(error.shared()),
            (Some((address, id)), Ok(found)) => {
                read_claim(found.get(&claim_key(address)), address, id)
            }
        };
        wanted.iter().map(claim).collect()
    }

    /// Returns whether an address has an owner that yields to nobody. `claim_pk` is the partition of its claim.
    pub async fn is_listed(&self, claim_pk: &str) -> Result<bool, EngineError> {
        let claim = Key {
            pk: claim_pk.to_owned(),
            sk: ALONE.to_owned(),
        };
        let claim = self.item(&claim).await?;
        Ok(claim.is_some_and(|claim| !yields(&claim)))
    }

    /// Returns the first records that wait for an address, after this one.
    pub async fn waiters(
        &self,
        claim_pk: &str,
        after: Option<&str>,
        most: u32,
    ) -> Result<Vec<String>, EngineError> {
        let after = after.map(|id| waiter_in(claim_pk, id));
        let query = Query {
            after: after.as_ref().map(Item::from),
            ..Query::of(claim_pk).beginning_with(WAITER).limited(most)
        };
        let items = self.first(query).await?;
        let keys = items.iter().filter_map(|item| item.text("sk"));
        let ids = keys.filter_map(|sk| sk.strip_prefix(WAITER));
        Ok(ids.map(str::to_owned).collect())
    }

    /// Writes the row of a page that waits for an address, which makes an event. Returns `false` if the page no longer waits.
    pub async fn call_waiter(&self, claim_pk: &str, id: &str) -> Result<bool, EngineError> {
        let update = Update::new().add("calls", 1);
        let waits = Condition::has("pk");
        let called = self
            .update_if(&waiter_in(claim_pk, id), update, waits)
            .await?;
        Ok(called.is_some())
    }
}

/// Returns the key of the claim of an address.
fn claim_key(address: &Address) -> Key {
    claim(&address.site, address.loc.as_str())
}

/// Returns whether another page than `id` owns an address, by the claim's row.
fn read_claim(item: Option<&Item>, address: &Address, id: &str) -> Result<Claim, EngineError> {
    let Some(item) = item else {
        return Ok(Claim::Free);
    };
    let damaged = |name| damaged(&claim_key(address), name);
    let owner = item.text("owner").ok_or_else(|| damaged("owner"))?;
    // The key has a hash: two addresses under one key mean a collision of SHA-256 or a damaged item. The owner may spell the
    // address differently.
    let loc = item.text("loc").map(normalized);
    if loc != Some(address.loc.normalized()) {
        return Err(damaged("loc"));
    }
    Ok(match owner {
        owner if owner == id => Claim::Free,
        owner if yields(item) => Claim::Departed(owner.to_owned()),
        owner => Claim::Other(owner.to_owned()),
    })
}

/// Returns the key of the row that calls a record, by the partition of the claim.
pub(crate) fn ousted_in(claim_pk: &str, id: &str) -> Key {
    key(claim_pk.to_owned(), format!("{OUSTED}{id}"))
}

fn waiter_in(claim_pk: &str, id: &str) -> Key {
    Key {
        pk: claim_pk.to_owned(),
        sk: format!("{}{id}", WAITER),
    }
}

/// Reads the owner of an address, and whether its claim yields. Checks that the claim's key is that of its address.
pub(super) fn read_owner(key: &Key, item: &Item) -> Result<(String, bool), EngineError> {
    match item.text("loc") {
        Some(loc) if is_claim_of(key, loc) => {
            let owner = item.text("owner").ok_or_else(|| damaged(key, "owner"));
            owner.map(|owner| (owner.to_owned(), yields(item)))
        }
        _ => Err(damaged(key, "loc")),
    }
}
