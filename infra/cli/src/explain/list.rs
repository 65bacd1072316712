//! `waymark explain --from`: reads addresses and ids from a file, and prints the answers as a table.

use std::io::{self, Read};

use check::document::input::Input;
use serde::Serialize;
use sitemap::loc::Loc;

use super::{Entry, Explanation, Page, Reason, State};
use crate::import::{HEAD_BYTES, Rows, open};
use crate::terminal::text::csv_cell;

/// The column of a Search Console export that has the addresses. Its case does not matter.
const COLUMN: &str = "URL";
/// Lines of one file, at most: each is some reads of tables.
pub const MAX_LINES: usize = 1_000_000;

/// A file of addresses and ids.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct List {
    /// What is asked for, in its order.
    pub asked: Vec<String>,
    /// Lines that ask for nothing.
    pub malformed: Vec<Malformed>,
}

/// A line that asks for nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Malformed {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

impl List {
    /// Reads one address or id a line, or the column `URL` of a CSV table. Empty lines are passed over.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or has more than [`MAX_LINES`].
    pub fn read(file: impl Read + 'static) -> io::Result<Self> {
        let mut input = open(file, u64::MAX)?;
        let first = input.head(HEAD_BYTES).split(|byte| *byte == b'\n').next();
        let first = String::from_utf8_lossy(first.unwrap_or_default()).into_owned();
        let cells = first.split([',', ';', '\t']);
        let cells = cells.map(|cell| cell.trim().trim_matches('"'));
        let column = cells
            .clone()
            .position(|cell| cell.eq_ignore_ascii_case(COLUMN));
        match column {
            Some(column) => Self::of_table(Rows::new(input), column),
            None => Self::of_lines(input),
        }
    }

    fn of_lines(mut input: Input<'_>) -> io::Result<Self> {
        let mut list = Self::default();
        let mut bytes = Vec::new();
        loop {
            let number = input.line();
            if !input.read_line(&mut bytes)? {
                return Ok(list);
            }
            match std::str::from_utf8(&bytes) {
                Ok(line) => list.add(number, line)?,
                Err(_) => list.refuse(number, "it is not UTF-8"),
            }
        }
    }

    fn of_table(mut rows: Rows<'_>, column: usize) -> io::Result<Self> {
        let mut list = Self::default();
        // The names of the columns.
        rows.next()?;
        loop {
            let before = rows.line();
            let row = rows.next();
            let number = rows.line();
            match row {
                Ok(None) => return Ok(list),
                Ok(Some(cells)) if cells.iter().all(String::is_empty) => {}
                Ok(Some(cells)) => match cells.get(column).map(|cell| cell.trim()) {
                    None | Some("") => list.refuse(number, "it has no URL"),
                    Some(cell) => list.add(number, cell)?,
                },
                // Behind a line that cannot be read comes the next one, unless the file itself cannot be.
                Err(error) if number > before => list.refuse(number, error),
                Err(error) => return Err(error),
            }
        }
    }

    fn add(&mut self, line: u64, what: &str) -> io::Result<()> {
        let what = what.trim();
        if self.asked.len() == MAX_LINES {
            let text = format!("it has more than {MAX_LINES} addresses");
            return Err(io::Error::other(text));
        }
        match Loc::parse_any(what) {
            // Else it is an id, and there is a record with it or not.
            Err(error) if what.contains("://") => self.refuse(line, error),
            _ if what.is_empty() => {}
            _ => self.asked.push(what.to_owned()),
        }
        Ok(())
    }

    fn refuse(&mut self, line: u64, reason: impl ToString) {
        let reason = reason.to_string();
        self.malformed.push(Malformed { line, reason });
    }
}

/// How many answers of each kind there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Listed.
    pub listed: u64,
    /// Left out.
    pub left_out: u64,
    /// Not looked at yet.
    pub not_looked_at: u64,
    /// Of no record.
    pub unknown: u64,
    /// Lines that asked for nothing.
    pub malformed: u64,
}

impl Counts {
    /// Counts an answer.
    pub fn add(&mut self, row: &Row) {
        *match row.state {
            "listed" => &mut self.listed,
            "left_out" => &mut self.left_out,
            "not_looked_at" => &mut self.not_looked_at,
            _ => &mut self.unknown,
        } += 1;
    }

    /// Returns whether each line has an address or an id of a record.
    #[must_use]
    pub fn are_known(&self) -> bool {
        self.unknown + self.malformed == 0
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            listed,
            left_out,
            not_looked_at,
            unknown,
            malformed,
        } = self;
        write!(
            f,
            "{listed} listed, {left_out} left out, {not_looked_at} not looked at, {unknown} unknown, {malformed} malformed"
        )
    }
}

/// An answer in a line: of the page that has the address, or else of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    asked: String,
    state: &'static str,
    reason: String,
    detail: String,
    id: String,
    sitemap: String,
}

impl Row {
    /// The columns of a table as CSV.
    pub const COLUMNS: &str = "asked,state,reason,detail,id,sitemap";

    /// Converts an explanation to its row.
    #[must_use]
    pub fn of(explanation: &Explanation) -> Self {
        let row = |state, reason: &str, detail: &str, id: &str| Self {
            asked: explanation.asked.clone(),
            state,
            reason: reason.to_owned(),
            detail: detail.to_owned(),
            id: id.to_owned(),
            sitemap: String::new(),
        };
        if let Some(page) = explanation.pages.first() {
            let Page { id, left_out, .. } = page;
            let (reason, detail) = match left_out {
                Some(Reason { name, reason }) => (name.as_str(), reason.as_str()),
                None => ("", ""),
            };
            let state = match page.state {
                State::Listed => "listed",
                State::LeftOut => "left_out",
                State::NotLookedAt => "not_looked_at",
            };
            let sitemaps = page
                .entries
                .iter()
                .map(|Entry { sitemap, .. }| sitemap.as_str());
            return Self {
                sitemap: sitemaps.collect::<Vec<_>>().join(" "),
                ..row(state, reason, detail, id)
            };
        }
        if let Some(mismatch) = &explanation.mismatch {
            return row("left_out", "not_content", mismatch, &explanation.asked);
        }
        if let Some(id) = explanation.reserved.first() {
            return row("left_out", "bad_field", engine::content::RESERVED_ID, id);
        }
        row("unknown", "", "no record has this address or this id", "")
    }

    /// Formats the row as a line of a table for people. It is escaped where it is printed.
    #[must_use]
    pub fn line(&self) -> String {
        let Self {
            asked,
            state,
            reason,
            detail,
            sitemap,
            ..
        } = self;
        let why = [reason.as_str(), detail.as_str(), sitemap.as_str()];
        let why: Vec<&str> = why.into_iter().filter(|part| !part.is_empty()).collect();
        let why = why.join(": ");
        let gap = if why.is_empty() { "" } else { "  " };
        format!("{state:<13}  {asked}{gap}{why}")
    }

    /// Formats the row as a line of CSV.
    #[must_use]
    pub fn csv(&self) -> String {
        let cells = [
            &self.asked,
            self.state,
            &self.reason,
            &self.detail,
            &self.id,
            &self.sitemap,
        ];
        cells.map(csv_cell).join(",")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::terminal::text::Text;

    fn read(text: &'static [u8]) -> (Vec<String>, Vec<String>) {
        let list = List::read(Cursor::new(text)).unwrap();
        let to_line = |line: &Malformed| format!("{}: {}", line.line, line.reason);
        (list.asked, list.malformed.iter().map(to_line).collect())
    }

    #[test]
    fn a_file_has_an_address_or_an_id_a_line() {
        let (asked, malformed) = read(
            b"\xef\xbb\xbfhttps://a.example/x,y\r\n\n  post/a \nftp://a.example/\n\xff\nhttps://a.example/b",
        );
        assert_eq!(
            asked,
            ["https://a.example/x,y", "post/a", "https://a.example/b"]
        );
        let expected = [
            "4: the scheme ftp is neither http nor https",
            "5: it is not UTF-8",
        ];
        assert_eq!(malformed, expected);
    }

    #[test]
    fn a_table_has_its_column() {
        for text in [
            &b"url,Last crawled\nhttps://a.example/,2026-11-01\n,2026\nhttps://,2026\n\n\"https://a.example/x,y\",\n"[..],
            b"Last crawled;\"URL\"\n2026;https://a.example/\n2026;\n2026;https://\n\n;https://a.example/x,y",
        ] {
            let (asked, malformed) = read(text);
            assert_eq!(asked, ["https://a.example/", "https://a.example/x,y"]);
            assert_eq!(malformed.len(), 2, "{malformed:?}");
            assert_eq!(malformed[0], "3: it has no URL");
            assert!(malformed[1].starts_with("4: "), "{malformed:?}");
        }
    }

    #[test]
    fn a_row_that_cannot_be_read_costs_itself() {
        let (asked, malformed) = read(b"URL\nhttps://a.example/\n\xff\npost/a\n\"x\n");
        assert_eq!(asked, ["https://a.example/", "post/a"]);
        let expected = [
            "3: it is not UTF-8",
            "5: a cell's quotation mark is not closed",
        ];
        assert_eq!(malformed, expected);
    }

    #[test]
    fn an_answer_is_a_line() {
        let unknown = Explanation {
            asked: "=a,\u{1b}".to_owned(),
            known: false,
            pages: Vec::new(),
            more_wait: false,
            mismatch: None,
            reserved: Vec::new(),
            missing_archives: Vec::new(),
            text: Text::default(),
        };
        let row = Row::of(&unknown);
        let why = "no record has this address or this id";
        assert_eq!(row.line(), format!("unknown        =a,\u{1b}  {why}"));
        assert_eq!(row.csv(), format!("\"'=a,\\u{{1b}}\",unknown,,{why},,"));
        let mut counts = Counts::default();
        assert!(counts.are_known());
        counts.add(&row);
        assert!(!counts.are_known());
        let expected = "0 listed, 0 left out, 0 not looked at, 1 unknown, 0 malformed";
        assert_eq!(counts.to_string(), expected);
    }
}
