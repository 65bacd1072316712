//! One endpoint of IndexNow, which passes URLs on to the other engines: <https://www.indexnow.org/documentation>.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, UNIX_EPOCH};

use aws::environment::{EnvironmentError, variable};
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use engine::sweep::notices::{Answer, SearchEngines, TIMEOUT};
use futures::future::BoxFuture;
use sitemap::loc::{Loc, LocError};

/// The environment variable with the endpoint's URL. If it is empty, no search engine is notified.
pub const INDEXNOW_ENDPOINT: &str = "INDEXNOW_ENDPOINT";

/// Why a text is not an endpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The environment variable is not set.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// It is not a URL.
    #[error("the IndexNow endpoint is not a URL: {0}")]
    Url(#[from] LocError),
    /// It is not encrypted, and would expose URLs and the key.
    #[error("the IndexNow endpoint is neither https nor on 127.0.0.1")]
    Plain,
}

/// An endpoint of IndexNow. Clones share the client.
#[derive(Clone, Debug)]
pub struct Endpoint {
    url: String,
    timeout: Duration,
    /// Built when there is something to send, because this reads the system's root certificates.
    connector: Arc<OnceLock<Connector>>,
}

impl Endpoint {
    /// Reads the deployment's endpoint. Returns `None` if the variable is empty.
    ///
    /// # Errors
    ///
    /// If [`INDEXNOW_ENDPOINT`] is not set, or neither empty nor an endpoint.
    pub fn from_environment() -> Result<Option<Self>, EndpointError> {
        let url = variable(INDEXNOW_ENDPOINT)?;
        (!url.is_empty()).then(|| Self::parse(&url)).transpose()
    }

    /// Reads the URL of an endpoint: https, or http on 127.0.0.1.
    ///
    /// # Errors
    ///
    /// [`EndpointError`] names the problem.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        let url = Loc::parse_any(text)?.as_str().to_owned();
        if !url.starts_with("https://") && !url.starts_with("http://127.0.0.1:") {
            return Err(EndpointError::Plain);
        }
        Ok(Self {
            url,
            timeout: TIMEOUT,
            connector: Arc::default(),
        })
    }

    /// Returns the same endpoint with another time limit in place of [`TIMEOUT`].
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    async fn send(&self, json: String, now: i64) -> Answer {
        let later = |reason| Answer::Later {
            reason,
            after: None,
        };
        let mut request = HttpRequest::new(SdkBody::from(json));
        let method = request.set_method("POST");
        if let Err(error) = method.and_then(|()| request.set_uri(self.url.as_str())) {
            return later(error.to_string());
        }
        let headers = request.headers_mut();
        headers.insert("content-type", "application/json; charset=utf-8");
        headers.insert("user-agent", "Waymark");
        let call = self.connector().call(request);
        match tokio::time::timeout(self.timeout, call).await {
            // The body adds nothing to the status, and may have any length.
            Ok(Ok(response)) => answer(
                response.status().as_u16(),
                response.headers().get("retry-after"),
                now,
            ),
            Ok(Err(error)) => later(format!("{:?}", error.into_source())),
            Err(_) => later(format!("no answer within {:?}", self.timeout)),
        }
    }

    fn connector(&self) -> &Connector {
        self.connector.get_or_init(connector)
    }
}

impl SearchEngines for Endpoint {
    /// Sends a request and returns its answer. Redirects are not followed, because only the operator chooses the endpoint.
    fn post(&self, json: String, now: i64) -> BoxFuture<'_, Answer> {
        Box::pin(self.send(json, now))
    }
}

/// Returns the SDK's own HTTP client.
pub(crate) fn connector() -> Connector {
    Connector::builder()
        // A connection would not outlive the minute to the next sweep.
        .pool_max_idle_per_host(0)
        .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
        .build()
}

/// Returns the meaning of a status. A status that IndexNow does not document may be temporary, unless it blames the request.
fn answer(status: u16, retry_after: Option<&str>, now: i64) -> Answer {
    match status {
        200..=299 => Answer::Taken,
        408 | 429 => Answer::Later {
            reason: format!("status {status}"),
            after: retry_after.and_then(|text| seconds(text, now)),
        },
        400..=499 => Answer::Refused(status),
        _ => Answer::Later {
            reason: format!("status {status}"),
            after: retry_after.and_then(|text| seconds(text, now)),
        },
    }
}

/// Returns the seconds of a Retry-After, which may be a date (RFC 9110, section 10.2.3).
fn seconds(text: &str, now: i64) -> Option<i64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    let at = httpdate::parse_http_date(text).ok()?;
    let at = at.duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some((i64::try_from(at).ok()? - now).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_https_or_on_this_machine() {
        for url in [
            "https://api.indexnow.org/indexnow",
            "http://127.0.0.1:8099/indexnow",
        ] {
            assert!(Endpoint::parse(url).is_ok(), "{url}");
        }
        for url in [
            "",
            "indexnow",
            "ftp://a.example/",
            "http://api.indexnow.org/indexnow",
            "http://127.0.0.1.evil.example/",
            "http://user@127.0.0.1:80/",
        ] {
            assert!(Endpoint::parse(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_status_says_whether_to_try_again() {
        for status in [200, 202] {
            assert_eq!(answer(status, None, 0), Answer::Taken);
        }
        for status in [400, 403, 404, 422] {
            assert_eq!(answer(status, None, 0), Answer::Refused(status));
        }
        for status in [301, 308, 408, 429, 500, 502, 503, 504] {
            let later = Answer::Later {
                reason: format!("status {status}"),
                after: Some(120),
            };
            assert_eq!(answer(status, Some("120"), 0), later);
        }
    }

    #[test]
    fn a_pause_is_asked_for_in_seconds_or_until_a_date() {
        let now = 784_111_777; // Sun, 06 Nov 1994 08:49:37 GMT
        for (text, expected) in [
            ("120", Some(120)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("", None),
            ("-1", None),
            ("soon", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(seconds(text, now), expected, "{text}");
        }
    }
}
