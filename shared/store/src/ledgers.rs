//! Ledgers, claims and entries: what a reconcile reads and the one transaction in which it writes.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::ReturnValue;
use sitemap::plan::{Address, Change, Claim, Ledger, Placement, Plan};

use self::actions::Actions;
use crate::error::{StoreError, service};
use crate::keys::{self, Key};
use crate::relations::Relations;
use crate::sites::fresh_token;
use crate::slots::Offer;
use crate::table::{
    Item, SitemapTable, batch_get, damaged, get_text, item_key, key_item, send, text,
};

mod actions;
mod verify;

/// Rows that one repair takes in beside those that the ledger knows, so that it stays one transaction. The next audit
/// takes in the next.
const MAX_STRAYS: usize = 10;
/// Actions of one transaction (DynamoDB).
pub const MAX_ACTIONS: usize = 100;
/// The code of an action whose condition did not hold.
const CONDITION_FAILED: &str = "ConditionalCheckFailed";

/// A ledger under a fence: until another fence, its owner alone can commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fenced {
    /// The fence's token: random, never a counter, since a ledger may be deleted and come back.
    pub token: String,
    /// What it holds; the default if there was none, which a plan without a ledger deletes again. After
    /// [`Ledgers::fence_verified`], what of it is true.
    pub ledger: Ledger,
    /// Whether there was none.
    pub new: bool,
    /// Whether what it holds was not all true.
    pub untrue: bool,
    /// Whether the row of the feed that it names is lost. The ledger keeps its time: the row comes back under that.
    pub feed_lost: bool,
    /// Rows that are the record's and that its ledger does not know: a commit deletes those that it does not write.
    pub strays: Vec<Key>,
}

/// How a commit ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Commit {
    /// Everything is written.
    Done,
    /// Nothing is written: a fence, a slot or a claim is another's by now. Start again.
    Lost {
        /// The offers whose slots hold another page's entry.
        occupied: Vec<Offer>,
    },
}

/// What pages have placed, and who has which address. Pages are named by [`keys::page`].
pub trait Ledgers: Relations + Send + Sync {
    /// Puts a fresh token into the page's ledger and returns what it holds. Must precede every other read.
    fn fence(&self, id: &str) -> impl Future<Output = Result<Fenced, StoreError>> + Send;

    /// As [`Ledgers::fence`], and then holds the ledger against the rows: it says no more than they do. `found` are
    /// rows that seem to be the record's: those that are, it takes in. A ledger that cannot be read is as good as lost.
    fn fence_verified(
        &self,
        id: &str,
        found: &[Key],
    ) -> impl Future<Output = Result<Fenced, StoreError>> + Send;

    /// The token of the fence that a page's ledger is under; nothing if there is no such row. Read consistently.
    fn token(&self, id: &str) -> impl Future<Output = Result<Option<String>, StoreError>> + Send;

    /// The highest part of a record's page that has a ledger, be it with a fence alone; 0 if there is none. Read
    /// consistently.
    fn highest_part(&self, id: &str) -> impl Future<Output = Result<u32, StoreError>> + Send;

    /// Who but `id` has the claim of an address.
    fn claim(
        &self,
        address: &Address,
        id: &str,
    ) -> impl Future<Output = Result<Claim, StoreError>> + Send;

    /// Whether anybody has the address of a claim's partition, and the records that wait for it.
    fn waiters(
        &self,
        claim_pk: &str,
    ) -> impl Future<Output = Result<(bool, Vec<String>), StoreError>> + Send;

    /// Applies a plan in one transaction, if the ledger's token is still the fence's.
    fn commit(
        &self,
        id: &str,
        fenced: &Fenced,
        plan: &Plan,
        offers: &[Offer],
    ) -> impl Future<Output = Result<Commit, StoreError>> + Send;

    /// A record's ledger, without a fence.
    fn ledger(&self, id: &str) -> impl Future<Output = Result<Option<Ledger>, StoreError>> + Send;
}

/// A ledger's body; nothing if there is only a fence's token.
pub(crate) fn read_ledger(key: &Key, item: &Item) -> Result<Option<Ledger>, StoreError> {
    let Some(body) = get_text(item, "body") else {
        return Ok(None);
    };
    serde_json::from_str(body)
        .map(Some)
        .map_err(|_| damaged(key, "body"))
}

impl Ledgers for SitemapTable {
    async fn fence(&self, id: &str) -> Result<Fenced, StoreError> {
        let key = keys::ledger(id);
        let token = fresh_token();
        let update = self
            .update(&key)
            .await
            .update_expression("SET #token = :token")
            .expression_attribute_names("#token", "token")
            .expression_attribute_values(":token", text(&token))
            .return_values(ReturnValue::AllNew);
        let item = send(update)
            .await?
            .and_then(|output| output.attributes)
            .unwrap_or_default();
        let ledger = read_ledger(&key, &item)?;
        Ok(Fenced {
            token,
            new: ledger.is_none(),
            ledger: ledger.unwrap_or_default(),
            untrue: false,
            feed_lost: false,
            strays: Vec::new(),
        })
    }

    async fn fence_verified(&self, id: &str, found: &[Key]) -> Result<Fenced, StoreError> {
        let mut fenced = match self.fence(id).await {
            Err(StoreError::Damaged { .. }) => {
                self.delete(&keys::ledger(id)).await?;
                self.fence(id).await?
            }
            fenced => fenced?,
        };
        let known = rows_of(id, &fenced.ledger);
        let found = found
            .iter()
            .filter(|key| !known.contains(key))
            .take(MAX_STRAYS);
        let found: Vec<&Key> = found.collect();
        let wanted: BTreeSet<&Key> = known.iter().chain(found.iter().copied()).collect();
        let items = batch_get(
            &self.aws,
            &self.name,
            wanted.into_iter().map(key_item),
            None,
        )
        .await?;
        let items: HashMap<Key, Item> = items
            .into_iter()
            .filter_map(|item| Some((item_key(&item)?, item)))
            .collect();
        verify::verify(id, &mut fenced, &items, &found);
        Ok(fenced)
    }

    async fn token(&self, id: &str) -> Result<Option<String>, StoreError> {
        let item = self.item(&keys::ledger(id)).await?;
        Ok(item.and_then(|item| get_text(&item, "token").map(str::to_owned)))
    }

    async fn highest_part(&self, id: &str) -> Result<u32, StoreError> {
        let items = self.partition(&keys::ledger(id).pk, None).await?;
        let parts = items
            .iter()
            .filter_map(|item| get_text(item, "sk")?.parse().ok());
        Ok(parts.max().unwrap_or(0))
    }

    async fn claim(&self, address: &Address, id: &str) -> Result<Claim, StoreError> {
        let key = keys::claim(&address.site, address.loc.as_str());
        let Some(item) = self.item(&key).await? else {
            return Ok(Claim::Free);
        };
        let owner = get_text(&item, "owner").ok_or_else(|| damaged(&key, "owner"))?;
        // The key holds a hash: two addresses under one key would be one of SHA-256's collisions, or a damaged item.
        if get_text(&item, "loc") != Some(address.loc.as_str()) {
            return Err(damaged(&key, "loc"));
        }
        Ok(if owner == id {
            Claim::Free
        } else {
            Claim::Other(owner.to_owned())
        })
    }

    async fn waiters(&self, claim_pk: &str) -> Result<(bool, Vec<String>), StoreError> {
        let items = self.partition(claim_pk, None).await?;
        let keys = || items.iter().filter_map(|item| get_text(item, "sk"));
        let owned = keys().any(|sk| sk == keys::ALONE);
        let waiters = keys().filter_map(|sk| sk.strip_prefix(keys::WAITER));
        Ok((owned, waiters.map(str::to_owned).collect()))
    }

    async fn commit(
        &self,
        id: &str,
        fenced: &Fenced,
        plan: &Plan,
        offers: &[Offer],
    ) -> Result<Commit, StoreError> {
        let mut actions = Actions::of(&self.name);
        actions.ledger(id, &fenced.token, plan);
        let mut insertions = Vec::new();
        for change in &plan.changes {
            let offered = offers.iter().find(|offer| {
                matches!(change, Change::Replace(at, _) if at.slot == offer.slot && at.series == offer.series)
            });
            if let Some(offer) = offered {
                insertions.push((actions.len(), offer));
            }
            actions.change(id, change, offered.is_some_and(|offer| !offer.given_back));
        }
        for stray in &fenced.strays {
            actions.delete_stray(id, stray);
        }
        for offer in offers.iter().filter(|offer| offer.given_back) {
            actions.take_free(&keys::free(&offer.series, offer.slot));
        }
        let actions = actions.into_items();
        assert!(
            actions.len() <= MAX_ACTIONS,
            "a reconcile is one transaction: {} actions",
            actions.len()
        );
        let request = self
            .aws
            .dynamodb()
            .await
            .transact_write_items()
            .set_transact_items(Some(actions));
        match request.send().await {
            Ok(_) => Ok(Commit::Done),
            Err(error) => match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(cancelled))
                    if was_lost(cancelled) =>
                {
                    let reasons = cancelled.cancellation_reasons();
                    let is_occupied = |at: usize| {
                        let code = reasons.get(at).and_then(|reason| reason.code());
                        code == Some(CONDITION_FAILED)
                    };
                    let occupied = insertions.into_iter().filter(|(at, _)| is_occupied(*at));
                    let occupied = occupied.map(|(_, offer)| offer.clone()).collect();
                    Ok(Commit::Lost { occupied })
                }
                Some(TransactWriteItemsError::TransactionInProgressException(_)) => {
                    Ok(Commit::Lost {
                        occupied: Vec::new(),
                    })
                }
                // Cancelled for what an action asks for: DynamoDB will not take it another time.
                Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                    Err(StoreError::Refused {
                        operation: "TransactWriteItems",
                        message: cancelled.to_string(),
                    })
                }
                _ => Err(service("TransactWriteItems")(error)),
            },
        }
    }

    async fn ledger(&self, id: &str) -> Result<Option<Ledger>, StoreError> {
        let key = keys::ledger(id);
        match self.item(&key).await? {
            Some(item) => read_ledger(&key, &item),
            None => Ok(None),
        }
    }
}

/// The rows that a ledger says there are, beside itself.
#[must_use]
pub fn rows_of(id: &str, ledger: &Ledger) -> Vec<Key> {
    let entries = ledger.placed.iter().map(entry_key);
    let claim = ledger.claim.iter().map(claim_key);
    let waiter = ledger.waits.iter().map(|address| waiter_key(address, id));
    let timer = ledger.due.iter().map(|due| keys::timer(*due, id));
    let terms = ledger.terms.iter();
    let terms = terms.map(|(term, lastmod)| keys::term_member(term, *lastmod, id));
    let archive = ledger.archive.iter().map(|term| keys::archive(term, id));
    let group = ledger.group.iter();
    let group = group.map(|(group, _)| keys::group_member(group, id));
    let group_waiter = ledger.waits_in.iter();
    let group_waiter = group_waiter.map(|group| keys::group_waiter(group, id));
    let feed = ledger.feed.iter();
    let feed = feed.map(|at| keys::feed(&ledger.site, *at, id));
    let (record, _) = keys::page_parts(id);
    let parts = (2..=ledger.parts).map(|part| keys::ledger(&keys::page(record, part)));
    let placed = entries.chain(claim).chain(waiter).chain(timer);
    let related = terms.chain(archive).chain(group).chain(group_waiter);
    placed.chain(related).chain(feed).chain(parts).collect()
}

fn entry_key(placement: &Placement) -> Key {
    keys::entry(&placement.series, placement.slot)
}

fn claim_key(address: &Address) -> Key {
    keys::claim(&address.site, address.loc.as_str())
}

fn waiter_key(address: &Address, id: &str) -> Key {
    keys::waiter(&address.site, address.loc.as_str(), id)
}

/// Whether a transaction was cancelled by another writer, and not for a fault of its own.
fn was_lost(cancelled: &aws_sdk_dynamodb::types::error::TransactionCanceledException) -> bool {
    let codes = cancelled
        .cancellation_reasons()
        .iter()
        .filter_map(|reason| reason.code());
    codes.filter(|code| *code != "None").all(|code| {
        matches!(
            code,
            CONDITION_FAILED
                | "TransactionConflict"
                | "ThrottlingError"
                | "ProvisionedThroughputExceeded"
        )
    })
}
