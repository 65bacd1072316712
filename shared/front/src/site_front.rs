//! Makes responses to requests.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, LAST_MODIFIED, LOCATION, RETRY_AFTER,
    VARY,
};
use http::header::{HeaderName, X_CONTENT_TYPE_OPTIONS};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use objects::{
    BodyStream, Closing, Closure, ObjectError, ObjectKey, ObjectMeta, Objects, SiteFile,
};
use tracing::error;

use crate::asked::Asked;
use crate::asset::Asset;
use crate::body::{self, Body};
use crate::cdn_path;
use crate::checked_body::CheckedBodies;
use crate::departed::{self, IsMove};
use crate::empty_document;
use crate::negotiation::Gzip;
use crate::representation::{Representation, VARY_VALUE};
use crate::route::Route;
use crate::runtime::Runtime;
use crate::site_files::SiteFiles;
use crate::validators::{Condition, Validators};
use crate::variant::Variant;
use crate::view::{self, Reader};

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// A sitemap is not a search result, but its links are to be followed.
const X_ROBOTS_TAG_VALUE: HeaderValue = HeaderValue::from_static("noindex, follow");

/// The tag by which CloudFront invalidates everything that it has cached of one site: `site:www.example.com`.
const CACHE_TAG: HeaderName = HeaderName::from_static("cache-tag");

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// For redirects, 404s and the IndexNow key. A cached 404 may hide a newly published document for this minute.
const BRIEF: HeaderValue = HeaderValue::from_static("public, max-age=60, s-maxage=60");

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Assets change only with a deployment, and an old style sheet does no harm. The query of the view's assets has their digest.
/// But a CDN that ignores the query could keep an old asset under a new address, so CDNs may keep it only for a minute.
const ASSET_CACHE_CONTROL: HeaderValue =
    HeaderValue::from_static("public, max-age=86400, s-maxage=60");

/// The seconds after which a client should retry a 503. They are longer than a throttled bucket takes to recover, and far shorter
/// than crawlers wait by themselves.
const RETRY_AFTER_SECONDS: u64 = 30;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

const PLAIN_TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// The front of the sites in a bucket, for crawlers and people.
///
/// - [`SITE_HOST_HEADER`](crate::SITE_HOST_HEADER) names the site, or without it the path does. Only that site's published
///   objects are ever read.
/// - Every response says how long it may be cached, and that it is not to be indexed.
/// - Errors are in the log, never in a response.
pub struct SiteFront {
    objects: Arc<dyn Objects>,
    runtime: Arc<dyn Runtime>,
    sites: SiteFiles,
    bodies: CheckedBodies,
    gzip: Gzip,
}

impl SiteFront {
    /// Returns a front for the sites in this bucket. `body_timeout` is the limit for the arrival of an object that is checked
    /// before it is sent.
    #[must_use]
    pub fn new(
        objects: Arc<dyn Objects>,
        runtime: Arc<dyn Runtime>,
        body_timeout: Duration,
    ) -> Self {
        Self {
            objects,
            runtime: Arc::clone(&runtime),
            sites: SiteFiles::default(),
            bodies: CheckedBodies {
                runtime,
                body_timeout,
            },
            gzip: Gzip::default(),
        }
    }

    /// Returns the same front, but with this setting of where gzip is used.
    #[must_use]
    pub fn with_gzip(mut self, gzip: Gzip) -> Self {
        self.gzip = gzip;
        self
    }

    /// Answers a request for `path`, the path as the client sent it: an adapter may have resolved `..` in the URI.
    /// The path may name the site ([`EDGE_PREFIX`](crate::EDGE_PREFIX)).
    pub async fn respond(&self, request: &Parts, path: &str) -> Response<Body> {
        let unfolded = cdn_path::unfold(request, path);
        let (request, path) = unfolded
            .as_ref()
            .map_or((request, path), |(request, path)| (request, *path));
        let asked = Asked::of(request, path, self.gzip);
        // Boxed, so that the futures that await a response stay small.
        let mut response = match Box::pin(self.answer(&asked)).await {
            Ok(response) => response,
            Err(error) => {
                error!(path = request.uri.path(), %error, "could not answer");
                unavailable()
            }
        };
        let is_move = response.extensions().get::<IsMove>().is_some();
        let headers = response.headers_mut();
        if !is_move {
            headers.insert(X_ROBOTS_TAG, X_ROBOTS_TAG_VALUE);
        }
        headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        let tag = asked.site.map(|site| format!("site:{site}"));
        if let Some(Ok(tag)) = tag.map(HeaderValue::try_from) {
            headers.insert(CACHE_TAG, tag);
        }
        if asked.method == Method::HEAD {
            *response.body_mut() = body::empty();
        }
        response
    }

    async fn answer(&self, asked: &Asked<'_>) -> Result<Response<Body>, ObjectError> {
        if asked.method != Method::GET && asked.method != Method::HEAD {
            return Ok(method_not_allowed());
        }
        let Some(site) = asked.site else {
            return Ok(absent(asked.reader));
        };
        let Some(route) = asked.route.as_ref() else {
            return self.departed(site, asked).await;
        };
        match route {
            // The same on every site. No site is looked up, so a function that has just started needs no client.
            Route::Redirect(location) => Ok(moved(location)),
            Route::Asset(asset) => Ok(sent_asset(*asset, asked.condition.as_ref())),
            Route::KeyFile(key) => match self.key_file(site, key).await? {
                Some(file) => Ok(file),
                None => self.departed(site, asked).await,
            },
            Route::Object(key, form) => {
                let variant = Variant::of(*form, asked.is_encoded);
                self.document(site, key, variant, asked).await
            }
        }
    }

    async fn document(
        &self,
        site: &str,
        key: &ObjectKey,
        variant: Variant,
        asked: &Asked<'_>,
    ) -> Result<Response<Body>, ObjectError> {
        let now = self.runtime.now();
        let is_closed = |file: &SiteFile| matches!(closure(file, key), Closure::Closed(_));
        let file = self.sites.get(&*self.objects, site, now, is_closed).await?;
        let absent = || absent(asked.reader);
        let Some(file) = file else {
            return Ok(absent());
        };
        let closure = closure(&file, key);
        if let Closure::Closed(since) = closure
            && since.is_none_or(|since| is_over(since, &file, now))
        {
            return Ok(absent());
        }
        let lookup = Lookup {
            condition: asked.condition.as_ref(),
            key,
            variant,
            file: &file,
            closure,
            now,
        };
        let has_view = variant.is_document() || matches!(key, ObjectKey::Feed { .. });
        let mut answer = if has_view && asked.reader == Reader::Person {
            self.viewed(&lookup).await?
        } else {
            self.published(&lookup).await?
        };
        if let Some(answer) = &mut answer
            && has_view
            && asked.reader.is_navigation()
        {
            answer.headers_mut().insert(CACHE_CONTROL, view::PRIVATE);
        }
        Ok(answer.unwrap_or_else(absent))
    }

    /// Returns the file that proves the site's ownership of an IndexNow key. Returns `None` if the site does not have this key.
    async fn key_file(&self, site: &str, key: &str) -> Result<Option<Response<Body>>, ObjectError> {
        let now = self.runtime.now();
        let is_other = |file: &SiteFile| file.indexnow_key.as_deref() != Some(key);
        let file = self.sites.get(&*self.objects, site, now, is_other).await?;
        Ok(match file {
            Some(file) if !is_other(&file) => Some(plain(StatusCode::OK, BRIEF, key.to_owned())),
            _ => None,
        })
    }

    /// Returns the answer for a path that is no published file: where its page went, or the site's own 404.
    async fn departed(&self, site: &str, asked: &Asked<'_>) -> Result<Response<Body>, ObjectError> {
        let now = self.runtime.now();
        // Most paths are nobody's: a file that was just read says enough.
        let file = self.sites.get(&*self.objects, site, now, |_| false).await?;
        let Some(file) = file else {
            return Ok(absent(asked.reader));
        };
        if let Some(max_age) = file.departures.filter(|_| file.public)
            && let Some(departure) = departed::find(&*self.objects, &file, asked.path).await?
        {
            return Ok(departed::response(&departure, max_age));
        }
        let page = file.not_found_page.as_ref();
        Ok(page.map_or_else(|| absent(asked.reader), |page| not_found(page)))
    }

    /// Returns the view of a published object. Returns `None` if there is no object to show.
    async fn viewed(&self, lookup: &Lookup<'_>) -> Result<Option<Response<Body>>, ObjectError> {
        let Some(meta) = self.objects.head(lookup.key).await? else {
            return Ok(None);
        };
        let (headers, page) = view::page();
        Ok(lookup.shown(meta)?.map(|_| ok(headers, body::full(page))))
    }

    /// Returns the answer from a published object, or `None` if there is no object to show. It takes one call of the bucket, or
    /// two for a conditional request whose copy is outdated. HEAD makes the same calls as GET, so that both give the same
    /// headers. The body of a closed object is not read.
    async fn published(&self, lookup: &Lookup<'_>) -> Result<Option<Response<Body>>, ObjectError> {
        let is_closed = matches!(lookup.closure, Closure::Closed(_));
        if is_closed || lookup.condition.is_some() {
            let Some(meta) = self.objects.head(lookup.key).await? else {
                return Ok(None);
            };
            let Some(found) = lookup.shown(meta)? else {
                return Ok(None);
            };
            let is_current = |condition| found.validators().meet(condition);
            if lookup.condition.is_some_and(is_current) {
                return Ok(Some(not_modified(found.cache_headers())));
            }
            if is_closed {
                return self
                    .send(&found, empty_document::stored(lookup.key))
                    .await
                    .map(Some);
            }
        }
        let Some((meta, stored)) = self.objects.open(lookup.key).await? else {
            return Ok(None);
        };
        let Some(found) = lookup.shown(meta)? else {
            return Ok(None);
        };
        self.send(&found, stored).await.map(Some)
    }

    async fn send(
        &self,
        found: &Representation,
        stored: BodyStream,
    ) -> Result<Response<Body>, ObjectError> {
        let (length, body) = self.bodies.open(found, stored).await?;
        Ok(ok(found.headers(length), body))
    }
}

/// Returns whether a site's file closes an object, and since when.
fn closure(file: &SiteFile, key: &ObjectKey) -> Closure {
    match key.closing() {
        Closing::Never => Closure::Open(None),
        // A site that wants no llms.txt may still have its object, which is empty or about to be.
        Closing::AtOnce if matches!(key, ObjectKey::Llms { .. }) && !file.llms => {
            Closure::Closed(None)
        }
        Closing::AtOnce if file.public => Closure::Open(None),
        Closing::AtOnce => Closure::Closed(None),
        Closing::AfterGrace => file.closure(match key {
            ObjectKey::Shard { series, .. } => Some(series),
            _ => None,
        }),
    }
}

/// Returns whether no cached index can list a document that has been empty since this time.
fn is_over(since: i64, file: &SiteFile, now: i64) -> bool {
    now >= since.saturating_add(file.emptied_grace_seconds)
}

/// A requested object and its conditions.
struct Lookup<'a> {
    condition: Option<&'a Condition<'a>>,
    key: &'a ObjectKey,
    variant: Variant,
    file: &'a SiteFile,
    closure: Closure,
    now: i64,
}

impl Lookup<'_> {
    /// Returns the object's representation, or `None` if it has been empty for too long. The first index may be empty forever,
    /// because robots.txt always names it. A closed object is sent empty. If settings have closed or reopened it, its
    /// Last-Modified is the later of two times: when the object changed, and when the settings did. Earlier readers saw something
    /// else.
    fn shown(&self, mut meta: ObjectMeta) -> Result<Option<Representation>, ObjectError> {
        let found = Representation::new(self.key, self.variant, meta.clone())?;
        let document = found.document();
        let may_go = self.key.closing() == Closing::AfterGrace;
        if may_go && document.entries == 0 && is_over(document.changed, self.file, self.now) {
            return Ok(None);
        }
        let (Closure::Open(since) | Closure::Closed(since)) = self.closure;
        let changed = since.map_or(document.changed, |since| since.max(document.changed));
        if let Closure::Closed(_) = self.closure {
            meta = empty_document::meta(self.key, changed);
        } else if let Some(document) = &mut meta.document {
            document.changed = changed;
        }
        Representation::new(self.key, self.variant, meta).map(Some)
    }
}

fn sent_asset(asset: Asset, condition: Option<&Condition<'_>>) -> Response<Body> {
    let mut headers = HeaderMap::new();
    headers.insert(CACHE_CONTROL, ASSET_CACHE_CONTROL);
    let content_type = HeaderValue::from_static(asset.content_type());
    headers.insert(CONTENT_TYPE, content_type);
    if let Some(validators) = Validators::new(&asset.digest(), asset.changed()) {
        headers.insert(ETAG, validators.etag().clone());
        if let Some(date) = validators.last_modified() {
            headers.insert(LAST_MODIFIED, date);
        }
        if condition.is_some_and(|condition| validators.meet(condition)) {
            return not_modified(headers);
        }
    }
    headers.insert(CONTENT_LENGTH, HeaderValue::from(asset.text().len()));
    ok(headers, body::full(asset.text()))
}

fn ok(headers: HeaderMap, body: Body) -> Response<Body> {
    response(StatusCode::OK, headers, body)
}

fn not_modified(headers: HeaderMap) -> Response<Body> {
    response(StatusCode::NOT_MODIFIED, headers, body::empty())
}

fn moved(location: &str) -> Response<Body> {
    let mut response = plain(StatusCode::MOVED_PERMANENTLY, BRIEF, "Moved permanently\n");
    // A route's path is ASCII without control characters, so this always works. If it did not, a 404 would be right.
    match HeaderValue::try_from(location) {
        Ok(location) => response.headers_mut().insert(LOCATION, location),
        Err(_) => return absent(Reader::Program),
    };
    response
}

/// Returns the 404. A person gets the view with it, which explains what to do. A closed object looks the same as one that never
/// existed.
fn absent(reader: Reader) -> Response<Body> {
    if reader != Reader::Person {
        let mut response = plain(StatusCode::NOT_FOUND, BRIEF, "Not found\n");
        response.headers_mut().insert(VARY, VARY_VALUE);
        return response;
    }
    let (mut headers, page) = view::page();
    headers.insert(CACHE_CONTROL, view::PRIVATE);
    response(StatusCode::NOT_FOUND, headers, body::full(page))
}

/// Returns the 404 with a page of the site's own.
fn not_found(page: &str) -> Response<Body> {
    let mut response = plain(StatusCode::NOT_FOUND, BRIEF, page.to_owned());
    response.headers_mut().insert(CONTENT_TYPE, HTML);
    response
}

fn method_not_allowed() -> Response<Body> {
    let mut response = plain(
        StatusCode::METHOD_NOT_ALLOWED,
        NO_STORE,
        "Method not allowed\n",
    );
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}

fn unavailable() -> Response<Body> {
    let mut response = plain(
        StatusCode::SERVICE_UNAVAILABLE,
        NO_STORE,
        "Unavailable for the moment\n",
    );
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
    response
}

fn plain(status: StatusCode, cache_control: HeaderValue, text: impl Into<Bytes>) -> Response<Body> {
    let text = text.into();
    let mut headers = HeaderMap::new();
    headers.insert(CACHE_CONTROL, cache_control);
    headers.insert(CONTENT_TYPE, PLAIN_TEXT);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(text.len()));
    response(status, headers, body::full(text))
}

fn response(status: StatusCode, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
