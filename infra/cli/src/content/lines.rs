//! The lines of a content file, parsed on a thread of their own.

use std::io::{self, BufRead as _, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use check::document::input::{Input, Limits};
use serde_json::Value;
use sitemap::loc::Loc;
use sitemap::mapping::SOURCE_MARK;
use sitemap::record::{ContentRecord, Problem};
use sitemap::site::{SiteSettings, host_of_site_id};
use tokio::sync::mpsc;

use super::attributes::plain;
use super::outcome::WHOLE_LINE;

/// Items of one `BatchWriteItem` (DynamoDB).
pub(crate) const BATCH: usize = 25;
/// Batches under way at the same time.
pub const CONCURRENCY: usize = 4;
/// Bytes of a primary key (DynamoDB).
pub const MAX_KEY_BYTES: usize = 2_048;

/// Bytes of a line: more than the JSON of any item that DynamoDB takes.
const MAX_LINE_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes of a line that is passed over. One without an end is no line: a device may go on for ever.
const MAX_PASSED_BYTES: u64 = 256 * 1024 * 1024;
/// Parsed lines that wait for the table.
const LINES_AHEAD: usize = 2 * BATCH * CONCURRENCY;

pub(crate) type Item = std::collections::HashMap<String, AttributeValue>;

/// Returns the id of an item. Empty if it has none.
pub(crate) fn id_of(item: &Item) -> &str {
    let id = item.get("id").and_then(|id| id.as_s().ok());
    id.map_or("", String::as_str)
}

/// A line of a file.
pub(crate) struct Line {
    /// From 1.
    pub(crate) number: u64,
    /// Its bytes; none of a line that is too long.
    pub(crate) bytes: Vec<u8>,
    pub(crate) parsed: Result<Parsed, Malformed>,
}

/// A line of a file as it is to be loaded.
pub(crate) struct Parsed {
    pub(crate) id: String,
    pub(crate) item: Item,
    pub(crate) record: ContentRecord,
    pub(crate) value: Value,
    pub(crate) problems: Vec<Problem>,
}

/// The field of a line that cannot be loaded, and the reason.
pub(crate) type Malformed = (String, String);

/// Reads the lines of a file, and parses them on a thread of their own. The thread ends with the file, or when the receiver is dropped.
pub(crate) fn read_lines(
    reader: impl Read + Send + 'static,
) -> io::Result<mpsc::Receiver<io::Result<Line>>> {
    let (send, lines) = mpsc::channel(LINES_AHEAD);
    let read = move || {
        let mut lines = Lines::new(reader);
        loop {
            let line = match lines.next() {
                Ok(None) => return,
                Ok(Some((number, line))) => {
                    let (bytes, parsed) = match line {
                        Ok(bytes) => {
                            let parsed = parse(&bytes);
                            (bytes, parsed)
                        }
                        Err(malformed) => (Vec::new(), Err(malformed)),
                    };
                    Ok(Line {
                        number,
                        bytes,
                        parsed,
                    })
                }
                Err(error) => Err(error),
            };
            let ends = line.is_err();
            if send.blocking_send(line).is_err() || ends {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("content".to_owned())
        .spawn(read)?;
    Ok(lines)
}

/// Counts the bytes that are read: of a gzipped file the compressed ones, since those are what its size says.
pub(crate) struct Counted<R> {
    pub(crate) reader: R,
    pub(crate) read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.reader.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// A body of which a copy is made. A line without an end is no line, and would fill the disk.
pub(crate) struct Lined<R> {
    pub(crate) reader: R,
    /// Bytes since the last line break.
    pub(crate) since: u64,
}

impl<R: Read> Read for Lined<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(out)?;
        self.since = match out[..count].iter().rposition(|byte| *byte == b'\n') {
            Some(last) => (count - last) as u64,
            None => self.since + count as u64,
        };
        match self.since > MAX_PASSED_BYTES {
            true => Err(endless("a line")),
            false => Ok(count),
        }
    }
}

fn endless(line: &str) -> io::Error {
    let mib = MAX_PASSED_BYTES / (1024 * 1024);
    let text = format!("{line} is longer than {mib} MiB: this is not a file of records");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Numbered lines that are not blank, without byte order mark.
pub(crate) struct Lines<'a> {
    input: Input<'a>,
    number: u64,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(reader: impl Read + 'a) -> Self {
        // A line that is too long is refused, and the next is read.
        let input = Input::open(reader, Limits::NONE);
        Self { input, number: 0 }
    }

    /// Returns the next line's number and bytes, or why it is too long. Returns `None` at the end.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or a line has no end within [`MAX_PASSED_BYTES`].
    #[expect(clippy::type_complexity, reason = "a line's number, and what it is")]
    pub(crate) fn next(&mut self) -> io::Result<Option<(u64, Result<Vec<u8>, Malformed>)>> {
        loop {
            let mut line = Vec::new();
            let limited = self.input.by_ref().take(MAX_LINE_BYTES + 1);
            if { limited }.read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if line.len() as u64 > MAX_LINE_BYTES && !line.ends_with(b"\n") {
                let passed = self
                    .input
                    .by_ref()
                    .take(MAX_PASSED_BYTES)
                    .skip_until(b'\n')?;
                if passed as u64 == MAX_PASSED_BYTES {
                    return Err(endless(&format!("line {}", self.number)));
                }
                return Ok(Some((self.number, Err(too_long()))));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some((self.number, Ok(line))));
            }
        }
    }
}

/// Says that a line is too long.
pub(crate) fn too_long() -> Malformed {
    whole(format!(
        "the line is longer than {} MiB; DynamoDB takes records of at most 400 KB",
        MAX_LINE_BYTES / (1024 * 1024)
    ))
}

/// Parses a line. Its error is the field and the reason why the line cannot be loaded.
fn parse(line: &[u8]) -> Result<Parsed, Malformed> {
    let RecordLine {
        record,
        value,
        typed,
        problems,
    } = read_record(line)?;
    let item = match typed {
        Some(item) => item,
        None => serde_dynamo::to_item(&value).map_err(|error| whole(error.to_string()))?,
    };
    Ok(Parsed {
        id: record.id.clone(),
        item,
        record,
        value,
        problems,
    })
}

/// A line's record.
pub(crate) struct RecordLine {
    pub(crate) record: ContentRecord,
    pub(crate) value: Value,
    /// The item that a table takes, if the line has DynamoDB's types.
    pub(crate) typed: Option<Item>,
    pub(crate) problems: Vec<Problem>,
}

fn whole(reason: String) -> Malformed {
    (WHOLE_LINE.to_owned(), reason)
}

/// Reads the record of a line. Its error is as of a line that is loaded.
pub(crate) fn read_record(line: &[u8]) -> Result<RecordLine, Malformed> {
    let value: Value = serde_json::from_slice(line).map_err(|error| whole(not_json(&error)))?;
    let object = value
        .as_object()
        .ok_or_else(|| whole("not a JSON object".to_owned()))?;
    // DynamoDB's own JSON, as `waymark export --typed` writes it: there an id is {"S": "…"}, which no record's is.
    let is_typed = object.get("id").is_some_and(Value::is_object);
    let (value, typed) = if is_typed {
        let item: serde_dynamo::Item =
            serde_json::from_value(value).map_err(|error| whole(error.to_string()))?;
        let item: Item = item.into();
        (plain(&item, &mut false), Some(item))
    } else {
        (value, None)
    };
    let id = match value.get("id") {
        None | Some(Value::Null) => Err("missing".to_owned()),
        Some(Value::String(id)) if id.is_empty() => Err("empty".to_owned()),
        Some(Value::String(id)) if id.len() > MAX_KEY_BYTES => Err(format!(
            "{} bytes long; DynamoDB takes keys of at most {MAX_KEY_BYTES}",
            id.len()
        )),
        Some(Value::String(id)) if id.starts_with(SOURCE_MARK) => Err(format!(
            "begins with {SOURCE_MARK}, which is reserved for items of your own table"
        )),
        Some(Value::String(id)) => Ok(id),
        Some(other) => Err(format!("{other} is not text")),
    };
    let id = id.map_err(|reason| ("id".to_owned(), reason))?;
    let record = ContentRecord::parse(id, &value);
    let problems = problems(id, &value, &record);
    Ok(RecordLine {
        record,
        value,
        typed,
        problems,
    })
}

/// Finds the problems of a record that do not depend on the settings of its site.
fn problems(id: &str, value: &Value, record: &ContentRecord) -> Vec<Problem> {
    let is_settings = record.is_settings();
    let mut problems = record.problems.clone();
    if !is_settings {
        let is_told = problems.iter().any(|problem| problem.field == "url");
        if !is_told && let Err(error) = Loc::parse_any(&record.url) {
            let reason = format!("{:?}: {error}", record.url);
            problems.insert(0, Problem::new("url", &reason, true));
        }
    } else if problems.is_empty() {
        // Settings are no page: their fields are read as the functions read them.
        match host_of_site_id(id).map(|host| SiteSettings::parse(host, value)) {
            Some(Ok(settings)) => problems = settings.problems,
            Some(Err(error)) => problems.push(Problem::new("id", &error.to_string(), true)),
            None => {}
        }
    }
    problems
}

/// Formats why a line is not JSON, and in which column. The line has no line breaks, so the parser's own "line 1" would mislead.
fn not_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    format!("not JSON, at column {}: {text}", error.column())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[track_caller]
    fn check(line: &[u8], expected: &[(&str, &str)]) {
        let found = match parse(line) {
            Ok(parsed) => parsed
                .problems
                .into_iter()
                .map(|problem| (problem.field, problem.reason))
                .collect(),
            Err(malformed) => vec![malformed],
        };
        let found: Vec<_> = found
            .iter()
            .map(|(field, reason)| (field.as_str(), reason.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_not_json_says_the_column_and_no_line_of_its_own() {
        check(
            b"{\"id\": \"a\", oops}",
            &[("-", "not JSON, at column 13: key must be a string")],
        );
        check(
            b"{\"id\": \"a\"",
            &[("-", "not JSON, at column 10: EOF while parsing an object")],
        );
    }

    #[test]
    fn a_url_that_no_page_can_have_is_told() {
        for (url, reason) in [
            ("nope", "\"nope\": not an absolute URL"),
            ("/rel", "\"/rel\": not an absolute URL"),
            ("x#y", "\"x#y\": has a fragment"),
            (
                "javascript:alert(1)",
                "\"javascript:alert(1)\": the scheme javascript is neither http nor https",
            ),
            (
                "https://www.example.com/a#b",
                "\"https://www.example.com/a#b\": has a fragment",
            ),
        ] {
            let line = serde_json::json!({"id": "a", "type": "post", "url": url});
            check(line.to_string().as_bytes(), &[("url", reason)]);
        }
        // One problem is enough, and settings have no url.
        check(br#"{"id": "a", "type": "post"}"#, &[("url", "missing")]);
        check(br#"{"id": "site/www.example.com", "type": "site"}"#, &[]);
    }

    #[test]
    fn a_line_that_is_too_long_says_so_and_the_next_is_read() {
        let limit = usize::try_from(MAX_LINE_BYTES).unwrap();
        let file = ["x".repeat(limit + 1), "y".repeat(limit), "z".to_owned()].join("\n");
        let mut lines = Lines::new(file.as_bytes());
        let (number, long) = lines.next().unwrap().unwrap();
        assert_eq!(number, 1);
        assert!(long.is_err_and(|(_, reason)| reason.contains("longer than 4 MiB")));
        for (expected, bytes) in [(2, limit + 1), (3, 1)] {
            let (number, line) = lines.next().unwrap().unwrap();
            assert_eq!((number, line.unwrap().len()), (expected, bytes));
        }
        assert!(lines.next().unwrap().is_none());
    }

    #[test]
    fn of_a_gzipped_file_the_compressed_bytes_are_counted() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        io::Write::write_all(&mut gzip, &b"{\"id\": \"a\"}\n".repeat(100_000)).unwrap();
        let gzip = gzip.finish().unwrap();
        let (bytes, read) = (gzip.len() as u64, Arc::new(AtomicU64::new(0)));
        let reader = Counted {
            reader: Cursor::new(gzip),
            read: read.clone(),
        };
        let mut lines = read_lines(reader).unwrap();
        let mut count = 0;
        while lines.blocking_recv().is_some() {
            count += 1;
        }
        assert_eq!((count, read.load(Ordering::Relaxed)), (100_000, bytes));
    }
}
