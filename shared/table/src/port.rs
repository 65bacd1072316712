//! The port.

use std::fmt;

use futures::future::BoxFuture;
use sitemap::mapping::{KeyAttribute, KeyType};

use crate::action::{Action, Condition, Update};
use crate::error::TableError;
use crate::item::{Item, Name, Value};

/// The future result of a call.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, TableError>>;

/// The primary key of a table: the partition key, and optionally a sort key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema(Vec<KeyAttribute>);

impl Schema {
    /// Returns a key of these attributes: one or two.
    #[must_use]
    pub fn of(attributes: &[KeyAttribute]) -> Self {
        Self(attributes.to_vec())
    }

    /// Returns a key of texts with these names: one or two.
    #[must_use]
    pub fn of_texts(names: &[&str]) -> Self {
        let attribute = |name: &&str| KeyAttribute {
            name: (*name).to_owned(),
            key_type: KeyType::Text,
        };
        Self(names.iter().map(attribute).collect())
    }

    /// Returns the key's attributes, the partition key first.
    #[must_use]
    pub fn attributes(&self) -> &[KeyAttribute] {
        &self.0
    }

    /// Returns the names of the key's attributes, that of the partition key first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|attribute| attribute.name.as_str())
    }
}

/// The wanted sort keys of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum SortKey {
    /// All.
    #[default]
    Any,
    /// Those with this prefix.
    BeginsWith(String),
}

/// A strongly consistent read of one partition, in the order of its sort keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Query {
    /// The partition key.
    pub partition: Value,
    /// The wanted sort keys.
    pub sort: SortKey,
    /// Whether the order is reversed.
    pub reverse: bool,
    /// The most items of a page. `None` for no limit.
    pub limit: Option<u32>,
    /// The primary key after which it begins. `None` for the beginning.
    pub after: Option<Item>,
}

impl Query {
    /// Returns a query for all items of a partition.
    #[must_use]
    pub fn of(partition: impl Into<Value>) -> Self {
        Self {
            partition: partition.into(),
            sort: SortKey::Any,
            reverse: false,
            limit: None,
            after: None,
        }
    }

    /// Limits the query to the items whose sort keys begin with this prefix.
    #[must_use]
    pub fn beginning_with(self, prefix: impl Into<String>) -> Self {
        let sort = SortKey::BeginsWith(prefix.into());
        Self { sort, ..self }
    }

    /// Reverses the order: the last items come first.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            reverse: true,
            ..self
        }
    }

    /// Limits each page to this number of items.
    #[must_use]
    pub fn limited(self, limit: u32) -> Self {
        let limit = Some(limit);
        Self { limit, ..self }
    }
}

/// A read of the whole table, in the table's own order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scan {
    /// The primary key after which it begins. `None` for the beginning.
    pub after: Option<Item>,
    /// The most items that are read for a page. `None` for no limit.
    pub limit: Option<u32>,
    /// The wanted attributes. `None` for all.
    pub attributes: Option<Vec<Name>>,
    /// Whether it is strongly consistent.
    pub consistent: bool,
}

/// A page of a query or a scan. It may be empty even if it is not the last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Page {
    /// The items.
    pub items: Vec<Item>,
    /// The primary key after which the next page begins. `None` at the end.
    pub next: Option<Item>,
}

/// A table.
///
/// - Reads are strongly consistent, except scans that do not ask for it.
/// - A write is atomic, and happens only if its condition holds at that moment.
/// - After an error other than [`TableError::ConditionFailed`], [`TableError::Cancelled`] and [`TableError::Refused`], it is not
///   known whether the write happened.
pub trait Table: fmt::Debug + Send + Sync {
    /// Returns the item with this primary key.
    fn get(&self, key: Item) -> Reply<'_, Option<Item>>;

    /// Returns the items with these primary keys that exist, in no order. Each item has the wanted attributes, or all. The keys
    /// must differ, and there may be at most [`MAX_BATCH_KEYS`](crate::MAX_BATCH_KEYS). The second list contains the keys that
    /// were left for another call.
    fn batch_get(
        &self,
        keys: Vec<Item>,
        attributes: Option<Vec<Name>>,
    ) -> Reply<'_, (Vec<Item>, Vec<Item>)>;

    /// Returns a page of a partition.
    fn query(&self, query: Query) -> Reply<'_, Page>;

    /// Returns a page of the table.
    fn scan(&self, scan: Scan) -> Reply<'_, Page>;

    /// Writes an item, and replaces an existing one.
    fn put(&self, item: Item, condition: Option<Condition>) -> Reply<'_, ()>;

    /// Changes attributes of an item, and returns the changed item.
    fn update(&self, key: Item, update: Update, condition: Option<Condition>) -> Reply<'_, Item>;

    /// Deletes an item, if it exists.
    fn delete(&self, key: Item, condition: Option<Condition>) -> Reply<'_, ()>;

    /// Executes all actions or none of them. There may be at most [`MAX_ACTIONS`](crate::MAX_ACTIONS).
    fn transact(&self, actions: Vec<Action>) -> Reply<'_, ()>;
}
