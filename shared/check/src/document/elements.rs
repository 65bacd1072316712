//! Reads XML as a stream of small trees: the entries of a sitemap, the items of a feed or of an export.
//!
//! - It checks nothing. `diff` and `import` use it. `check` has a reader of its own, which checks.
//! - Only one tree is in memory at a time.
//! - Names have the usual prefix of their namespace, whatever prefix the document has: `image:loc`, `wp:status`. The root's
//!   namespace counts as the usual one of such a root, so a wrong namespace hides nothing.
//! - A text is all the text of its element: CDATA and references, and the parts before and after a comment or an instruction.
//! - DTDs are never expanded.

use quick_xml::errors::{Error, IllFormedError};
use quick_xml::escape::{resolve_xml_entity, unescape_with};
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::{NsReader, Reader};

use super::input::{Input, Stop};
use names::Names;

pub use element::Element;
pub use entries::Entries;
pub use wrong::{Broken, Wrong};

mod element;
mod entries;
mod names;
mod wrong;

/// The most nested elements. A WordPress export has five levels.
const MAX_DEPTH: usize = 64;
/// The most namespaces in scope.
const MAX_NAMESPACES: usize = 256;
/// The most bytes of one tree: names, attributes and texts.
const MAX_TREE_BYTES: usize = 16 * 1024 * 1024;
/// Bytes that are counted for an element in addition to its texts.
const ELEMENT_BYTES: usize = 64;

/// How unknown references and malformed attributes are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddities {
    /// They end the reading of the document.
    Refused,
    /// The reference stays as it is written, as in the HTML of an export. The attribute is skipped.
    Kept,
}

/// The trees of a document.
pub struct Elements<'a> {
    reader: NsReader<Input<'a>>,
    buffer: Vec<u8>,
    oddities: Oddities,
    names: Names,
    depth: usize,
    /// The depth at which the trees begin. 2 is the level below the root.
    level: usize,
    /// The values of `xml:base` around the trees, with their depth.
    bases: Vec<(usize, String)>,
    /// The line at which the last piece began.
    line: u64,
}

impl<'a> Elements<'a> {
    /// Reads up to the root.
    ///
    /// # Errors
    ///
    /// If there is no root.
    pub fn open(input: Input<'a>, oddities: Oddities) -> Result<Self, Broken> {
        let mut reader = NsReader::from_reader(input);
        reader
            .resolver_mut()
            .set_max_namespace_bindings(MAX_NAMESPACES);
        let mut elements = Self {
            reader,
            buffer: Vec::new(),
            oddities,
            names: Names::of_root(&ResolveResult::Unbound, ""),
            depth: 0,
            level: 2,
            bases: Vec::new(),
            line: 1,
        };
        elements.read_root()?;
        Ok(elements)
    }

    fn read_root(&mut self) -> Result<(), Broken> {
        loop {
            self.buffer.clear();
            let input = self.reader.get_mut();
            input.begin_piece();
            let line = input.line();
            self.line = line;
            let (resolved, event) = match self.reader.read_resolved_event_into(&mut self.buffer) {
                Ok(read) => read,
                Err(error) => return Err(wrong(error, self.reader.get_ref(), line)),
            };
            let broken = |what| Broken { line, what };
            let is_empty = matches!(event, Event::Empty(_));
            let start = match event {
                Event::Start(start) | Event::Empty(start) => start,
                Event::Eof => return Err(broken(Wrong::NoRoot)),
                _ => continue,
            };
            let local = start.local_name();
            let local: &str = local.as_ref();
            self.names = Names::of_root(&resolved, local);
            self.depth = usize::from(!is_empty);
            // In RSS a channel is around the items, and in RSS 1.1 a list, too.
            if matches!(local, "rss" | "Channel") {
                self.level = 3;
            }
            self.bases.extend(base(&start).map(|base| (1, base)));
            return Ok(());
        }
    }

    /// Returns the root's name.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.names.root
    }

    /// Returns whether the root's namespace is not that of sitemaps, or is missing.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.names.is_foreign
    }

    /// Returns the values of `xml:base` in the elements around the last tree, the outermost first.
    pub fn bases(&self) -> impl Iterator<Item = &str> {
        self.bases.iter().map(|(_, base)| base.as_str())
    }

    /// Returns the line at which the last piece of the last tree began.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Returns the next tree, or `None` at the end.
    ///
    /// # Errors
    ///
    /// If the rest of the document cannot be read.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator would go on behind an error"
    )]
    pub fn next(&mut self) -> Result<Option<Element>, Broken> {
        // The open elements from the tree's root on. `None` for an element that is not needed.
        let mut open: Vec<Option<Element>> = Vec::new();
        let mut bytes = 0;
        while self.depth > 0 {
            self.buffer.clear();
            let input = self.reader.get_mut();
            input.begin_piece();
            let line = input.line();
            self.line = line;
            let (resolved, event) = match self.reader.read_resolved_event_into(&mut self.buffer) {
                Ok(read) => read,
                Err(error) => return Err(wrong(error, self.reader.get_ref(), line)),
            };
            let broken = |what| Broken { line, what };
            let is_empty = matches!(event, Event::Empty(_));
            match event {
                Event::Start(start) | Event::Empty(start) => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(broken(Wrong::Depth(MAX_DEPTH)));
                    }
                    if self.depth < self.level {
                        let own = base(&start).filter(|_| !is_empty);
                        self.bases.extend(own.map(|own| (self.depth, own)));
                    } else {
                        let element = element(&resolved, &start, &self.names, self.oddities);
                        let element = element.map_err(broken)?;
                        bytes += element.as_ref().map_or(ELEMENT_BYTES, size);
                        open.push(element);
                    }
                    if is_empty && let Some(tree) = end(&mut self.depth, &mut open) {
                        return Ok(Some(tree));
                    }
                }
                Event::End(_) => {
                    self.bases.pop_if(|(depth, _)| *depth == self.depth);
                    if let Some(tree) = end(&mut self.depth, &mut open) {
                        return Ok(Some(tree));
                    }
                }
                Event::Text(text) => add(&mut open, &mut bytes, &text),
                Event::CData(text) => add(&mut open, &mut bytes, &text),
                Event::GeneralRef(reference) => match character(&reference) {
                    Some(character) => {
                        add(&mut open, &mut bytes, character.encode_utf8(&mut [0; 4]));
                    }
                    None if self.oddities == Oddities::Refused => {
                        return Err(broken(Wrong::Reference(reference.to_string())));
                    }
                    None => add(&mut open, &mut bytes, &format!("&{};", &*reference)),
                },
                Event::Eof => return Err(broken(Wrong::Cut(self.names.root.clone()))),
                Event::Decl(_) | Event::DocType(_) | Event::Comment(_) | Event::PI(_) => {}
            }
            if bytes > MAX_TREE_BYTES {
                return Err(broken(Wrong::Large(MAX_TREE_BYTES)));
            }
        }
        self.rest()
    }

    /// Reads the rest after the root: comments, invalid content, or a damaged gzip stream.
    fn rest(&mut self) -> Result<Option<Element>, Broken> {
        loop {
            self.buffer.clear();
            let input = self.reader.get_mut();
            input.begin_piece();
            let line = input.line();
            match self.reader.read_event_into(&mut self.buffer) {
                Ok(Event::Eof) => return Ok(None),
                Ok(Event::Start(start) | Event::Empty(start)) => {
                    let name = start.name();
                    let name: &str = name.as_ref();
                    let what = Wrong::Behind(name.to_owned());
                    return Err(Broken { line, what });
                }
                Ok(_) => {}
                Err(error) => return Err(wrong(error, self.reader.get_ref(), line)),
            }
        }
    }
}

/// Returns the character that a reference means. Entities of a DTD are never expanded.
fn character(reference: &BytesRef<'_>) -> Option<char> {
    match &**reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => reference.resolve_char_ref().ok().flatten(),
    }
}

/// Adds text to the innermost open element.
fn add(open: &mut [Option<Element>], bytes: &mut usize, text: &str) {
    if let Some(Some(element)) = open.last_mut() {
        *bytes += text.len();
        element.text.push_str(text);
    }
}

/// Ends an element. Returns the tree if it was the outermost one.
fn end(depth: &mut usize, open: &mut Vec<Option<Element>>) -> Option<Element> {
    *depth -= 1;
    let ended = open.pop()?;
    match open.last_mut() {
        None => ended,
        Some(outer) => {
            if let (Some(outer), Some(mut ended)) = (outer, ended) {
                ended.at = outer.text.len();
                outer.children.push(ended);
            }
            None
        }
    }
}

fn wrong(error: Error, input: &Input<'_>, line: u64) -> Broken {
    let what = match error {
        Error::Io(error) => Wrong::Unread(input.stop().unwrap_or(Stop::Body), error.to_string()),
        Error::Encoding(error) => Wrong::Encoding(error.to_string()),
        Error::Syntax(_) | Error::IllFormed(IllFormedError::UnclosedReference) => {
            Wrong::Syntax(error.to_string())
        }
        error => Wrong::Other(error.to_string()),
    };
    Broken { line, what }
}

/// Returns an element without its text and children. Returns `None` if its namespace is not needed.
fn element(
    resolved: &ResolveResult<'_>,
    start: &BytesStart<'_>,
    names: &Names,
    oddities: Oddities,
) -> Result<Option<Element>, Wrong> {
    let Some(name) = names.name(resolved, start.local_name().as_ref()) else {
        return Ok(None);
    };
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = match attribute {
            Ok(attribute) => attribute,
            Err(error) if oddities == Oddities::Refused => {
                return Err(Wrong::Other(error.to_string()));
            }
            Err(_) => continue,
        };
        if attribute.key.as_namespace_binding().is_some() {
            continue;
        }
        let raw: &str = attribute.value.as_ref();
        let value = match unescape_with(raw, resolve_xml_entity) {
            Ok(value) => value.into_owned(),
            Err(error) if oddities == Oddities::Refused => {
                return Err(Wrong::Other(error.to_string()));
            }
            Err(_) => raw.to_owned(),
        };
        attributes.push((attribute.key.0.to_string(), value));
    }
    Ok(Some(Element {
        name,
        attributes,
        ..Element::default()
    }))
}

/// Returns the `xml:base` of an element.
fn base(start: &BytesStart<'_>) -> Option<String> {
    let attribute = start.try_get_attribute("xml:base").ok().flatten()?;
    let value = unescape_with(&attribute.value, resolve_xml_entity).ok()?;
    Some(value.into_owned())
}

fn size(element: &Element) -> usize {
    let attributes = element.attributes.iter();
    let attributes: usize = attributes
        .map(|(name, value)| name.len() + value.len())
        .sum();
    ELEMENT_BYTES + element.name.len() + attributes
}

/// Returns the root's name, without a prefix, of a document with this beginning. Returns `None` if it is not XML, or if its root
/// comes later.
#[must_use]
pub fn root_of(head: &[u8]) -> Option<String> {
    // The last character may be incomplete.
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start();
    if !text.starts_with('<') {
        return None;
    }
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event() {
            Ok(Event::Start(start) | Event::Empty(start)) => {
                let local = start.local_name();
                return Some(local.as_ref().to_owned());
            }
            Ok(Event::Eof) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
