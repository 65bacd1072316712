//! A strict crawler.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HOST};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use quick_xml::Reader;
use quick_xml::events::Event;

/// An answer, whole.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, decoded if its Content-Encoding said so.
    pub body: Vec<u8>,
    /// The body as it was sent.
    pub sent: Bytes,
}

impl Response {
    /// A header's text; empty if there is none.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("text"))
    }

    /// The lines of an index: locs with their lastmods, in order.
    ///
    /// # Panics
    ///
    /// If it is none.
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

    /// The entries of the sitemap at `path`, in order.
    ///
    /// # Panics
    ///
    /// If it is none.
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
    /// Empty for a page, `video` or `news` for what such a sitemap says of one.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        let mut prefixes = self.elements.iter().filter_map(|name| name.split_once(':'));
        prefixes
            .find_map(|(prefix, _)| ["video", "news"].into_iter().find(|kind| *kind == prefix))
            .unwrap_or("")
    }
}

/// A client that reads a site.
#[derive(Clone, Debug)]
pub struct Crawler {
    client: Client<HttpConnector, Empty<Bytes>>,
    endpoint: String,
    site: String,
}

impl Crawler {
    /// A crawler of `site`, served at `endpoint`.
    #[must_use]
    pub fn new(endpoint: &str, site: &str) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self {
            client,
            endpoint: endpoint.to_owned(),
            site: site.to_owned(),
        }
    }

    /// The same crawler for another site.
    #[must_use]
    pub fn of(&self, site: &str) -> Self {
        Self {
            site: site.to_owned(),
            ..self.clone()
        }
    }

    /// GET with gzip accepted.
    pub async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path, &[(ACCEPT_ENCODING.as_str(), "gzip")])
            .await
    }

    /// Any request.
    pub async fn request(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> Response {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.endpoint))
            .header(HOST, &self.site);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self
            .client
            .request(request.body(Empty::new()).expect("a request"))
            .await
            .expect("an answer");
        let (parts, body) = response.into_parts();
        let sent = body.collect().await.expect("a whole body").to_bytes();
        let gzip = parts
            .headers
            .get(CONTENT_ENCODING)
            .is_some_and(|encoding| encoding == "gzip");
        let body = if gzip && !sent.is_empty() {
            gunzip(&sent)
        } else {
            sent.to_vec()
        };
        Response {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
            sent,
        }
    }

    /// The index: locs with their lastmods, in order.
    pub async fn index(&self) -> Vec<(String, Option<String>)> {
        self.get("/sitemap_index.xml").await.index()
    }

    /// Every page that the index leads to, by loc: what video and news sitemaps say of it beside is left out.
    ///
    /// # Panics
    ///
    /// As [`Crawler::all`].
    pub async fn entries(&self) -> BTreeMap<String, Entry> {
        let all = self.all().await.into_iter();
        let pages = all.filter(|((kind, _), _)| kind.is_empty());
        pages.map(|((_, loc), entry)| (loc, entry)).collect()
    }

    /// Every entry that the index leads to, by its kind (empty for a page, `video`, `news`) and loc.
    ///
    /// # Panics
    ///
    /// If a listed sitemap is missing, empty or malformed, if it mixes kinds, if a loc is listed twice in one kind, or if
    /// the index's lastmod is not the newest entry's.
    pub async fn all(&self) -> BTreeMap<(&'static str, String), Entry> {
        let mut all = BTreeMap::new();
        for (sitemap, lastmod) in self.index().await {
            let path = sitemap
                .split_once("://")
                .and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
            let entries = self.urlset(path.expect("an absolute loc")).await;
            assert!(!entries.is_empty(), "{sitemap} is listed and empty");
            let newest = entries
                .iter()
                .filter_map(|(_, entry)| entry.lastmod.clone())
                .max();
            assert_eq!(lastmod, newest, "the index's lastmod of {sitemap}");
            let kinds = entries.iter().map(|(_, entry)| entry.kind());
            assert_eq!(kinds.collect::<BTreeSet<_>>().len(), 1, "{sitemap}");
            for (loc, entry) in entries {
                let before = all.insert((entry.kind(), loc.clone()), entry);
                assert_eq!(before, None, "{loc} is listed twice");
            }
        }
        all
    }

    /// The entries of one sitemap, in order.
    pub async fn urlset(&self, path: &str) -> Vec<(String, Entry)> {
        self.get(path).await.urlset(path)
    }
}

/// Decodes one gzip member that must be the whole of `bytes`.
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

/// The leaves of each `item` in a `root`: name and text, in order. Anything else in the document is a failure.
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
                    quick_xml::escape::resolve_predefined_entity(&entity)
                        .expect("a predefined entity"),
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
            other => panic!("not in a sitemap: {other:?}"),
        }
    }
    assert!(path.is_empty(), "a whole document");
    items
}
