//! The pages that a sitemap lists, one after the other, for what compares them: what each says, whatever its form is.
//!
//! It judges nothing. What is not well-formed, cut or too large is an error, since what is behind it is not known.

use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufRead as _, Read};

use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

use crate::document::Kind;
use crate::document::input::{Source, Stop};
use crate::schema::{Ns, quoted};

/// What a document's beginning is recognised by.
const HEAD_BYTES: usize = 1024;
/// Elements inside each other. Sitemaps have five.
const MAX_DEPTH: usize = 64;

/// A listed page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its address.
    pub loc: String,
    /// Its lastmod, as it is written; empty if there is none.
    pub lastmod: String,
    /// Digests of its images, alternates, videos and news: [`Part`] is the place.
    pub parts: [Vec<u64>; Part::ALL.len()],
}

/// What a page has several of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Images.
    Images,
    /// Links to the page in other languages.
    Alternates,
    /// Videos.
    Videos,
    /// News.
    News,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Images, Self::Alternates, Self::Videos, Self::News];

    fn named(ns: Ns, local: &str) -> Option<Self> {
        match (ns, local) {
            (Ns::Image, "image") => Some(Self::Images),
            (Ns::Video, "video") => Some(Self::Videos),
            (Ns::News, "news") => Some(Self::News),
            (Ns::Xhtml, "link") => Some(Self::Alternates),
            _ => None,
        }
    }
}

/// What a document lists.
#[derive(Debug)]
pub enum Listed<'a> {
    /// A page.
    Page(&'a Page),
    /// A sitemap, in an index.
    Sitemap(&'a str),
}

/// How a document is read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// It came with Content-Encoding gzip.
    pub is_encoded: bool,
    /// The most bytes of it, uncompressed.
    pub max_bytes: u64,
    /// Origins: a URL of the first is compared as if it were of the second.
    pub maps: Vec<(String, String)>,
}

impl Reading {
    /// A text as it is compared.
    #[must_use]
    pub fn mapped<'t>(&self, text: &'t str) -> std::borrow::Cow<'t, str> {
        for (from, to) in &self.maps {
            // The whole origin: `https://a.example` also begins `https://a.example.org`.
            if let Some(rest) = text.strip_prefix(from.as_str())
                && (rest.is_empty() || rest.starts_with(['/', '?', '#']))
            {
                return format!("{to}{rest}").into();
            }
        }
        text.into()
    }
}

/// Why a document could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// It is no sitemap.
    #[error("is {0}, neither a sitemap nor an index")]
    Other(String),
    /// Something in it is wrong.
    #[error("line {line}: {what}")]
    Malformed {
        /// The line.
        line: u32,
        /// What is wrong.
        what: String,
    },
    /// It has too many bytes.
    #[error("has more than {0} bytes uncompressed, at which reading ended")]
    TooLarge(u64),
    /// It has a piece that is too long.
    #[error("has a text or a tag of more than a MiB, at which reading ended")]
    LongPiece,
    /// Its gzip stream is cut.
    #[error("the gzip stream ends in its middle")]
    CutGzip,
    /// Its gzip stream is damaged.
    #[error("the gzip stream is damaged")]
    BadGzip,
    /// Its body could not be read to its end.
    #[error("the body could not be read to its end: {0}")]
    Body(io::Error),
    /// What was listed could not be taken.
    #[error("{0}")]
    Take(io::Error),
}

/// Gives `take` what a document lists, in order.
///
/// # Errors
///
/// If the document cannot be read to its end, or `take` fails.
pub fn read<'a>(
    body: impl Read + 'a,
    reading: &'a Reading,
    take: impl FnMut(Listed<'_>) -> io::Result<()>,
) -> Result<Kind, PageError> {
    // Whether a name fits the packing is for rules to say.
    let mut source = Source::open(body, reading.is_encoded, true, reading.max_bytes);
    let head = source.head(HEAD_BYTES);
    let start = head[..head.len().min(HEAD_BYTES)].trim_ascii_start();
    let (is_text, is_xml) = (start.starts_with(b"http"), start.starts_with(b"<"));
    if !is_text && !is_xml && !start.is_empty() {
        let begin = String::from_utf8_lossy(&start[..start.len().min(40)]).into_owned();
        let what = format!("a file that begins with {}", quoted(&begin));
        return Err(PageError::Other(what));
    }
    let mut pages = Pages {
        reading,
        take,
        kind: Kind::Other,
        page: Page::default(),
        text: String::new(),
        depth: 0,
        part: None,
        hasher: DefaultHasher::new(),
        rss_link: false,
    };
    let outcome = if is_text {
        pages.lines(&mut source)
    } else {
        pages.xml(&mut source)
    };
    // What stopped the bytes is why the parser stopped.
    match (source.stop(), outcome) {
        (_, Err(PageError::Take(error))) => Err(PageError::Take(error)),
        (None, outcome) => outcome.map(|()| pages.kind),
        (Some(Stop::TooLarge), _) => Err(PageError::TooLarge(reading.max_bytes)),
        (Some(Stop::LongPiece), _) => Err(PageError::LongPiece),
        (Some(Stop::CutGzip), _) => Err(PageError::CutGzip),
        (Some(Stop::BadGzip), _) => Err(PageError::BadGzip),
        (Some(Stop::Body), Err(PageError::Body(error))) => Err(PageError::Body(error)),
        (Some(Stop::Body), _) => Err(PageError::Body(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Gives `take` the pages of `<url>` elements that stand alone, as Waymark's tables have them: with the usual prefixes.
///
/// # Errors
///
/// As [`read`].
pub fn read_entries(
    entries: &str,
    reading: &Reading,
    take: impl FnMut(Listed<'_>) -> io::Result<()>,
) -> Result<Kind, PageError> {
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

struct Pages<'r, F> {
    reading: &'r Reading,
    take: F,
    kind: Kind,
    page: Page,
    text: String,
    /// Elements that are open.
    depth: usize,
    /// The image, link, video or news that is being read.
    part: Option<Part>,
    /// Its digest so far.
    hasher: DefaultHasher,
    /// The link that is open is RSS's, whose text is the address.
    rss_link: bool,
}

impl<F: FnMut(Listed<'_>) -> io::Result<()>> Pages<'_, F> {
    fn lines(&mut self, source: &mut Source<'_>) -> Result<(), PageError> {
        self.kind = Kind::Text;
        let mut line = Vec::new();
        loop {
            let at = source.position().line;
            line.clear();
            source.begin_piece();
            if source
                .read_until(b'\n', &mut line)
                .map_err(PageError::Body)?
                == 0
            {
                return Ok(());
            }
            let text = std::str::from_utf8(&line).map_err(|_| malformed(at, "is not UTF-8"))?;
            let text = text.trim();
            if !text.is_empty() {
                self.page.loc = self.reading.mapped(text).into_owned();
                self.give()?;
            }
        }
    }

    fn xml(&mut self, source: &mut Source<'_>) -> Result<(), PageError> {
        let mut reader = NsReader::from_reader(source);
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            let source = reader.get_mut();
            source.begin_piece();
            let at = source.position().line;
            let (resolved, event) = match reader.read_resolved_event_into(&mut buffer) {
                Ok(read) => read,
                Err(quick_xml::Error::Io(error)) => {
                    let (kind, text) = (error.kind(), error.to_string());
                    return Err(PageError::Body(io::Error::new(kind, text)));
                }
                Err(error) => return Err(malformed(at, &error.to_string())),
            };
            let ns = match resolved {
                ResolveResult::Bound(namespace) => Ns::named(namespace.0),
                ResolveResult::Unbound | ResolveResult::Unknown(_) => None,
            };
            match event {
                Event::Start(start) => self.start(ns, &start, at)?,
                Event::Empty(start) => {
                    let local = start.local_name();
                    self.start(ns, &start, at)?;
                    self.end(ns, local.as_ref())?;
                }
                Event::End(end) => {
                    let local = end.local_name();
                    self.end(ns, local.as_ref())?;
                }
                Event::Text(text) => self.text.push_str(&text),
                Event::CData(text) => self.text.push_str(&text),
                Event::GeneralRef(reference) => {
                    let character = match &*reference {
                        "amp" => Some('&'),
                        "lt" => Some('<'),
                        "gt" => Some('>'),
                        "quot" => Some('"'),
                        "apos" => Some('\''),
                        // Entities of a DTD are never expanded.
                        _ => reference.resolve_char_ref().ok().flatten(),
                    };
                    let unknown =
                        || format!("has the reference {}, which is unknown", quoted(&reference));
                    self.text
                        .push(character.ok_or_else(|| malformed(at, &unknown()))?);
                }
                Event::Eof if self.depth > 0 => {
                    return Err(malformed(at, "ends before its root's end"));
                }
                Event::Eof if self.kind == Kind::Other => {
                    return Err(malformed(at, "has no root element"));
                }
                Event::Eof => return Ok(()),
                Event::Decl(_) | Event::DocType(_) | Event::Comment(_) | Event::PI(_) => {}
            }
        }
    }

    fn start(&mut self, ns: Option<Ns>, start: &BytesStart<'_>, at: u32) -> Result<(), PageError> {
        let local = start.local_name();
        let local: &str = local.as_ref();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(malformed(at, "has too many elements inside each other"));
        }
        self.text.clear();
        if self.depth == 1 {
            self.kind = match (ns, local) {
                (Some(Ns::Sitemap), "urlset") => Kind::Sitemap,
                (Some(Ns::Sitemap), "sitemapindex") => Kind::Index,
                (_, "rss" | "RDF") => Kind::Rss,
                (_, "feed") => Kind::Atom,
                (_, "html" | "HTML") => return Err(PageError::Other("a web page".to_owned())),
                _ if matches!(local, "urlset" | "sitemapindex") => {
                    let what = format!("<{local}> is not in the namespace {}", Ns::ALL[0].2);
                    return Err(malformed(at, &what));
                }
                _ => return Err(PageError::Other(format!("a document of <{local}>"))),
            };
            return Ok(());
        }
        if self.is_entry(ns, local) {
            self.page = Page::default();
            self.part = None;
            return Ok(());
        }
        if matches!(self.kind, Kind::Rss | Kind::Atom) {
            self.rss_link = local == "link" && start.name().prefix().is_none();
            return if self.rss_link {
                self.link(start, at)
            } else {
                Ok(())
            };
        }
        if self.depth == 3 {
            self.part = ns.and_then(|ns| Part::named(ns, local));
            self.hasher = DefaultHasher::new();
        }
        if self.part.is_some() {
            self.hash(b"<");
            self.hash(local.as_bytes());
            for (name, value) in attributes(start, at)? {
                self.hash(name.as_bytes());
                let value = self.reading.mapped(&value).into_owned();
                self.hash(value.as_bytes());
            }
        }
        Ok(())
    }

    /// Atom's address, or nothing, for RSS's is its text.
    fn link(&mut self, start: &BytesStart<'_>, at: u32) -> Result<(), PageError> {
        let attributes = attributes(start, at)?;
        let value = |name| {
            attributes
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value)
        };
        let is_alternate = value("rel").is_none_or(|rel| rel == "alternate");
        if let Some(href) = value("href").filter(|_| is_alternate && self.page.loc.is_empty()) {
            self.page.loc = self.reading.mapped(href.trim()).into_owned();
        }
        Ok(())
    }

    fn end(&mut self, ns: Option<Ns>, local: &str) -> Result<(), PageError> {
        let depth = self.depth;
        self.depth -= 1;
        let text = std::mem::take(&mut self.text);
        let outcome = self.ended(ns, local, depth, text.trim());
        self.text = text;
        self.text.clear();
        outcome
    }

    fn ended(
        &mut self,
        ns: Option<Ns>,
        local: &str,
        depth: usize,
        text: &str,
    ) -> Result<(), PageError> {
        self.depth += 1;
        let is_entry = self.is_entry(ns, local);
        self.depth -= 1;
        if is_entry {
            return if self.page.loc.is_empty() {
                Ok(())
            } else {
                self.give()
            };
        }
        if matches!(self.kind, Kind::Rss | Kind::Atom) {
            match local {
                "link" if self.rss_link && self.page.loc.is_empty() => {
                    self.page.loc = self.reading.mapped(text).into_owned();
                }
                "updated" => text.clone_into(&mut self.page.lastmod),
                _ => {}
            }
            self.rss_link = false;
            return Ok(());
        }
        if let Some(part) = self.part {
            let text = self.reading.mapped(text).into_owned();
            self.hash(text.as_bytes());
            if depth == 3 {
                self.page.parts[part as usize].push(self.hasher.finish());
                self.part = None;
            }
        } else if depth == 3 && ns == Some(Ns::Sitemap) {
            match local {
                "loc" => self.page.loc = self.reading.mapped(text).into_owned(),
                "lastmod" => text.clone_into(&mut self.page.lastmod),
                _ => {}
            }
        }
        Ok(())
    }

    fn is_entry(&self, ns: Option<Ns>, local: &str) -> bool {
        match self.kind {
            Kind::Sitemap => self.depth == 2 && ns == Some(Ns::Sitemap) && local == "url",
            Kind::Index => self.depth == 2 && ns == Some(Ns::Sitemap) && local == "sitemap",
            Kind::Rss => local == "item",
            Kind::Atom => self.depth == 2 && local == "entry",
            Kind::Text | Kind::Html | Kind::Other => false,
        }
    }

    /// Each text with its length, so that two never run together.
    fn hash(&mut self, bytes: &[u8]) {
        self.hasher.write_usize(bytes.len());
        self.hasher.write(bytes);
    }

    fn give(&mut self) -> Result<(), PageError> {
        for part in &mut self.page.parts {
            part.sort_unstable();
        }
        let listed = match self.kind {
            Kind::Index => Listed::Sitemap(&self.page.loc),
            _ => Listed::Page(&self.page),
        };
        (self.take)(listed).map_err(PageError::Take)?;
        self.page.loc.clear();
        Ok(())
    }
}

fn malformed(line: u32, what: &str) -> PageError {
    let what = what.to_owned();
    PageError::Malformed { line, what }
}

/// In the order of their names, without declarations.
fn attributes(start: &BytesStart<'_>, at: u32) -> Result<Vec<(String, String)>, PageError> {
    let mut found = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| malformed(at, &error.to_string()))?;
        if attribute.key.as_namespace_binding().is_some() {
            continue;
        }
        let value = quick_xml::escape::unescape(&attribute.value);
        let value = value.map_err(|error| malformed(at, &error.to_string()))?;
        found.push((attribute.key.0.to_owned(), value.into_owned()));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' \
        xmlns:i='http://www.google.com/schemas/sitemap-image/1.1' xmlns:x='http://www.w3.org/1999/xhtml'>";

    fn reading() -> Reading {
        Reading {
            max_bytes: 1_000_000,
            maps: vec![(
                "https://b.example".to_owned(),
                "https://a.example".to_owned(),
            )],
            ..Reading::default()
        }
    }

    fn pages(body: &str) -> Result<Vec<Page>, PageError> {
        let (reading, mut pages) = (reading(), Vec::new());
        let take = |listed: Listed<'_>| {
            match listed {
                Listed::Page(page) => pages.push(page.clone()),
                Listed::Sitemap(loc) => pages.push(Page {
                    loc: format!("sitemap {loc}"),
                    ..Page::default()
                }),
            }
            Ok(())
        };
        read(body.as_bytes(), &reading, take).map(|_| pages)
    }

    fn counts(page: &Page) -> [usize; 4] {
        [0, 1, 2, 3].map(|part| page.parts[part].len())
    }

    #[test]
    fn what_a_page_says_is_the_same_in_any_form() {
        let one = pages(&format!(
            "<?xml version='1.0'?><!-- a -->{BEGIN}<url><loc>https://a.example/?a&amp;b</loc><lastmod>2026-01-02</lastmod>\
             <i:image><i:loc>https://a.example/1.png</i:loc></i:image>\
             <x:link rel='alternate' hreflang='de' href='https://a.example/de'/></url></urlset>"
        ))
        .unwrap();
        let other = pages(
            "<s:urlset xmlns:s='http://www.sitemaps.org/schemas/sitemap/0.9'>\n <s:url>\n\
             <s:lastmod>\n2026-01-02</s:lastmod><link xmlns='http://www.w3.org/1999/xhtml' \
             href='https://b.example/de' hreflang='de' rel='alternate'></link>\
             <image xmlns='http://www.google.com/schemas/sitemap-image/1.1'>\n <loc> https://b.example/1.png </loc></image>\
             <s:loc> <![CDATA[https://b.example/?a&b]]> </s:loc></s:url></s:urlset>",
        )
        .unwrap();
        assert_eq!(one, other);
        assert_eq!(one[0].loc, "https://a.example/?a&b");
        assert_eq!(counts(&one[0]), [1, 1, 0, 0]);
    }

    #[test]
    fn an_image_is_another_if_anything_of_it_is() {
        let image = |inside: &str| {
            let body = format!(
                "{BEGIN}<url><loc>https://a.example/</loc><i:image>{inside}</i:image></url></urlset>"
            );
            pages(&body).unwrap().remove(0).parts[0][0]
        };
        let one = image("<i:loc>https://a.example/1</i:loc>");
        for other in [
            "<i:loc>https://a.example/2</i:loc>",
            "<i:loc>https://a.example/1</i:loc><i:title>1</i:title>",
            "<i:loc>https://b.example.evil/1</i:loc>",
        ] {
            assert_ne!(image(other), one, "{other}");
        }
        assert_eq!(image("<i:loc>https://b.example/1</i:loc>"), one);
    }

    #[test]
    fn indexes_lists_and_feeds_list_too() {
        let locs = |body: &str| {
            let pages = pages(body).unwrap().into_iter();
            pages.map(|page| page.loc).collect::<Vec<_>>()
        };
        let index = "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><sitemap><loc>https://c.example/1.xml\
             </loc></sitemap></sitemapindex>";
        assert_eq!(locs(index), ["sitemap https://c.example/1.xml"]);
        assert_eq!(
            locs("https://a.example/1\r\n\nhttps://b.example/2"),
            ["https://a.example/1", "https://a.example/2"]
        );
        let rss = "<rss><channel><link>https://a.example/</link><item><link>https://a.example/1</link></item></channel></rss>";
        assert_eq!(locs(rss), ["https://a.example/1"]);
        let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><link href='https://a.example/'/><entry>\
             <link rel='self' href='https://a.example/x'/><link href='https://a.example/1'/></entry></feed>";
        assert_eq!(locs(atom), ["https://a.example/1"]);
    }

    #[test]
    fn entries_alone_are_read_with_the_usual_prefixes() {
        let (reading, mut found) = (reading(), Vec::new());
        let entry = "<url><loc>https://a.example/</loc><image:image><image:loc>https://a.example/1</image:loc></image:image>\
             <video:video><video:title>a</video:title></video:video></url>";
        read_entries(entry, &reading, |listed| {
            if let Listed::Page(page) = listed {
                found.push(counts(page));
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(found, [[1, 0, 1, 0]]);
    }

    #[test]
    fn what_is_not_whole_is_an_error() {
        for (body, expected) in [
            ("", "line 1: has no root element"),
            ("<html><p></p></html>", "is a web page, neither"),
            ("{}", "is a file that begins with \"{}\", neither"),
            ("<urlset></urlset>", "is not in the namespace"),
            (
                &format!("{BEGIN}<url><loc>https://a.example/"),
                "ends before its root's end",
            ),
            (
                &format!("{BEGIN}<url><loc>&nbsp;</loc></url></urlset>"),
                "\"nbsp\", which is unknown",
            ),
            (&format!("{BEGIN}<url></loc></url></urlset>"), "line 1: "),
            (
                &format!("{BEGIN}<!--{}--></urlset>", " ".repeat(2_000_000)),
                "has more than 1000000 bytes",
            ),
        ] {
            let error = pages(body).unwrap_err().to_string();
            assert!(error.contains(expected), "{body:.80}: {error}");
        }
    }
}
