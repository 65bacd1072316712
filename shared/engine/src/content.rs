//! The content, which Waymark only reads: its own table, and optionally one of the user's tables.
//!
//! The id of a record says which of the two tables has it: ids of the user's table begin with [`SOURCE_MARK`]. Readers of records
//! need not know more.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sitemap::loc::Loc;
use sitemap::mapping::SOURCE_MARK;
use sitemap::record::ContentRecord;
use table::{Item, Scan, Table};

use crate::batch_get::batch_get;
use crate::env::Env;
use crate::error::EngineError;
use crate::stream::StreamRecord;

mod json;
mod reading;
pub mod source;

use self::reading::{OUTLINES, RECORDS, Reading};
use self::source::Source;

pub use self::json::value as json_of;
pub use self::reading::ScanPage;
pub use self::source::SourceTable;
pub use crate::rows::site::NO_SOURCE;

/// The reason for excluding a record of the own table whose id begins with [`SOURCE_MARK`].
pub const RESERVED_ID: &str =
    "id: begins with @, as only the ids of another table's items do: give the record another id";
/// Prefix of a cursor of the own table that could otherwise be taken for a cursor of the user's table.
const OWN_CURSOR: char = '=';

/// The content: Waymark's own table, and optionally one of the user's tables.
///
/// # Errors
///
/// Its methods fail if a call of a table fails. A malformed record is not an error: the result contains its problems.
#[derive(Clone, Debug)]
pub struct Content {
    own: Arc<dyn Table>,
    source: Option<Source>,
    env: Env,
}

impl Content {
    /// Returns the content in a table whose primary key is `id`.
    #[must_use]
    pub fn new(own: Arc<dyn Table>, env: Env) -> Self {
        let source = None;
        Self { own, source, env }
    }

    /// Returns the same content with a table of the user's added.
    #[must_use]
    pub fn with_source(self, mapped: SourceTable, table: Arc<dyn Table>) -> Self {
        let source = Some(Source { table, mapped });
        Self { source, ..self }
    }

    /// Returns the user's table.
    #[must_use]
    pub fn source(&self) -> Option<&SourceTable> {
        self.source.as_ref().map(|source| &source.mapped)
    }

    /// Returns why the item with a record's id is not a page. Returns `None` if it is one, or if there is no item.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn mismatch(&self, id: &str) -> Result<Option<String>, EngineError> {
        let Some(source) = self.source.as_ref().filter(|_| id.starts_with(SOURCE_MARK)) else {
            return Ok(None);
        };
        let item = source.item(id).await?;
        Ok(item.and_then(|item| source.mapped.mapping().mismatch(&item)))
    }

    /// Returns whether the own table has a record whose id has the prefix reserved for the user's table. No function reads such a
    /// record.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn is_reserved(&self, id: &str) -> Result<bool, EngineError> {
        Ok(id.starts_with(SOURCE_MARK) && self.own_item(id).await?.is_some())
    }

    /// Returns the records of the own table with such a reserved id, each with its address if it has one. Reads the whole table.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn reserved(&self) -> Result<Vec<(String, Option<Loc>)>, EngineError> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let scan = Scan {
                after,
                attributes: Some(vec!["id".into(), "url".into()]),
                consistent: true,
                ..Scan::default()
            };
            let page = self.own.scan(scan).await?;
            let here = page.items.iter().filter_map(|item| {
                let id = item.text("id").filter(|id| id.starts_with(SOURCE_MARK))?;
                let loc = item.text("url").and_then(|url| Loc::parse_any(url).ok());
                Some((id.to_owned(), loc))
            });
            found.extend(here);
            after = page.next;
            if after.is_none() {
                return Ok(found);
            }
        }
    }

    async fn own_item(&self, id: &str) -> Result<Option<Item>, EngineError> {
        Ok(self.own.get(key(id)).await?)
    }

    /// Returns a page of the own table.
    async fn scan_own<T>(
        &self,
        from: Option<&str>,
        limit: u32,
        reading: &Reading<T>,
    ) -> Result<ScanPage<T>, EngineError> {
        let after = from.map(|id| id.strip_prefix(OWN_CURSOR).unwrap_or(id));
        let outline = || {
            ["id", "site", "url", "type", "pages"]
                .map(Into::into)
                .to_vec()
        };
        let scan = Scan {
            after: after.map(key),
            limit: Some(limit),
            attributes: (!reading.whole).then(outline),
            consistent: !reading.whole,
        };
        let page = self.own.scan(scan).await?;
        let record = |item: Item| {
            let id = item.text("id").filter(|id| !id.starts_with(SOURCE_MARK))?;
            let id = id.to_owned();
            let taken = (reading.own)(&id, &json_of(item));
            Some((id, taken))
        };
        let next = page.next.as_ref();
        let next = next.and_then(|key| key.text("id")).map(|id| {
            let marked = id.starts_with([SOURCE_MARK, OWN_CURSOR]);
            let mark = if marked {
                OWN_CURSOR.to_string()
            } else {
                String::new()
            };
            format!("{mark}{id}")
        });
        Ok(ScanPage {
            records: page.items.into_iter().filter_map(record).collect(),
            next,
        })
    }
}

fn key(id: &str) -> Item {
    Item::new().with("id", id)
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl Content {
    /// Returns the id of the record that a stream record is about. Returns `None` if that item is not a record.
    pub fn id_of(&self, record: &StreamRecord) -> Option<String> {
        if let Some(source) = self.source_of(record) {
            return source.id_of_item(&record.key);
        }
        let id = record.key.text("id")?;
        if id.starts_with(SOURCE_MARK) {
            tracing::error!(record = id, "a record is ignored: {RESERVED_ID}");
            return None;
        }
        Some(id.to_owned())
    }

    /// Returns whether a stream record's key does not have the attributes that the mapping expects. Such a record cannot be
    /// handled until the mapping is corrected.
    pub fn is_misfit(&self, record: &StreamRecord) -> bool {
        let source = self.source_of(record);
        source.is_some_and(|source| source.id_of_item(&record.key).is_none())
    }

    /// Returns the user's table if a stream record comes from it.
    fn source_of(&self, record: &StreamRecord) -> Option<&SourceTable> {
        self.source().filter(|source| source.name() == record.table)
    }

    /// Returns whether this id may be that of an item that is not a page and never was. The user's table may contain other items
    /// too.
    pub fn may_be_foreign(&self, id: &str) -> bool {
        let source = self.source.as_ref().filter(|_| id.starts_with(SOURCE_MARK));
        source.is_some_and(|source| source.mapped.mapping().is_selective())
    }

    /// Returns a digest of the user's table and its mapping. If it changes, every record has to be reconciled again.
    pub fn revision(&self) -> &str {
        self.source().map_or(NO_SOURCE, SourceTable::revision)
    }

    /// Returns the raw value of an item, read consistently.
    pub async fn item(&self, id: &str) -> Result<Option<Value>, EngineError> {
        if id.starts_with(SOURCE_MARK) {
            return match &self.source {
                Some(source) => source.item(id).await,
                None => Ok(None),
            };
        }
        Ok(self.own_item(id).await?.map(json_of))
    }

    /// Returns the raw values of these items of Waymark's own table that exist, by id, read consistently.
    pub async fn items(
        &self,
        ids: impl IntoIterator<Item = &str>,
    ) -> Result<BTreeMap<String, Value>, EngineError> {
        let keys = ids.into_iter().map(key).collect();
        let items = batch_get(&*self.own, &self.env, keys, None).await?;
        let items = items.into_iter();
        let items = items.filter_map(|item| Some((item.text("id")?.to_owned(), json_of(item))));
        Ok(items.collect())
    }

    /// Returns the records with these ids that exist, read consistently.
    pub async fn records(
        &self,
        ids: &[String],
    ) -> Result<BTreeMap<String, ContentRecord>, EngineError> {
        let (mapped, own): (Vec<&String>, Vec<&String>) =
            ids.iter().partition(|id| id.starts_with(SOURCE_MARK));
        let items = self.items(own.into_iter().map(String::as_str)).await?;
        let parse = |(id, item): (String, _)| {
            let record = ContentRecord::parse(&id, &item);
            (id, record)
        };
        let mut records: BTreeMap<_, _> = items.into_iter().map(parse).collect();
        if let Some(source) = &self.source {
            records.extend(source.records(&self.env, &mapped).await?);
        }
        Ok(records)
    }

    /// Returns up to `limit` records from a cursor on, in the tables' own order, one table after the other. A page may be empty
    /// before the end.
    pub async fn scan(&self, from: Option<&str>, limit: u32) -> Result<ScanPage, EngineError> {
        self.scan_for(from, limit, &OUTLINES).await
    }

    /// Returns complete records in pages, as [`Content::scan`] does. The records are not read consistently, so callers check
    /// again what they find.
    pub async fn scan_records(
        &self,
        from: Option<&str>,
        limit: u32,
    ) -> Result<ScanPage<ContentRecord>, EngineError> {
        self.scan_for(from, limit, &RECORDS).await
    }

    async fn scan_for<T>(
        &self,
        from: Option<&str>,
        limit: u32,
        reading: &Reading<T>,
    ) -> Result<ScanPage<T>, EngineError> {
        match (&self.source, from) {
            (Some(source), Some(after)) if after.starts_with(SOURCE_MARK) => {
                source.scan(after, limit, reading).await
            }
            // The cursor is of the user's table, which was removed since.
            (None, Some(after)) if after.starts_with(SOURCE_MARK) => Ok(ScanPage {
                records: Vec::new(),
                next: None,
            }),
            (source, from) => {
                let mut page = self.scan_own(from, limit, reading).await?;
                // No key is empty, so the mark alone is the cursor of the beginning.
                let beginning = source.as_ref().map(|_| SOURCE_MARK.to_string());
                page.next = page.next.or(beginning);
                Ok(page)
            }
        }
    }
}
