//! Reads files of logs into a join, and counts what was read and what was not.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::net::IpAddr;

use crate::forms::{self, Form, Undetected};
#[cfg(feature = "parquet")]
use crate::input::Stop;
#[cfg(feature = "parquet")]
use crate::input::table::TableError;
use crate::input::{Lines, MAX_LINE_BYTES};
use crate::join::{Join, Taken};
use crate::report::{FormUse, Logs, Report, Unread};

mod source;

use source::Opener;
pub use source::Source;

/// Bytes of an example of a line.
const MAX_EXAMPLE_BYTES: usize = 160;

/// Seconds by which lines of a busy server may be out of order: an answer takes that long.
const USUAL_DISORDER_SECONDS: i64 = 3_600;

/// Why a file was not read, or not to its end. The lines before that are counted.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// It could not be read.
    #[error("{0}")]
    Read(io::Error),
    /// Its form is none that is read.
    #[error("{0}")]
    Form(#[from] Undetected),
    /// It is a table that is not read.
    #[cfg(feature = "parquet")]
    #[error("{0}")]
    Table(#[from] TableError),
    /// It is a table, and packed with what is damaged.
    #[cfg(feature = "parquet")]
    #[error("{0}")]
    Damaged(Stop),
    /// It is a table that could not be copied to a temporary file.
    #[cfg(feature = "parquet")]
    #[error(
        "it cannot be copied to a temporary file, which Parquet needs if it is packed or comes from a pipe: {0}"
    )]
    Copy(io::Error),
    /// A request could not be sorted.
    #[error("{0}")]
    Sort(io::Error),
}

/// What was read of all files.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    files: u64,
    lines: u64,
    forms: BTreeMap<&'static str, FormUse>,
    unread: BTreeMap<String, Unread>,
    /// The files that were read, by their first line, so that the same lines are not counted twice.
    seen: HashMap<Vec<u8>, Vec<Seen>>,
    /// Files that are damaged, and how.
    damages: Vec<String>,
    again: Vec<String>,
    disorder: i64,
    other_hosts: u64,
    no_host: u64,
    no_address: u64,
    form_notes: BTreeMap<&'static str, String>,
}

/// A file that was read.
#[derive(Clone, Debug)]
struct Seen {
    name: String,
    lines: u64,
    /// Digests of all lines up to each of the first, then to the end of each block of [`BLOCK_LINES`], and to the last line.
    digests: Vec<u32>,
}

/// Lines between two digests of a file, behind as many with one each.
const BLOCK_LINES: u64 = 64;

/// The longest first line by which a file is recognized, in bytes.
const MAX_FIRST_BYTES: usize = 4_096;

impl Reading {
    /// Reads a file. It is opened again if it begins like an earlier one, and goes on differently. `form`: what the user says of its
    /// lines, otherwise it is detected. A table has no lines.
    ///
    /// # Errors
    ///
    /// If it cannot be opened or read, or its form is not known.
    pub fn read(
        &mut self,
        name: &str,
        form: Option<&Form>,
        join: &mut Join,
        source: impl Source,
    ) -> Result<(), LogError> {
        let mut opener = Opener::new(source, join.folder());
        let mut lines = opener.lines()?;
        let head = lines.head().map_err(LogError::Read)?;
        let form = match form {
            _ if opener.is_table() => Form::CloudFrontParquet,
            Some(form) => form.clone(),
            None => match Form::detect(head) {
                // The logs of a quiet day, or of a server that has just been started.
                Err(Undetected::Empty) => {
                    self.files += 1;
                    return Ok(());
                }
                detected => detected?,
            },
        };
        let first = first_line(head).to_vec();
        let mut file = FileRead::new(name, &form);
        let alike = self.seen.get(&first).into_iter().flatten();
        // The longest first: what is behind the lines of a shorter one may be in a longer one.
        let mut alike: Vec<Seen> = alike.cloned().collect();
        alike.sort_by_key(|earlier| std::cmp::Reverse(earlier.lines));
        for earlier in alike {
            if file.skip(&mut lines, &earlier).map_err(LogError::Read)? {
                self.again.push(format!(
                    "{name} begins with the {} that {} has: they are counted once.",
                    lines_of(file.lines),
                    earlier.name
                ));
                break;
            }
            file = FileRead::new(name, &form);
            lines = opener.lines()?;
        }
        let skipped = file.lines;
        let read = file.read(&mut lines, self, join);
        self.files += 1;
        let of_form = self.forms.entry(form.name()).or_default();
        form.name().clone_into(&mut of_form.form);
        of_form.files += 1;
        of_form.lines += file.lines - skipped;
        self.note_form(&form);
        if let Some(stop) = lines.stop() {
            let read = lines_of(file.lines);
            self.damages
                .push(format!("{name}: {stop}. The {read} before that were read."));
        }
        self.seen.entry(first).or_default().push(file.seen());
        read
    }

    /// Returns whether no line could be joined, because neither the lines nor the user say the host.
    #[must_use]
    pub fn lacks_host(&self) -> bool {
        self.no_host > 0
    }

    /// Returns what is wrong with files that were not read whole.
    #[must_use]
    pub fn damages(&self) -> &[String] {
        &self.damages
    }

    fn note_form(&mut self, form: &Form) {
        let meaning = form.meaning();
        let mut text = String::new();
        if !meaning.shows_aborts {
            text.push_str(
                "its servers may write 200 for an answer that the client did not wait for",
            );
        }
        if !meaning.has_client {
            let and = if text.is_empty() { "" } else { "; " };
            text.push_str(and);
            text.push_str("it has no address of the client, so no bot can be verified");
        }
        if !text.is_empty() {
            self.form_notes
                .insert(form.name(), format!("The form {}: {text}.", form.name()));
        }
    }

    fn unread(&mut self, reason: String, name: &str, line: u64, bytes: &[u8]) {
        let unread = self
            .unread
            .entry(reason)
            .or_insert_with_key(|reason| Unread {
                reason: reason.clone(),
                lines: 0,
                first: format!("{name}, line {line}"),
                example: example(bytes),
            });
        unread.lines += 1;
    }

    /// Writes what was read into the report.
    pub fn report(self, report: &mut Report) {
        let mut unread: Vec<Unread> = self.unread.into_values().collect();
        unread.sort_by_key(|unread| std::cmp::Reverse(unread.lines));
        report.logs = Logs {
            files: self.files,
            lines: self.lines,
            forms: self.forms.into_values().collect(),
            unread,
            ..std::mem::take(&mut report.logs)
        };
        let notes = &mut report.notes;
        notes.extend(self.form_notes.into_values());
        notes.extend(self.damages);
        notes.extend(self.again);
        if self.disorder > USUAL_DISORDER_SECONDS {
            notes.push(format!(
                "Lines are out of order by up to {} hours. They are sorted by their times.",
                self.disorder / 3_600
            ));
        }
        if self.other_hosts > 0 {
            notes.push(format!(
                "{} requests of bots are for hosts of which nothing is listed. They are not counted.",
                self.other_hosts
            ));
        }
        if self.no_address > 0 {
            notes.push(format!(
                "{} requests of bots ask for no address that a page can have. They are not counted.",
                self.no_address
            ));
        }
    }
}

/// Returns the first line with a request: those of CloudFront's files begin with comments.
fn first_line(head: &[u8]) -> &[u8] {
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
    let first = first.unwrap_or_default();
    &first[..first.len().min(MAX_FIRST_BYTES)]
}

fn lines_of(count: u64) -> String {
    match count {
        1 => "line".to_owned(),
        count => format!("{count} lines"),
    }
}

/// A file while it is read.
struct FileRead<'f> {
    name: &'f str,
    form: &'f Form,
    digest: crc32fast::Hasher,
    digests: Vec<u32>,
    lines: u64,
    time: Option<i64>,
}

impl<'f> FileRead<'f> {
    fn new(name: &'f str, form: &'f Form) -> Self {
        Self {
            name,
            form,
            digest: crc32fast::Hasher::new(),
            digests: Vec::new(),
            lines: 0,
            time: None,
        }
    }

    fn seen(mut self) -> Seen {
        self.digests.push(self.digest.finalize());
        Seen {
            name: self.name.to_owned(),
            lines: self.lines,
            digests: self.digests,
        }
    }

    /// Skips the lines that an earlier file has, too. Returns whether all of either are in the other.
    fn skip<R: Read>(&mut self, lines: &mut Lines<R>, earlier: &Seen) -> io::Result<bool> {
        while self.lines < earlier.lines {
            let Some(line) = lines.next()? else {
                // A copy from before the earlier one had grown. Its last lines are in no whole block.
                return Ok(true);
            };
            self.count(line);
            let last = self.digests.len();
            if self.digests.last() != earlier.digests[..last].last() {
                return Ok(false);
            }
        }
        Ok(Some(&self.digest.clone().finalize()) == earlier.digests.last())
    }

    fn count(&mut self, line: &[u8]) {
        self.lines += 1;
        self.digest.update(line);
        self.digest.update(b"\n");
        if self.lines < BLOCK_LINES || self.lines.is_multiple_of(BLOCK_LINES) {
            self.digests.push(self.digest.clone().finalize());
        }
    }

    fn read<R: Read>(
        &mut self,
        lines: &mut Lines<R>,
        reading: &mut Reading,
        join: &mut Join,
    ) -> Result<(), LogError> {
        let mut reader = self.form.reader();
        loop {
            let number = lines.number() + 1;
            let Some(line) = lines.next().map_err(LogError::Read)? else {
                return Ok(());
            };
            self.count(line);
            // Of a longer line the input gives no more.
            let read = match line.len() {
                MAX_LINE_BYTES.. => Err(forms::Unread::TooLong),
                _ => reader.read(line),
            };
            let request = match read {
                Ok(None) => continue,
                Ok(Some(request)) => request,
                Err(reason) => {
                    reading.lines += 1;
                    reading.unread(reason.to_string(), self.name, number, line);
                    continue;
                }
            };
            reading.lines += 1;
            if let Some(before) = self.time {
                reading.disorder = reading.disorder.max(before - request.time);
            }
            let time = request.time;
            match join.request(&request).map_err(LogError::Sort)? {
                Taken::Counted | Taken::Other => {}
                Taken::OtherHost => reading.other_hosts += 1,
                Taken::NoHost => reading.no_host += 1,
                Taken::NoAddress => reading.no_address += 1,
                Taken::Future => {
                    let reason = "its time is later than now: a clock is wrong";
                    reading.unread(reason.to_owned(), self.name, number, line);
                    continue;
                }
            }
            self.time = self.time.max(Some(time));
        }
    }
}

/// Returns a line as an example, cut, without addresses of clients and without queries.
fn example(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(MAX_EXAMPLE_BYTES)]);
    let is_between = |letter: char| letter.is_whitespace() || "\"',[](){}=&".contains(letter);
    let ends_query = |letter: char| letter.is_whitespace() || "\"'".contains(letter);
    let (mut shown, mut is_query) = (String::with_capacity(text.len()), false);
    for part in text.split_inclusive(is_between) {
        let word = part.trim_end_matches(is_between);
        let end = &part[word.len()..];
        let is_client = |text: &str| text.parse::<IpAddr>().is_ok();
        let without_port = word.rsplit_once(':').map_or(word, |(address, _)| address);
        let path = word.split('?').next().unwrap_or(word);
        match is_client(word) || is_client(without_port) {
            _ if is_query => {}
            true => shown.push('…'),
            false => shown.push_str(path),
        }
        is_query |= path.len() < word.len();
        if end.contains(ends_query) {
            is_query = false;
        }
        if !is_query {
            shown.push_str(end);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_has_neither_an_address_of_a_client_nor_a_query() {
        for (line, expected) in [
            (
                &b"203.0.113.7 - - [x] \"GET /a?token=1 HTTP/1.1\" 200"[..],
                "… - - [x] \"GET /a HTTP/1.1\" 200",
            ),
            (b"2001:db8::7 - -", "… - -"),
            (b"[2001:db8::7]:4711 x", "[…]:4711 x"),
            (b"203.0.113.7:4711 x", "… x"),
            (b"{\"ip\":\"203.0.113.7\",\"x\":1", "{\"ip\":\"…\",\"x\":1"),
            (b"ip=203.0.113.7", "ip=…"),
        ] {
            assert_eq!(example(line), expected);
        }
        assert!(example(&[b'a'; 1_000]).len() <= MAX_EXAMPLE_BYTES);
    }
}
