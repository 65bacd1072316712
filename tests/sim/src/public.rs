//! The public view of the sites: the front over the bucket, without a network.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use front::{Runtime, SITE_HOST_HEADER, SiteFront};
use futures::future::BoxFuture;
use http::{HeaderValue, Method, Request};
use http_body_util::BodyExt;
use objects::{ObjectError, ObjectKey, Objects};

use crate::crawler::Public;
use crate::document::Response;
use crate::runtime::Sim;

/// The function's time limit for objects that are checked before the answer.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The front.
pub struct SimPublic(SiteFront);

impl SimPublic {
    /// Returns the front over this bucket.
    #[must_use]
    pub fn new(sim: &Sim, objects: Arc<dyn Objects>) -> Self {
        let process = Arc::new(Process(sim.clone()));
        Self(SiteFront::new(objects, process, BODY_TIMEOUT))
    }
}

#[derive(Debug)]
struct Process(Sim);

impl Runtime for Process {
    fn now(&self) -> i64 {
        self.0.now()
    }

    fn sleep(&self, pause: Duration) -> BoxFuture<'static, ()> {
        Box::pin(self.0.sleep(pause))
    }

    fn body_broke(&self, key: &ObjectKey, error: &ObjectError) {
        panic!("{}: {error}", key.path());
    }
}

impl Public for SimPublic {
    fn request<'a>(
        &'a self,
        site: &'a str,
        method: Method,
        path: &'a str,
        headers: &'a [(&'a str, &'a str)],
    ) -> BoxFuture<'a, Response> {
        Box::pin(async move {
            let mut request = Request::builder().method(method).uri(path);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let mut request = request.body(()).expect("a request");
            // Like the CDN, replaces the client's own header.
            let site = HeaderValue::from_str(site).expect("a host");
            request.headers_mut().insert(SITE_HOST_HEADER, site);
            let (request, ()) = request.into_parts();
            let (parts, body) = self.0.respond(&request, path).await.into_parts();
            let Ok(body) = body.collect().await;
            let sent: Bytes = body.to_bytes();
            Response::new(parts.status, parts.headers, sent)
        })
    }
}
