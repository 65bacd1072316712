//! Drops the stream records of writes that change nothing, which DynamoDB does not write.
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html>
//!
//! A stream of keys does not say what a write changed. So one connection keeps the state before each write, and another one
//! compares the items that the write modified. Both share the process and its one lock of the file with dynoxide's connection.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use dynoxide::types::{AttributeValue, Item, KeySchemaElement, KeyType};
use rusqlite::{Connection, OptionalExtension, params};

use super::BUSY_TIMEOUT;

/// The connections beside dynoxide's.
#[derive(Clone, Debug)]
pub(crate) struct Beside(Arc<Mutex<Connections>>);

#[derive(Debug)]
struct Connections {
    before: Connection,
    after: Connection,
}

/// A stream record that says that an item was modified.
struct Modified {
    id: i64,
    table: String,
    place: (String, String),
}

/// Where a write began.
pub(crate) struct Began(i64);

impl Beside {
    pub(super) fn open(file: &Path) -> rusqlite::Result<Self> {
        let open = || {
            let connection = Connection::open(file)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            Ok::<_, rusqlite::Error>(connection)
        };
        let (before, after) = (open()?, open()?);
        Ok(Self(Arc::new(Mutex::new(Connections { before, after }))))
    }

    /// Uses a connection that sees each write that is done.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        let connections = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(&connections.after)
    }

    /// Keeps the state before a write. No other write may come before [`Beside::end`]. Returns `None`, and says so, if it cannot
    /// be kept.
    pub(super) fn begin(&self) -> Option<Began> {
        let connections = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match connections.begin() {
            Ok(last) => Some(Began(last)),
            Err(error) => {
                tracing::warn!(%error, "DynamoDB: what a write changes cannot be seen");
                None
            }
        }
    }

    /// Drops the records of the write that changed nothing.
    pub(super) fn end(&self, began: Option<Began>) {
        let Some(Began(last)) = began else { return };
        let connections = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let dropped = connections.drop_unchanged(last);
        let ended = connections.before.execute_batch("COMMIT");
        if let Err(error) = dropped.and(ended) {
            tracing::warn!(%error, "DynamoDB: a write that changes nothing may be in a stream");
        }
    }
}

impl Connections {
    fn begin(&self) -> rusqlite::Result<i64> {
        if !self.before.is_autocommit() {
            self.before.execute_batch("COMMIT")?;
        }
        self.before.prepare_cached("BEGIN")?.execute([])?;
        // The first read chooses the state.
        let mut last = self.before.prepare_cached(
            "SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = '_stream_records'), 0)",
        )?;
        last.query_row([], |row| row.get(0))
    }

    fn drop_unchanged(&self, last: i64) -> rusqlite::Result<()> {
        let modified = self.modified(last)?;
        let mut writes = HashMap::new();
        for record in &modified {
            *writes.entry((&record.table, &record.place)).or_insert(0) += 1;
        }
        for record in &modified {
            // What lies between two writes of one call is not known.
            if writes.get(&(&record.table, &record.place)) != Some(&1) {
                continue;
            }
            let old = image(&self.before, record)?;
            let new = image(&self.after, record)?;
            let (Some(old), Some(new)) = (old, new) else {
                continue;
            };
            if is_equal(&old, &new) {
                let mut dropped = self
                    .after
                    .prepare_cached("DELETE FROM _stream_records WHERE id = ?1")?;
                dropped.execute([record.id])?;
            }
        }
        Ok(())
    }

    fn modified(&self, last: i64) -> rusqlite::Result<Vec<Modified>> {
        let mut statement = self.after.prepare_cached(
            "SELECT id, table_name, keys_json FROM _stream_records WHERE id > ?1 AND event_name = 'MODIFY'",
        )?;
        let rows = statement.query_map([last], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?))
        })?;
        let mut modified = Vec::new();
        for row in rows {
            let (id, table, keys): (i64, String, String) = row?;
            let keys: Item = serde_json::from_str(&keys).unwrap_or_default();
            let schema = key_schema(&self.after, &table)?;
            if let Some(place) = place(&schema, &keys) {
                modified.push(Modified { id, table, place });
            }
        }
        Ok(modified)
    }
}

/// Returns the names of a table's keys.
pub(super) fn key_schema(
    connection: &Connection,
    table: &str,
) -> rusqlite::Result<Vec<KeySchemaElement>> {
    let mut statement =
        connection.prepare_cached("SELECT key_schema FROM _tables WHERE table_name = ?1")?;
    let schema: Option<String> = statement.query_row([table], |row| row.get(0)).optional()?;
    Ok(schema
        .and_then(|schema| serde_json::from_str(&schema).ok())
        .unwrap_or_default())
}

/// Returns the two texts with which dynoxide finds an item.
fn place(schema: &[KeySchemaElement], keys: &Item) -> Option<(String, String)> {
    let part = |role: KeyType| {
        let key = schema.iter().find(|key| key.key_type == role)?;
        keys.get(&key.attribute_name)?.to_key_string()
    };
    Some((
        part(KeyType::HASH)?,
        part(KeyType::RANGE).unwrap_or_default(),
    ))
}

/// Returns an item as it is stored, with its size.
fn image(connection: &Connection, record: &Modified) -> rusqlite::Result<Option<(i64, String)>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT item_size, item_json FROM {} WHERE pk = ?1 AND sk = ?2",
        quoted(&record.table)
    ))?;
    let (pk, sk) = &record.place;
    statement
        .query_row(params![pk, sk], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// Returns a table's name as SQL names it.
pub(super) fn quoted(table: &str) -> String {
    format!("\"{}\"", table.replace('"', "\"\""))
}

/// Returns whether two stored items are equal. Attributes are stored in any order, and sets have none.
fn is_equal(old: &(i64, String), new: &(i64, String)) -> bool {
    // Most writes change a size.
    if old.0 != new.0 || old.1.len() != new.1.len() {
        return false;
    }
    let parsed = |text: &str| serde_json::from_str::<Item>(text).ok().map(in_order);
    match (parsed(&old.1), parsed(&new.1)) {
        (Some(old), Some(new)) => old == new,
        _ => false,
    }
}

fn in_order(mut item: Item) -> Item {
    item.values_mut().for_each(order);
    item
}

fn order(value: &mut AttributeValue) {
    match value {
        AttributeValue::SS(texts) | AttributeValue::NS(texts) => texts.sort_unstable(),
        AttributeValue::BS(values) => values.sort_unstable(),
        AttributeValue::L(values) => values.iter_mut().for_each(order),
        AttributeValue::M(fields) => fields.values_mut().for_each(order),
        _ => {}
    }
}
