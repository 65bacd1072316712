//! Content files: JSON Lines, plain or gzipped, into the content table.
//!
//! - A line that cannot become an item is reported with its number, field and reason, and left out.
//! - A line whose record has a bad field or a bad URL is loaded and reported: the ledger will say the same.
//! - Of two lines with one id the later one stands.
//! - Files are read and parsed on a thread of their own: a pipe that nobody writes to must not hold up a signal.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::load::Loader;
use crate::progress::{Progress, Unit};
use crate::sample::sample;

mod lines;

pub(crate) use lines::{Counted, Line, Parsed, read_lines};

/// Items of one `BatchWriteItem` (DynamoDB).
pub(crate) const BATCH: usize = 25;
/// Batches under way at the same time.
pub const CONCURRENCY: usize = 4;
/// Bytes of a primary key (DynamoDB).
pub const MAX_KEY_BYTES: usize = 2_048;
/// What loading the sample says it reads.
pub const SAMPLE_NAME: &str = "the sample site";
/// The name on the command line, and in messages, of standard input.
pub const STDIN_NAME: &str = "-";
/// Stands for the line as a whole where a problem names a field.
pub(crate) const WHOLE_LINE: &str = "-";

pub(crate) type Item = std::collections::HashMap<String, AttributeValue>;

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineProblem {
    /// The file.
    pub file: String,
    /// The line's number, from 1.
    pub line: u64,
    /// The field; `-` if it is the line as a whole.
    pub field: String,
    /// The reason.
    pub reason: String,
    /// Whether the record is left out of the sitemaps, or of the table altogether.
    pub closes: bool,
}

impl std::fmt::Display for LineProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            file,
            line,
            field,
            reason,
            ..
        } = self;
        match field.as_str() {
            WHOLE_LINE => write!(f, "{file}:{line}: {reason}"),
            field => write!(f, "{file}:{line}: {field}: {reason}"),
        }
    }
}

/// What loading came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Items written, each time that one was.
    pub records: u64,
    /// Lines that are not in the table, since they cannot become an item.
    pub malformed: u64,
    /// Items that the table had already.
    pub unchanged: u64,
    /// What was wrong.
    pub problems: Vec<LineProblem>,
    /// Digests of the ids of the items written: of two lines with one id the later one stands.
    ids: HashSet<u64>,
}

impl Loaded {
    /// Adds what loading another file came to.
    pub fn add(&mut self, other: Self) {
        self.records += other.records;
        self.malformed += other.malformed;
        self.unchanged += other.unchanged;
        self.problems.extend(other.problems);
        self.ids.extend(other.ids);
    }

    /// Records that are in the table: a line with the id of an earlier one has replaced it.
    #[must_use]
    pub fn distinct(&self) -> u64 {
        self.ids.len() as u64
    }

    /// Whether an item with this id was among them.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.ids.contains(&digest(id))
    }

    /// What is wrong if no line of all that was read is a record. `next`: the command that records go to.
    #[must_use]
    pub fn no_records(&self, sources: &[Source], next: &'static str) -> Option<NoRecords> {
        let is_none = self.malformed > 0 && self.ids.is_empty();
        is_none.then(|| {
            let names: Vec<String> = sources.iter().map(Source::name).collect();
            NoRecords {
                files: names.join(" "),
                next,
            }
        })
    }

    pub(crate) fn note_id(&mut self, id: &str) {
        self.ids.insert(digest(id));
    }

    pub(crate) fn refuse(&mut self, problem: LineProblem) {
        self.malformed += 1;
        self.problems.push(problem);
    }
}

/// No line of what was read is a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{files}: not JSON Lines, since no line is a record. `waymark import {files} | waymark {next}` makes records of CSV, of \
     sitemaps and of other systems' exports first"
)]
pub struct NoRecords {
    /// The files.
    pub files: String,
    /// The command that records go to.
    pub next: &'static str,
}

/// Why a file could not be loaded to its end.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("failed to read {file}: {error}")]
    File {
        /// The file.
        file: String,
        /// Why.
        error: io::Error,
    },
    /// The table does not take items.
    #[error("failed to write to the content table: {0}")]
    Table(String),
    /// The journal, or the file of malformed lines.
    #[error("{}: {error}", file.display())]
    Beside {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Where content comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The sample site, as of a time in Unix seconds.
    Sample(i64),
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Source {
    /// What messages call it.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Sample(_) => SAMPLE_NAME.to_owned(),
            Self::Stdin => STDIN_NAME.to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Its bytes as they are stored, and how many there are, if that is known.
    pub(crate) fn open(&self) -> io::Result<(Box<dyn Read + Send>, Option<u64>)> {
        Ok(match self {
            Self::Sample(at) => {
                let text = sample(*at).into_bytes();
                let bytes = text.len() as u64;
                (Box::new(Cursor::new(text)), Some(bytes))
            }
            Self::Stdin => (Box::new(io::stdin()), None),
            Self::File(path) => {
                let (file, metadata) = open_file(path)?;
                // A pipe or a device has no size.
                (Box::new(file), metadata.is_file().then_some(metadata.len()))
            }
        })
    }
}

fn open_file(path: &Path) -> io::Result<(File, std::fs::Metadata)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "is a folder, not a file",
        ));
    }
    Ok((file, metadata))
}

/// Loads a source into the content table, and shows how far it is.
///
/// # Errors
///
/// If the file cannot be read, or the table fails.
pub async fn load(client: &Client, table: &str, source: &Source) -> Result<Loaded, LoadError> {
    Loader::new(client, table).load(source).await
}

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
                let digest = digest(&id);
                let is_settings = record.is_settings();
                match take(Record {
                    id,
                    value,
                    is_settings,
                }) {
                    Ok(()) => {
                        loaded.records += 1;
                        loaded.ids.insert(digest);
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

/// 64 bits of an id's hash: ten million ids take 80 MB, and no two of them are likely to share one.
fn digest(id: &str) -> u64 {
    let hash = Sha256::digest(id.as_bytes());
    hash.iter()
        .take(8)
        .fold(0, |digest, byte| digest << 8 | u64::from(*byte))
}

/// Why DynamoDB does not take an item.
pub(crate) fn refusal(item: &Item, message: &str) -> String {
    let id = id_of(item);
    if message.contains("Item size has exceeded") {
        return format!("record {id:?} is larger than DynamoDB's 400 KB");
    }
    format!("record {id:?} was refused by DynamoDB: {message}")
}

pub(crate) fn id_of(item: &Item) -> &str {
    let id = item.get("id").and_then(|id| id.as_s().ok());
    id.map_or("", String::as_str)
}
