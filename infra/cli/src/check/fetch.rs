//! One document over HTTP, with limits on its time, its bytes and its redirects.
//!
//! - Redirects are followed to http and https alone. Headers of the user's go to the origins that were asked for, and to
//!   no other.
//! - The time limit is for the whole answer: a server that sends a byte a second ends, too.
//! - A body is read as it comes, by a thread that inflates and checks it. No more than a few pieces of it wait.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use bytes::{Buf, Bytes};
use check::address::origin_of;
use check::document::{About, Document, read};
use check::response::{End, Response};
use http_body_util::BodyExt;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use url::Url;

/// Redirects that Google follows of a document.
const MAX_REDIRECTS: usize = 10;
/// Pieces of a body that wait to be read.
const PIECES: usize = 8;
/// The longest pause that a server may ask for by Retry-After.
const MAX_PAUSE: Duration = Duration::from_secs(30);

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

/// Asks over HTTP.
#[derive(Debug)]
pub struct Client {
    connector: Connector,
    asking: Asking,
    /// When the next request may be sent.
    next: Mutex<Instant>,
    requests: AtomicU64,
    received: AtomicU64,
}

impl Client {
    /// A client that has not asked yet.
    #[must_use]
    pub fn new(asking: Asking) -> Self {
        let connector = Connector::builder()
            .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
            .build();
        Self {
            connector,
            asking,
            next: Mutex::new(Instant::now()),
            requests: AtomicU64::new(0),
            received: AtomicU64::new(0),
        }
    }

    /// How many requests were sent, and how many bytes of bodies came.
    pub fn counts(&self) -> (u64, u64) {
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        (count(&self.requests), count(&self.received))
    }

    /// Asks for a document and reads it.
    pub async fn document(&self, url: &str, about: About) -> Fetched {
        let began = Instant::now();
        let (mut response, body) = match self.open(url).await {
            Ok(opened) => opened,
            Err(failure) => {
                return Fetched {
                    response: None,
                    failure,
                    document: None,
                };
            }
        };
        if response.status != 200 {
            return Fetched {
                failure: format!("status {}", response.status),
                response: Some(response),
                document: None,
            };
        }
        let mut about = about;
        about.is_encoded = response.is_gzip_encoded();
        let (send, receive) = mpsc::channel(PIECES);
        let limit = about.max_bytes;
        let reading = tokio::task::spawn_blocking(move || {
            let pipe = Pipe {
                receive,
                piece: Bytes::new(),
            };
            read(pipe, &about)
        });
        self.pump(
            body,
            &mut response,
            send,
            began + self.asking.timeout,
            limit,
        )
        .await;
        response.seconds = began.elapsed().as_secs();
        self.received
            .fetch_add(response.received, Ordering::Relaxed);
        let (document, failure) = match reading.await {
            Ok(document) => (Some(document), String::new()),
            Err(error) => (None, format!("the reader broke off: {error}")),
        };
        Fetched {
            response: Some(response),
            failure,
            document,
        }
    }

    /// The body of a document, for a thread that may wait: it is read as it comes, and is an error where it is cut.
    ///
    /// # Errors
    ///
    /// Why there is no answer, or none with status 200.
    pub fn body(
        client: &Arc<Self>,
        url: &str,
        limit: u64,
        runtime: &Handle,
    ) -> Result<impl Read + use<>, String> {
        let (response, mut body) = runtime.block_on(client.open(url))?;
        if response.status != 200 {
            return Err(format!("status {}", response.status));
        }
        let (send, receive) = mpsc::channel(PIECES);
        let client = client.clone();
        // It ends with the body, with its time, or when nobody reads any more. A reader may take its time: only what the
        // server takes counts.
        runtime.spawn(async move {
            let (mut left, mut room) = (client.asking.timeout, limit);
            loop {
                let began = Instant::now();
                let piece = match timeout(left, body.frame()).await {
                    Ok(None) => return,
                    Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
                    Ok(Some(Err(_))) | Err(_) => return drop(send.send(Err(())).await),
                };
                left = left.saturating_sub(began.elapsed());
                room = room.saturating_sub(piece.len() as u64);
                let piece = if room == 0 { Err(()) } else { Ok(piece) };
                if send.send(piece).await.is_err() || room == 0 {
                    return;
                }
            }
        });
        Ok(Pipe {
            receive,
            piece: Bytes::new(),
        })
    }

    /// The origin that is asked instead of one.
    #[must_use]
    pub fn asked<'s>(&'s self, origin: &'s str) -> &'s str {
        let mapped = self.asking.maps.iter().find(|(from, _)| from == origin);
        mapped.map_or(origin, |(_, to)| to)
    }

    /// Asks for a short text, such as robots.txt, of which no more than `limit` bytes are read.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    pub async fn text(&self, url: &str, limit: usize) -> Result<(Response, Vec<u8>), String> {
        let deadline = Instant::now() + self.asking.timeout;
        let (mut response, body) = self.open(url).await?;
        let (send, mut receive) = mpsc::channel::<Result<Bytes, ()>>(PIECES);
        let mut text = Vec::new();
        let collect = async {
            while let Some(Ok(piece)) = receive.recv().await {
                text.extend_from_slice(&piece);
                if text.len() > limit {
                    break;
                }
            }
            drop(receive);
        };
        let pump = self.pump(body, &mut response, send, deadline, limit as u64);
        futures::join!(pump, collect);
        self.received
            .fetch_add(response.received, Ordering::Relaxed);
        Ok((response, text))
    }

    /// Passes a body on, piece by piece.
    async fn pump(
        &self,
        body: SdkBody,
        response: &mut Response,
        send: mpsc::Sender<Result<Bytes, ()>>,
        deadline: Instant,
        limit: u64,
    ) {
        let mut body = body;
        let cut = loop {
            let frame = match timeout_at(deadline, body.frame()).await {
                Err(_) => break format!("it took more than {:?} (--timeout)", self.asking.timeout),
                Ok(None) => {
                    response.end = End::Whole;
                    return;
                }
                Ok(Some(Err(error))) => break told(&*error),
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(piece) = frame.into_data() else {
                continue;
            };
            response.received += piece.len() as u64;
            if send.send(Ok(piece)).await.is_err() || response.received > limit {
                // The reader has what it wants; a body over the limit is cut there.
                response.end = End::Enough;
                if response.received > limit {
                    // If nobody reads any more, nobody is to be told.
                    let _ = send.send(Err(())).await;
                }
                return;
            }
        };
        let _ = send.send(Err(())).await;
        response.end = End::Cut(cut);
    }

    /// Follows redirects, and tries again what may pass.
    async fn open(&self, url: &str) -> Result<(Response, SdkBody), String> {
        let mut tries = 0;
        loop {
            let (failure, pause) = match self.follow(url).await {
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
            sleep(pause.unwrap_or(usual).min(MAX_PAUSE)).await;
        }
    }

    async fn follow(&self, url: &str) -> Result<(Response, SdkBody, Option<Duration>), Refused> {
        let mut redirects = Vec::new();
        let mut at = Url::parse(url).map_err(|error| Refused::Ever(format!("{error}")))?;
        loop {
            let answer = self.ask(&at).await?;
            let status = answer.status().as_u16();
            let header = |name| answer.headers().get(name).map(str::to_owned);
            if let (301 | 302 | 303 | 307 | 308, Some(location)) = (status, header("location")) {
                let next = at
                    .join(&location)
                    .map_err(|_| Refused::Ever("redirects to what is no URL".to_owned()))?;
                if !matches!(next.scheme(), "http" | "https") {
                    let scheme = next.scheme();
                    return Err(Refused::Ever(format!("redirects to {scheme}:")));
                }
                if redirects.iter().any(|seen| *seen == next.as_str()) || next == at {
                    return Err(Refused::Ever(format!("redirects in a circle, by {next}")));
                }
                if redirects.len() == MAX_REDIRECTS {
                    let text = format!("redirects more than {MAX_REDIRECTS} times");
                    return Err(Refused::Ever(text));
                }
                redirects.push(next.to_string());
                at = next;
                continue;
            }
            let pause = header("retry-after").and_then(|text| text.trim().parse().ok());
            let response = Response {
                status,
                content_type: header("content-type"),
                content_encoding: header("content-encoding"),
                content_length: header("content-length").and_then(|text| text.parse().ok()),
                redirects,
                received: 0,
                seconds: 0,
                end: End::Whole,
            };
            let pause = pause.map(Duration::from_secs);
            return Ok((response, answer.into_body(), pause));
        }
    }

    async fn ask(&self, url: &Url) -> Result<HttpResponse, Refused> {
        self.wait_for_turn().await;
        let ever = |error: &dyn std::fmt::Display| Refused::Ever(error.to_string());
        let mut request = HttpRequest::new(SdkBody::empty());
        let origin = origin_of(url.as_str()).unwrap_or_default();
        let mapped = self.asking.maps.iter().find(|(from, _)| from == origin);
        let uri = match mapped {
            Some((_, to)) => format!("{to}{}", &url.as_str()[origin.len()..]),
            None => url.as_str().to_owned(),
        };
        request.set_uri(uri).map_err(|error| ever(&error))?;
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
        set("accept", "*/*")?;
        set("accept-encoding", "gzip")?;
        if self.asking.origins.iter().any(|known| known == origin) {
            for (name, value) in &self.asking.headers {
                set(&name.to_ascii_lowercase(), value)?;
            }
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let deadline = Instant::now() + self.asking.timeout;
        match timeout_at(deadline, self.connector.call(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(Refused::Now(told(&*error.into_source()))),
            Err(_) => {
                let limit = self.asking.timeout;
                Err(Refused::Now(format!(
                    "no answer within {limit:?} (--timeout)"
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
        sleep_until(turn).await;
    }
}

/// Why there is no answer.
#[derive(Debug)]
enum Refused {
    /// Another try may have one.
    Now(String),
    /// No other try would.
    Ever(String),
}

/// An error with what caused it.
fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// A body that comes from elsewhere, for a reader that waits.
struct Pipe {
    receive: mpsc::Receiver<Result<Bytes, ()>>,
    piece: Bytes,
}

impl Read for Pipe {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.receive.blocking_recv() {
                None => return Ok(0),
                Some(Ok(piece)) => self.piece = piece,
                Some(Err(())) => return Err(io::Error::other("the body ended early")),
            }
        }
        let count = self.piece.len().min(out.len());
        self.piece.copy_to_slice(&mut out[..count]);
        Ok(count)
    }
}
