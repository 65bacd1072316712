//! One document over HTTP, with limits on its time, its bytes and its redirects.
//!
//! - Redirects are followed to http and https alone. Headers of the user's go to the origins that were asked for, and to
//!   no other.
//! - What a site names is asked for only at public addresses: see `guard`.
//! - The time limit is for the whole answer: a server that sends a byte a second ends, too.
//! - A body is read as it comes, by a thread that inflates and checks it. No more than a few pieces of it wait.

use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use aws::chain;
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use check::document::{About, Document, Transfer, read};
use check::page::response::Response;
use check::url::origin_of;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until, timeout_at};
use url::Url;

use super::body::{self, Deadline, TIMEOUT};
use super::guard::{self, Named, PublicNames};
use super::led::Led;

/// Redirects that Google follows of a document.
pub(crate) const MAX_REDIRECTS: usize = 10;
/// Bytes of a probe's answer that are compared: the largest document that there may be.
const MAX_PROBE_BYTES: usize = sitemap::site::MAX_BYTES as usize;
/// The longest pause that a server may ask for by Retry-After.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Why nothing is asked any more.
const OVER: &str = "the time limit of the check has passed (--max-time)";

/// How to ask.
#[derive(Clone, Debug)]
pub struct Asking {
    /// Requests a second; nothing for as many as there can be.
    pub rate: Option<f64>,
    /// For one whole answer.
    pub timeout: Duration,
    /// Further tries after a failure that may pass.
    pub retries: u32,
    /// Headers of the user's.
    pub headers: Vec<(String, String)>,
    /// User-Agent.
    pub user_agent: String,
    /// Origins that are asked at others instead.
    pub maps: Vec<(String, String)>,
    /// The origins that the user's headers go to.
    pub origins: Vec<String>,
    /// Further origins that the user named: they are asked at whatever address they are, as `origins` and those of `maps`.
    pub named: Vec<String>,
    /// Whether others are, too.
    pub allow_private: bool,
    /// For all requests together.
    pub max_time: Option<Duration>,
}

/// A document that was asked for.
#[derive(Debug)]
pub struct Fetched {
    /// The answer, if there was one.
    pub response: Option<Response>,
    /// Why there was none.
    pub failure: String,
    /// What its body has, if its status is 200.
    pub document: Option<Document>,
}

impl Fetched {
    pub(crate) fn of((response, document): (Option<Response>, Result<Document, String>)) -> Self {
        let (document, failure) = match document {
            Ok(document) => (Some(document), String::new()),
            Err(failure) => (None, failure),
        };
        Self {
            response,
            failure,
            document,
        }
    }
}

/// Returns whether a status says that there is nothing at an address. S3 refuses so what it does not have; 429 says nothing of it.
pub(crate) fn is_absent(status: u16) -> bool {
    (400..500).contains(&status) && status != 429
}

/// Why there is no body.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{why}")]
pub struct NoBody {
    /// The answer's status, if there was one.
    pub status: Option<u16>,
    /// Why, in words.
    pub why: String,
}

/// A short text and how it came, or why it did not.
pub type Text = Result<(Response, Vec<u8>), String>;

/// Says whether a redirect to an address may be followed, and why not.
pub(crate) trait Allows: Sync {
    fn allows<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>>;
}

/// One request, as it is.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    /// GET, HEAD, POST …
    pub method: &'a str,
    /// What is asked for.
    pub url: &'a str,
    /// Its headers, but for Host and User-Agent.
    pub headers: &'a [(&'a str, &'a str)],
}

/// What a probe was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body, as it came.
    pub body: Vec<u8>,
}

/// Asks over HTTP.
#[derive(Debug)]
pub struct Client {
    /// For the origins that the user named.
    connector: OnceLock<Connector>,
    /// For all others.
    guarded: OnceLock<Connector>,
    named: Named,
    asking: Asking,
    /// When no more is asked.
    until: Option<Instant>,
    /// When the next request may be sent.
    next: Mutex<Instant>,
    requests: AtomicU64,
    received: AtomicU64,
    led: Led,
}

impl Client {
    /// Creates a client that has sent no request yet.
    #[must_use]
    pub fn new(asking: Asking) -> Self {
        let maps = asking.maps.iter().map(|(_, to)| to);
        let named = asking.origins.iter().chain(&asking.named).chain(maps);
        let named: Vec<String> = named.cloned().collect();
        Self {
            connector: OnceLock::new(),
            guarded: OnceLock::new(),
            named: Named::new(&named),
            until: asking.max_time.map(|time| Instant::now() + time),
            asking,
            next: Mutex::new(Instant::now()),
            requests: AtomicU64::new(0),
            received: AtomicU64::new(0),
            led: Led::default(),
        }
    }

    /// Returns the time limit of all requests together. Returns `None` if there is none.
    #[must_use]
    pub fn max_time(&self) -> Option<Duration> {
        self.asking.max_time
    }

    /// Returns the time limit of one response.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.asking.timeout
    }

    /// Returns the first other origin to which an origin redirected, if it did.
    #[must_use]
    pub fn led_to(&self, origin: &str) -> Option<String> {
        self.led.to(origin)
    }

    /// Returns how many requests were sent, and how many bytes of bodies came.
    pub fn counts(&self) -> (u64, u64) {
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        (count(&self.requests), count(&self.received))
    }

    /// Returns the connector for a server.
    ///
    /// # Errors
    ///
    /// If nobody may be asked there.
    fn connector(&self, uri: &str) -> Result<&Connector, Refused> {
        let builder = || Connector::builder().tls_provider(Provider::Rustls(CryptoMode::AwsLc));
        let url = Url::parse(uri).map_err(|error| Refused::Ever(error.to_string()))?;
        if self.asking.allow_private || self.named.has(&url) {
            return Ok(self.connector.get_or_init(|| builder().build()));
        }
        guard::check_literal(&url).map_err(|private| Refused::Ever(private.to_string()))?;
        let guarded = || builder().build_with_resolver(PublicNames);
        Ok(self.guarded.get_or_init(guarded))
    }

    /// Returns whether the time for all requests is over.
    pub(crate) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Asks for a document and reads it.
    pub async fn document(&self, url: &str, about: About) -> Fetched {
        let limit = about.max_bytes;
        let judged = move |body: Box<dyn Read + Send>, transfer: Transfer| {
            let about = About { transfer, ..about };
            read(body, &about)
        };
        Fetched::of(self.read(url, limit, judged).await)
    }

    /// Fetches a document and has `reader` read its body, if the status is 200. Returns what `reader` makes of the body and of how it
    /// came, or why there is no body. The body is cut after `limit` bytes.
    pub async fn read<T: Send + 'static>(
        &self,
        url: &str,
        limit: u64,
        reader: impl FnOnce(Box<dyn Read + Send>, Transfer) -> T + Send + 'static,
    ) -> (Option<Response>, Result<T, String>) {
        let began = Instant::now();
        let (mut response, body) = match self.open(url).await {
            Ok(opened) => opened,
            Err(failure) => return (None, Err(failure)),
        };
        if response.status != 200 {
            let failure = format!("status {}", response.status);
            return (Some(response), Err(failure));
        }
        let transfer = Transfer {
            is_encoded: response.is_gzip_encoded(),
            is_foreign: response.is_foreign,
        };
        let deadline = self.deadline(began);
        let reader = move |body| reader(body, transfer);
        let read = body::read(body, &mut response, limit, reader, deadline).await;
        response.seconds = began.elapsed().as_secs();
        self.received
            .fetch_add(response.received, Ordering::Relaxed);
        (Some(response), read)
    }

    fn deadline(&self, began: Instant) -> Deadline {
        let limit = self.asking.timeout;
        let at = began + limit;
        let at = self.until.map_or(at, |until| until.min(at));
        Deadline { at, limit }
    }

    /// Returns how a document came, and its body for a thread that may wait. The body is read as it comes, and is an error where it is
    /// cut.
    ///
    /// # Errors
    ///
    /// Why there is no answer, or none with status 200.
    pub fn body(
        client: &Self,
        url: &str,
        limit: u64,
        runtime: &Handle,
    ) -> Result<(Response, impl Read + use<>), NoBody> {
        let opened = runtime.block_on(client.open(url));
        let (response, body) = opened.map_err(|why| NoBody { status: None, why })?;
        if response.status != 200 {
            return Err(NoBody {
                status: Some(response.status),
                why: format!("status {}", response.status),
            });
        }
        let body = body::piped(body, limit, client.asking.timeout, runtime);
        Ok((response, body))
    }

    /// Returns the origin that gets the requests for this origin.
    #[must_use]
    pub fn asked<'s>(&'s self, origin: &'s str) -> &'s str {
        let mapped = self.asking.maps.iter().find(|(from, _)| from == origin);
        mapped.map_or(origin, |(_, to)| to)
    }

    /// Fetches a short text, such as robots.txt, of which no more than `limit` bytes are read.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    pub async fn text(&self, url: &str, limit: usize) -> Text {
        self.text_if(url, limit, None).await
    }

    /// Fetches a short text as [`Client::text`] does, but follows only redirects that are allowed.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    pub(crate) async fn text_if(
        &self,
        url: &str,
        limit: usize,
        allows: Option<&dyn Allows>,
    ) -> Text {
        let deadline = self.deadline(Instant::now());
        let (mut response, body) = self.open_if(url, allows).await?;
        let text = body::text(body, &mut response, limit, deadline).await;
        self.received
            .fetch_add(response.received, Ordering::Relaxed);
        Ok((response, text))
    }

    /// Sends one request as the probe says, and follows no redirect.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    pub async fn probe(&self, probe: &Probe<'_>) -> Result<Answer, String> {
        let deadline = self.deadline(Instant::now());
        let url = Url::parse(probe.url).map_err(|error| error.to_string())?;
        let answer = self.ask(&url, probe.method, Some(probe.headers)).await;
        let answer = answer.map_err(|refused| match refused {
            Refused::Now(failure) | Refused::Ever(failure) => failure,
        })?;
        let headers = answer.headers().iter();
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let headers: Vec<_> = headers.collect();
        let mut response = Response::new(answer.status().as_u16());
        let raw = body::text(answer.into_body(), &mut response, MAX_PROBE_BYTES, deadline).await;
        self.received
            .fetch_add(response.received, Ordering::Relaxed);
        Ok(Answer {
            status: response.status,
            headers,
            body: raw,
        })
    }

    async fn open(&self, url: &str) -> Result<(Response, SdkBody), String> {
        self.open_if(url, None).await
    }

    /// Follows redirects that are allowed, and tries again what may pass.
    async fn open_if(
        &self,
        url: &str,
        allows: Option<&dyn Allows>,
    ) -> Result<(Response, SdkBody), String> {
        let mut tries = 0;
        loop {
            let (failure, pause) = match self.follow(url, allows).await {
                Ok((response, body, pause)) => {
                    let may_pass = matches!(response.status, 408 | 429 | 500 | 502 | 503 | 504);
                    if !may_pass || tries == self.asking.retries {
                        return Ok((response, body));
                    }
                    (format!("status {}", response.status), pause)
                }
                Err(Refused::Ever(failure)) => return Err(failure),
                Err(Refused::Now(failure)) => (failure, None),
            };
            if tries == self.asking.retries {
                return Err(failure);
            }
            tries += 1;
            let usual = Duration::from_millis(250) * 2_u32.saturating_pow(tries);
            let again = Instant::now() + pause.unwrap_or(usual).min(MAX_PAUSE);
            if self.until.is_some_and(|until| until <= again) {
                return Err(failure);
            }
            sleep_until(again).await;
        }
    }

    async fn follow(
        &self,
        url: &str,
        allows: Option<&dyn Allows>,
    ) -> Result<(Response, SdkBody, Option<Duration>), Refused> {
        let mut redirects = Vec::new();
        let mut at = Url::parse(url).map_err(|error| Refused::Ever(format!("{error}")))?;
        loop {
            let answer = self.ask(&at, "GET", None).await?;
            let status = answer.status().as_u16();
            let header = |name| answer.headers().get(name).map(str::to_owned);
            let all = |name| {
                let values = answer.headers().get_all(name);
                values.map(str::to_owned).collect::<Vec<_>>()
            };
            let links = all("link");
            if let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, header("location")) {
                let next = at.join(&location).map_err(|_| {
                    Refused::Ever("redirects to something that is not a URL".to_owned())
                })?;
                if !matches!(next.scheme(), "http" | "https") {
                    let scheme = next.scheme();
                    return Err(Refused::Ever(format!("redirects to {scheme}:")));
                }
                if redirects.iter().any(|seen| *seen == next.as_str()) || next == at {
                    return Err(Refused::Ever(format!(
                        "redirects in a loop, through {next}"
                    )));
                }
                if redirects.len() == MAX_REDIRECTS {
                    return Err(Refused::Ever(too_many_redirects()));
                }
                if let Some(allows) = allows {
                    let allowed = allows.allows(next.as_str()).await;
                    allowed.map_err(Refused::Ever)?;
                }
                self.led.add(&at, &next);
                redirects.push(next.to_string());
                at = next;
                continue;
            }
            let pause = header("retry-after").and_then(|text| text.trim().parse().ok());
            let response = Response {
                content_type: header("content-type"),
                content_encoding: header("content-encoding"),
                content_length: header("content-length").and_then(|text| text.parse().ok()),
                robots_tags: all("x-robots-tag"),
                link: (!links.is_empty()).then(|| links.join(", ")),
                is_foreign: !self.named.has(&at),
                redirects,
                ..Response::new(status)
            };
            let pause = pause.map(Duration::from_secs);
            return Ok((response, answer.into_body(), pause));
        }
    }

    /// Sends a request. The headers `own` replace the usual ones.
    async fn ask(
        &self,
        url: &Url,
        method: &str,
        own: Option<&[(&str, &str)]>,
    ) -> Result<HttpResponse, Refused> {
        self.wait_for_turn().await;
        if self.is_over() {
            return Err(Refused::Ever(OVER.to_owned()));
        }
        let ever = |error: &dyn std::fmt::Display| Refused::Ever(error.to_string());
        let mut request = HttpRequest::new(SdkBody::empty());
        let origin = origin_of(url.as_str()).unwrap_or_default();
        let mapped = self.asking.maps.iter().find(|(from, _)| from == origin);
        let uri = match mapped {
            Some((_, to)) => format!("{to}{}", &url.as_str()[origin.len()..]),
            None => url.as_str().to_owned(),
        };
        let connector = self.connector(&uri)?;
        request.set_uri(uri).map_err(|error| ever(&error))?;
        request.set_method(method).map_err(|error| ever(&error))?;
        let headers = request.headers_mut();
        let mut set = |name: &str, value: &str| {
            headers
                .try_insert(name.to_owned(), value.to_owned())
                .map(|_| ())
                .map_err(|error| ever(&error))
        };
        if mapped.is_some() {
            let host = origin.split_once("://").map_or(origin, |(_, host)| host);
            set("host", host)?;
        }
        set("user-agent", &self.asking.user_agent)?;
        for (name, value) in own.unwrap_or(&[("accept", "*/*"), ("accept-encoding", "gzip")]) {
            set(name, value)?;
        }
        if self.asking.origins.iter().any(|known| known == origin) {
            for (name, value) in &self.asking.headers {
                set(&name.to_ascii_lowercase(), value)?;
            }
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let deadline = self.deadline(Instant::now()).at;
        match timeout_at(deadline, connector.call(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                let error = error.into_source();
                Err(match guard::refusal(&*error) {
                    Some(private) => Refused::Ever(private.to_string()),
                    None => Refused::Now(chain(&*error)),
                })
            }
            Err(_) if self.is_over() => Err(Refused::Ever(OVER.to_owned())),
            Err(_) => {
                let limit = self.asking.timeout;
                Err(Refused::Now(format!(
                    "no answer within {limit:?} ({TIMEOUT})"
                )))
            }
        }
    }

    async fn wait_for_turn(&self) {
        let Some(rate) = self.asking.rate else {
            return;
        };
        let turn = match self.next.lock() {
            Ok(mut next) => {
                let turn = (*next).max(Instant::now());
                *next = turn + Duration::from_secs_f64(1.0 / rate);
                turn
            }
            Err(_) => return,
        };
        sleep_until(self.until.map_or(turn, |until| until.min(turn))).await;
    }
}

/// Returns the reason for which an address is given up that redirects too often.
pub(crate) fn too_many_redirects() -> String {
    format!("redirects more than {MAX_REDIRECTS} times")
}

/// Why there is no answer.
#[derive(Debug)]
enum Refused {
    /// Another try may have one.
    Now(String),
    /// No other try would.
    Ever(String),
}
