//! Reads one document as a stream, checks it by itself, and keeps the data that is compared with other documents.

use std::io::{BufRead, Read};

use crate::rules::Rule;
use crate::text::quoted;
use input::{Input, Limits, MAX_PIECE_BYTES};
use reader::Reader;
use xml::rest::{ENCODING, FirstError, of_stop, tell};

mod about;
mod data;
pub mod elements;
mod entry;
pub mod expected;
pub mod feed;
mod finish;
pub mod input;
mod reader;
pub mod sample;
pub(crate) mod schema;
mod xml;

pub use about::{About, Transfer};
pub use data::{Child, Document, Kind};
pub(crate) use data::{Link, MAX_LINKS, Subject};

/// The first bytes of a document, by which its kind is recognized.
const HEAD_BYTES: usize = 1024;

/// Reads a document to its end, or until an error stops it.
pub fn read<'a>(body: impl Read + 'a, about: &'a About) -> Document {
    let limits = Limits {
        bytes: about.max_bytes,
        piece: MAX_PIECE_BYTES,
    };
    let mut source = Input::judged(body, about.transfer.is_encoded, about.is_named_gz, limits);
    let mut reader = Reader::new(about);
    let head = source.head(HEAD_BYTES).to_vec();
    let start = head.trim_ascii_start();
    if source.has_bom() {
        reader.found(Rule::FileBom, None, false, || {
            "begins with a byte order mark".to_owned()
        });
    }
    if source.is_utf_16() {
        reader.found(Rule::FileWellformed, None, false, || {
            "is UTF-16, not UTF-8".to_owned()
        });
    }
    let mut first_error = None;
    let is_html = [&b"<!doctype html"[..], b"<html"].iter().any(|tag| {
        start
            .get(..tag.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(tag))
    });
    if start.is_empty() && source.stop().is_none() {
        reader.found(Rule::FileWellformed, None, true, || "is empty".to_owned());
    } else if is_html {
        reader.html();
    } else if input::is_list(start) {
        reader.document.kind = Kind::Text;
        first_error = reader.text(&mut source);
    } else if start.starts_with(b"<") || start.is_empty() {
        (reader, first_error) = xml::read(&mut source, reader);
    } else {
        let begin = String::from_utf8_lossy(&start[..start.len().min(40)]).into_owned();
        reader.found(Rule::FileWellformed, None, true, || {
            let what = "is neither XML nor a list of URLs";
            match about.transfer.is_foreign {
                true => what.to_owned(),
                false => format!("{what}: it begins with {}", quoted(&begin)),
            }
        });
    }
    // Counting what follows an error reads on, which changes nothing of what is known of the document.
    let (stop, packing) = (source.stop(), source.packing());
    reader.document.bytes = source.bytes_read();
    tell(first_error, stop, &mut source, &mut reader);
    reader.finish(stop, packing)
}

impl Reader<'_> {
    /// Reads a list of one URL a line. Returns the error that ended it, unless it is a limit.
    fn text(&mut self, source: &mut Input<'_>) -> Option<FirstError> {
        let mut line = Vec::new();
        loop {
            let at = source.position();
            line.clear();
            source.begin_piece();
            match source.read_until(b'\n', &mut line) {
                Ok(0) => {
                    self.document.is_whole = true;
                    return None;
                }
                Ok(_) => {}
                Err(_) => {
                    let cause = source.stop().and_then(of_stop)?;
                    return Some(FirstError::end(at, self.document.entries, cause));
                }
            }
            let Ok(text) = std::str::from_utf8(&line) else {
                self.found(Rule::FileWellformed, at, true, || "is not UTF-8".to_owned());
                return Some(FirstError::end(at, self.document.entries, ENCODING.into()));
            };
            let text = text.trim();
            if !text.is_empty() {
                self.begin_entry(at);
                self.loc(text, at);
                self.end_entry();
            }
        }
    }
}
