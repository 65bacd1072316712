//! RSS and Atom: only the addresses and times of their items. Whether a feed is a good feed is not looked at.

use quick_xml::events::BytesStart;
use sitemap::loc::Loc;

use super::Reader;
use crate::finding::Position;

/// Where in a feed the reader is.
#[derive(Debug, Default)]
pub(super) struct Feed {
    path: Vec<Part>,
    /// The item has an address already.
    has_address: bool,
    /// What relative addresses are relative to, and how deep the element is that says so.
    bases: Vec<(usize, Loc)>,
}

/// What `alternate` is short for (RFC 4287, 4.2.7.2).
const IANA: &str = "http://www.iana.org/assignments/relation/";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Item,
    /// RSS's, whose text is the address.
    Link,
    /// Atom's time.
    Updated,
    Other,
}

impl Feed {
    pub(super) fn start(
        &mut self,
        local: &str,
        start: &BytesStart<'_>,
        at: Position,
        reader: &mut Reader<'_>,
    ) {
        let in_item = self.path.last() == Some(&Part::Item);
        let is_plain = start.name().prefix().is_none();
        let part = match local {
            "item" | "entry" => Part::Item,
            "link" if in_item && is_plain => Part::Link,
            "updated" if in_item && is_plain => Part::Updated,
            _ => Part::Other,
        };
        self.path.push(part);
        let value = |name| {
            let attribute = start.try_get_attribute(name).ok().flatten()?;
            let value = quick_xml::escape::unescape(&attribute.value).ok()?;
            Some(value.into_owned())
        };
        if let Some(base) = value("xml:base") {
            let outer = self.bases.last().map(|(_, outer)| outer.clone());
            let outer = outer.or_else(|| Loc::parse_any(&reader.about.file).ok());
            let base = match outer {
                Some(outer) => Loc::resolve(&base, &outer),
                None => Loc::parse_any(&base),
            };
            self.bases
                .extend(base.ok().map(|base| (self.path.len(), base)));
        }
        match part {
            Part::Item => {
                self.has_address = false;
                reader.begin_entry(at);
            }
            Part::Link => {
                let is_alternate = value("rel")
                    .is_none_or(|rel| rel.strip_prefix(IANA).unwrap_or(&rel) == "alternate");
                if let Some(href) = value("href").filter(|_| is_alternate && !self.has_address) {
                    self.has_address = true;
                    let href = href.trim();
                    let base = self.bases.last().filter(|_| is_relative(href));
                    match base.and_then(|(_, base)| Loc::resolve(href, base).ok()) {
                        Some(resolved) => reader.loc(resolved.as_str(), at),
                        None => reader.loc(href, at),
                    }
                }
            }
            Part::Updated | Part::Other => {}
        }
    }

    /// Whether it was an item.
    pub(super) fn end(&mut self, text: &str, at: Position, reader: &mut Reader<'_>) -> bool {
        self.bases.pop_if(|(depth, _)| *depth == self.path.len());
        match self.path.pop() {
            Some(Part::Item) => {
                if !self.has_address {
                    reader.unaddressed.add(at);
                }
                return true;
            }
            Some(Part::Link) if !self.has_address && !text.trim().is_empty() => {
                self.has_address = true;
                reader.loc(text.trim(), at);
            }
            Some(Part::Updated) => reader.lastmod(text.trim(), false, at),
            _ => {}
        }
        false
    }
}

/// Returns whether an address has no scheme.
fn is_relative(address: &str) -> bool {
    let end = address.find(['/', '?', '#']).unwrap_or(address.len());
    !address[..end].contains(':')
}
