//! Reads published documents strictly: a document that violates the schemas is a failure.

use std::io::Read;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, StatusCode};
use quick_xml::Reader;
use quick_xml::events::Event;

/// A complete answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, decoded according to its Content-Encoding.
    pub body: Vec<u8>,
    /// The body as it was sent.
    pub sent: Bytes,
}

impl Response {
    /// Returns an answer with this body, decoded according to its Content-Encoding.
    ///
    /// # Panics
    ///
    /// If the body cannot be decoded.
    #[must_use]
    pub fn new(status: StatusCode, headers: HeaderMap, sent: Bytes) -> Self {
        let gzip = headers
            .get(CONTENT_ENCODING)
            .is_some_and(|encoding| encoding == "gzip");
        let body = if gzip && !sent.is_empty() {
            gunzip(&sent)
        } else {
            sent.to_vec()
        };
        Self {
            status: status.as_u16(),
            headers,
            body,
            sent,
        }
    }

    /// Returns a header's text, which is empty if there is no such header.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("text"))
    }

    /// Returns the lines of an index: locs with their lastmods, in order.
    ///
    /// # Panics
    ///
    /// If the document is not an index.
    #[must_use]
    pub fn index(&self) -> Vec<(String, Option<String>)> {
        assert_eq!(self.status, 200, "the index is there");
        let sitemaps = elements(&self.body, "sitemapindex", "sitemap");
        let line = |children: Vec<(String, String)>| {
            let find = |name: &str| {
                children
                    .iter()
                    .find(|(child, _)| child == name)
                    .map(|(_, text)| text.clone())
            };
            (find("loc").expect("a loc"), find("lastmod"))
        };
        sitemaps.into_iter().map(line).collect()
    }

    /// Returns the entries of the sitemap at `path`, in order.
    ///
    /// # Panics
    ///
    /// If the document is not a sitemap.
    #[must_use]
    pub fn urlset(&self, path: &str) -> Vec<(String, Entry)> {
        assert_eq!(self.status, 200, "{path} is there");
        let entry = |children: Vec<(String, String)>| {
            let of = |name: &str| {
                children
                    .iter()
                    .filter(|(child, _)| child == name)
                    .map(|(_, text)| text.clone())
                    .collect::<Vec<_>>()
            };
            let loc = of("loc").pop().expect("a loc");
            let elements = children.iter().map(|(name, _)| name.clone()).collect();
            let sitemap = path.trim_start_matches('/').to_owned();
            (
                loc,
                Entry {
                    sitemap,
                    lastmod: of("lastmod").pop(),
                    images: of("image:loc"),
                    links: of("xhtml:link"),
                    elements,
                },
            )
        };
        elements(&self.body, "urlset", "url")
            .into_iter()
            .map(entry)
            .collect()
    }
}

/// A `<url>` as it is published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The sitemap that lists it.
    pub sitemap: String,
    /// Its lastmod.
    pub lastmod: Option<String>,
    /// Its images.
    pub images: Vec<String>,
    /// Its links to other languages: code and address.
    pub links: Vec<String>,
    /// Its children's names in their order.
    pub elements: Vec<String>,
}

impl Entry {
    /// Returns the kind of the entry: empty for a page, `video` or `news` for an entry of such a sitemap.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        let mut prefixes = self.elements.iter().filter_map(|name| name.split_once(':'));
        prefixes
            .find_map(|(prefix, _)| ["video", "news"].into_iter().find(|kind| *kind == prefix))
            .unwrap_or("")
    }
}

/// Decodes one gzip member, which must be all of `bytes`.
///
/// # Panics
///
/// If it is invalid.
#[must_use]
pub fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut rest = bytes;
    let mut decoded = Vec::new();
    GzDecoder::new(&mut rest)
        .read_to_end(&mut decoded)
        .expect("a gzip member");
    assert!(
        rest.is_empty(),
        "{} bytes after the gzip member",
        rest.len()
    );
    decoded
}

/// Returns the leaves of each `item` in a `root`: names and texts, in order. Anything else in the document is a failure.
fn elements(document: &[u8], root: &str, item: &str) -> Vec<Vec<(String, String)>> {
    assert!(
        document.starts_with(b"<?xml"),
        "nothing before the declaration"
    );
    let text = std::str::from_utf8(document).expect("UTF-8");
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let (mut path, mut items): (Vec<String>, Vec<Vec<(String, String)>>) = (Vec::new(), Vec::new());
    let mut leaf = String::new();
    loop {
        match reader.read_event().expect("well-formed") {
            Event::Start(start) => {
                let name = start.name().as_ref().to_owned();
                path.push(name);
                leaf.clear();
                match path.len() {
                    1 => assert_eq!(path[0], root),
                    2 => {
                        assert_eq!(path[1], item);
                        items.push(Vec::new());
                    }
                    _ => {}
                }
            }
            Event::Empty(start) => {
                let name = start.name().as_ref().to_owned();
                let of = |name: &str| {
                    let attribute = start.try_get_attribute(name).expect("well-formed");
                    let value = attribute.map(|attribute| attribute.value.to_string());
                    value.unwrap_or_default()
                };
                let link = format!("{} {}", of("hreflang"), of("href"));
                items.last_mut().expect("inside an item").push((name, link));
            }
            Event::Text(text) => leaf.push_str(&text),
            Event::GeneralRef(entity) => {
                leaf.push_str(
                    quick_xml::escape::resolve_xml_entity(&entity).expect("a predefined entity"),
                );
            }
            Event::End(_) => {
                let name = path.pop().expect("balanced");
                if path.len() >= 2 && !leaf.trim().is_empty() {
                    items
                        .last_mut()
                        .expect("inside an item")
                        .push((name, std::mem::take(&mut leaf)));
                }
            }
            Event::Eof => break,
            Event::Decl(_) | Event::PI(_) => {}
            // The counts of an index.
            Event::Comment(_) if path.is_empty() && root == "sitemapindex" => {}
            other => panic!("not in a sitemap: {other:?}"),
        }
    }
    assert!(path.is_empty(), "a whole document");
    items
}
