//! A strict crawler.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HOST};
use http::{Method, Request};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::waits::within;

pub use sim::document::{Entry, Response, gunzip};

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
        let request = request.body(Empty::new()).expect("a request");
        let answered = async {
            let response = self.client.request(request).await.expect("an answer");
            let (parts, body) = response.into_parts();
            let sent = body.collect().await.expect("a whole body").to_bytes();
            Response::new(parts.status, parts.headers, sent)
        };
        within(&format!("the answer to {path}"), answered).await
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
