//! XML, element by element: whether it is well-formed, and what the schema says of it.
//!
//! The parser does not look at everything that makes XML well-formed. What it passes over is looked at here: the
//! declaration's place, characters, references, names, `]]>`, attributes, and that there is one root.

use std::io::BufRead as _;

use quick_xml::errors::{Error, IllFormedError};
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;
use sitemap::xml::is_xml_char;

use super::feed::Feed;
use super::input::{Input, Stop};
use super::{Kind, Mark, Reader, Tally};
use crate::document::schema::{Content, Element, INDEX, Ns, Type, URLSET, Use};
use crate::findings::Position;
use crate::rules::Rule;
use crate::text::quoted;
use crate::xsd;

use attributes::is_name;
use spaces::Spaces;

mod attributes;
mod nesting;
mod spaces;

/// Elements inside each other. Sitemaps have five.
const MAX_DEPTH: usize = 64;
/// Namespaces in force at a place. Sitemaps have six.
const MAX_NAMESPACES: usize = 256;

/// An element that is open.
struct Open {
    /// Nothing if it is not known: then what is in it does not matter.
    element: Option<&'static Element>,
    at: Position,
    /// Which of the sequence's places was reached, how often it was taken, and which were.
    reached: usize,
    count: u32,
    taken: u32,
}

struct Xml<'r, 'a> {
    reader: Reader<'a>,
    source: NsReader<&'r mut Input<'a>>,
    open: Vec<Open>,
    text: String,
    /// Where the text began.
    text_at: Position,
    has_root: bool,
    /// Where the DOCTYPE is.
    dtd: Option<Position>,
    /// References to entities that only a DOCTYPE can declare.
    entities: Tally,
    is_first: bool,
    /// What the text has that is not plain text: bits of [`Mark`].
    marks: u8,
    spaces: Spaces,
    feed: Option<Feed>,
    stopped: bool,
}

pub(super) fn read<'a>(source: &mut Input<'a>, reader: Reader<'a>) -> Reader<'a> {
    let at = source.position();
    let mut source = NsReader::from_reader(source);
    source.config_mut().check_comments = true;
    source
        .resolver_mut()
        .set_max_namespace_bindings(MAX_NAMESPACES);
    let mut xml = Xml {
        reader,
        source,
        open: Vec::new(),
        text: String::new(),
        text_at: at,
        has_root: false,
        dtd: None,
        entities: Tally::default(),
        is_first: true,
        marks: 0,
        spaces: Spaces::default(),
        feed: None,
        stopped: false,
    };
    xml.run();
    xml.doctype();
    xml.spaces.tell(&mut xml.reader);
    xml.reader
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
                        self.ill_formed(at, "has a DOCTYPE behind its root's begin");
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

    fn ill_formed(&mut self, at: Position, message: &str) {
        self.reader
            .found(Rule::FileWellformed, at, true, || message.to_owned());
    }

    /// The parser cannot go on.
    fn failed(&mut self, error: &Error, at: Position) {
        if let Some(stop) = self.source.get_ref().stop() {
            // A body that breaks off behind the root's end has the whole document.
            self.reader.document.is_whole =
                stop == Stop::Body && self.has_root && self.open.is_empty();
            return;
        }
        // A tag that the end of the document cuts is not a wrong tag: the document was cut.
        let source = self.source.get_mut();
        let is_end = matches!(error, Error::Syntax(_))
            || (matches!(error, Error::IllFormed(IllFormedError::UnclosedReference))
                && source.fill_buf().is_ok_and(<[u8]>::is_empty));
        if is_end && source.fill_buf().is_ok_and(<[u8]>::is_empty) && self.has_root {
            return self.cut(at);
        }
        let error = match error {
            Error::Encoding(_) => "is not UTF-8".to_owned(),
            error => error.to_string(),
        };
        self.ill_formed(at, &error);
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
            _ => "its root's end",
        };
        self.reader.found(Rule::FileTruncated, at, true, || {
            format!("ends before {root}")
        });
    }

    fn declaration(&mut self, declaration: &quick_xml::events::BytesDecl<'_>, at: Position) {
        if !self.is_first {
            return self.ill_formed(at, "has something before its XML declaration");
        }
        if declaration.version().is_err() {
            self.ill_formed(at, "has an XML declaration without a version");
        }
        // ASCII is UTF-8, too.
        let is_right = |encoding: &str| {
            ["utf-8", "us-ascii", "ascii"]
                .iter()
                .any(|right| encoding.eq_ignore_ascii_case(right))
        };
        // That it is UTF-16 was seen before.
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

    /// A DOCTYPE does no harm by itself, and what it declares is never read.
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

    fn characters(&mut self, text: &str, at: Position) {
        // Most text has nothing that is to be looked at, which is seen at once.
        let is_plain = |byte: u8| byte >= b' ' && byte != 0xef && byte != b']';
        if !self.open.is_empty() && text.bytes().fold(true, |all, byte| all & is_plain(byte)) {
            if self.text.is_empty() {
                self.text_at = at;
            }
            self.text.push_str(text);
            return;
        }
        let is_blank = text
            .bytes()
            .all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        if is_blank {
            // Between elements it is nothing, and in a value it is kept.
            self.text.push_str(text);
            return;
        }
        self.valid(text, at);
        if text.contains("]]>") {
            self.ill_formed(at, "has ]]> in its text");
        }
        if self.open.is_empty() {
            self.ill_formed(at, "has text outside of its root");
            return;
        }
        if self.text.is_empty() {
            self.text_at = at;
        }
        if text.contains('\r') {
            // Line ends are one character (XML 1.0, 2.11).
            self.text
                .push_str(&text.replace("\r\n", "\n").replace('\r', "\n"));
        } else {
            self.text.push_str(text);
        }
    }

    /// XML allows hardly any control characters.
    fn valid(&mut self, text: &str, at: Position) {
        let suspect = |byte: u8| byte < b' ' || byte == 0xef;
        if text.bytes().any(suspect)
            && let Some(character) = text.chars().find(|c| !is_xml_char(*c))
        {
            let message = format!(
                "has the character U+{:04X}, which XML forbids",
                u32::from(character)
            );
            self.ill_formed(at, &message);
        }
    }

    fn reference(&mut self, reference: &BytesRef<'_>, at: Position) {
        if self.open.is_empty() {
            return self.ill_formed(at, "has a reference outside of its root");
        }
        let character = match &**reference {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            name => match reference.resolve_char_ref() {
                Ok(Some(character)) if is_xml_char(character) => {
                    self.marks |= Mark::Reference.bit();
                    character
                }
                // Entities of a DTD are never expanded.
                Ok(None) if self.dtd.is_some() => return self.entities.add(at),
                _ => {
                    let message = format!("has the reference {}, which is unknown", quoted(name));
                    return self.ill_formed(at, &message);
                }
            },
        };
        self.text.push(character);
    }

    fn start(&mut self, start: &BytesStart<'_>, at: Position) {
        let (resolved, local) = self.source.resolver().resolve_element(start.name());
        let local: &str = local.as_ref();
        let known = match &resolved {
            ResolveResult::Bound(namespace) => Ns::named(namespace.0),
            _ => None,
        };
        let ns = match (&resolved, self.open.last()) {
            _ if known.is_some() => known,
            (ResolveResult::Unknown(prefix), Some(Open { element: None, .. })) => {
                self.spaces.undeclared(prefix, start.name().0, at);
                None
            }
            // Nothing in what is not known is looked at.
            (_, Some(Open { element: None, .. })) => None,
            (resolved, open) => {
                let parent = open.and_then(|open| open.element);
                self.spaces.meant(resolved, start.name().0, parent, at)
            }
        };
        if self.open.len() >= MAX_DEPTH {
            self.reader.found(Rule::FileLimits, at, false, || {
                format!(
                    "has more than {MAX_DEPTH} elements inside each other, at which reading ended"
                )
            });
            self.stopped = true;
            return;
        }
        let element = if self.open.is_empty() {
            self.root(ns, local, start, at)
        } else {
            self.child(ns, local, start, at)
        };
        if self.stopped {
            return;
        }
        // Names that the schema knows are names.
        if element.is_none() && !is_name(start.name().as_ref()) {
            let message = format!("has the element {}, which is no name", quoted(local));
            self.ill_formed(at, &message);
        }
        if let Some(feed) = &mut self.feed {
            feed.start(local, start, at, &mut self.reader);
        }
        self.attributes(element, start, at);
        if let Some(outer) = self.open.last().and_then(|open| open.element)
            && outer.children().is_some()
        {
            self.not_only_elements(outer, at);
        }
        self.text.clear();
        self.marks = 0;
        self.text_at = at;
        self.open.push(Open {
            element,
            at,
            reached: 0,
            count: 0,
            taken: 0,
        });
        if let Some(element) = element
            && matches!(element.content, Content::Extended(_))
            && matches!(element.name, "url" | "sitemap")
        {
            self.reader.begin_entry(at);
            if start.name().prefix().is_some() {
                self.reader.prefixed.add(at);
            }
        }
        if let Some(element) = element {
            match element.used {
                Use::Dead(Rule::ExtVideoDead) => self.reader.dead_videos.add(at),
                Use::Dead(_) => self.reader.dead_images.add(at),
                Use::Ignored => self.reader.ignored.add(at),
                _ => {}
            }
            if element.ns == Ns::Image && element.name == "image" {
                self.reader.image(at);
            }
        }
    }

    fn end(&mut self, at: Position) {
        let Some(open) = self.open.pop() else {
            return;
        };
        if let Some(feed) = &mut self.feed {
            let is_item = feed.end(&self.text, self.text_at, &mut self.reader);
            if is_item {
                self.reader.end_entry();
            }
            self.text.clear();
            return;
        }
        let Some(element) = open.element else {
            self.text.clear();
            return;
        };
        match element.content {
            Content::Value(kind) => self.value(element, kind, open.at),
            Content::Sequence(places) | Content::Extended(places) => {
                self.not_only_elements(element, at);
                for (place, one) in places.iter().enumerate() {
                    if one.least > 0 && open.taken & (1 << place) == 0 && !is_root(element) {
                        let message = format!("<{}> has no <{}>", element.shown(), one.shown());
                        // What the schema requires, Google requires, too: one finding is enough.
                        self.reader.found(one.missing, open.at, true, || message);
                    }
                }
                let has = |name: &str| {
                    let place = places.iter().position(|one| one.name == name);
                    place.is_some_and(|place| open.taken & (1 << place) != 0)
                };
                match (element.ns, element.name) {
                    (Ns::Video, "video") => self.reader.entry.has_video = true,
                    (Ns::News, "news") => self.reader.entry.has_news = true,
                    _ => {}
                }
                match (element.ns, element.name) {
                    (Ns::Video, "video") if !has("content_loc") && !has("player_loc") => {
                        self.reader
                            .found(Rule::ExtVideoRequired, open.at, false, || {
                                "<video:video> has neither <video:content_loc> nor <video:player_loc>"
                                    .to_owned()
                            });
                    }
                    (Ns::News, "news") if !has("title") => {
                        self.reader.found(Rule::FileSchema, open.at, false, || {
                            "<news:news> has no <news:title>".to_owned()
                        });
                    }
                    (Ns::Sitemap, "url" | "sitemap") => self.reader.end_entry(),
                    _ => {}
                }
            }
        }
        self.text.clear();
    }

    /// Text between elements, of which the last piece is still there.
    fn not_only_elements(&mut self, element: &Element, at: Position) {
        if self.text.chars().all(xsd::is_space) {
            return;
        }
        let message = format!(
            "<{}> has text between its elements: {}",
            element.shown(),
            quoted(xsd::trimmed(&self.text))
        );
        self.reader.found(Rule::FileSchema, at, true, || message);
    }

    fn value(&mut self, element: &'static Element, kind: Type, at: Position) {
        let text = std::mem::take(&mut self.text);
        // An address that is used is looked at more closely below.
        let is_used = matches!(element.used, Use::Loc | Use::ImageLoc | Use::Address);
        let problem = match kind {
            Type::Address if is_used => None,
            kind => kind.problem(&text),
        };
        let invalid = problem.is_some();
        if let Some(problem) = problem {
            let message = match element.used {
                Use::Lastmod => problem,
                _ => format!("<{}>: {problem}", element.shown()),
            };
            self.reader.found(element.wrong, at, true, || message);
        }
        let trimmed = xsd::trimmed(&text);
        match element.used {
            Use::Loc => {
                if trimmed.len() != text.len() {
                    self.marks |= Mark::Space.bit();
                }
                if self.marks != 0 {
                    self.reader.marked(self.marks, at);
                }
                self.reader.loc(trimmed, at);
            }
            Use::Lastmod => self.reader.lastmod(trimmed, invalid, at),
            Use::ImageLoc | Use::Address => {
                if element.used == Use::ImageLoc {
                    self.reader.image_loc(trimmed);
                }
                let rule = match element.used {
                    Use::ImageLoc => Rule::ExtImage,
                    _ => Rule::LocForm,
                };
                let place = || format!("<{}>: ", element.shown());
                self.reader.has_form(trimmed, rule, at, place);
            }
            Use::NewsDate => self.reader.news_date(trimmed, at),
            Use::Nothing | Use::Ignored | Use::Dead(_) => {}
        }
        self.text = text;
    }
}

/// A root without entries has a rule of its own.
fn is_root(element: &Element) -> bool {
    std::ptr::eq(element, &raw const URLSET) || std::ptr::eq(element, &raw const INDEX)
}
