//! Reads the pages that a sitemap lists, one after the other, in a comparable form.
//!
//! It checks nothing. A document that is not well-formed, cut or too large is an error, because the rest of it is unknown.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};

use sitemap::loc::normalized;

use crate::document::elements::{Broken, Element, Elements, Entries, Oddities, Wrong};
use crate::document::feed::{Base, entry_of, page_of};
use crate::document::input::{Input, Limits, MAX_PIECE_BYTES, Stop, is_list};
use crate::document::schema::Ns;
use crate::document::{Kind, Transfer};
use crate::text::quoted;
use crate::url::path_of;

pub mod comparison;
mod page;
pub mod sort;

pub use page::{Page, Part};

/// The first bytes of a document, by which its kind is recognized.
const HEAD_BYTES: usize = 1024;

/// An item that a document lists.
#[derive(Debug)]
pub enum Listed<'a> {
    /// A page.
    Page(&'a Page),
    /// A sitemap of an index.
    Sitemap(&'a str),
}

/// Options of reading a document.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The transfer.
    pub transfer: Transfer,
    /// The most bytes, uncompressed.
    pub max_bytes: u64,
    /// Its address, which is the base of relative links in a feed. If it is not known, any text.
    pub address: String,
    /// Pairs of origins. A URL of the first is compared as if it were of the second.
    pub maps: Vec<(String, String)>,
    /// Whether URLs are compared as texts, not as addresses.
    pub is_exact: bool,
}

impl Reading {
    /// Returns a text with its origin replaced, if it is a URL of one of the mapped origins.
    #[must_use]
    pub fn mapped<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.maps.is_empty() {
            return text.into();
        }
        match self.replaced(text) {
            Some(mapped) => mapped.into(),
            // The origin itself may be spelled differently.
            None if is_list(text.as_bytes()) && !self.is_exact => {
                let mapped = self.replaced(&normalized(text));
                mapped.map_or(text.into(), Cow::Owned)
            }
            None => text.into(),
        }
    }

    fn replaced(&self, text: &str) -> Option<String> {
        self.maps.iter().find_map(|(from, to)| {
            // The whole origin must match, because `https://a.example` is also the beginning of `https://a.example.org`.
            let rest = text.strip_prefix(from.as_str())?;
            let is_whole = rest.is_empty() || rest.starts_with(['/', '?', '#']);
            is_whole.then(|| format!("{to}{rest}"))
        })
    }

    /// Returns a text of an entry in the form in which it is compared.
    fn compared<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !is_list(text.as_bytes()) {
            return text.into();
        }
        match self.mapped(text) {
            mapped if self.is_exact => mapped,
            Cow::Borrowed(text) => normalized(text),
            Cow::Owned(text) => normalized(&text).into_owned().into(),
        }
    }
}

/// The result of reading a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Its kind.
    pub kind: Kind,
    /// The number of listed items.
    pub listed: u64,
    /// The number of entries without an address, and of lines that are not one. They are not compared.
    pub without_address: u64,
    /// The number of elements that are not entries, in places for entries only.
    pub passed_over: u64,
    /// Whether its root's namespace is not the protocol's, or is missing. It was read anyway.
    pub is_foreign: bool,
}

/// Why a document could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// It is not a sitemap.
    #[error("is {0}, neither a sitemap nor an index")]
    Other(String),
    /// It is malformed.
    #[error("line {line}: {what}")]
    Malformed {
        /// The line.
        line: u32,
        /// The problem.
        what: String,
    },
    /// It has more bytes than this limit.
    #[error("has more than {0} bytes uncompressed; the rest was not read")]
    TooLarge(u64),
    /// It has a piece that is too long.
    #[error("has a text or a tag of more than a MiB; the rest was not read")]
    LongPiece,
    /// Its gzip stream is incomplete.
    #[error("the gzip stream ends in its middle")]
    CutGzip,
    /// Its gzip stream is damaged.
    #[error("the gzip stream is damaged")]
    BadGzip,
    /// It is invalid in its declared encoding.
    #[error("is not the {0} that it says it is")]
    BadText(&'static str),
    /// Its body could not be read to its end.
    #[error("the body could not be read to its end: {0}")]
    Body(io::Error),
    /// `take` failed for a listed item.
    #[error("{0}")]
    Take(io::Error),
}

/// Calls `take` with each item that a document lists, in order.
///
/// # Errors
///
/// If the document cannot be read to its end, or has content but no readable entry, or if `take` fails.
pub fn read<'a>(
    body: impl Read + 'a,
    reading: &'a Reading,
    mut take: impl FnMut(Listed<'_>) -> io::Result<()>,
) -> Result<Outline, PageError> {
    // Whether the name fits the compression is checked by rules elsewhere.
    let limits = Limits {
        bytes: reading.max_bytes,
        piece: MAX_PIECE_BYTES,
    };
    let mut input = Input::judged(body, reading.transfer.is_encoded, true, limits);
    let start = input.head(HEAD_BYTES).trim_ascii_start();
    if is_list(start) {
        return lines(&mut input, reading, &mut take);
    }
    if !start.is_empty() && !start.starts_with(b"<") {
        let begin = String::from_utf8_lossy(&start[..start.len().min(40)]).into_owned();
        let what = match reading.transfer.is_foreign {
            true => "something else".to_owned(),
            false => format!("a file that begins with {}", quoted(&begin)),
        };
        return Err(PageError::Other(what));
    }
    let broken = |broken| broken_at(broken, reading);
    let mut elements = Elements::open(input, Oddities::Refused).map_err(broken)?;
    trees(&mut elements, reading, &mut take)
}

/// Calls `take` with the pages of `<url>` elements without a root. Waymark's tables have such elements, with the usual prefixes.
///
/// # Errors
///
/// As [`read`].
pub fn read_entries(
    entries: &str,
    reading: &Reading,
    take: impl FnMut(Listed<'_>) -> io::Result<()>,
) -> Result<Outline, PageError> {
    let mut begin = "<urlset".to_owned();
    for (_, prefix, uri) in Ns::ALL {
        let colon = if prefix.is_empty() { "" } else { ":" };
        let name = prefix.trim_end_matches(':');
        begin.push_str(&format!(" xmlns{colon}{name}=\"{uri}\""));
    }
    begin.push('>');
    let body = begin.as_bytes().chain(entries.as_bytes());
    read(body.chain(&b"</urlset>"[..]), reading, take)
}

/// Reads a list of one URL a line.
fn lines(
    input: &mut Input<'_>,
    reading: &Reading,
    take: &mut impl FnMut(Listed<'_>) -> io::Result<()>,
) -> Result<Outline, PageError> {
    let (mut line, mut page) = (Vec::new(), Page::default());
    let mut outline = Outline {
        kind: Kind::Text,
        listed: 0,
        without_address: 0,
        passed_over: 0,
        is_foreign: false,
    };
    loop {
        let at = input.line();
        let is_line = input.read_line(&mut line);
        let is_line = is_line.map_err(|error| {
            let stop = input.stop().unwrap_or(Stop::Body);
            unread(stop, error, reading)
        });
        if !is_line? {
            return Ok(outline);
        }
        let text = std::str::from_utf8(&line).map_err(|_| malformed(at, "is not UTF-8"))?;
        let text = text.trim();
        if path_of(text).is_some() {
            page.loc = reading.mapped(text).into_owned();
            outline.listed += 1;
            take(Listed::Page(&page)).map_err(PageError::Take)?;
        } else if !text.is_empty() {
            outline.without_address += 1;
        }
    }
}

fn trees(
    elements: &mut Elements<'_>,
    reading: &Reading,
    take: &mut impl FnMut(Listed<'_>) -> io::Result<()>,
) -> Result<Outline, PageError> {
    let (kind, entry_name) = match (elements.root(), entry_of(elements.root())) {
        ("urlset", _) => (Kind::Sitemap, "url"),
        ("sitemapindex", _) => (Kind::Index, "sitemap"),
        (_, Some("entry")) => (Kind::Atom, "entry"),
        (_, Some(item)) => (Kind::Rss, item),
        ("html" | "HTML" | "xhtml:html", _) => {
            return Err(PageError::Other("a web page".to_owned()));
        }
        (root, _) => {
            return Err(PageError::Other(match reading.transfer.is_foreign {
                true => "another document".to_owned(),
                false => format!("a document of <{}>", local(root)),
            }));
        }
    };
    let is_feed = matches!(kind, Kind::Rss | Kind::Atom);
    let mut entries = Entries::new(entry_name);
    let base = Base::of(&reading.address);
    let broken = |broken| broken_at(broken, reading);
    while let Some(entry) = elements.next().map_err(broken)? {
        let page = if is_feed {
            let inside = |base: Base, own| base.inside(Some(own));
            feed_page(
                &entry,
                &elements.bases().fold(base.clone(), inside),
                reading,
            )
        } else {
            sitemap_page(&entry, reading)
        };
        if !entries.add(&entry, !page.loc.is_empty()) || page.loc.is_empty() {
            continue;
        }
        let listed = match kind {
            Kind::Index => Listed::Sitemap(&page.loc),
            _ => Listed::Page(&page),
        };
        take(listed).map_err(PageError::Take)?;
    }
    match entries.lacking() {
        Some(what) => Err(malformed(elements.line(), &format!("has {what}"))),
        None => Ok(Outline {
            kind,
            listed: entries.count() - entries.without_address(),
            without_address: entries.without_address(),
            passed_over: entries.passed_over(),
            is_foreign: !is_feed && elements.is_foreign(),
        }),
    }
}

fn sitemap_page(entry: &Element, reading: &Reading) -> Page {
    let mut page = Page::default();
    for child in entry.children() {
        match child.name() {
            "loc" => page.loc = reading.mapped(child.text()).into_owned(),
            "lastmod" => child.text().clone_into(&mut page.lastmod),
            name => {
                if let Some(part) = Part::named(name) {
                    let mut hasher = DefaultHasher::new();
                    hash_element(child, reading, &mut hasher);
                    page.parts[part as usize].push(hasher.finish());
                }
            }
        }
    }
    for part in &mut page.parts {
        part.sort_unstable();
    }
    page
}

fn feed_page(entry: &Element, base: &Base, reading: &Reading) -> Page {
    let address = page_of(entry, base);
    let mut times = entry.children().iter();
    // `modified` is the name in Atom 0.3.
    let updated = times.find(|child| matches!(child.local(), "updated" | "modified"));
    Page {
        loc: reading.mapped(&address.unwrap_or_default()).into_owned(),
        lastmod: updated.map_or(String::new(), |updated| updated.text().to_owned()),
        ..Page::default()
    }
}

/// Hashes the content of an element, regardless of its form.
fn hash_element(element: &Element, reading: &Reading, hasher: &mut DefaultHasher) {
    hash(b"<", hasher);
    hash(element.local().as_bytes(), hasher);
    let mut attributes: Vec<_> = element.attributes().iter().collect();
    attributes.sort();
    for (name, value) in attributes {
        hash(name.as_bytes(), hasher);
        hash(reading.compared(value.trim()).as_bytes(), hasher);
    }
    hash(reading.compared(element.text()).as_bytes(), hasher);
    for child in element.children() {
        hash_element(child, reading, hasher);
    }
    hash(b">", hasher);
}

/// Hashes a text with its length, so that two texts cannot be confused.
fn hash(bytes: &[u8], hasher: &mut DefaultHasher) {
    hasher.write_usize(bytes.len());
    hasher.write(bytes);
}

/// Returns the error for bytes that ended early.
fn unread(stop: Stop, error: io::Error, reading: &Reading) -> PageError {
    match stop {
        Stop::TooLarge => PageError::TooLarge(reading.max_bytes),
        Stop::LongPiece => PageError::LongPiece,
        Stop::CutGzip => PageError::CutGzip,
        Stop::BadGzip => PageError::BadGzip,
        Stop::BadText(encoding) => PageError::BadText(encoding),
        Stop::Body => PageError::Body(error),
    }
}

fn broken_at(Broken { line, what }: Broken, reading: &Reading) -> PageError {
    let what = match what {
        Wrong::Unread(stop, reason) => return unread(stop, io::Error::other(reason), reading),
        Wrong::Cut(_) => "ends before the end of its root element".to_owned(),
        Wrong::NoRoot => "has no root element".to_owned(),
        Wrong::Behind(name) => format!("has <{name}> after the end of its root element"),
        Wrong::Depth(_) => "has too many nested elements".to_owned(),
        Wrong::Large(most) => format!("has an entry of more than {} MiB", most / (1024 * 1024)),
        Wrong::Reference(name) => format!("has the reference {}, which is unknown", quoted(&name)),
        Wrong::Encoding(reason) | Wrong::Syntax(reason) | Wrong::Other(reason) => reason,
    };
    malformed(line, &what)
}

fn malformed(line: u64, what: &str) -> PageError {
    let (line, what) = (u32::try_from(line).unwrap_or(u32::MAX), what.to_owned());
    PageError::Malformed { line, what }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

#[cfg(test)]
mod tests;
