//! Reads the addresses and times of the items of RSS and Atom. Nothing else of a feed is checked.
//!
//! - Relative addresses are resolved by `xml:base`, and a relative `xml:base` by the address of the feed (RFC 4287, 2; RFC 3986,
//!   5.1).
//! - Of several alternates of an entry, the first that may be HTML is the page, or else the first.

use std::borrow::Cow;

use quick_xml::escape::{resolve_xml_entity, unescape_with};
use quick_xml::events::BytesStart;
use sitemap::loc::Loc;

use super::elements::Element;
use super::reader::Reader;
use crate::findings::Position;
use crate::url::path_of;

/// The prefix of which `alternate` is a short form (RFC 4287, 4.2.7.2).
const IANA: &str = "http://www.iana.org/assignments/relation/";
/// Media types of pages.
const PAGES: [&str; 2] = ["text/html", "application/xhtml+xml"];

/// The base of relative addresses, if it is known.
#[derive(Clone, Debug, Default)]
pub struct Base(Option<Loc>);

impl Base {
    /// Returns the base of a document with this address. An address that is not a URL is ignored.
    #[must_use]
    pub fn of(address: &str) -> Self {
        Self(Loc::parse_any(address).ok())
    }

    /// Returns the base inside an element with this `xml:base`, if it has one.
    #[must_use]
    pub fn inside(&self, base: Option<&str>) -> Self {
        let Some(base) = base.map(str::trim).filter(|base| !base.is_empty()) else {
            return self.clone();
        };
        let inner = match &self.0 {
            Some(outer) => Loc::resolve(base, outer),
            None => Loc::parse_any(base),
        };
        inner.map_or_else(|_| self.clone(), |inner| Self(Some(inner)))
    }

    /// Returns an address, resolved if it is relative.
    #[must_use]
    pub fn resolve<'t>(&self, address: &'t str) -> Cow<'t, str> {
        let base = self.0.as_ref().filter(|_| is_relative(address));
        match base.and_then(|base| Loc::resolve(address, base).ok()) {
            Some(resolved) => resolved.as_str().to_owned().into(),
            None => address.into(),
        }
    }
}

/// Returns whether an address has no scheme.
#[must_use]
pub fn is_relative(address: &str) -> bool {
    let end = address.find(['/', '?', '#']).unwrap_or(address.len());
    !address[..end].contains(':')
}

/// Returns the name of the entries of a feed with this root. Returns `None` if the root is not a feed's.
#[must_use]
pub fn entry_of(root: &str) -> Option<&'static str> {
    match root {
        "rss" | "rdf:RDF" | "Channel" => Some("item"),
        "atom:feed" => Some("entry"),
        _ => None,
    }
}

/// Returns the address of the page of an RSS item or an Atom entry. `base` is that of the element around it.
#[must_use]
pub fn page_of(entry: &Element, base: &Base) -> Option<String> {
    let base = base.inside(entry.attribute("xml:base"));
    let address = |element: &Element, text: &str| {
        let base = base.inside(element.attribute("xml:base"));
        (!text.is_empty()).then(|| base.resolve(text).into_owned())
    };
    if let Some(link) = entry.all("link").find(|link| !link.text().is_empty()) {
        return address(link, link.text());
    }
    // A text that is not an absolute address is one only if `isPermaLink` says so.
    let is_page = |guid: &&Element| match guid.attribute("isPermaLink") {
        Some(said) => said == "true",
        None => path_of(guid.text()).is_some(),
    };
    if let Some(guid) = entry.all("guid").find(is_page) {
        return address(guid, guid.text());
    }
    let links = entry.children().iter();
    let links = links.filter(|child| matches!(child.name(), "link" | "atom:link"));
    let ranked = links.filter_map(|link| {
        let rank = rank(link.attribute("rel"), link.attribute("type"))?;
        Some((rank, address(link, link.attribute("href")?)?))
    });
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, page)| page)
}

/// Returns how unlikely it is, by relation and media type, that a link of Atom is the page. Returns `None` if it is certainly
/// not.
fn rank(relation: Option<&str>, media: Option<&str>) -> Option<u8> {
    let relation = relation.map(str::trim).filter(|own| !own.is_empty());
    let relation = relation.map_or("alternate", |own| own.strip_prefix(IANA).unwrap_or(own));
    let media = media.map(|media| media.split(';').next().unwrap_or_default().trim());
    let is_page = media.is_none_or(|media| {
        media.is_empty() || PAGES.iter().any(|page| media.eq_ignore_ascii_case(page))
    });
    relation
        .eq_ignore_ascii_case("alternate")
        .then_some(u8::from(!is_page))
}

/// The state of the feed's reader.
#[derive(Debug, Default)]
pub(super) struct Feed {
    path: Vec<Part>,
    /// The prefix of the feed's own elements, without the colon.
    prefix: Option<String>,
    /// The item's address, with its rank and position.
    address: Option<(u8, String, Position)>,
    /// The bases of relative addresses, with the depth of the elements that set them.
    bases: Vec<(usize, Base)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Item,
    /// The link of RSS, whose text is the address.
    Link,
    /// The time of Atom.
    Updated,
    Other,
}

impl Feed {
    /// Returns whether an item is open.
    pub(super) fn is_in_item(&self) -> bool {
        self.path.contains(&Part::Item)
    }

    pub(super) fn start(
        &mut self,
        local: &str,
        start: &BytesStart<'_>,
        at: Position,
        reader: &mut Reader<'_>,
    ) {
        let prefix = start
            .name()
            .prefix()
            .map(|prefix| prefix.as_ref().to_owned());
        if self.path.is_empty() {
            // In RDF the items' namespace is not the root's.
            self.prefix = prefix.clone().filter(|_| local != "RDF");
            self.bases.push((0, Base::of(&reader.about.file)));
        }
        let in_item = self.path.last() == Some(&Part::Item);
        let is_own = prefix == self.prefix;
        let part = match local {
            "item" | "entry" => Part::Item,
            "link" if in_item && is_own => Part::Link,
            // `modified` is the name in Atom 0.3.
            "updated" | "modified" if in_item && is_own => Part::Updated,
            _ => Part::Other,
        };
        self.path.push(part);
        let value = |name| {
            let attribute = start.try_get_attribute(name).ok().flatten()?;
            let value = unescape_with(&attribute.value, resolve_xml_entity).ok()?;
            Some(value.into_owned())
        };
        if let Some(base) = value("xml:base")
            && let Some((_, outer)) = self.bases.last()
        {
            let inner = outer.inside(Some(&base));
            self.bases.push((self.path.len(), inner));
        }
        match part {
            Part::Item => {
                self.address = None;
                reader.begin_entry(at);
            }
            Part::Link => {
                let rank = rank(value("rel").as_deref(), value("type").as_deref());
                if let Some((rank, href)) = rank.zip(value("href")) {
                    let href = href.trim();
                    let resolved = self.bases.last().map(|(_, base)| base.resolve(href));
                    self.meet(rank, &resolved.unwrap_or(href.into()), at);
                }
            }
            Part::Updated | Part::Other => {}
        }
    }

    /// Reads an address of an item. It replaces a less likely one.
    fn meet(&mut self, rank: u8, address: &str, at: Position) {
        let is_better = |(own, _, _): &(u8, String, Position)| rank < *own;
        if self.address.as_ref().is_none_or(is_better) {
            self.address = Some((rank, address.to_owned(), at));
        }
    }

    /// Ends an element. Returns whether it was an item.
    pub(super) fn end(&mut self, text: &str, at: Position, reader: &mut Reader<'_>) -> bool {
        self.bases.pop_if(|(depth, _)| *depth == self.path.len());
        match self.path.pop() {
            Some(Part::Item) => {
                match self.address.take() {
                    Some((_, address, at)) => reader.loc(&address, at),
                    None => reader.unaddressed.add(at),
                }
                return true;
            }
            Some(Part::Link) if !text.trim().is_empty() => self.meet(0, text.trim(), at),
            Some(Part::Updated) => reader.lastmod(text.trim(), false, at),
            _ => {}
        }
        false
    }
}
