//! dynoxide's HTTP server, which only this process can reach.
//!
//! It answers any origin, and accepts only a TCP listener. So it listens on a port of its own only until a connection of this
//! process is accepted. Dropping its future closes the port, while an accepted connection continues in a task of its own. All
//! requests to it have passed `guard`.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use dynoxide::Database;
use dynoxide::server::serve_with_shutdown;
use http::header::{
    CONNECTION, EXPECT, HOST, HeaderName, HeaderValue, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, Request, Response, StatusCode, Uri, Version};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};

type Error = Box<dyn std::error::Error + Send + Sync>;
type Connection = SendRequest<Full<Bytes>>;

/// DynamoDB accepts bodies of up to 16 MB, and so does dynoxide.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Headers of one connection (RFC 9110, section 7.6.1), which must not be forwarded to another.
const OF_A_CONNECTION: [HeaderName; 5] = [CONNECTION, EXPECT, TE, TRANSFER_ENCODING, UPGRADE];

/// A listener, and a receiver that is dropped once its connection is accepted.
type Door = (TcpListener, oneshot::Receiver<()>);

/// The connections to the server.
#[derive(Debug)]
pub(super) struct Hidden {
    doors: mpsc::UnboundedSender<Door>,
    idle: Mutex<Vec<Connection>>,
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
    pub(super) fn begin() -> (Arc<Self>, mpsc::UnboundedReceiver<Door>) {
        let (doors, opened) = mpsc::unbounded_channel();
        let idle = Mutex::default();
        (Arc::new(Self { doors, idle }), opened)
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
        parts.version = Version::HTTP_11;
        let path = parts.uri.path_and_query().cloned();
        parts.uri = path.map(Uri::from).unwrap_or_default();
        let request = Request::from_parts(parts, Full::from(body));

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
        Ok(Response::from_parts(parts, Full::from(body)))
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

fn without_connection(headers: &mut HeaderMap) {
    for name in OF_A_CONNECTION {
        headers.remove(name);
    }
}
