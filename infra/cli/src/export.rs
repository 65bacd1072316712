//! `waymark export`: the records of a table as JSON Lines, and which of them.

use std::collections::HashMap;
use std::io::{self, Write};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use engine::content::SourceTable;
use serde::Serialize;
use serde_json::Value;
use sitemap::mapping::SOURCE_MARK;
use sitemap::record::{ContentRecord, Problem};

use crate::content::attributes::{plain, typed};
use crate::content::id_of;
use crate::error::permission;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::text::json_escaped;

pub(crate) mod command;
mod redirects;

type Item = HashMap<String, AttributeValue>;

/// Which records are exported. A filter that is not set matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Those of this site.
    pub site: Option<String>,
    /// Those of this type.
    pub type_name: Option<String>,
    /// Those that have changed since then (Unix seconds), and those without a date.
    pub since: Option<i64>,
}

impl Scope {
    /// Returns whether a record is exported. A site's settings belong to the site.
    #[must_use]
    pub fn has(&self, record: &ContentRecord) -> bool {
        let own = sitemap::site::host_of_site_id(&record.id);
        let site = own.filter(|_| record.is_settings()).unwrap_or(&record.site);
        let is_since = |since: i64| record.last_change().is_none_or(|at| at.seconds() >= since);
        self.site.as_ref().is_none_or(|wanted| wanted == site)
            && self
                .type_name
                .as_ref()
                .is_none_or(|wanted| *wanted == record.type_name)
            && self.since.is_none_or(is_since)
    }
}

/// The result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Records that were written.
    pub records: u64,
    /// Those of them that lose something in plain JSON: sets, binaries, long numbers.
    pub not_whole: u64,
    /// Items of a mapped table that no record can be made of, and why.
    pub not_mapped: u64,
}

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The table cannot be read.
    #[error("failed to read the table: {0}")]
    Table(String),
    /// The records cannot be written.
    #[error("cannot write the records: {0}")]
    Output(io::Error),
}

/// Writes the records of a table.
///
/// # Errors
///
/// If the table cannot be read, or the records not be written.
pub async fn export(
    client: &Client,
    table: &str,
    scope: &Scope,
    is_typed: bool,
    out: &mut (dyn Write + Send),
) -> Result<Exported, ExportError> {
    let mut writing = Writing::begin(table, scope, is_typed, out);
    let scanned = scan(client, table, |item| {
        let mut is_lossy = false;
        let value = plain(&item, &mut is_lossy);
        writing.write(id_of(&item), &value, is_lossy, || typed(item.clone()))
    })
    .await;
    writing.end(scanned)
}

/// Writes the pages of a user's table, as records of the content table. `problem` is called for items of which the mapping makes
/// no whole record, with the id and the reason.
///
/// # Errors
///
/// As [`export`].
pub async fn export_mapped(
    client: &Client,
    source: &SourceTable,
    scope: &Scope,
    is_typed: bool,
    out: &mut (dyn Write + Send),
    mut problem: impl FnMut(&str, &Problem) + Send,
) -> Result<Exported, ExportError> {
    let mut writing = Writing::begin(source.name(), scope, is_typed, out);
    let scanned = scan(client, source.name(), |item| {
        let (Some(id), item) = source.read(aws::item(item)) else {
            return Ok(());
        };
        if source.mapping().mismatch(&item).is_some() {
            return Ok(());
        }
        // The content table takes no id that begins with the mark.
        let id = format!("{}/{}", source.name(), id.trim_start_matches(SOURCE_MARK));
        let (mut record, problems) = source.mapping().content(&item);
        if let Some(closing) = problems.iter().find(|problem| problem.closes) {
            writing.exported.not_mapped += 1;
            problem(&id, closing);
            return Ok(());
        }
        if let Some(fields) = record.as_object_mut() {
            fields.insert("id".to_owned(), id.clone().into());
        }
        let item = || {
            let item = serde_dynamo::to_item::<_, Item>(&record);
            typed(item.map_err(serde::de::Error::custom)?)
        };
        writing.write(&id, &record, false, item)
    })
    .await;
    writing.end(scanned)
}

/// An export into one file.
struct Writing<'w> {
    scope: &'w Scope,
    is_typed: bool,
    out: &'w mut (dyn Write + Send),
    exported: Exported,
    /// Why a record could not be written.
    failed: Option<io::Error>,
    progress: Progress,
}

impl<'w> Writing<'w> {
    fn begin(
        table: &str,
        scope: &'w Scope,
        is_typed: bool,
        out: &'w mut (dyn Write + Send),
    ) -> Self {
        Self {
            scope,
            is_typed,
            out,
            exported: Exported::default(),
            failed: None,
            progress: Progress::begin(&format!("exporting {table}"), Unit::Things("records"), None),
        }
    }

    /// Writes a record if it is in the scope.
    fn write(
        &mut self,
        id: &str,
        value: &Value,
        is_lossy: bool,
        typed: impl FnOnce() -> serde_json::Result<Value>,
    ) -> Result<(), String> {
        if !self.scope.has(&ContentRecord::parse(id, value)) {
            return Ok(());
        }
        self.exported.records += 1;
        self.exported.not_whole += u64::from(is_lossy && !self.is_typed);
        self.progress.reach(self.exported.records);
        let line = match self.is_typed {
            true => typed().and_then(|value| serde_json::to_string(&value)),
            false => serde_json::to_string(value),
        };
        let written = line.map_err(io::Error::from).and_then(|line| {
            self.out.write_all(json_escaped(&line).as_bytes())?;
            self.out.write_all(b"\n")
        });
        written.map_err(|error| {
            let text = error.to_string();
            self.failed = Some(error);
            text
        })
    }

    fn end(self, scanned: Result<(), String>) -> Result<Exported, ExportError> {
        match (self.failed, scanned) {
            (Some(error), _) => return Err(ExportError::Output(error)),
            (None, Err(error)) => return Err(ExportError::Table(error)),
            (None, Ok(())) => {}
        }
        self.out.flush().map_err(ExportError::Output)?;
        Ok(self.exported)
    }
}

/// Passes on every item of a table, read consistently. Ends early with what `each` says.
pub(crate) async fn scan(
    client: &Client,
    table: &str,
    mut each: impl FnMut(Item) -> Result<(), String> + Send,
) -> Result<(), String> {
    let mut after: Option<Item> = None;
    loop {
        let page = client
            .scan()
            .table_name(table)
            .consistent_read(true)
            .set_exclusive_start_key(after)
            .send()
            .await
            .map_err(|error| permission::dynamodb("Scan", table, &error))?;
        for item in page.items.unwrap_or_default() {
            each(item)?;
        }
        match page.last_evaluated_key {
            Some(key) => after = Some(key),
            None => return Ok(()),
        }
    }
}
