//! A site, and the requests for it.

use std::io::Read;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::read::GzDecoder;
use front::{Body, Gzip, Runtime, SITE_HOST_HEADER, SiteFront};
use futures::future::BoxFuture;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use objects::{ObjectError, ObjectKey};
use sitemap::member::PLAIN_HEADER;

use crate::bucket::{Bucket, document, shard, stored};

pub(crate) const SITE: &str = "www.example.com";
pub(crate) const DIGEST: &str = "0123abcd";
/// Fri, 02 Jan 2026 03:04:05 GMT.
pub(crate) const CHANGED: i64 = 1_767_323_045;
pub(crate) const GRACE_SECONDS: i64 = 3_600;
const BODY_TIMEOUT: Duration = Duration::from_secs(8);
pub(crate) const DATE: &str = "Fri, 02 Jan 2026 03:04:05 GMT";
pub(crate) const XML_TYPE: &str = "application/xml; charset=utf-8";
pub(crate) const TEXT_TYPE: &str = "text/plain; charset=utf-8";
pub(crate) const URLSET: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n\
    <url><loc>https://www.example.com/?a=1&amp;b=2</loc><image:image><image:loc>https://i.example/1.png</image:loc></image:image></url>\n\
    <url><loc>https://www.example.com/b</loc></url>\n</urlset>\n";
pub(crate) const URLS: &str = "https://www.example.com/?a=1&b=2\nhttps://www.example.com/b\n";
pub(crate) const INDEX: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex/>\n";
pub(crate) const FEED: &str = "<feed xmlns=\"http://www.w3.org/2005/Atom\"/>\n";
pub(crate) const LLMS: &str = "# Larch\n";
pub(crate) const ROBOTS: &str = "User-agent: *\nDisallow:\n";

/// A front for a public site with an index, `post-sitemap.xml`, `post-sitemap2.xml` and robots.txt.
pub(crate) struct Fixture {
    pub(crate) bucket: Bucket,
    pub(crate) process: Arc<Process>,
    front: SiteFront,
}

/// A process whose clock the test moves.
#[derive(Debug)]
pub(crate) struct Process {
    now: AtomicI64,
    /// The objects whose bodies have failed.
    pub(crate) broken: Mutex<Vec<ObjectKey>>,
}

impl Runtime for Process {
    fn now(&self) -> i64 {
        self.now.load(Ordering::SeqCst)
    }

    fn sleep(&self, pause: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(pause))
    }

    fn body_broke(&self, key: &ObjectKey, _: &ObjectError) {
        self.broken.lock().unwrap().push(key.clone());
    }
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let bucket = Bucket::default();
        bucket.site_file(SITE, true);
        bucket.insert(
            &ObjectKey::Index {
                site: SITE.to_owned(),
                n: 1,
            },
            document(INDEX, 0),
        );
        bucket.insert(
            &ObjectKey::Robots {
                site: SITE.to_owned(),
            },
            stored(ROBOTS.into(), ROBOTS.len(), 0),
        );
        for n in [1, 2] {
            bucket.insert(&shard("post", n), document(URLSET, 2));
        }
        let process = Arc::new(Process {
            now: AtomicI64::new(CHANGED),
            broken: Mutex::default(),
        });
        let front = SiteFront::new(Arc::new(bucket.clone()), process.clone(), BODY_TIMEOUT);
        Self {
            bucket,
            process,
            front,
        }
    }

    pub(crate) fn with_gzip(mut self, gzip: Gzip) -> Self {
        self.front = self.front.with_gzip(gzip);
        self
    }

    pub(crate) fn wait(&self, seconds: i64) {
        self.process.now.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) async fn respond(&self, request: Request<()>) -> Response<Body> {
        let (request, ()) = request.into_parts();
        self.front.respond(&request, request.uri.path()).await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.respond(request.body(()).unwrap()).await;
        let (parts, body) = response.into_parts();
        let Ok(body) = body.collect().await;
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: body.to_bytes().to_vec(),
        }
    }

    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let site = [(SITE_HOST_HEADER, SITE)];
        self.send(Method::GET, path, &[&site, headers].concat())
            .await
    }

    pub(crate) async fn head(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let site = [(SITE_HOST_HEADER, SITE)];
        self.send(Method::HEAD, path, &[&site, headers].concat())
            .await
    }
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Returns the document in the body, which must be one gzip member.
    pub(crate) fn gunzip(&self) -> String {
        self.try_gunzip().unwrap()
    }

    /// Returns the document as [`Answer::gunzip`] does, of a member that may be damaged.
    pub(crate) fn try_gunzip(&self) -> std::io::Result<String> {
        assert_eq!(self.body[..10], PLAIN_HEADER);
        let mut decoder = GzDecoder::new(self.body.as_slice());
        let mut text = String::new();
        decoder.read_to_string(&mut text)?;
        assert!(decoder.into_inner().is_empty(), "bytes are left over");
        Ok(text)
    }
}

pub(crate) fn feed() -> ObjectKey {
    ObjectKey::Feed {
        site: SITE.to_owned(),
    }
}

/// The header that a browser sends when a person opens an address.
pub(crate) const NAVIGATION: (&str, &str) = ("sec-fetch-dest", "document");
/// The header that a browser sends when a script asks.
pub(crate) const FETCH: (&str, &str) = ("sec-fetch-dest", "empty");
pub(crate) const GZIP: (&str, &str) = ("accept-encoding", "gzip, deflate, br");
