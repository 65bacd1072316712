//! The function that crawlers and people reach: [`front`] on Lambda.
//!
//! The front reads only the bucket. This crate gives it the path as the client sent it, the clock and the metrics.

mod event;

use std::sync::Arc;
use std::time::Duration;

use aws::environment::{BUCKET_NAME, MONITORING, STACK_NAME};
use aws::{Clock, Timeouts};
use engine::metrics::{BODIES_BROKEN, Metrics};
use front::{Body, Gzip, Runtime, SiteFront, UnknownGzip};
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyDataStream, BodyExt};
use lambda_runtime::{MetadataPrelude, StreamResponse};
use objects::{ObjectError, ObjectKey, Objects};

/// The environment variable that says where gzip is used ([`Gzip`]). If it is not set, gzip is also used as an encoding.
pub const GZIP: &str = "GZIP";

pub use event::Event;

/// The environment variables of the function.
pub const ENVIRONMENT: [&str; 4] = [BUCKET_NAME, STACK_NAME, MONITORING, GZIP];

/// An invalid variable, which `template.yaml` should have prevented.
#[derive(Debug, thiserror::Error)]
#[error("{GZIP}: {0}")]
pub struct GzipError(#[from] UnknownGzip);

/// The limits of its calls. An answer takes two calls while a crawler waits.
pub const TIMEOUTS: Timeouts = Timeouts {
    attempt: Duration::from_secs(3),
    operation: Duration::from_secs(8),
};

/// Returns the front for the sites in this bucket. It counts failed bodies in these metrics.
#[must_use]
pub fn site_front(objects: Arc<dyn Objects>, clock: Clock, metrics: Metrics) -> SiteFront {
    let process = Arc::new(Process { clock, metrics });
    SiteFront::new(objects, process, TIMEOUTS.operation)
}

/// Returns the environment's setting of where gzip is used.
///
/// # Errors
///
/// If [`GZIP`] is set to an unknown value.
pub fn gzip() -> Result<Gzip, GzipError> {
    match std::env::var(GZIP) {
        Ok(name) => Ok(name.parse::<Gzip>()?),
        Err(_) => Ok(Gzip::default()),
    }
}

/// Answers a request of a plain server. Its body is not read.
pub async fn respond<B>(front: &SiteFront, request: Request<B>) -> Response<Body> {
    let (request, _) = request.into_parts();
    front.respond(&request, request.uri.path()).await
}

/// Answers an event of the function's URL, whose path is as the client sent it.
pub async fn answer(front: &SiteFront, event: &Event) -> StreamResponse<BodyDataStream<Body>> {
    let response = front.respond(&event.request(), event.raw_path()).await;
    let (parts, body) = response.into_parts();
    let metadata_prelude = MetadataPrelude {
        status_code: parts.status,
        headers: parts.headers,
        cookies: Vec::new(),
    };
    StreamResponse {
        metadata_prelude,
        stream: body.into_data_stream(),
    }
}

#[derive(Debug)]
struct Process {
    clock: Clock,
    metrics: Metrics,
}

impl Runtime for Process {
    fn now(&self) -> i64 {
        self.clock.now()
    }

    fn sleep(&self, pause: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(pause))
    }

    /// Writes the line of metrics at once, because the invocation may be over.
    fn body_broke(&self, _: &ObjectKey, _: &ObjectError) {
        self.metrics.note(&BODIES_BROKEN, 1);
        self.metrics.emit(self.clock.now());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use engine::metrics::Monitoring;
    use http::StatusCode;
    use objects::MemoryObjects;
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_767_323_045;

    #[tokio::test]
    async fn the_route_is_that_of_the_raw_path() {
        let objects = Arc::new(MemoryObjects::default());
        let front = site_front(objects, Clock::stopped(NOW), Metrics::default());
        for (path, status) in [
            ("/sitemap.xml", StatusCode::MOVED_PERMANENTLY),
            ("/a/../sitemap.xml", StatusCode::NOT_FOUND),
            ("/%73itemap.xml", StatusCode::NOT_FOUND),
            ("sitemap.xml", StatusCode::NOT_FOUND),
        ] {
            let event: Event = serde_json::from_value(json!({
                "rawPath": path,
                "headers": {front::SITE_HOST_HEADER: "www.example.com"},
                "requestContext": {"http": {"method": "GET"}},
            }))
            .unwrap();
            let head = answer(&front, &event).await.metadata_prelude;
            assert_eq!(head.status_code, status, "{path}");
        }
    }

    #[test]
    fn a_body_that_breaks_off_is_a_line_of_metrics_of_its_own() {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = Arc::clone(&lines);
        let metrics = Metrics::of("test", Monitoring::Full, move |line| {
            sink.lock().unwrap().push(line.to_owned());
        });
        let clock = Clock::stopped(NOW);
        let process = Process { clock, metrics };
        let key = ObjectKey::Robots {
            site: "www.example.com".to_owned(),
        };
        let error = ObjectError::Damaged {
            what: key.path(),
            message: "it is empty".to_owned(),
        };
        for written in 1..=2 {
            process.body_broke(&key, &error);
            let lines = lines.lock().unwrap();
            assert_eq!(lines.len(), written);
            let last = lines.last().unwrap();
            assert!(last.contains("\"BodiesBroken\":1"), "{last}");
            assert!(last.contains(&format!("\"Timestamp\":{NOW}000")), "{last}");
        }
    }
}
