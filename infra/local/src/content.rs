//! Content files: JSON Lines, plain or gzipped, into the content table.
//!
//! - A line that cannot become an item is reported with its number, field and reason, and left out.
//! - A line whose record has a bad field is loaded and reported: the ledger will say the same.
//! - Of two lines with one id the later one stands.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use flate2::read::MultiGzDecoder;
use futures::future::try_join_all;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use sitemap::mapping::SOURCE_MARK;
use sitemap::record::{ContentRecord, Problem};
use sitemap::site::{SITE_TYPE, SiteSettings, host_of_site_id};

use crate::sample::sample;

/// Items of one `BatchWriteItem` (DynamoDB).
const BATCH: usize = 25;
/// Batches under way at the same time.
const CONCURRENCY: usize = 4;
/// Bytes of a primary key (DynamoDB).
const MAX_KEY_BYTES: usize = 2_048;
/// Bytes of a line: more than any item's JSON can have.
const MAX_LINE_BYTES: u64 = 4 * 1024 * 1024;
/// What loading the sample says it reads.
pub const SAMPLE_NAME: &str = "the sample site";

type Item = std::collections::HashMap<String, AttributeValue>;

/// What a line was found to be wrong with.
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
        write!(f, "{file}:{line}: {field}: {reason}")
    }
}

/// What loading came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Items written.
    pub records: u64,
    /// What was wrong.
    pub problems: Vec<LineProblem>,
}

/// Why a file could not be loaded to its end.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("{file}: {error}")]
    File {
        /// The file.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// The table does not take items.
    #[error("the content table: {0}")]
    Table(String),
}

/// Where content comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The sample site, as of a time in Unix seconds.
    Sample(i64),
    /// A file.
    File(PathBuf),
}

/// Loads a source into the content table. With a progress bar if the process has a terminal.
///
/// # Errors
///
/// If the file cannot be read, or the table fails.
pub async fn load(client: &Client, table: &str, source: &Source) -> Result<Loaded, LoadError> {
    let name = match source {
        Source::Sample(_) => SAMPLE_NAME.to_owned(),
        Source::File(path) => path.display().to_string(),
    };
    let failed = |error| LoadError::File {
        file: name.clone(),
        error,
    };
    let (reader, bytes): (Box<dyn Read + Send>, u64) = match source {
        Source::Sample(at) => {
            let text = sample(*at).into_bytes();
            let bytes = text.len() as u64;
            (Box::new(Cursor::new(text)), bytes)
        }
        Source::File(path) => open(path).map_err(failed)?,
    };
    let bar = ProgressBar::new(bytes);
    let style =
        ProgressStyle::with_template("{prefix} {wide_bar} {bytes}/{total_bytes} {msg} {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(format!("loading {name}"));
    let mut lines = Lines::new(bar.wrap_read(reader)).map_err(failed)?;
    let mut loaded = Loaded::default();
    let mut chunk = Chunk {
        client,
        table,
        file: &name,
        items: Vec::new(),
        ids: HashSet::new(),
    };
    while let Some((line, text)) = lines.next().map_err(failed)? {
        match parse(&text) {
            Ok((id, item, record)) => {
                let problem = |problem: Problem| LineProblem {
                    file: name.clone(),
                    line,
                    field: problem.field,
                    reason: problem.reason,
                    closes: problem.closes,
                };
                loaded
                    .problems
                    .extend(record.problems.into_iter().map(problem));
                if chunk.items.len() == BATCH * CONCURRENCY || chunk.ids.contains(&id) {
                    chunk.flush(&mut loaded).await?;
                    bar.set_message(format!("{} records", loaded.records));
                }
                chunk.ids.insert(id);
                chunk.items.push((line, item));
            }
            Err((field, reason)) => {
                loaded.problems.push(LineProblem {
                    file: name.clone(),
                    line,
                    field,
                    reason,
                    closes: true,
                });
            }
        }
    }
    chunk.flush(&mut loaded).await?;
    bar.finish_and_clear();
    Ok(loaded)
}

/// A file as a stream of plain bytes, decoded if it begins as gzip does, and its size on disk.
fn open(path: &Path) -> std::io::Result<(Box<dyn Read + Send>, u64)> {
    let mut file = BufReader::new(File::open(path)?);
    let bytes = file.get_ref().metadata()?.len();
    let gzip = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    Ok(if gzip {
        (Box::new(MultiGzDecoder::new(file)), bytes)
    } else {
        (Box::new(file), bytes)
    })
}

/// Numbered lines that are not blank, without byte order mark and line ends.
struct Lines<R> {
    reader: BufReader<R>,
    number: u64,
}

impl<R: Read> Lines<R> {
    fn new(reader: R) -> std::io::Result<Self> {
        let mut reader = BufReader::new(reader);
        if reader.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            reader.consume(3);
        }
        Ok(Self { reader, number: 0 })
    }

    fn next(&mut self) -> std::io::Result<Option<(u64, Vec<u8>)>> {
        loop {
            let mut line = Vec::new();
            if self
                .reader
                .by_ref()
                .take(MAX_LINE_BYTES)
                .read_until(b'\n', &mut line)?
                == 0
            {
                return Ok(None);
            }
            self.number += 1;
            if line.len() as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
                // The rest of it is read and dropped; what is kept is no JSON, and is reported as such.
                self.reader.skip_until(b'\n')?;
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some((self.number, line)));
            }
        }
    }
}

/// A line's id, item and record, or the field and the reason why it is none.
fn parse(line: &[u8]) -> Result<(String, Item, ContentRecord), (String, String)> {
    let whole = |reason: String| ("-".to_owned(), reason);
    let value: Value =
        serde_json::from_slice(line).map_err(|error| whole(format!("not JSON: {error}")))?;
    let object = value
        .as_object()
        .ok_or_else(|| whole("not a JSON object".to_owned()))?;
    let id = match object.get("id") {
        None | Some(Value::Null) => Err("missing".to_owned()),
        Some(Value::String(id)) if id.is_empty() => Err("empty".to_owned()),
        Some(Value::String(id)) if id.len() > MAX_KEY_BYTES => {
            Err(format!("{} bytes, at most {MAX_KEY_BYTES}", id.len()))
        }
        Some(Value::String(id)) if id.starts_with(SOURCE_MARK) => Err(format!(
            "begins with {SOURCE_MARK}, as only those of another table's items do"
        )),
        Some(Value::String(id)) => Ok(id.clone()),
        Some(other) => Err(format!("{other} is not text")),
    };
    let id = id.map_err(|reason| ("id".to_owned(), reason))?;
    let mut record = ContentRecord::parse(&id, &value);
    let item = serde_dynamo::to_item(&value).map_err(|error| whole(error.to_string()))?;
    if record.type_name == SITE_TYPE && record.problems.is_empty() {
        // Settings are no page: their fields are read as whoever uses them reads them.
        match host_of_site_id(&id).map(|host| SiteSettings::parse(host, &value)) {
            Some(Ok(settings)) => record.problems = settings.problems,
            Some(Err(error)) => {
                record.problems = vec![Problem::new("id", &error.to_string(), true)]
            }
            None => {}
        }
    }
    Ok((id, item, record))
}

/// Items on their way to the table, with distinct ids.
struct Chunk<'a> {
    client: &'a Client,
    table: &'a str,
    file: &'a str,
    items: Vec<(u64, Item)>,
    ids: HashSet<String>,
}

impl Chunk<'_> {
    async fn flush(&mut self, loaded: &mut Loaded) -> Result<(), LoadError> {
        self.ids.clear();
        let items = std::mem::take(&mut self.items);
        for (written, problems) in
            try_join_all(items.chunks(BATCH).map(|batch| self.write(batch))).await?
        {
            loaded.records += written;
            loaded.problems.extend(problems);
        }
        Ok(())
    }

    async fn write(&self, batch: &[(u64, Item)]) -> Result<(u64, Vec<LineProblem>), LoadError> {
        let put = |item: &Item| PutRequest::builder().set_item(Some(item.clone())).build();
        let requests = batch
            .iter()
            .map(|(_, item)| Ok(WriteRequest::builder().put_request(put(item)?).build()));
        let requests: Result<Vec<_>, aws_sdk_dynamodb::error::BuildError> = requests.collect();
        let requests = requests.map_err(|error| LoadError::Table(error.to_string()))?;
        let output = self
            .client
            .batch_write_item()
            .request_items(self.table, requests)
            .send()
            .await;
        if output.is_ok_and(|output| {
            output
                .unprocessed_items
                .is_none_or(|items| items.is_empty())
        }) {
            return Ok((batch.len() as u64, Vec::new()));
        }
        // DynamoDB refuses a batch whole for one bad item (too large, an empty key): each for itself tells which.
        let mut problems = Vec::new();
        for (line, item) in batch {
            let output = self
                .client
                .put_item()
                .table_name(self.table)
                .set_item(Some(item.clone()))
                .send()
                .await;
            if let Err(error) = output {
                let error = error.into_service_error();
                match error.meta().code() {
                    Some("ValidationException") => problems.push(LineProblem {
                        file: self.file.to_owned(),
                        line: *line,
                        field: "-".to_owned(),
                        reason: error
                            .meta()
                            .message()
                            .unwrap_or("refused by DynamoDB")
                            .to_owned(),
                        closes: true,
                    }),
                    _ => return Err(LoadError::Table(error.to_string())),
                }
            }
        }
        Ok(((batch.len() - problems.len()) as u64, problems))
    }
}
