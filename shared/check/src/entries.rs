//! The pages that a sitemap lists, one after the other, for what compares them: what each says, whatever its form is.
//!
//! It judges nothing. What is not well-formed, cut or too large is an error, since what is behind it is not known.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};

use sitemap::loc::normalized;

use crate::document::Kind;
use crate::document::elements::{Broken, Element, Elements, Entries, Oddities, Wrong};
use crate::document::input::{Input, Limits, MAX_PIECE_BYTES, Stop, is_list};
use crate::schema::{Ns, quoted};

/// What a document's beginning is recognised by.
const HEAD_BYTES: usize = 1024;

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

    fn named(name: &str) -> Option<Self> {
        match name {
            "image:image" => Some(Self::Images),
            "video:video" => Some(Self::Videos),
            "news:news" => Some(Self::News),
            "xhtml:link" => Some(Self::Alternates),
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
    /// URLs are compared as they are written, not as addresses.
    pub is_exact: bool,
}

impl Reading {
    /// Returns a text with its origin replaced, if it is a URL of one of the origins.
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
            // The whole origin: `https://a.example` also begins `https://a.example.org`.
            let rest = text.strip_prefix(from.as_str())?;
            let is_whole = rest.is_empty() || rest.starts_with(['/', '?', '#']);
            is_whole.then(|| format!("{to}{rest}"))
        })
    }

    /// Returns a text of an entry as it is compared.
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

/// What was read of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// What it is.
    pub kind: Kind,
    /// Entries without an address, which are not compared.
    pub without_address: u64,
    /// Its root is of another namespace than the protocol's, or of none. It was read all the same.
    pub is_foreign: bool,
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
/// If the document cannot be read to its end, or lists something of which nothing could be read, or `take` fails.
pub fn read<'a>(
    body: impl Read + 'a,
    reading: &'a Reading,
    mut take: impl FnMut(Listed<'_>) -> io::Result<()>,
) -> Result<Outline, PageError> {
    // Whether a name fits the packing is for rules to say.
    let limits = Limits {
        bytes: reading.max_bytes,
        piece: MAX_PIECE_BYTES,
    };
    let mut input = Input::judged(body, reading.is_encoded, true, limits);
    let start = input.head(HEAD_BYTES).trim_ascii_start();
    if is_list(start) {
        return lines(&mut input, reading, &mut take);
    }
    if !start.is_empty() && !start.starts_with(b"<") {
        let begin = String::from_utf8_lossy(&start[..start.len().min(40)]).into_owned();
        let what = format!("a file that begins with {}", quoted(&begin));
        return Err(PageError::Other(what));
    }
    let broken = |broken| broken_at(broken, reading);
    let mut elements = Elements::open(input, Oddities::Refused).map_err(broken)?;
    trees(&mut elements, reading, &mut take)
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

/// One URL a line.
fn lines(
    input: &mut Input<'_>,
    reading: &Reading,
    take: &mut impl FnMut(Listed<'_>) -> io::Result<()>,
) -> Result<Outline, PageError> {
    let (mut line, mut page) = (Vec::new(), Page::default());
    loop {
        let at = input.line();
        let is_line = input.read_line(&mut line);
        let is_line = is_line.map_err(|error| {
            let stop = input.stop().unwrap_or(Stop::Body);
            unread(stop, error, reading)
        });
        if !is_line? {
            return Ok(Outline {
                kind: Kind::Text,
                without_address: 0,
                is_foreign: false,
            });
        }
        let text = std::str::from_utf8(&line).map_err(|_| malformed(at, "is not UTF-8"))?;
        let text = text.trim();
        if !text.is_empty() {
            page.loc = reading.mapped(text).into_owned();
            take(Listed::Page(&page)).map_err(PageError::Take)?;
        }
    }
}

fn trees(
    elements: &mut Elements<'_>,
    reading: &Reading,
    take: &mut impl FnMut(Listed<'_>) -> io::Result<()>,
) -> Result<Outline, PageError> {
    let (kind, entry_name) = match elements.root() {
        "urlset" => (Kind::Sitemap, "url"),
        "sitemapindex" => (Kind::Index, "sitemap"),
        "rss" | "rdf:RDF" => (Kind::Rss, "item"),
        "atom:feed" => (Kind::Atom, "entry"),
        "html" | "HTML" | "xhtml:html" => return Err(PageError::Other("a web page".to_owned())),
        root => return Err(PageError::Other(format!("a document of <{}>", local(root)))),
    };
    let is_feed = matches!(kind, Kind::Rss | Kind::Atom);
    let mut entries = Entries::new(entry_name);
    let broken = |broken| broken_at(broken, reading);
    while let Some(entry) = elements.next().map_err(broken)? {
        let page = if is_feed {
            feed_page(&entry, reading)
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
        // A feed has other elements than items, and may have no items.
        Some(what) if !is_feed || entries.count() > 0 => {
            Err(malformed(elements.line(), &format!("has {what}")))
        }
        _ => Ok(Outline {
            kind,
            without_address: entries.without_address(),
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

/// RSS has the address as a text, Atom as an attribute.
fn feed_page(entry: &Element, reading: &Reading) -> Page {
    let links = entry.children().iter();
    let mut links = links.filter(|child| matches!(child.name(), "link" | "atom:link"));
    let address = links.find_map(|link| {
        let is_alternate = matches!(link.attribute("rel"), None | Some("alternate"));
        let href = link.attribute("href").filter(|_| is_alternate);
        href.or(Some(link.text())).filter(|text| !text.is_empty())
    });
    let updated = entry
        .children()
        .iter()
        .find(|child| child.local() == "updated");
    Page {
        loc: reading.mapped(address.unwrap_or_default()).into_owned(),
        lastmod: updated.map_or(String::new(), |updated| updated.text().to_owned()),
        ..Page::default()
    }
}

/// Hashes all that an element says, in whatever form it says it.
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

/// Each text with its length, so that two never run together.
fn hash(bytes: &[u8], hasher: &mut DefaultHasher) {
    hasher.write_usize(bytes.len());
    hasher.write(bytes);
}

/// Says why the bytes of a document ended early.
fn unread(stop: Stop, error: io::Error, reading: &Reading) -> PageError {
    match stop {
        Stop::TooLarge => PageError::TooLarge(reading.max_bytes),
        Stop::LongPiece => PageError::LongPiece,
        Stop::CutGzip => PageError::CutGzip,
        Stop::BadGzip => PageError::BadGzip,
        Stop::Body => PageError::Body(error),
    }
}

fn broken_at(Broken { line, what }: Broken, reading: &Reading) -> PageError {
    let what = match what {
        Wrong::Unread(stop, reason) => return unread(stop, io::Error::other(reason), reading),
        Wrong::Cut(_) => "ends before its root's end".to_owned(),
        Wrong::NoRoot => "has no root element".to_owned(),
        Wrong::Behind(name) => format!("has <{name}> behind its root's end"),
        Wrong::Depth(_) => "has too many elements inside each other".to_owned(),
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

    fn outline(body: &str) -> Outline {
        read(body.as_bytes(), &reading(), |_| Ok(())).unwrap()
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
    fn a_url_is_compared_as_an_address_wherever_it_is() {
        let parts = |is_exact: bool, image: &str, href: &str| {
            let body = format!(
                "{BEGIN}<url><loc>https://a.example/</loc><i:image><i:loc>{image}</i:loc><i:title>%c3</i:title></i:image>\
                 <x:link rel='alternate' hreflang='de' href='{href}'/></url></urlset>"
            );
            let (reading, mut parts) = (
                Reading {
                    is_exact,
                    ..reading()
                },
                Vec::new(),
            );
            let take = |listed: Listed<'_>| {
                if let Listed::Page(page) = listed {
                    parts.extend(page.parts.concat());
                }
                Ok(())
            };
            read(body.as_bytes(), &reading, take).unwrap();
            parts
        };
        let (image, href) = ("https://a.example/%c3%a9.png", "https://a.example/~a");
        for (other_image, other_href) in [
            ("https://a.example/\u{e9}.png", "https://a.example/%7Ea"),
            (
                "HTTPS://A.EXAMPLE:443/%C3%A9.png",
                " https://a.example/%7ea ",
            ),
            ("https://B.example/%C3%A9.png", "https://b.example:443/~a"),
        ] {
            let [one, other] = [(image, href), (other_image, other_href)];
            assert_eq!(
                parts(false, one.0, one.1),
                parts(false, other.0, other.1),
                "{other:?}"
            );
            assert_ne!(
                parts(true, one.0, one.1),
                parts(true, other.0, other.1),
                "{other:?}"
            );
        }
        assert_ne!(
            parts(false, image, href),
            parts(false, "https://a.example/%C3%AA.png", href)
        );
    }

    #[test]
    fn a_wrong_namespace_hides_nothing_and_is_told() {
        const ENTRY: &str = "<url><loc>https://a.example/1</loc>\
            <image:image xmlns:image='http://www.google.com/schemas/sitemap-image/1.1'><image:loc>x</image:loc></image:image></url>";
        let prefixed = ENTRY
            .replace("url>", "sm:url>")
            .replace("<loc>", "<sm:loc>")
            .replace("1</loc>", "1</sm:loc>");
        let protocol = "http://www.sitemaps.org/schemas/sitemap/0.9";
        for (body, is_foreign) in [
            (
                format!("<urlset xmlns='{protocol}'>{ENTRY}</urlset>"),
                false,
            ),
            (
                format!("<sm:urlset xmlns:sm='{protocol}'>{prefixed}</sm:urlset>"),
                false,
            ),
            (
                format!(
                    "<urlset xmlns='http://www.google.com/schemas/sitemap/0.84'>{ENTRY}</urlset>"
                ),
                false,
            ),
            (format!("<urlset>{ENTRY}</urlset>"), true),
            (
                format!("<urlset xmlns='{protocol}/'>{ENTRY}</urlset>"),
                true,
            ),
            (
                format!(
                    "<urlset xmlns='https://www.sitemaps.org/schemas/sitemap/0.9'>{ENTRY}</urlset>"
                ),
                true,
            ),
            (
                format!("<urlset xmlns='http://a.example/own'>{ENTRY}</urlset>"),
                true,
            ),
            (
                format!("<sm:urlset xmlns:sm='http://a.example/own'>{prefixed}</sm:urlset>"),
                true,
            ),
            (format!("<sm:urlset>{prefixed}</sm:urlset>"), true),
        ] {
            let found = pages(&body).unwrap();
            assert_eq!(
                (found[0].loc.as_str(), counts(&found[0])),
                ("https://a.example/1", [1, 0, 0, 0]),
                "{body}"
            );
            assert_eq!(outline(&body).is_foreign, is_foreign, "{body}");
        }
        let index =
            "<sitemapindex><sitemap><loc>https://a.example/1.xml</loc></sitemap></sitemapindex>";
        assert_eq!(
            pages(index).unwrap()[0].loc,
            "sitemap https://a.example/1.xml"
        );
    }

    #[test]
    fn an_address_is_all_of_the_text_in_its_element() {
        for loc in [
            "<loc>https://a.example/?a&amp;b</loc>",
            "<loc> <![CDATA[ https://a.example/?a&b ]]>\n</loc>",
            "<loc>https://a.example/?a&#038;b</loc>",
            "<loc>https://a.example/?a&#x26;b</loc>",
            "<loc>https://a.example/<!-- here -->?a&amp;b</loc>",
            "<loc>https://a.example/<?php here ?>?a<![CDATA[&]]>b</loc>",
            "<loc>\n\t<!-- here -->https://a.example/?a&amp;b\n</loc>",
        ] {
            let found = pages(&format!("{BEGIN}<url>{loc}</url></urlset>")).unwrap();
            assert_eq!(found[0].loc, "https://a.example/?a&b", "{loc}");
        }
        let list = "\u{feff}HTTPS://a.example/1\r\nhttps://a.example/2";
        assert_eq!(pages(list).unwrap().len(), 2);
    }

    #[test]
    fn entries_without_an_address_are_counted() {
        let body = format!(
            "{BEGIN}<url><loc>https://a.example/</loc></url><url/><url><loc> </loc></url></urlset>"
        );
        let expected = Outline {
            kind: Kind::Sitemap,
            without_address: 2,
            is_foreign: false,
        };
        assert_eq!(outline(&body), expected);
        // Nothing is listed, and nothing was passed over.
        assert_eq!(
            outline("<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>")
                .without_address,
            0
        );
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
            ("<urlset/><urlset/>", "has <urlset> behind its root's end"),
            ("<urlset><page/></urlset>", "has no <url>, but <page>"),
            (
                "<urlset><url/><url><loc/></url></urlset>",
                "has no <url> with an address, of 2",
            ),
            (
                "<rss><channel><title/><item/></channel></rss>",
                "has no <item> with an address, of 1",
            ),
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
