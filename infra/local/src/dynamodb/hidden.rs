//! dynoxide's HTTP server, which only this process can reach.
//!
//! It answers any origin, and accepts only a TCP listener. So it listens on a port of its own only until a connection of this
//! process is accepted. Dropping its future closes the port, while an accepted connection continues in a task of its own. All
//! requests to it have passed `guard`.
//!
//! Where dynoxide differs from DynamoDB, requests and answers are changed on their way: see `empty_keys`, `expiry`,
//! `shards` and `watch`.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use dynoxide::Database;
use dynoxide::server::serve_with_shutdown;
use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderName, HeaderValue, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, Request, Response, StatusCode, Uri, Version};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};

use super::calls::Calls;
use super::watch::Began;
use super::{empty_keys, expiry, shards};

type Error = Box<dyn std::error::Error + Send + Sync>;
type Connection = SendRequest<Full<Bytes>>;

/// DynamoDB accepts bodies of up to 16 MB, and so does dynoxide.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Headers of one connection (RFC 9110, section 7.6.1), which must not be forwarded to another.
const OF_A_CONNECTION: [HeaderName; 5] = [CONNECTION, EXPECT, TE, TRANSFER_ENCODING, UPGRADE];

/// The operation of a request, after a dot.
const TARGET: HeaderName = HeaderName::from_static("x-amz-target");
/// The checksum of an answer.
const CHECKSUM: HeaderName = HeaderName::from_static("x-amz-crc32");
/// Operations that may modify items.
const WRITES: [&str; 7] = [
    "BatchExecuteStatement",
    "BatchWriteItem",
    "ExecuteStatement",
    "ExecuteTransaction",
    "PutItem",
    "TransactWriteItems",
    "UpdateItem",
];

/// A listener, and a receiver that is dropped once its connection is accepted.
type Door = (TcpListener, oneshot::Receiver<()>);

/// The connections to the server.
#[derive(Debug)]
pub(super) struct Hidden {
    doors: mpsc::UnboundedSender<Door>,
    idle: Mutex<Vec<Connection>>,
    calls: Calls,
}

/// Accepts connections. It runs on the database's thread, and so does each connection's task.
pub(super) async fn accept(database: Database, mut doors: mpsc::UnboundedReceiver<Door>) {
    while let Some((listener, accepted)) = doors.recv().await {
        let listener = match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(error) => {
                tracing::warn!(%error, "DynamoDB: cannot accept a connection");
                continue;
            }
        };
        // The server's own shutdown would end the connection, too.
        let serving = serve_with_shutdown(listener, database.clone(), std::future::pending());
        tokio::select! {
            ended = serving => tracing::warn!(?ended, "DynamoDB: its server ended"),
            _ = accepted => {}
        }
    }
}

impl Hidden {
    /// Returns the connections, of which there are none yet. The receiver is for [`accept`].
    pub(super) fn begin(calls: Calls) -> (Arc<Self>, mpsc::UnboundedReceiver<Door>) {
        let (doors, opened) = mpsc::unbounded_channel();
        let idle = Mutex::default();
        (Arc::new(Self { doors, idle, calls }), opened)
    }

    /// Forwards a request. An error closes the client's connection.
    pub(super) async fn forward(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Error> {
        let (mut parts, body) = request.into_parts();
        let body = match Limited::new(body, MAX_BODY_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let mut response = Response::new(Full::default());
                *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
                return Ok(response);
            }
            Err(error) => return Err(error),
        };
        without_connection(&mut parts.headers);
        let target = parts
            .headers
            .get(TARGET)
            .and_then(|target| target.to_str().ok());
        let operation = target.and_then(|target| Some(target.split_once('.')?.1.to_owned()));
        let operation = operation.as_deref().unwrap_or_default();
        if operation == "Query"
            && let Some(message) = empty_keys::refusal(&body)
        {
            return Ok(refused(&message));
        }
        let body = match operation {
            "GetShardIterator" => shards::request(&body).map_or(body, Bytes::from),
            _ => body,
        };
        parts.headers.insert(CONTENT_LENGTH, body.len().into());
        parts.version = Version::HTTP_11;
        let path = parts.uri.path_and_query().cloned();
        parts.uri = path.map(Uri::from).unwrap_or_default();
        let request = Request::from_parts(parts, Full::from(body));
        if !WRITES.contains(&operation) {
            let (mut parts, body) = self.send(request).await?.into_parts();
            let changed = match operation {
                "DescribeStream" => shards::answer(&body),
                "GetRecords" => expiry::answer(&body),
                _ => None,
            };
            if let Some(changed) = &changed {
                parts.headers.insert(CONTENT_LENGTH, changed.len().into());
                parts.headers.remove(CHECKSUM);
            }
            let body = changed.map_or(body, Bytes::from);
            return Ok(Response::from_parts(parts, Full::from(body)));
        }
        let _turn = self.calls.turn().await;
        let watched = Watched(&self.calls, self.calls.beside.begin());
        let response = self.send(request).await;
        drop(watched);
        Ok(response?.map(Full::from))
    }

    /// Sends a request over a connection.
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Bytes>, Error> {
        let mut connection = match self.idle() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let (mut parts, body) = connection.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        if connection.ready().await.is_ok() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push(connection);
        }
        without_connection(&mut parts.headers);
        Ok(Response::from_parts(parts, body))
    }

    fn idle(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|connection| !connection.is_closed());
        idle.pop()
    }

    async fn connect(&self) -> Result<Connection, Error> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (accepted, is_accepted) = oneshot::channel();
        self.doors.send((listener, is_accepted))?;
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (mut connection, driver) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        // An answer shows that the connection is accepted.
        let mut health = Request::new(Full::default());
        let host = HeaderValue::from_static("localhost");
        health.headers_mut().insert(HOST, host);
        let answer = connection.send_request(health).await?;
        drop(accepted);
        answer.into_body().collect().await?;
        connection.ready().await?;
        Ok(connection)
    }
}

/// A write that is watched until this is dropped, even if its client has gone.
struct Watched<'c>(&'c Calls, Option<Began>);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.0.beside.end(self.1.take());
    }
}

/// Returns DynamoDB's answer to a request that is not valid.
fn refused(message: &str) -> Response<Full<Bytes>> {
    let body = serde_json::json!({
        "__type": "com.amazon.coral.validate#ValidationException",
        "message": message,
    });
    let mut response = Response::new(Full::from(body.to_string()));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let json = HeaderValue::from_static("application/x-amz-json-1.0");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn without_connection(headers: &mut HeaderMap) {
    for name in OF_A_CONNECTION {
        headers.remove(name);
    }
}
