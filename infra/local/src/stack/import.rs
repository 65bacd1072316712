//! A first load below the interfaces: what the functions would place in an empty stack is imported, and they find it placed.
//!
//! - dynoxide's import writes items much faster than its API, and no stream records. So nothing follows from what is imported.
//! - The folder is marked from the first item to the last. A stack that finds the mark begins its sitemaps anew, from the records
//!   that are there.

use std::path::{Path, PathBuf};
use std::{fs, io, mem};

use aws::Aws;
use dynoxide::ImportOptions;
use dynoxide::types::AttributeValue;
use engine::error::EngineError;
use table::{Item, Value};
use tokio::sync::oneshot;

use super::{Stack, StackError};
use crate::dynamodb::calls::Calls;
use crate::tables::{self, CONTENT_TABLE, SITEMAP_TABLE};

/// The mark in a given folder.
const MARK: &str = "first-load";
/// What people read there.
const MARKED: &str = "A first load is under way, or was cut short. The next `waymark serve` makes the sitemaps anew.\n";
/// Items of one import, which is one transaction.
const ITEMS: usize = 4_096;

type Items = Vec<dynoxide::types::Item>;

/// An import into an empty stack whose functions do not run yet. Its methods block.
#[derive(Debug)]
pub struct Import {
    calls: Calls,
    mark: Option<PathBuf>,
    records: Items,
    rows: Items,
    /// The answer to the import that is under way.
    answer: Option<oneshot::Receiver<Result<(), String>>>,
}

impl Stack {
    /// Returns an import if there are no records, rows or objects yet, and no table of the user's.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails.
    pub async fn import(&self) -> Result<Option<Import>, StackError> {
        let has_rows =
            async |table| Ok::<_, EngineError>(tables::count(&self.aws, table).await? > 0);
        let sites = self
            .objects
            .sites(None, 1)
            .await
            .map_err(EngineError::from)?;
        let is_empty = self.options.source.is_none()
            && sites.is_empty()
            && !has_rows(CONTENT_TABLE).await?
            && !has_rows(SITEMAP_TABLE).await?;
        Ok(is_empty.then(|| Import {
            calls: self.dynamodb.calls.clone(),
            mark: self.options.data.as_deref().map(mark_in),
            records: Items::new(),
            rows: Items::new(),
            answer: None,
        }))
    }
}

impl Import {
    /// Takes a record.
    ///
    /// # Errors
    ///
    /// If DynamoDB fails, or the folder cannot be marked.
    pub fn record(&mut self, record: Item) -> Result<(), EngineError> {
        self.records.push(dynoxide_item(record));
        match self.records.len() {
            ITEMS => self.send(CONTENT_TABLE),
            _ => Ok(()),
        }
    }

    /// Takes a row of the sitemap table.
    ///
    /// # Errors
    ///
    /// As [`Import::record`].
    pub fn row(&mut self, row: Item) -> Result<(), EngineError> {
        self.rows.push(dynoxide_item(row));
        match self.rows.len() {
            ITEMS => self.send(SITEMAP_TABLE),
            _ => Ok(()),
        }
    }

    /// Ends the import, of which the objects are in the bucket.
    ///
    /// # Errors
    ///
    /// As [`Import::record`].
    pub fn finish(mut self) -> Result<(), EngineError> {
        self.send(CONTENT_TABLE)?;
        self.send(SITEMAP_TABLE)?;
        self.wait()?;
        match self.mark {
            Some(mark) => fs::remove_file(&mark).map_err(|error| unmarked(&mark, &error)),
            None => Ok(()),
        }
    }

    /// Marks the folder: from now on there is something to clear up. Must precede the first item and the first object.
    ///
    /// # Errors
    ///
    /// If the mark cannot be written.
    pub fn mark(&self) -> Result<(), EngineError> {
        let Some(mark) = &self.mark else {
            return Ok(());
        };
        // An empty file is what a kill leaves before anything was imported.
        let is_of_the_user =
            fs::read(mark).is_ok_and(|text| !text.is_empty() && text != MARKED.as_bytes());
        let written = match mark.is_dir() || is_of_the_user {
            true => Err(io::Error::other(
                "is in the way: move it, or choose another folder",
            )),
            false => fs::write(mark, MARKED),
        };
        written.map_err(|error| unmarked(mark, &error))
    }

    /// Imports what waits for this table, after what is under way.
    fn send(&mut self, table: &'static str) -> Result<(), EngineError> {
        self.wait()?;
        let items = match table {
            CONTENT_TABLE => mem::take(&mut self.records),
            _ => mem::take(&mut self.rows),
        };
        let (answer, answered) = oneshot::channel();
        let import = move |database: &dynoxide::Database| {
            let imported = database.import_items(table, items, ImportOptions::default());
            let imported = imported.map(drop).map_err(|error| error.to_string());
            drop(answer.send(imported));
        };
        self.calls
            .send(Box::new(import))
            .ok_or_else(|| failed("its thread has ended".to_owned()))?;
        self.answer = Some(answered);
        Ok(())
    }

    fn wait(&mut self) -> Result<(), EngineError> {
        let Some(answer) = self.answer.take() else {
            return Ok(());
        };
        let imported = answer.blocking_recv();
        imported
            .unwrap_or_else(|_| Err("its thread has ended".to_owned()))
            .map_err(failed)
    }
}

fn failed(message: String) -> EngineError {
    EngineError::Service {
        operation: "an import into the local DynamoDB",
        message,
    }
}

fn unmarked(mark: &Path, error: &io::Error) -> EngineError {
    EngineError::Service {
        operation: "the mark of a first load",
        message: format!("{}: {error}", mark.display()),
    }
}

fn mark_in(folder: &Path) -> PathBuf {
    folder.join(MARK)
}

/// Clears up after a first load that was cut short: drops all rows of the sitemap table and all objects. Returns whether there was
/// one.
pub(super) async fn clear_up(aws: &Aws, folder: &Path) -> Result<bool, StackError> {
    let mark = mark_in(folder);
    // A file of this name may be the user's.
    if fs::read(&mark).ok().as_deref() != Some(MARKED.as_bytes()) {
        return Ok(false);
    }
    tables::begin_anew(aws).await?;
    fs::remove_file(&mark).map_err(|error| StackError::Folder {
        folder: mark,
        error,
    })?;
    Ok(true)
}

fn dynoxide_item(item: Item) -> dynoxide::types::Item {
    let attributes = item.into_iter();
    attributes
        .map(|(name, value)| (name.into_owned(), attribute(value)))
        .collect()
}

fn attribute(value: Value) -> AttributeValue {
    match value {
        Value::Text(text) => AttributeValue::S(text),
        Value::Number(number) => AttributeValue::N(number),
        Value::Bytes(bytes) => AttributeValue::B(bytes),
        Value::Bool(value) => AttributeValue::BOOL(value),
        Value::Null => AttributeValue::NULL(true),
        Value::List(values) => AttributeValue::L(values.into_iter().map(attribute).collect()),
        Value::Map(fields) => {
            let fields = fields.into_iter();
            AttributeValue::M(
                fields
                    .map(|(name, field)| (name, attribute(field)))
                    .collect(),
            )
        }
        Value::TextSet(texts) => AttributeValue::SS(texts.into_iter().collect()),
        Value::NumberSet(numbers) => AttributeValue::NS(numbers.into_iter().collect()),
        Value::BytesSet(values) => AttributeValue::BS(values.into_iter().collect()),
    }
}
