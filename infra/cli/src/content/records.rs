//! The records of content files, in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::lines::{Counted, Line, Parsed, read_lines};
use super::outcome::{LineProblem, Loaded, WHOLE_LINE, digest};
use super::source::{LoadError, Source};
use crate::terminal::progress::{Progress, Unit};

/// A record of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its id.
    pub id: String,
    /// Its fields.
    pub value: Value,
    /// Whether it is a site's settings.
    pub is_settings: bool,
}

/// Reads a source, gives `take` its records in order, and shows how far it is. What `take` refuses is malformed for that reason.
///
/// # Errors
///
/// If the file cannot be read.
pub async fn read(
    source: &Source,
    mut take: impl FnMut(Record) -> Result<(), String>,
) -> Result<Loaded, LoadError> {
    let name = source.name();
    let failed = |error| LoadError::File {
        file: name.clone(),
        error,
    };
    let (reader, bytes) = source.open().map_err(failed)?;
    let count = Arc::new(AtomicU64::new(0));
    let counted = Counted {
        reader,
        read: count.clone(),
    };
    let mut lines = read_lines(counted).map_err(failed)?;
    let mut progress = Progress::begin(&format!("reading {name}"), Unit::Bytes, bytes);
    let mut loaded = Loaded::default();
    while let Some(parsed) = lines.recv().await {
        let Line { number, parsed, .. } = parsed.map_err(failed)?;
        let problem = |field: String, reason: String, closes| LineProblem {
            file: name.clone(),
            line: number,
            field,
            reason,
            closes,
        };
        let malformed = match parsed {
            Ok(Parsed {
                id,
                value,
                record,
                problems,
                ..
            }) => {
                let problems = problems.into_iter();
                let problems = problems.map(|one| problem(one.field, one.reason, one.closes));
                loaded.problems.extend(problems);
                let is_settings = record.is_settings();
                let digest = digest(&id);
                match take(Record {
                    id,
                    value,
                    is_settings,
                }) {
                    Ok(()) => {
                        loaded.records += 1;
                        loaded.note_digest(digest);
                        None
                    }
                    Err(reason) => Some((WHOLE_LINE.to_owned(), reason)),
                }
            }
            Err(malformed) => Some(malformed),
        };
        if let Some((field, reason)) = malformed {
            loaded.refuse(problem(field, reason, true));
        }
        if loaded.records.is_multiple_of(1_000) {
            progress.reach(count.load(Ordering::Relaxed));
        }
    }
    Ok(loaded)
}
