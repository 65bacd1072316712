//! The outcome of reading content files: lines that are records, and the problems of the others.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::source::Source;

/// The field of a problem of a line as a whole.
pub(crate) const WHOLE_LINE: &str = "-";

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

    /// Counts the records that are in the table: a line with the id of an earlier one has replaced it.
    #[must_use]
    pub fn distinct(&self) -> u64 {
        self.ids.len() as u64
    }

    /// Returns whether one of the lines is a record with this id.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.ids.contains(&digest(id))
    }

    /// Returns the error for content without a single record. Returns `None` if no line was malformed, or one is a record. `next` is the
    /// command that records go to.
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

    /// Notes that a line is a record with this id. Returns whether it is the first.
    pub(crate) fn note_id(&mut self, id: &str) -> bool {
        self.ids.insert(digest(id))
    }

    pub(super) fn forget_id(&mut self, id: &str) {
        self.ids.remove(&digest(id));
    }

    pub(crate) fn refuse(&mut self, problem: LineProblem) {
        self.malformed += 1;
        self.problems.push(problem);
    }
}

/// No line of what was read is a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{files}: not JSON Lines: no line is a record. Convert CSV, sitemaps or another system's export first: `waymark \
     import {files} | waymark {next}`"
)]
pub struct NoRecords {
    /// The files.
    pub files: String,
    /// The command that records go to.
    pub next: &'static str,
}

/// Returns 64 bits of an id's hash. Ten million ids take 80 MB, and two of them are not likely to share a hash.
pub(super) fn digest(id: &str) -> u64 {
    let hash = Sha256::digest(id.as_bytes());
    hash.iter()
        .take(8)
        .fold(0, |digest, byte| digest << 8 | u64::from(*byte))
}
