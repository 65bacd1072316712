//! XML as a stream of small trees: the entries of a sitemap, the items of a feed or of an export.
//!
//! - No more than one of them is held.
//! - Names have the usual prefix of their namespace, whatever prefix the document has: `image:loc`, `wp:status`.
//! - DTDs are never expanded.

use std::fmt;

use quick_xml::errors::{Error, IllFormedError};
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

use super::input::Input;

/// Elements inside each other. A WordPress export has five.
const MAX_DEPTH: usize = 64;
/// Namespaces in force at a place.
const MAX_NAMESPACES: usize = 256;
/// Bytes of one tree: names, attributes and texts.
const MAX_TREE_BYTES: usize = 16 * 1024 * 1024;
/// What an element costs beside its texts.
const ELEMENT_BYTES: usize = 64;

/// A namespace by a part of its name, and the usual prefix. The first that fits counts.
const PREFIXES: [(&str, &str); 11] = [
    ("sitemaps.org/schemas/sitemap", ""),
    ("google.com/schemas/sitemap-image", "image:"),
    ("google.com/schemas/sitemap-video", "video:"),
    ("google.com/schemas/sitemap-news", "news:"),
    ("google.com/schemas/sitemap/0.84", ""),
    ("www.w3.org/1999/xhtml", "xhtml:"),
    ("www.w3.org/2005/Atom", "atom:"),
    ("wordpress.org/export/", "wp:"),
    ("purl.org/dc/elements", "dc:"),
    ("www.w3.org/1999/02/22-rdf-syntax-ns", "rdf:"),
    ("purl.org/rss/1.0/", ""), // and content:, which is not read
];
/// The namespaces of texts that are long and that nobody needs.
const IGNORED: [&str; 2] = ["purl.org/rss/1.0/modules/", "/excerpt/"];

/// An element with all that is in it.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
    text: String,
    pub(super) children: Vec<Element>,
}

impl Element {
    /// Its text, without white space around it.
    pub(super) fn text(&self) -> &str {
        self.text.trim()
    }

    /// The value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let attribute = self.attributes.iter().find(|(own, _)| own == name);
        attribute.map(|(_, value)| value.trim())
    }

    /// The elements of a name in it.
    pub(super) fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The text of the first element of a name in it, unless it is blank.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let child = self.children.iter().find(|child| child.name == name)?;
        Some(child.text()).filter(|text| !text.is_empty())
    }
}

/// Why a document cannot be read on.
#[derive(Debug)]
pub(super) struct Broken {
    line: u64,
    reason: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

/// The trees of a document.
pub(super) struct Elements {
    reader: NsReader<Input>,
    buffer: Vec<u8>,
    /// The root's name.
    root: String,
    depth: usize,
    /// How deep the trees begin: 2 below the root.
    level: usize,
    bytes: usize,
}

/// A part of a document.
enum Piece {
    Start(Option<Element>, bool),
    Text(String),
    End,
    Other,
}

impl Elements {
    /// Reads to the root.
    pub(super) fn open(input: Input) -> Result<Self, Broken> {
        let mut reader = NsReader::from_reader(input);
        reader
            .resolver_mut()
            .set_max_namespace_bindings(MAX_NAMESPACES);
        let mut elements = Self {
            reader,
            buffer: Vec::new(),
            root: String::new(),
            depth: 0,
            level: 2,
            bytes: 0,
        };
        loop {
            match elements.piece()? {
                Piece::Start(root, is_empty) => {
                    elements.root = root.map(|root| root.name).unwrap_or_default();
                    elements.depth = usize::from(!is_empty);
                    if elements.root == "rss" {
                        elements.level = 3;
                    }
                    return Ok(elements);
                }
                Piece::End => return Err(elements.broken("it has no root element")),
                Piece::Text(_) | Piece::Other => {}
            }
        }
    }

    /// The root's name.
    pub(super) fn root(&self) -> &str {
        &self.root
    }

    fn broken(&self, reason: impl Into<String>) -> Broken {
        Broken {
            line: self.reader.get_ref().line(),
            reason: reason.into(),
        }
    }

    /// The next tree; nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<Element>, Broken> {
        let mut open: Vec<Option<Element>> = Vec::new();
        self.bytes = 0;
        loop {
            if self.depth == 0 {
                return Ok(None);
            }
            match self.piece()? {
                Piece::Start(element, is_empty) => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        let reason = format!("it has more than {MAX_DEPTH} elements in each other");
                        return Err(self.broken(reason));
                    }
                    if self.depth >= self.level {
                        open.push(element);
                    }
                    if is_empty && let Some(tree) = self.end(&mut open) {
                        return Ok(Some(tree));
                    }
                }
                Piece::Text(text) => {
                    if let Some(Some(element)) = open.last_mut() {
                        self.bytes += text.len();
                        element.text.push_str(&text);
                    }
                }
                Piece::End => {
                    if let Some(tree) = self.end(&mut open) {
                        return Ok(Some(tree));
                    }
                }
                Piece::Other => {}
            }
            if self.bytes > MAX_TREE_BYTES {
                let mib = MAX_TREE_BYTES / (1024 * 1024);
                return Err(self.broken(format!("an entry of it is larger than {mib} MiB")));
            }
        }
    }

    /// An element ends; the tree, if it was the outermost.
    fn end(&mut self, open: &mut Vec<Option<Element>>) -> Option<Element> {
        self.depth -= 1;
        let ended = open.pop()?;
        match open.last_mut() {
            None => ended,
            Some(outer) => {
                if let (Some(outer), Some(ended)) = (outer, ended) {
                    outer.children.push(ended);
                }
                None
            }
        }
    }

    fn piece(&mut self) -> Result<Piece, Broken> {
        self.buffer.clear();
        self.reader.get_mut().begin_piece();
        let read = self.reader.read_resolved_event_into(&mut self.buffer);
        let (namespace, event) = match read {
            Ok(read) => read,
            Err(error) => {
                let reason = match error {
                    Error::Io(error) => error.to_string(),
                    Error::Encoding(_) => "it is not UTF-8".to_owned(),
                    Error::Syntax(_) | Error::IllFormed(IllFormedError::UnclosedReference) => {
                        format!("it is cut or not well-formed: {error}")
                    }
                    error => error.to_string(),
                };
                return Err(self.broken(reason));
            }
        };
        Ok(match event {
            Event::Start(start) => {
                let element = element(&namespace, &start);
                self.bytes += element.as_ref().map_or(ELEMENT_BYTES, size);
                Piece::Start(element, false)
            }
            Event::Empty(start) => {
                let element = element(&namespace, &start);
                self.bytes += element.as_ref().map_or(ELEMENT_BYTES, size);
                Piece::Start(element, true)
            }
            Event::End(_) => Piece::End,
            Event::Text(text) => Piece::Text(text.to_string()),
            Event::CData(text) => Piece::Text(text.to_string()),
            Event::GeneralRef(reference) => Piece::Text(match &*reference {
                "amp" => "&".to_owned(),
                "lt" => "<".to_owned(),
                "gt" => ">".to_owned(),
                "quot" => "\"".to_owned(),
                "apos" => "'".to_owned(),
                name => match reference.resolve_char_ref() {
                    Ok(Some(character)) => character.to_string(),
                    _ => format!("&{name};"),
                },
            }),
            Event::Eof if self.depth == 0 => Piece::End,
            Event::Eof => {
                let reason = format!("it is cut: it ends before </{}>", self.root);
                return Err(self.broken(reason));
            }
            _ => Piece::Other,
        })
    }
}

/// An element without what is in it; nothing if nobody needs it.
fn element(namespace: &ResolveResult<'_>, start: &BytesStart<'_>) -> Option<Element> {
    let local = start.local_name();
    let local: &str = local.as_ref();
    let name = match namespace {
        ResolveResult::Bound(namespace) => {
            let namespace: &str = namespace.0;
            if IGNORED.iter().any(|part| namespace.contains(part)) {
                return None;
            }
            let known = PREFIXES.iter().find(|(part, _)| namespace.contains(part));
            match known {
                Some((_, prefix)) => format!("{prefix}{local}"),
                None => format!("other:{local}"),
            }
        }
        ResolveResult::Unbound => local.to_owned(),
        ResolveResult::Unknown(prefix) => format!("{prefix}:{local}"),
    };
    if name == "wp:comment" {
        return None;
    }
    let mut attributes = Vec::new();
    for attribute in start.attributes().flatten() {
        let raw: &str = attribute.value.as_ref();
        let value = quick_xml::escape::unescape(raw);
        let value = value.map_or_else(|_| raw.to_owned(), std::borrow::Cow::into_owned);
        attributes.push((attribute.key.0.to_string(), value));
    }
    Some(Element {
        name,
        attributes,
        ..Element::default()
    })
}

fn size(element: &Element) -> usize {
    let attributes = element.attributes.iter();
    let attributes: usize = attributes
        .map(|(name, value)| name.len() + value.len())
        .sum();
    ELEMENT_BYTES + element.name.len() + attributes
}
