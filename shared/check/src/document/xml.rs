//! Checks XML element by element: whether it is well-formed, and whether it follows the schema.
//!
//! The parser does not check everything that makes XML well-formed. The rest is checked here: the declaration's place,
//! characters, references, names, `]]>`, attributes, and the single root.

use std::io::BufRead as _;

use quick_xml::errors::{Error, IllFormedError};
use quick_xml::events::Event;
use quick_xml::reader::NsReader;

use super::data::Kind;
use super::input::{Input, Stop};
use super::reader::{Mark, Reader, Tally};
use crate::findings::Position;
use crate::rules::Rule;
use crate::text::quoted;
use rest::FirstError;
use state::Xml;

mod attributes;
mod characters;
mod element;
mod name;
mod nesting;
pub(super) mod rest;
mod spaces;
mod state;

/// The most namespaces in scope. Sitemaps have six.
const MAX_NAMESPACES: usize = 256;

/// Reads a document. Returns the reader, and the first error at which other parsers stop.
pub(super) fn read<'a>(
    source: &mut Input<'a>,
    reader: Reader<'a>,
) -> (Reader<'a>, Option<FirstError>) {
    let at = source.position();
    let mut source = NsReader::from_reader(source);
    source.config_mut().check_comments = true;
    source
        .resolver_mut()
        .set_max_namespace_bindings(MAX_NAMESPACES);
    let mut xml = Xml::new(reader, source, at);
    xml.run();
    xml.doctype();
    xml.spaces.report(&mut xml.reader);
    (xml.reader, xml.first_error)
}

impl Xml<'_, '_> {
    fn run(&mut self) {
        let mut buffer = Vec::new();
        while !self.stopped {
            buffer.clear();
            let source = self.source.get_mut();
            source.begin_piece();
            let at = source.position();
            let event = match self.source.read_event_into(&mut buffer) {
                Ok(event) => event,
                Err(error) => return self.failed(&error, at),
            };
            match event {
                Event::Start(start) => self.start(&start, at),
                Event::Empty(start) => {
                    self.start(&start, at);
                    if !self.stopped {
                        self.end(at);
                    }
                }
                Event::End(_) => self.end(at),
                Event::Text(text) => self.characters(&text, at),
                Event::CData(data) => {
                    self.marks |= Mark::Cdata.bit();
                    if self.open.is_empty() {
                        self.ill_formed(at, "has CDATA outside of its root");
                    }
                    self.valid(&data, at);
                    self.text.push_str(&data);
                }
                Event::GeneralRef(reference) => self.reference(&reference, at),
                Event::Decl(declaration) => self.declaration(&declaration, at),
                Event::DocType(_) => {
                    if self.has_root {
                        self.ill_formed(at, "has a DOCTYPE after the start of its root element");
                    }
                    self.dtd.get_or_insert(at);
                }
                Event::Comment(comment) => {
                    self.marks |= Mark::Comment.bit();
                    self.valid(&comment, at);
                }
                Event::PI(instruction) => {
                    if instruction.target().eq_ignore_ascii_case("xml") {
                        self.ill_formed(at, "has a declaration that is not at its beginning");
                    }
                    self.marks |= Mark::Instruction.bit();
                    self.valid(&instruction, at);
                }
                Event::Eof => return self.eof(at),
            }
            self.is_first = false;
        }
    }

    /// Adds a finding with the error that stopped the parser.
    fn failed(&mut self, error: &Error, at: Position) {
        if let Some(stop) = self.source.get_ref().stop() {
            // If a body fails after the root's end, the document is complete.
            self.reader.document.is_whole =
                stop == Stop::Body && self.has_root && self.open.is_empty();
            if let Some(cause) = rest::of_stop(stop)
                && !self.reader.document.is_whole
            {
                self.ends(at, cause);
            }
            return;
        }
        // A tag that is cut by the document's end is reported as a cut document, not as a wrong tag.
        let source = self.source.get_mut();
        let is_end = matches!(error, Error::Syntax(_))
            || (matches!(error, Error::IllFormed(IllFormedError::UnclosedReference))
                && source.fill_buf().is_ok_and(<[u8]>::is_empty));
        if is_end && source.fill_buf().is_ok_and(<[u8]>::is_empty) && self.has_root {
            return self.cut(at);
        }
        match error {
            Error::Encoding(_) => self.ill_formed_by(at, "is not UTF-8", rest::ENCODING.into()),
            Error::IllFormed(IllFormedError::UnclosedReference) => {
                let message = "has a & that begins no reference: & is written &amp;";
                self.ill_formed_by(at, message, rest::AMPERSAND.into());
            }
            error => {
                let error = error.to_string();
                self.ill_formed_by(at, &error, error.clone().into());
            }
        }
    }

    fn eof(&mut self, at: Position) {
        if !self.open.is_empty() {
            return self.cut(at);
        }
        if !self.has_root {
            return self.ill_formed(at, "has no root element");
        }
        self.reader.document.is_whole = true;
    }

    fn cut(&mut self, at: Position) {
        let root = match self.reader.document.kind {
            Kind::Sitemap => "</urlset>",
            Kind::Index => "</sitemapindex>",
            Kind::Rss => "</rss>",
            Kind::Atom => "</feed>",
            _ => "the end of its root element",
        };
        self.reader.found(Rule::FileTruncated, at, true, || {
            format!("ends before {root}")
        });
        self.ends(at, rest::CUT.into());
    }

    fn declaration(&mut self, declaration: &quick_xml::events::BytesDecl<'_>, at: Position) {
        if !self.is_first {
            return self.ill_formed(at, "has something before its XML declaration");
        }
        if declaration.version().is_err() {
            self.ill_formed(at, "has an XML declaration without a version");
        }
        // ASCII is a subset of UTF-8.
        let is_right = |encoding: &str| {
            ["utf-8", "us-ascii", "ascii"]
                .iter()
                .any(|right| encoding.eq_ignore_ascii_case(right))
        };
        // UTF-16 was recognized before.
        if let Some(Ok(encoding)) = declaration.encoding()
            && !is_right(&encoding)
            && !self.source.get_ref().is_utf_16()
        {
            let is_foreign = self.reader.about.transfer.is_foreign;
            let message = || match is_foreign {
                true => "is declared as another encoding than UTF-8".to_owned(),
                false => format!("is declared as {}, not UTF-8", quoted(&encoding)),
            };
            self.reader.found(Rule::FileWellformed, at, false, message);
        }
    }

    /// Adds findings for a DOCTYPE, or for the entities that need it. A DOCTYPE is harmless by itself, and its declarations are
    /// never read.
    fn doctype(&mut self) {
        match self.entities {
            Tally { count: 0, .. } => {
                if let Some(at) = self.dtd {
                    self.reader
                        .found(Rule::FileDtd, at, false, || "has a DOCTYPE".to_owned());
                }
            }
            Tally { count, first } => self.reader.found(Rule::FileEntity, first, false, || {
                format!("uses entities of its DOCTYPE {count} times, which are not expanded")
            }),
        }
    }
}
