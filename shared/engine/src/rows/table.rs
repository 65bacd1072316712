//! The sitemap table: the operations that all kinds of rows share.

use std::sync::Arc;

use table::{Action, Condition, Item, Name, Page, Query, Reason, Scan, Table, TableError, Update};

use super::key::Key;
use crate::batch_get::batch_get;
use crate::env::Env;
use crate::error::EngineError;

/// Tries of a fence, and the round of backoff with which they begin. The numbers are those of the SDK's own retries.
const FENCE_TRIES: u32 = 3;
const FENCE_BACKOFF: u32 = 4;

/// The sitemap table.
///
/// # Errors
///
/// Its methods fail if a call of the table fails, and with [`EngineError::Damaged`] if a row that they need cannot be read. A
/// lost race is not an error: the documentation of each conditional write says what it returns then.
#[derive(Clone, Debug)]
pub struct SitemapTable {
    table: Arc<dyn Table>,
    pub(crate) env: Env,
}

/// The outcome of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Transacted {
    /// Everything was written.
    Done,
    /// Nothing was written, because the conditions of the actions at these positions failed.
    Failed(Vec<usize>),
    /// Nothing was written, because of a conflict with another write, or because of throttling.
    Contended,
}

impl SitemapTable {
    /// Returns the sitemap table in `table`, whose primary key must be `pk` and `sk`.
    #[must_use]
    pub fn new(table: Arc<dyn Table>, env: Env) -> Self {
        Self { table, env }
    }

    /// Returns an item.
    pub(crate) async fn item(&self, key: &Key) -> Result<Option<Item>, EngineError> {
        Ok(self.table.get(key.into()).await?)
    }

    /// Returns the items with these keys that exist, in no order.
    pub(crate) async fn items(
        &self,
        keys: impl IntoIterator<Item = &Key>,
    ) -> Result<Vec<Item>, EngineError> {
        let keys = keys.into_iter().map(Item::from).collect();
        batch_get(&*self.table, &self.env, keys, None).await
    }

    /// Returns the items of a partition in the order of their sort keys.
    pub(crate) async fn partition(&self, pk: &str) -> Result<Vec<Item>, EngineError> {
        self.all(Query::of(pk)).await
    }

    /// Returns all items that a query finds.
    pub(crate) async fn all(&self, query: Query) -> Result<Vec<Item>, EngineError> {
        let (mut items, mut after) = (Vec::new(), None);
        loop {
            let query = Query {
                after,
                ..query.clone()
            };
            let page = self.table.query(query).await?;
            items.extend(page.items);
            after = page.next;
            if after.is_none() {
                return Ok(items);
            }
        }
    }

    /// Returns a page of the items that a query finds.
    pub(crate) async fn page(&self, query: Query) -> Result<Page, EngineError> {
        Ok(self.table.query(query).await?)
    }

    /// Returns the first page of the items that a query finds.
    pub(crate) async fn first(&self, query: Query) -> Result<Vec<Item>, EngineError> {
        Ok(self.page(query).await?.items)
    }

    /// Returns the first items of a partition whose sort keys have this prefix: one page, or up to `limit` of them.
    pub(super) async fn beginning_with(
        &self,
        pk: &str,
        prefix: &str,
        limit: Option<u32>,
    ) -> Result<Vec<Item>, EngineError> {
        let query = Query::of(pk).beginning_with(prefix);
        self.first(Query { limit, ..query }).await
    }

    /// Returns a page of the whole table, not read consistently, and the cursor of the next page. The items have the wanted
    /// attributes, or all.
    pub(crate) async fn scan(
        &self,
        after: Option<&Key>,
        limit: u32,
        attributes: Option<Vec<Name>>,
    ) -> Result<(Vec<Item>, Option<Key>), EngineError> {
        let scan = Scan {
            after: after.map(Item::from),
            limit: Some(limit),
            attributes,
            ..Scan::default()
        };
        let page = self.table.scan(scan).await?;
        let next = page.next.as_ref().and_then(item_key);
        Ok((page.items, next))
    }

    /// Writes an item, and replaces an existing one.
    pub(crate) async fn put(&self, item: Item) -> Result<(), EngineError> {
        Ok(self.table.put(item, None).await?)
    }

    /// Writes an item. Returns `false` if the condition failed.
    pub(crate) async fn put_if(
        &self,
        item: Item,
        condition: Condition,
    ) -> Result<bool, EngineError> {
        held(self.table.put(item, Some(condition)).await).map(|done| done.is_some())
    }

    /// Changes attributes of an item, and returns the changed item.
    pub(crate) async fn update(&self, key: &Key, update: Update) -> Result<Item, EngineError> {
        Ok(self.table.update(key.into(), update, None).await?)
    }

    /// Changes an item as [`SitemapTable::update`] does. Returns `None` if the condition failed.
    pub(crate) async fn update_if(
        &self,
        key: &Key,
        update: Update,
        condition: Condition,
    ) -> Result<Option<Item>, EngineError> {
        held(self.table.update(key.into(), update, Some(condition)).await)
    }

    /// Puts a fresh token into a row and returns both. Returns `None` if the condition failed.
    ///
    /// Each try has a token of its own, which is sent once. An abandoned try may arrive after another run has fenced. If it had
    /// this run's token, it would take that fence back.
    pub(crate) async fn fence_row(
        &self,
        key: &Key,
        condition: Option<Condition>,
    ) -> Result<Option<(String, Item)>, EngineError> {
        let mut tries = 1;
        loop {
            let token = self.env.token();
            let fence = Update::new().set("token", token.as_str()).once();
            let fenced = self.table.update(key.into(), fence, condition.clone());
            match held(fenced.await) {
                Err(error) if tries < FENCE_TRIES && !error.is_permanent() => {
                    self.env.backoff(FENCE_BACKOFF + tries).await;
                    tries += 1;
                }
                fenced => return Ok(fenced?.map(|item| (token, item))),
            }
        }
    }

    /// Deletes an item unconditionally.
    pub(crate) async fn delete(&self, key: &Key) -> Result<(), EngineError> {
        Ok(self.table.delete(key.into(), None).await?)
    }

    /// Deletes an item. Returns `false` if the condition failed.
    pub(crate) async fn delete_if(
        &self,
        key: &Key,
        condition: Condition,
    ) -> Result<bool, EngineError> {
        held(self.table.delete(key.into(), Some(condition)).await).map(|done| done.is_some())
    }

    /// Executes all actions or none of them. Only this function interprets the reasons of a cancelled transaction.
    pub(crate) async fn transact(&self, actions: Vec<Action>) -> Result<Transacted, EngineError> {
        let reasons = match self.table.transact(actions).await {
            Ok(()) => return Ok(Transacted::Done),
            Err(TableError::Cancelled { reasons }) => reasons,
            Err(error) => return Err(error.into()),
        };
        let refused = reasons.iter().find_map(|reason| match reason {
            Reason::Refused(message) => Some(message.clone()),
            _ => None,
        });
        if let Some(message) = refused {
            let operation = "TransactWriteItems";
            return Err(EngineError::Refused { operation, message });
        }
        let failed = reasons.iter().enumerate();
        let failed = failed.filter(|(_, reason)| **reason == Reason::ConditionFailed);
        let failed: Vec<usize> = failed.map(|(at, _)| at).collect();
        Ok(if failed.is_empty() {
            Transacted::Contended
        } else {
            Transacted::Failed(failed)
        })
    }

    /// Executes all actions or none of them, as [`SitemapTable::transact`] does. Returns whether they were executed: `false` if a
    /// condition failed.
    ///
    /// # Errors
    ///
    /// Also if the transaction conflicts with other writers, because their writes are not known.
    pub(crate) async fn transact_once(&self, actions: Vec<Action>) -> Result<bool, EngineError> {
        match self.transact(actions).await? {
            Transacted::Done => Ok(true),
            Transacted::Failed(_) => Ok(false),
            Transacted::Contended => Err(EngineError::Contended {
                what: "a transaction".to_owned(),
                tries: 1,
            }),
        }
    }
}

/// Returns the result of a write, or `None` if its condition failed.
fn held<T>(result: Result<T, TableError>) -> Result<Option<T>, EngineError> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.is_condition_failed() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl From<&Key> for Item {
    fn from(key: &Key) -> Self {
        Self::new()
            .with("pk", key.pk.as_str())
            .with("sk", key.sk.as_str())
    }
}

/// Returns an item's primary key.
pub(crate) fn item_key(item: &Item) -> Option<Key> {
    let part = |name| item.text(name).map(str::to_owned);
    Some(Key {
        pk: part("pk")?,
        sk: part("sk")?,
    })
}

/// Returns the error for an item that lacks an attribute or has an invalid one.
pub(crate) fn damaged(key: &Key, name: &str) -> EngineError {
    EngineError::Damaged {
        what: format!("{} {}", key.pk, key.sk),
        message: format!("attribute {name} is missing or wrong"),
    }
}

#[cfg(test)]
mod tests;
