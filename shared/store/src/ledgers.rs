//! Ledgers, claims and entries: what a reconcile reads and the one transaction in which it writes.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, Put, ReturnValue, TransactWriteItem, Update,
};
use sitemap::plan::{Address, Change, Claim, Ledger, Placement, Plan, Rendered, Reuse};

use crate::error::{StoreError, service};
use crate::keys::{self, Key, RowKey};
use crate::segments::read_rendered;
use crate::sites::fresh_token;
use crate::slots::Offer;
use crate::table::{
    Item, SitemapTable, batch_get, damaged, get_text, item_key, key_item, number, send, text,
};

/// Rows that one repair takes in beside those that the ledger knows, so that it stays one transaction. The next audit
/// takes in the next.
const MAX_STRAYS: usize = 20;
/// The condition on a claim that is to be deleted.
const MINE_OR_NOBODYS: &str = "attribute_not_exists(#name) OR #name = :value";
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
    /// Whether what it holds was not all true.
    pub untrue: bool,
    /// Rows that are the record's and that its ledger does not know: a commit deletes those that it does not write.
    pub strays: Vec<Key>,
}

/// How a commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Commit {
    /// Everything is written.
    Done,
    /// Nothing is written: a fence, a slot or a claim is another's by now. Start again.
    Lost {
        /// The slot of the offer holds another record's entry.
        occupied: bool,
    },
}

/// What records have placed, and who has which address.
pub trait Ledgers: Send + Sync {
    /// Puts a fresh token into the record's ledger and returns what it holds. Must precede every other read.
    fn fence(&self, id: &str) -> impl Future<Output = Result<Fenced, StoreError>> + Send;

    /// As [`Ledgers::fence`], and then holds the ledger against the rows: it says no more than they do. `found` are
    /// rows that seem to be the record's: those that are, it takes in. A ledger that cannot be read is as good as lost.
    fn fence_verified(
        &self,
        id: &str,
        found: &[Key],
    ) -> impl Future<Output = Result<Fenced, StoreError>> + Send;

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
        offer: Option<&Offer>,
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
        Ok(Fenced {
            token,
            ledger: read_ledger(&key, &item)?.unwrap_or_default(),
            untrue: false,
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
        let items = batch_get(&self.aws, &self.name, wanted.into_iter().map(key_item)).await?;
        let items: HashMap<Key, Item> = items
            .into_iter()
            .filter_map(|item| Some((item_key(&item)?, item)))
            .collect();
        verify(id, &mut fenced, &items, &found);
        Ok(fenced)
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
        offer: Option<&Offer>,
    ) -> Result<Commit, StoreError> {
        let mut actions = Actions {
            table: &self.name,
            actions: Vec::new(),
            keys: BTreeSet::new(),
        };
        actions.ledger(id, &fenced.token, plan);
        let mut insertion = None;
        for change in &plan.changes {
            let offered = offer
                .filter(|offer| matches!(change, Change::Replace(at, _) if at.slot == offer.slot));
            if offered.is_some() {
                insertion = Some(actions.actions.len());
            }
            actions.change(id, change, offered.is_some_and(|offer| !offer.given_back));
        }
        for stray in &fenced.strays {
            actions.delete_stray(id, stray);
        }
        if let Some(Offer {
            series,
            slot,
            given_back: true,
        }) = offer
        {
            actions.take_free(&keys::free(series, *slot));
        }
        let actions = actions.actions;
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
                    let code =
                        insertion.and_then(|at| cancelled.cancellation_reasons().get(at)?.code());
                    Ok(Commit::Lost {
                        occupied: code == Some(CONDITION_FAILED),
                    })
                }
                Some(TransactWriteItemsError::TransactionInProgressException(_)) => {
                    Ok(Commit::Lost { occupied: false })
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
    entries.chain(claim).chain(waiter).chain(timer).collect()
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

/// Takes from a ledger what the rows do not bear out, and takes in what was found.
fn verify(id: &str, fenced: &mut Fenced, items: &HashMap<Key, Item>, found: &[&Key]) {
    let mut ledger = fenced.ledger.clone();
    let owner = |key: &Key| items.get(key).and_then(|item| get_text(item, "owner"));
    // What is not the record's own has a digest that no entry has: it is written again.
    let digest = |key: &Key| {
        let mine = items.get(key).filter(|_| owner(key) == Some(id));
        let rendered = mine.and_then(|item| read_rendered(key, item).ok().flatten());
        rendered.map_or_else(String::new, |rendered| rendered.digest())
    };
    ledger.placed.retain_mut(|placement| {
        let key = entry_key(placement);
        placement.digest = digest(&key);
        owner(&key).is_none_or(|owner| owner == id)
    });
    let (entries, others): (Vec<&Key>, Vec<&Key>) = found
        .iter()
        .copied()
        .filter(|key| items.contains_key(key))
        .partition(|key| key.pk.starts_with(keys::prefix::SEGMENT));
    for key in entries {
        if let Some(RowKey::Entry(series, slot)) = RowKey::parse(&key.pk, &key.sk)
            && owner(key) == Some(id)
        {
            let digest = digest(key);
            ledger.placed.push(Placement {
                series,
                slot,
                digest,
            });
        }
    }
    ledger
        .claim
        .take_if(|address| owner(&claim_key(address)) != Some(id));
    ledger
        .waits
        .take_if(|address| !items.contains_key(&waiter_key(address, id)));
    ledger
        .due
        .take_if(|due| !items.contains_key(&keys::timer(*due, id)));
    fenced.untrue = ledger != fenced.ledger;
    fenced.ledger = ledger;
    fenced.strays = others
        .into_iter()
        .filter(|key| match RowKey::parse(&key.pk, &key.sk) {
            Some(RowKey::Claim) => owner(key) == Some(id),
            Some(RowKey::Waiter(of) | RowKey::Timer(_, of)) => of == id,
            _ => false,
        })
        .cloned()
        .collect();
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

/// The actions of a transaction in the making. Every condition is on the item that it protects.
struct Actions<'a> {
    table: &'a str,
    actions: Vec<TransactWriteItem>,
    /// The rows that they write: a transaction may write each once.
    keys: BTreeSet<Key>,
}

impl Actions<'_> {
    fn update(&mut self, key: &Key, build: impl FnOnce(UpdateBuilder) -> UpdateBuilder) {
        self.keys.insert(key.clone());
        let update = build(
            Update::builder()
                .table_name(self.table)
                .set_key(Some(key_item(key))),
        )
        .build();
        self.push(update.map(|update| TransactWriteItem::builder().update(update).build()));
    }

    fn put(
        &mut self,
        key: &Key,
        attributes: impl IntoIterator<Item = (&'static str, AttributeValue)>,
        mine: Option<&str>,
    ) {
        self.keys.insert(key.clone());
        let mut item = key_item(key);
        item.extend(
            attributes
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value)),
        );
        let mut put = Put::builder().table_name(self.table).set_item(Some(item));
        if let Some(id) = mine {
            put = put.condition_expression("attribute_not_exists(#owner) OR #owner = :id");
            put = put
                .expression_attribute_names("#owner", "owner")
                .expression_attribute_values(":id", text(id));
        }
        self.push(
            put.build()
                .map(|put| TransactWriteItem::builder().put(put).build()),
        );
    }

    fn delete(&mut self, key: &Key, condition: Option<(&str, &str, AttributeValue)>) {
        self.keys.insert(key.clone());
        let mut delete = Delete::builder()
            .table_name(self.table)
            .set_key(Some(key_item(key)));
        if let Some((expression, name, value)) = condition {
            let values = HashMap::from([(":value".to_owned(), value)]);
            delete = delete
                .condition_expression(expression)
                .expression_attribute_names("#name", name);
            delete = delete.set_expression_attribute_values(Some(values));
        }
        self.push(
            delete
                .build()
                .map(|delete| TransactWriteItem::builder().delete(delete).build()),
        );
    }

    fn take_free(&mut self, key: &Key) {
        let delete = Delete::builder()
            .table_name(self.table)
            .set_key(Some(key_item(key)));
        let delete = delete.condition_expression("attribute_exists(pk)").build();
        self.push(delete.map(|delete| TransactWriteItem::builder().delete(delete).build()));
    }

    fn push(&mut self, action: Result<TransactWriteItem, aws_sdk_dynamodb::error::BuildError>) {
        // The builders only check that table, key and item are set.
        self.actions.push(action.expect("a complete action"));
    }

    fn ledger(&mut self, id: &str, token: &str, plan: &Plan) {
        let key = keys::ledger(id);
        match &plan.ledger {
            Some(ledger) => {
                let body = serde_json::to_string(ledger).expect("a ledger has text keys alone");
                self.update(&key, |update| {
                    update
                        .update_expression("SET #body = :body")
                        .condition_expression("#token = :token")
                        .expression_attribute_names("#body", "body")
                        .expression_attribute_names("#token", "token")
                        .expression_attribute_values(":body", text(body))
                        .expression_attribute_values(":token", text(token))
                });
            }
            None => self.delete(&key, Some(("#name = :value", "token", text(token)))),
        }
    }

    /// Deletes a claim, a waiter or a timer that the record's ledger does not know.
    fn delete_stray(&mut self, id: &str, key: &Key) {
        if !self.keys.contains(key) {
            let condition = matches!(RowKey::parse(&key.pk, &key.sk), Some(RowKey::Claim))
                .then(|| (MINE_OR_NOBODYS, "owner", text(id)));
            self.delete(key, condition);
        }
    }

    /// `fresh` says that the entry is written into a slot of the counter's.
    fn change(&mut self, id: &str, change: &Change, fresh: bool) {
        match change {
            Change::Replace(placement, rendered) => {
                self.write_entry(id, placement, rendered, fresh)
            }
            Change::Insert(series, _) => {
                panic!("{id} has no slot in {series:?}: Plan::place was not called")
            }
            Change::Remove(placement, reuse) => self.remove_entry(id, placement, *reuse),
            Change::Claim(address) => {
                let key = keys::claim(&address.site, address.loc.as_str());
                self.put(
                    &key,
                    [("owner", text(id)), ("loc", text(address.loc.as_str()))],
                    Some(id),
                );
            }
            Change::Release(address) => {
                let key = keys::claim(&address.site, address.loc.as_str());
                self.delete(&key, Some((MINE_OR_NOBODYS, "owner", text(id))));
            }
            Change::Wait(address, owner) => {
                self.put(
                    &keys::waiter(&address.site, address.loc.as_str(), id),
                    [],
                    None,
                );
                // If the owner went in the meantime, nobody would call this waiter.
                let key = keys::claim(&address.site, address.loc.as_str());
                let check = ConditionCheck::builder()
                    .table_name(self.table)
                    .set_key(Some(key_item(&key)))
                    .condition_expression("#owner = :owner")
                    .expression_attribute_names("#owner", "owner")
                    .expression_attribute_values(":owner", text(owner))
                    .build();
                self.push(
                    check.map(|check| TransactWriteItem::builder().condition_check(check).build()),
                );
            }
            Change::StopWaiting(address) => {
                self.delete(&keys::waiter(&address.site, address.loc.as_str(), id), None);
            }
            Change::SetTimer(due) => self.put(&keys::timer(*due, id), [], None),
            Change::ClearTimer(due) => self.delete(&keys::timer(*due, id), None),
        }
    }

    fn write_entry(&mut self, id: &str, placement: &Placement, rendered: &Rendered, fresh: bool) {
        let mut set = "SET #owner = :id, #xml = :xml".to_owned();
        let lastmod = rendered.lastmod.map(|at| text(at.to_string()));
        set.push_str(if lastmod.is_some() {
            ", #lastmod = :lastmod ADD #version :one"
        } else {
            " REMOVE #lastmod ADD #version :one"
        });
        self.update(&keys::entry(&placement.series, placement.slot), |update| {
            let mut update = entry_update(update, id, &set)
                .expression_attribute_names("#lastmod", "lastmod")
                .expression_attribute_names("#xml", "xml")
                .expression_attribute_values(":xml", text(&rendered.xml));
            if let Some(lastmod) = lastmod {
                update = update.expression_attribute_values(":lastmod", lastmod);
            }
            if fresh {
                // A slot of the counter's has no row, unless the audit found it unused and gave it back meanwhile.
                update = update.condition_expression("attribute_not_exists(pk) OR #owner = :id");
            }
            update
        });
    }

    /// The row stays as a stub: its version must go on rising, or a segment's stamp could come back.
    fn remove_entry(&mut self, id: &str, placement: &Placement, reuse: Reuse) {
        self.update(&keys::entry(&placement.series, placement.slot), |update| {
            entry_update(
                update,
                id,
                "REMOVE #owner, #xml, #lastmod ADD #version :one",
            )
            .expression_attribute_names("#lastmod", "lastmod")
            .expression_attribute_names("#xml", "xml")
        });
        if reuse == Reuse::Free {
            self.put(&keys::free(&placement.series, placement.slot), [], None);
        }
    }
}

/// An update of an entry that is nobody's or this record's. Every one raises the version.
fn entry_update(update: UpdateBuilder, id: &str, expression: &str) -> UpdateBuilder {
    update
        .update_expression(expression)
        .condition_expression("attribute_not_exists(#owner) OR #owner = :id")
        .expression_attribute_names("#owner", "owner")
        .expression_attribute_names("#version", "version")
        .expression_attribute_values(":id", text(id))
        .expression_attribute_values(":one", number(1))
}
