//! A strict crawler.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use futures::future::BoxFuture;
use http::Method;
use http::header::ACCEPT_ENCODING;
use sitemap::time::When;

pub use crate::document::{Entry, Response, gunzip};

/// The sites as the public sees them.
pub trait Public: Send + Sync + 'static {
    /// Returns the answer to a request for a site's document.
    fn request<'a>(
        &'a self,
        site: &'a str,
        method: Method,
        path: &'a str,
        headers: &'a [(&'a str, &'a str)],
    ) -> BoxFuture<'a, Response>;
}

/// Returns whether a sitemap is the site's own and not one of others that its index lists, too.
#[must_use]
pub fn is_own(site: &str, loc: &str) -> bool {
    let rest = loc.split_once("://").map(|(_, rest)| rest);
    let file = rest.and_then(|rest| rest.split_once('/'));
    file.is_some_and(|(host, file)| host == site && !file.contains('/'))
}

/// A client that reads a site.
#[derive(Clone)]
pub struct Crawler {
    public: Arc<dyn Public>,
    site: String,
}

impl fmt::Debug for Crawler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Crawler").field(&self.site).finish()
    }
}

impl Crawler {
    /// Returns a crawler of `site`.
    #[must_use]
    pub fn new(public: Arc<dyn Public>, site: &str) -> Self {
        let site = site.to_owned();
        Self { public, site }
    }

    /// Returns the same crawler for another site.
    #[must_use]
    pub fn of(&self, site: &str) -> Self {
        Self::new(Arc::clone(&self.public), site)
    }

    /// Sends a GET that accepts gzip.
    pub async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path, &[(ACCEPT_ENCODING.as_str(), "gzip")])
            .await
    }

    /// Sends any request.
    pub async fn request(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> Response {
        let answer = self.public.request(&self.site, method, path, headers);
        answer.await
    }

    /// Returns the lines of the index: locs with their lastmods, in order.
    pub async fn index(&self) -> Vec<(String, Option<String>)> {
        self.get("/sitemap_index.xml").await.index()
    }

    /// Returns the lines of the index for the site's own sitemaps.
    async fn own(&self) -> Vec<(String, Option<String>)> {
        let own = |(loc, _): &(String, Option<String>)| is_own(&self.site, loc);
        self.index().await.into_iter().filter(own).collect()
    }

    /// Returns every page to which the index leads, by loc. Entries of video and news sitemaps are omitted.
    ///
    /// # Panics
    ///
    /// As [`Crawler::all`].
    pub async fn entries(&self) -> BTreeMap<String, Entry> {
        let all = self.all().await.into_iter();
        let pages = all.filter(|((kind, _), _)| kind.is_empty());
        pages.map(|((_, loc), entry)| (loc, entry)).collect()
    }

    /// Returns every entry to which the index leads, by its kind (empty for a page, `video`, `news`) and loc.
    ///
    /// # Panics
    ///
    /// If a listed sitemap is missing, empty or malformed, if it mixes kinds, or if a loc is listed twice in one kind. Also if the index's
    /// lastmod is not the newest entry's. Where no entry has one, the index may have a time up to the sitemap's Last-Modified.
    pub async fn all(&self) -> BTreeMap<(&'static str, String), Entry> {
        let mut all = BTreeMap::new();
        for (sitemap, lastmod) in self.own().await {
            let path = sitemap
                .split_once("://")
                .and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
            let path = path.expect("an absolute loc");
            let response = self.get(path).await;
            let entries = response.urlset(path);
            assert!(!entries.is_empty(), "{sitemap} is listed and empty");
            let newest = entries
                .iter()
                .filter_map(|(_, entry)| entry.lastmod.clone())
                .max();
            match (&lastmod, &newest) {
                (Some(lastmod), None) => {
                    let changed = httpdate::parse_http_date(response.header("last-modified"));
                    let changed = changed.expect("a date").duration_since(UNIX_EPOCH);
                    let changed = changed.expect("after 1970").as_secs();
                    let lastmod = When::parse(lastmod).expect("a time").seconds();
                    assert!(
                        u64::try_from(lastmod).expect("after 1970") <= changed,
                        "{sitemap} changed at {changed}, and at {lastmod} in the index"
                    );
                }
                _ => assert_eq!(lastmod, newest, "the index's lastmod of {sitemap}"),
            }
            let kinds = entries.iter().map(|(_, entry)| entry.kind());
            assert_eq!(kinds.collect::<BTreeSet<_>>().len(), 1, "{sitemap}");
            for (loc, entry) in entries {
                let before = all.insert((entry.kind(), loc.clone()), entry);
                assert_eq!(before, None, "{loc} is listed twice");
            }
        }
        all
    }

    /// Returns the entries of one sitemap, in order.
    pub async fn urlset(&self, path: &str) -> Vec<(String, Entry)> {
        self.get(path).await.urlset(path)
    }
}
