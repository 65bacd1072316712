//! `waymark export`: the records of a table as JSON Lines, and which of them.

use std::collections::HashMap;
use std::io::{self, Write};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use sitemap::record::ContentRecord;

use crate::content::attributes::{plain, typed};
use crate::content::id_of;
use crate::error::permission;
use crate::terminal::progress::{Progress, Unit};
use crate::terminal::text::json_escaped;

pub(crate) mod command;

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
    let mut exported = Exported::default();
    let mut failed = None;
    let mut progress =
        Progress::begin(&format!("exporting {table}"), Unit::Things("records"), None);
    let scanned = scan(client, table, |item| {
        let mut is_lossy = false;
        let value = plain(&item, &mut is_lossy);
        if !scope.has(&ContentRecord::parse(id_of(&item), &value)) {
            return Ok(());
        }
        exported.records += 1;
        exported.not_whole += u64::from(is_lossy && !is_typed);
        progress.reach(exported.records);
        let line = match is_typed {
            true => typed(item).and_then(|value| serde_json::to_string(&value)),
            false => serde_json::to_string(&value),
        };
        let written = line.map_err(io::Error::from).and_then(|line| {
            out.write_all(json_escaped(&line).as_bytes())?;
            out.write_all(b"\n")
        });
        written.map_err(|error| {
            let text = error.to_string();
            failed = Some(error);
            text
        })
    })
    .await;
    match (failed, scanned) {
        (Some(error), _) => return Err(ExportError::Output(error)),
        (None, Err(error)) => return Err(ExportError::Table(error)),
        (None, Ok(())) => {}
    }
    out.flush().map_err(ExportError::Output)?;
    Ok(exported)
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
