//! A table in memory that answers as DynamoDB does.
//!
//! - Every call completes at once, as a whole. A wrapper may add delays, failures and throttling.
//! - It reports what each write changed ([`Change`]), from which a stream is made.
//! - It can only add integers. For the page limits of queries and scans it counts items as DynamoDB does.

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sitemap::mapping::{KeyType, Number};

use crate::action::{Action, Condition, Update};
use crate::error::{Reason, TableError};
use crate::item::{Item, Name, Value};
use crate::layers::{Below, Layers};
use crate::port::{Page, Query, Reply, Scan, Schema, SortKey, Table};
use crate::{
    MAX_ACTIONS, MAX_BATCH_KEYS, MAX_ITEM_BYTES, MAX_NESTING, MAX_PAGE_BYTES, MAX_TRANSACTION_BYTES,
};

/// The most bytes of a partition key and of a sort key (DynamoDB).
const MAX_KEY_BYTES: [usize; 2] = [2_048, 1_024];
/// Attribute names have at least one character (DynamoDB).
const NO_NAME: &str = "an attribute without a name";
/// The most bytes of a batch's items (DynamoDB).
const MAX_BATCH_BYTES: usize = 16 * 1_024 * 1_024;

/// The change of a write. A write that leaves an item as it was changes nothing, and is in no stream.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The item's primary key.
    pub key: &'a Item,
    /// The item before. `None` if it did not exist.
    pub old: Option<&'a Item>,
    /// The item now. `None` if it was deleted.
    pub new: Option<&'a Item>,
}

type Watch = Arc<dyn Fn(Change<'_>) + Send + Sync>;

/// A table in memory. Clones share it.
#[derive(Clone)]
pub struct MemoryTable {
    schema: Schema,
    items: Arc<Mutex<Items>>,
    watch: Option<Watch>,
}

/// A part of a primary key. Numbers are ordered by their value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KeyPart {
    Number(Number),
    Text(String),
    Bytes(Vec<u8>),
}

/// The second part of a primary key, with values for the ends of a partition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    /// Sorts before all others. In a table without a sort key it is the only one.
    First,
    Key(KeyPart),
    /// Sorts after all others. No item has it.
    End,
}

/// The place of an item. Partitions are in the order of a hash, as in DynamoDB. All partitions share one map, because a map for
/// each would take most of the memory of a partition with a single item.
type Place = (u64, KeyPart, Sort);
type Items = Layers<Place, Item>;

/// All items of a table at one time. Other tables may begin with them, and share those that they do not change.
#[derive(Clone)]
pub struct Shared(Below<Place, Item>);

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(&self.0.len()).finish()
    }
}

impl fmt::Debug for MemoryTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTable")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

impl MemoryTable {
    /// Returns an empty table with this primary key.
    #[must_use]
    pub fn new(schema: Schema) -> Self {
        let (items, watch) = (Arc::default(), None);
        Self {
            schema,
            items,
            watch,
        }
    }

    /// Returns an empty table that reports each change at the time of the write, in order.
    #[must_use]
    pub fn watched(schema: Schema, watch: impl Fn(Change<'_>) + Send + Sync + 'static) -> Self {
        let watch: Option<Watch> = Some(Arc::new(watch));
        let items = Arc::default();
        Self {
            schema,
            items,
            watch,
        }
    }

    /// Returns the size of the item with this primary key, which may be a whole item. The size is 0 if there is no such item.
    #[must_use]
    pub fn bytes_of(&self, key: &Item) -> usize {
        let Ok(place) = self.place(key) else {
            return 0;
        };
        self.lock().get(&place).map_or(0, Item::bytes)
    }

    /// Returns the name of the partition key.
    #[must_use]
    pub fn partition_name(&self) -> &str {
        self.schema.names().next().unwrap_or_default()
    }

    /// Returns all present items, for other tables.
    #[must_use]
    pub fn share(&self) -> Shared {
        Shared(self.lock().share())
    }

    /// Replaces all items with these, and reports no change.
    pub fn begin_with(&self, items: &Shared) {
        *self.lock() = Layers::over(Arc::clone(&items.0));
    }

    /// Drops all items and reports no change, as if the table were new.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Items> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an item's primary key.
    fn key_of(&self, item: &Item) -> Item {
        item.only(self.schema.names())
    }

    /// Returns the place of the item with a primary key. The key may be a whole item.
    fn place(&self, item: &Item) -> Result<Place, String> {
        let mut parts = Vec::with_capacity(2);
        for (attribute, max_bytes) in self.schema.attributes().iter().zip(MAX_KEY_BYTES) {
            let name = attribute.name.as_str();
            let value = item
                .get(name)
                .ok_or_else(|| format!("missing the key {name} in the item"))?;
            let part = KeyPart::of(value)
                .filter(|part| part.key_type() == attribute.key_type)
                .ok_or_else(|| format!("type mismatch for the key {name}"))?;
            if part.bytes() == 0 {
                return Err(format!("the key {name} is empty"));
            }
            if part.bytes() > max_bytes {
                return Err(format!("the key {name} has more than {max_bytes} bytes"));
            }
            parts.push(part);
        }
        let mut parts = parts.into_iter();
        let partition = parts.next().ok_or("a table has a partition key")?;
        let sort = parts.next().map_or(Sort::First, Sort::Key);
        Ok((hash(&partition), partition, sort))
    }

    /// Returns the place of a key, as [`MemoryTable::place`] does, but refuses a key with further attributes.
    fn place_of_key(&self, key: &Item) -> Result<Place, String> {
        if key.iter().count() != self.schema.names().count() {
            return Err("the provided key element does not match the schema".to_owned());
        }
        self.place(key)
    }

    fn change(&self, items: &mut Items, place: Place, new: Option<Item>) {
        let old = items.get(&place);
        if old == new.as_ref() {
            return;
        }
        if let (Some(watch), Some(item)) = (&self.watch, new.as_ref().or(old)) {
            watch(Change {
                key: &self.key_of(item),
                old,
                new: new.as_ref(),
            });
        }
        match new {
            Some(item) => items.insert(place, item),
            None => items.remove(place),
        }
    }

    /// Returns the result of an action: the place and the new item. Returns `None` if the action is a check.
    fn prepare(
        &self,
        items: &Items,
        action: &Action,
    ) -> Result<Option<(Place, Option<Item>)>, Reason> {
        let refused = Reason::Refused;
        let place = match action {
            Action::Put { item, .. } => self.place(item),
            Action::Update { key, .. } | Action::Delete { key, .. } | Action::Check { key, .. } => {
                self.place_of_key(key)
            }
        }
        .map_err(refused)?;
        let old = items.get(&place);
        let condition = match action {
            Action::Put { condition, .. }
            | Action::Update { condition, .. }
            | Action::Delete { condition, .. } => condition.as_ref(),
            Action::Check { condition, .. } => Some(condition),
        };
        if condition.is_some_and(|condition| !condition.holds(old)) {
            return Err(Reason::ConditionFailed);
        }
        let new = match action {
            Action::Put { item, .. } => Some(normal(item.clone()).map_err(refused)?),
            Action::Update { key, update, .. } => {
                let old = old.unwrap_or(key).clone();
                let new = update.applied(old, &self.schema).map_err(refused)?;
                Some(normal(new).map_err(refused)?)
            }
            Action::Delete { .. } => None,
            Action::Check { .. } => return Ok(None),
        };
        if new
            .as_ref()
            .is_some_and(|item| item.bytes() > MAX_ITEM_BYTES)
        {
            let message = "Item size has exceeded the maximum allowed size";
            return Err(Reason::Refused(message.to_owned()));
        }
        Ok(Some((place, new)))
    }

    /// Writes one item, and returns the new item.
    fn write(&self, operation: &'static str, action: &Action) -> Result<Option<Item>, TableError> {
        let mut items = self.lock();
        match self.prepare(&items, action) {
            Ok(Some((place, new))) => {
                self.change(&mut items, place, new.clone());
                Ok(new)
            }
            Ok(None) => Ok(None),
            Err(Reason::Refused(message)) => Err(TableError::Refused { operation, message }),
            Err(_) => Err(TableError::ConditionFailed { operation }),
        }
    }

    fn read(&self, key: &Item) -> Result<Option<Item>, TableError> {
        let refused = refusing("GetItem");
        let place = self.place_of_key(key).map_err(refused)?;
        Ok(self.lock().get(&place).cloned())
    }

    fn read_batch(
        &self,
        keys: Vec<Item>,
        attributes: Option<&[Name]>,
    ) -> Result<(Vec<Item>, Vec<Item>), TableError> {
        let refused = refusing("BatchGetItem");
        if keys.is_empty() || keys.len() > MAX_BATCH_KEYS {
            return Err(refused(format!("{} keys", keys.len())));
        }
        let places: Result<Vec<Place>, String> =
            keys.iter().map(|key| self.place_of_key(key)).collect();
        let places = places.map_err(refused)?;
        if places.iter().collect::<BTreeSet<_>>().len() < keys.len() {
            return Err(refused(
                "the list of item keys contains duplicates".to_owned(),
            ));
        }
        let items = self.lock();
        let (mut found, mut left, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (key, place) in keys.into_iter().zip(&places) {
            let item = items.get(place);
            bytes += item.map_or(0, Item::bytes);
            if bytes > MAX_BATCH_BYTES {
                left.push(key);
            } else {
                found.extend(item.map(|item| wanted(item, attributes)));
            }
        }
        Ok((found, left))
    }

    fn read_query(&self, query: &Query) -> Result<Page, TableError> {
        let refused = refusing("Query");
        let partition = KeyPart::of(&query.partition);
        let partition = partition.ok_or_else(|| refused("no partition key".to_owned()))?;
        let is_for_no_text = match &query.sort {
            SortKey::BeginsWith(prefix) => prefix.is_empty(),
            SortKey::Any => false,
        };
        if partition.bytes() == 0 || is_for_no_text {
            return Err(refused("a key of the query is empty".to_owned()));
        }
        let after = query.after.as_ref().map(|key| self.place_of_key(key));
        let after = after.transpose().map_err(refused)?;
        let hash = hash(&partition);
        let end = |sort| (hash, partition.clone(), sort);
        let (first, last) = (end(Sort::First), end(Sort::End));
        if after
            .as_ref()
            .is_some_and(|after| *after < first || *after > last)
        {
            return Err(refused("the starting key is outside the query".to_owned()));
        }
        let (before, behind) = match (&after, query.reverse) {
            (None, _) => (Bound::Included(&first), Bound::Included(&last)),
            (Some(after), false) => (Bound::Excluded(after), Bound::Included(&last)),
            (Some(after), true) => (Bound::Included(&first), Bound::Excluded(after)),
        };
        let is_wanted = |((_, _, sort), _): &(&Place, &Item)| match (&query.sort, sort) {
            (SortKey::Any, _) => true,
            (SortKey::BeginsWith(prefix), Sort::Key(KeyPart::Text(text))) => {
                text.starts_with(prefix)
            }
            (SortKey::BeginsWith(_), _) => false,
        };
        let items = self.lock();
        let range = items.range((before, behind), query.reverse);
        let items = &mut range.filter(is_wanted).map(|(_, item)| item);
        Ok(self.page(items, query.limit, None))
    }

    fn read_scan(&self, scan: &Scan) -> Result<Page, TableError> {
        let after = scan.after.as_ref().map(|key| self.place_of_key(key));
        let after = after.transpose().map_err(refusing("Scan"))?;
        let items = self.lock();
        let after = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let rest = items.range((after, Bound::Unbounded), false);
        let rest = &mut rest.map(|(_, item)| item);
        Ok(self.page(rest, scan.limit, scan.attributes.as_deref()))
    }

    /// Returns the next page of these items. Like DynamoDB, it does not look beyond the last item. If a page ends at its limit,
    /// it has a cursor for a next page, which may be empty.
    fn page(
        &self,
        items: &mut dyn Iterator<Item = &Item>,
        limit: Option<u32>,
        attributes: Option<&[Name]>,
    ) -> Page {
        let mut page = Page::default();
        let mut bytes = 0;
        for item in items {
            page.items.push(wanted(item, attributes));
            bytes += item.bytes();
            let is_full = limit.is_some_and(|limit| page.items.len() >= limit as usize);
            if is_full || bytes >= MAX_PAGE_BYTES {
                page.next = Some(self.key_of(item));
                break;
            }
        }
        page
    }

    fn write_all(&self, actions: &[Action]) -> Result<(), TableError> {
        let refused = refusing("TransactWriteItems");
        if actions.is_empty() || actions.len() > MAX_ACTIONS {
            return Err(refused(format!("{} actions", actions.len())));
        }
        let mut items = self.lock();
        let prepared: Vec<_> = actions
            .iter()
            .map(|action| self.prepare(&items, action))
            .collect();
        let places: Result<BTreeSet<Place>, String> = actions
            .iter()
            .map(|action| match action {
                Action::Put { item, .. } => self.place(item),
                Action::Update { key, .. }
                | Action::Delete { key, .. }
                | Action::Check { key, .. } => self.place_of_key(key),
            })
            .collect();
        if places.map_err(refused)?.len() < actions.len() {
            let message = "Transaction request cannot include multiple operations on one item";
            return Err(refused(message.to_owned()));
        }
        if prepared.iter().any(Result::is_err) {
            let reason = |prepared: Result<_, Reason>| prepared.err().unwrap_or(Reason::Innocent);
            return Err(TableError::Cancelled {
                reasons: prepared.into_iter().map(reason).collect(),
            });
        }
        let writes: Vec<_> = prepared.into_iter().flatten().flatten().collect();
        let bytes: usize = writes
            .iter()
            .filter_map(|(_, item)| item.as_ref().map(Item::bytes))
            .sum();
        if bytes > MAX_TRANSACTION_BYTES {
            return Err(refused(format!("{bytes} bytes in one transaction")));
        }
        for (place, new) in writes {
            self.change(&mut items, place, new);
        }
        Ok(())
    }
}

impl Table for MemoryTable {
    fn get(&self, key: Item) -> Reply<'_, Option<Item>> {
        Box::pin(async move { self.read(&key) })
    }

    fn batch_get(
        &self,
        keys: Vec<Item>,
        attributes: Option<Vec<Name>>,
    ) -> Reply<'_, (Vec<Item>, Vec<Item>)> {
        Box::pin(async move { self.read_batch(keys, attributes.as_deref()) })
    }

    fn query(&self, query: Query) -> Reply<'_, Page> {
        Box::pin(async move { self.read_query(&query) })
    }

    fn scan(&self, scan: Scan) -> Reply<'_, Page> {
        Box::pin(async move { self.read_scan(&scan) })
    }

    fn put(&self, item: Item, condition: Option<Condition>) -> Reply<'_, ()> {
        let action = Action::Put { item, condition };
        Box::pin(async move { self.write("PutItem", &action).map(drop) })
    }

    fn update(&self, key: Item, update: Update, condition: Option<Condition>) -> Reply<'_, Item> {
        let action = Action::Update {
            key,
            update,
            condition,
        };
        Box::pin(async move { Ok(self.write("UpdateItem", &action)?.unwrap_or_default()) })
    }

    fn delete(&self, key: Item, condition: Option<Condition>) -> Reply<'_, ()> {
        let action = Action::Delete { key, condition };
        Box::pin(async move { self.write("DeleteItem", &action).map(drop) })
    }

    fn transact(&self, actions: Vec<Action>) -> Reply<'_, ()> {
        Box::pin(async move { self.write_all(&actions) })
    }
}

fn refusing(operation: &'static str) -> impl Fn(String) -> TableError + Copy {
    move |message| TableError::Refused { operation, message }
}

fn hash(partition: &KeyPart) -> u64 {
    // Without a random state, so that the order is the same in each process.
    let mut hasher = DefaultHasher::new();
    match partition {
        KeyPart::Number(number) => number.text().hash(&mut hasher),
        KeyPart::Text(text) => text.hash(&mut hasher),
        KeyPart::Bytes(bytes) => bytes.hash(&mut hasher),
    }
    hasher.finish()
}

fn wanted(item: &Item, attributes: Option<&[Name]>) -> Item {
    match attributes {
        None => item.clone(),
        Some(names) => item.only(names.iter().map(AsRef::as_ref)),
    }
}

/// Returns an item in its stored form: each number has one spelling, sets are not empty, and all attributes have names.
fn normal(item: Item) -> Result<Item, String> {
    let attributes = item.into_iter();
    attributes
        .map(|(name, value)| match normal_value(value, 0) {
            _ if name.is_empty() => Err(NO_NAME.to_owned()),
            Ok(value) => Ok((name, value)),
            Err(error) => Err(format!("{name}: {error}")),
        })
        .collect()
}

/// Returns the stored form of a value inside so many lists and maps.
fn normal_value(value: Value, depth: usize) -> Result<Value, String> {
    let is_nested = matches!(value, Value::List(_) | Value::Map(_));
    let depth = depth + usize::from(is_nested);
    if depth > MAX_NESTING {
        return Err(format!("lists and maps in more than {MAX_NESTING} levels"));
    }
    let normal_value = |value| normal_value(value, depth);
    let number = |text: String| match Number::parse(&text) {
        Some(number) => Ok(number.text()),
        None => Err(format!("{text:?} is not a number of at most 38 digits")),
    };
    Ok(match value {
        Value::Number(text) => Value::Number(number(text)?),
        Value::NumberSet(texts) if !texts.is_empty() => {
            let texts: Result<_, _> = texts.into_iter().map(number).collect();
            Value::NumberSet(texts?)
        }
        Value::List(values) => {
            let values: Result<_, _> = values.into_iter().map(normal_value).collect();
            Value::List(values?)
        }
        Value::Map(values) => {
            let values: Result<_, String> = values
                .into_iter()
                .map(|(name, value)| match name.is_empty() {
                    true => Err(NO_NAME.to_owned()),
                    false => Ok((name, normal_value(value)?)),
                })
                .collect();
            Value::Map(values?)
        }
        Value::TextSet(values) if values.is_empty() => return Err("an empty set".to_owned()),
        Value::NumberSet(_) => return Err("an empty set".to_owned()),
        Value::BytesSet(values) if values.is_empty() => return Err("an empty set".to_owned()),
        value => value,
    })
}

impl KeyPart {
    fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Text(text) => Self::Text(text.clone()),
            Value::Number(text) => Self::Number(Number::parse(text)?),
            Value::Bytes(bytes) => Self::Bytes(bytes.clone()),
            _ => return None,
        })
    }

    fn key_type(&self) -> KeyType {
        match self {
            Self::Number(_) => KeyType::Number,
            Self::Text(_) => KeyType::Text,
            Self::Bytes(_) => KeyType::Binary,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Number(_) => 1,
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }
}

impl Condition {
    fn holds(&self, item: Option<&Item>) -> bool {
        let get = |name: &Name| item.and_then(|item| item.get(name));
        match self {
            Self::Has(name) => get(name).is_some(),
            Self::Lacks(name) => get(name).is_none(),
            Self::Equals(name, value) => get(name).is_some_and(|found| equal(found, value)),
            Self::Less(name, value) => get(name).is_some_and(|found| less(found, value)),
            Self::And(one, other) => one.holds(item) && other.holds(item),
            Self::Or(one, other) => one.holds(item) || other.holds(item),
        }
    }
}

fn equal(found: &Value, value: &Value) -> bool {
    match (found, value) {
        (Value::Number(found), Value::Number(value)) => {
            Number::parse(found) == Number::parse(value)
        }
        (found, value) => found == value,
    }
}

fn less(found: &Value, value: &Value) -> bool {
    match (found, value) {
        (Value::Number(found), Value::Number(value)) => Number::parse(found) < Number::parse(value),
        (Value::Text(found), Value::Text(value)) => found < value,
        (Value::Bytes(found), Value::Bytes(value)) => found < value,
        _ => false,
    }
}

impl Update {
    fn applied(&self, mut item: Item, schema: &Schema) -> Result<Item, String> {
        let mut names = BTreeSet::new();
        let values = self.set.iter().chain(&self.set_missing).chain(&self.add);
        for name in values.map(|(name, _)| name).chain(&self.remove) {
            if schema.names().any(|key| key == name) {
                return Err(format!(
                    "cannot update attribute {name}: it is part of the key"
                ));
            }
            if !names.insert(name) {
                return Err(format!(
                    "two document paths overlap with each other: {name}"
                ));
            }
        }
        for (name, value) in &self.set {
            item.set(name.clone(), value.clone());
        }
        for (name, value) in &self.set_missing {
            if item.get(name).is_none() {
                item.set(name.clone(), value.clone());
            }
        }
        for name in &self.remove {
            item.remove(name);
        }
        for (name, value) in &self.add {
            let sum = added(item.get(name), value).map_err(|error| format!("{name}: {error}"))?;
            item.set(name.clone(), sum);
        }
        Ok(item)
    }
}

fn added(to: Option<&Value>, value: &Value) -> Result<Value, String> {
    match (to, value) {
        (None, Value::Number(_)) => Ok(value.clone()),
        (Some(Value::Number(to)), Value::Number(value)) => {
            let integer = |text: &String| {
                text.parse::<i128>()
                    .map_err(|error| format!("{text}: {error}"))
            };
            let sum = integer(to)?.checked_add(integer(value)?);
            sum.map(Value::number)
                .ok_or_else(|| "the sum is too large".to_owned())
        }
        _ => Err("an operand of ADD has an incorrect data type".to_owned()),
    }
}
