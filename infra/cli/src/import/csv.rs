//! CSV (RFC 4180): by a mapping, or with the columns of `wp post list`, of a table of redirects, or of a content record.

use std::io::{self, BufRead};

use check::document::input::Input;
use csv_core::ReadRecordResult;
use serde_json::{Map, Value};
use sitemap::time::{When, Zone};

use super::html;
use super::json;
use super::options::ImportError;
use super::redirects::Table;
use super::sitemap_entry::{PAGE, time};
use super::source::HEAD_BYTES;
use super::wordpress::{
    Kind, doubt, gmt, is_bare, is_unpublished, kind_of, no_pages, refusal, status_of, zoned,
};
use super::writer::{Id, Sink};

/// Columns of one table.
const MAX_COLUMNS: usize = 10_000;
/// Bytes and cells of a row for which there is room from the beginning.
const ROW_BYTES: usize = 4 * 1024;
const ROW_CELLS: usize = 64;
/// What separates cells: the first line says which.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];
/// The zone in which a day ends last.
const FARTHEST: &str = "-12:00";
/// Columns that hold an address, without a mapping.
const ADDRESSES: [&str; 5] = ["url", "URL", "loc", "link", "Address"];

/// Reads a table. Returns why it could not be read to its end.
pub(super) fn read(input: Input<'_>, sink: &mut Sink<'_>) -> Result<Option<String>, ImportError> {
    let mut rows = Rows::new(input);
    let columns = match rows.next() {
        Ok(Some(columns)) => columns,
        Ok(None) => return Ok(Some("it is empty".to_owned())),
        Err(error) => return Ok(Some(error.to_string())),
    };
    let has = |name: &str| columns.iter().any(|column| column == name);
    let has_address = ADDRESSES.iter().any(|name| has(name));
    let redirects = match sink.options.mapping.is_some() || has_address {
        true => None,
        false => Table::of(&columns),
    };
    if sink.options.mapping.is_none() && !has_address && redirects.is_none() {
        let remedy = if has("ID") && has("post_title") {
            "list it with wp post list --format=csv \
             --fields=ID,post_type,post_status,post_date_gmt,post_modified_gmt,post_password,post_title,url"
        } else {
            "give a --mapping that makes one of its columns"
        };
        return Ok(Some(format!(
            "it has no column with an address (it has {}): {remedy}",
            columns.join(", ")
        )));
    }
    loop {
        let cells = match rows.next() {
            Ok(Some(cells)) => cells,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some(format!("line {}: {error}", rows.line()))),
        };
        let line = rows.line();
        if cells.iter().all(String::is_empty) {
            continue;
        }
        if cells.len() > columns.len() {
            sink.skip("it has more cells than there are columns", || {
                format!("line {line}")
            });
            continue;
        }
        if let Some(table) = redirects {
            table.row(&columns, &cells, line, sink)?;
            continue;
        }
        // An empty cell is nothing.
        let row = columns.iter().zip(cells);
        let row: Map<String, Value> = row
            .filter(|(_, cell)| !cell.is_empty())
            .map(|(column, cell)| (column.clone(), cell.into()))
            .collect();
        let place = format!("line {line}");
        if sink.options.mapping.is_some() {
            json::take(Value::Object(row), &place, sink)?;
        } else if has("ID") {
            of_wordpress(&row, sink)?;
        } else {
            of_columns(row, sink)?;
        }
    }
}

/// Imports a row of `wp post list --format=csv`.
fn of_wordpress(row: &Map<String, Value>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let text = |name: &str| row.get(name).and_then(Value::as_str);
    let url = ADDRESSES.iter().find_map(|name| text(name));
    let type_name = text("post_type").unwrap_or("post");
    let shown = || url.unwrap_or_default().to_owned();
    let wordpress_status = text("post_status").unwrap_or("publish");
    let kind = kind_of(type_name, &sink.options.types);
    let is_hidden =
        kind == Kind::Unknown && !is_unpublished(wordpress_status) && url.is_some_and(is_bare);
    let hidden = is_hidden.then(|| no_pages(type_name));
    if let Some(reason) = refusal(kind, type_name).or(hidden) {
        sink.skip(&reason, shown);
        sink.report.chosen_out += u64::from(kind == Kind::Unwanted);
        return Ok(());
    }
    let (status, is_known) = status_of(wordpress_status);
    if !is_known {
        sink.note("an unknown status, taken for a draft", || {
            format!("{}: {wordpress_status:?}", shown())
        });
    }
    if kind == Kind::Unknown && status == "published" {
        sink.note(&doubt(type_name), shown);
    }
    let zone = sink.options.zone.clone();
    let mut date = |in_gmt: &'static str, local: &str| {
        let given = text(in_gmt);
        let made = || zoned(text(local)?, zone.as_ref()?);
        let date = given.and_then(gmt).or_else(made);
        // WordPress writes zeros for none.
        if let (None, Some(given)) = (&date, given.filter(|given| !given.starts_with("0000"))) {
            sink.note(in_gmt, || format!("{}: {given:?}", shown()));
        }
        date.map(Value::from)
    };
    let published = date("post_date_gmt", "post_date");
    let modified = date("post_modified_gmt", "post_modified");
    let title = text("post_title").map(html::text);
    let fields = json::fields([
        ("type", Some(type_name.into())),
        ("url", url.map(Value::from)),
        (
            "title",
            title.filter(|title| !title.is_empty()).map(Value::from),
        ),
        ("status", Some(status.into())),
        (
            "visibility",
            text("post_password").map(|_| "password".into()),
        ),
        ("published_at", published),
        ("modified_at", modified),
    ]);
    match text("ID") {
        Some(id) => sink.record(fields, Id::OnSite(&format!("{type_name}/{id}"))),
        None => sink.record(fields, Id::Address),
    }
}

/// Imports a row whose columns have the names of a record's fields.
fn of_columns(mut row: Map<String, Value>, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let address = ADDRESSES.iter().find_map(|name| row.remove(*name));
    row.extend(address.map(|url| ("url".to_owned(), url)));
    if let Some(date) = row.remove("lastmod") {
        row.entry("modified_at").or_insert(date);
    }
    row.entry("type").or_insert_with(|| PAGE.into());
    times(&mut row, sink);
    if let Some(Value::String(text)) = row.get("noindex") {
        let is_set = match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => Some(true),
            "false" | "0" | "no" => Some(false),
            _ => None, // the record says that it is wrong
        };
        if let Some(is_set) = is_set {
            row.insert("noindex".to_owned(), is_set.into());
        }
    }
    match row.get("id").and_then(Value::as_str).map(str::to_owned) {
        Some(id) => sink.record(row, Id::Given(&id)),
        None => sink.record(row, Id::Address),
    }
}

/// Reads the times of a row as those of a sitemap. An unreadable time is left out and counted. It stays, and excludes the page, if the
/// page must not be listed before it, or from it on.
fn times(row: &mut Map<String, Value>, sink: &mut Sink<'_>) {
    for name in ["published_at", "modified_at", "expires_at"] {
        let Some(text) = row.get(name).and_then(Value::as_str).map(str::to_owned) else {
            continue;
        };
        match time(text.trim()) {
            Ok(time) => drop(row.insert(name.to_owned(), time.into())),
            Err(_) if name == "expires_at" => {}
            Err(_) if name == "published_at" && !is_past(&text, sink.options.now) => {}
            Err(reason) => {
                row.remove(name);
                let url = row.get("url").and_then(Value::as_str).unwrap_or_default();
                sink.note(name, || format!("{url}: {reason}"));
            }
        }
    }
}

/// Returns whether a time without a zone is over in every zone.
fn is_past(text: &str, now: i64) -> bool {
    let farthest = Zone::parse(FARTHEST);
    let last = farthest.and_then(|zone| When::parse_relaxed(text.trim(), Some(&zone)).ok());
    last.is_some_and(|last| last.seconds() <= now)
}

/// The rows of a table.
pub(crate) struct Rows<'a> {
    input: Input<'a>,
    reader: csv_core::Reader,
    /// The line at which the last row begins.
    line: u64,
    /// The bytes of a row's cells, one cell after the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl<'a> Rows<'a> {
    /// Reads which separator the first line has most of.
    pub(crate) fn new(mut input: Input<'a>) -> Self {
        let first = input.head(HEAD_BYTES).split(|byte| *byte == b'\n').next();
        let first = first.unwrap_or_default();
        let count = |separator: &u8| first.iter().filter(|byte| *byte == separator).count();
        let separator = SEPARATORS.into_iter().rev().max_by_key(count);
        let separator = separator.unwrap_or(b',');
        Self {
            input,
            reader: csv_core::ReaderBuilder::new().delimiter(separator).build(),
            line: 1,
            bytes: vec![0; ROW_BYTES],
            ends: vec![0; ROW_CELLS],
        }
    }

    /// Returns the number of the line at which the last row begins, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Reads the next row that is not blank. Returns `None` at the end.
    ///
    /// # Errors
    ///
    /// If the table cannot be read, or the row is none: then the next row can be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Vec<String>>> {
        self.skip_breaks()?;
        self.line = self.input.line();
        self.input.begin_piece();
        let (mut bytes, mut cells) = (0, 0);
        let (mut is_begun, mut is_cut) = (false, false);
        loop {
            let available = self.input.fill_buf()?;
            let is_end = available.is_empty();
            // A break ends the last row, unless a cell of it is still quoted.
            let text = if is_end { b"\n" } else { available };
            if is_end && !is_begun {
                return Ok(None);
            }
            is_begun = true;
            let (result, read, written, ended) =
                (self.reader).read_record(text, &mut self.bytes[bytes..], &mut self.ends[cells..]);
            if !is_end {
                self.input.consume(read);
            }
            (bytes, cells) = (bytes + written, cells + ended);
            match result {
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return Ok(None),
                ReadRecordResult::InputEmpty if is_end => {
                    return Err(io::Error::other("a cell's quotation mark is not closed"));
                }
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.bytes.resize(2 * self.bytes.len(), 0),
                // The rest of the row is read, and not kept.
                ReadRecordResult::OutputEndsFull if cells > MAX_COLUMNS => {
                    (cells, is_cut) = (0, true)
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
            }
        }
        if is_cut || cells > MAX_COLUMNS {
            let text = format!("it has more than {MAX_COLUMNS} columns");
            return Err(io::Error::other(text));
        }
        let mut begin = 0;
        let mut row = Vec::with_capacity(cells);
        for end in &self.ends[..cells] {
            let cell = std::str::from_utf8(&self.bytes[begin..*end]);
            row.push(
                cell.map_err(|_| io::Error::other("it is not UTF-8"))?
                    .to_owned(),
            );
            begin = *end;
        }
        Ok(Some(row))
    }

    fn skip_breaks(&mut self) -> io::Result<()> {
        loop {
            let available = self.input.fill_buf()?;
            let is_break = |byte: &&u8| matches!(**byte, b'\r' | b'\n');
            let count = available.iter().take_while(is_break).count();
            if count == 0 {
                return Ok(());
            }
            self.input.consume(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn rows(text: &'static str) -> Result<Vec<Vec<String>>, String> {
        let mut rows = Rows::new(super::super::open(Cursor::new(text), u64::MAX).unwrap());
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(|error| error.to_string())? {
            all.push(row);
        }
        Ok(all)
    }

    #[test]
    fn cells_may_be_quoted_and_go_over_lines() {
        let found = rows("a,b,c\r\n1,\"x, \"\"y\"\"\nz\",\r\n,,3\n\"\",é,\"\"").unwrap();
        let expected = [
            vec!["a", "b", "c"],
            vec!["1", "x, \"y\"\nz", ""],
            vec!["", "", "3"],
            vec!["", "é", ""],
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_first_line_says_what_separates() {
        assert_eq!(rows("a;b\n1,5;2").unwrap()[1], ["1,5", "2"]);
        assert_eq!(rows("a\tb\n1\t2").unwrap()[1], ["1", "2"]);
        assert_eq!(
            rows("url\nhttps://a.example/?a;b").unwrap()[1],
            ["https://a.example/?a;b"]
        );
    }

    #[test]
    fn a_quotation_mark_that_is_not_closed_ends_the_table() {
        for text in ["a,b\n1,\"x\n2,y\n", "a,b\n1,\"x", "\""] {
            let error = rows(text).unwrap_err();
            assert_eq!(error, "a cell's quotation mark is not closed", "{text}");
        }
    }

    #[test]
    fn blank_lines_are_no_rows_and_the_last_row_needs_no_break() {
        let found = rows("\n\na,b\r\n\r\n\"\",\n1\"2,3").unwrap();
        assert_eq!(found, [["a", "b"], ["", ""], ["1\"2", "3"]]);
        assert_eq!(rows("").unwrap(), Vec::<Vec<String>>::new());
        assert_eq!(rows("\"\"").unwrap(), [[""]]);
    }

    #[test]
    fn behind_a_row_that_is_none_comes_the_next() {
        let wide = ",".repeat(MAX_COLUMNS);
        let text = format!("a\n\n{wide}\n\"long\n{}\",b\nc", "x".repeat(20_000));
        let mut rows = Rows::new(super::super::open(Cursor::new(text), u64::MAX).unwrap());
        assert_eq!(rows.next().unwrap().unwrap(), ["a"]);
        let error = rows.next().unwrap_err().to_string();
        assert_eq!(
            (rows.line(), &*error),
            (3, "it has more than 10000 columns")
        );
        assert_eq!(rows.next().unwrap().unwrap()[0].len(), 20_005);
        assert_eq!(rows.line(), 4);
        assert_eq!(rows.next().unwrap().unwrap(), ["c"]);
        assert_eq!(rows.line(), 6);
        assert!(rows.next().unwrap().is_none());
    }
}
