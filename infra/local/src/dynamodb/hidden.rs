//! dynoxide's HTTP server, which only this process reaches.
//!
//! It answers any origin, and takes nothing but a listener on TCP. So it listens on a port of its own for a moment, until the one
//! connection of this process is accepted, and then never again: dropping its future closes the port, while a connection that it has
//! accepted is a task of its own. `guard` is before what comes here.

use std::io;
use std::net::Ipv4Addr;

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
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// What is asked of dynoxide, and where its answer goes.
pub(super) type Question = (
    Request<Full<Bytes>>,
    oneshot::Sender<Result<Response<Full<Bytes>>, Error>>,
);

/// DynamoDB accepts bodies of up to 16 MB, and so does dynoxide.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Headers of one connection (RFC 9110, section 7.6.1), which are not the other's.
const OF_A_CONNECTION: [HeaderName; 5] = [CONNECTION, EXPECT, TE, TRANSFER_ENCODING, UPGRADE];

/// Passes a request on to the thread that has the [`Hidden`] server. An error closes the client's connection.
pub(super) async fn forward(
    asked: mpsc::UnboundedSender<Question>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Error> {
    let (mut parts, body) = request.into_parts();
    // Before it takes its turn: a client that is slow to send must not hold up another.
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
    let (answer, answered) = oneshot::channel();
    asked.send((Request::from_parts(parts, Full::from(body)), answer))?;
    answered.await?
}

fn without_connection(headers: &mut HeaderMap) {
    for name in OF_A_CONNECTION {
        headers.remove(name);
    }
}

/// The server, and the connection to it. All of it is on one thread.
pub(super) struct Hidden {
    database: Database,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Hidden {
    /// Begins without a connection.
    pub(super) fn of(database: Database) -> Self {
        Self {
            database,
            connection: None,
        }
    }

    /// Asks one request after another: the database serves one at a time.
    pub(super) async fn answer_all(mut self, mut asked: mpsc::UnboundedReceiver<Question>) {
        while let Some((request, answer)) = asked.recv().await {
            let answered = self.answer(request).await;
            // The client may have gone.
            drop(answer.send(answered));
        }
    }

    async fn answer(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Full<Bytes>>, Error> {
        let mut connection = match self.connection.take() {
            Some(connection) if !connection.is_closed() => connection,
            _ => self.connect().await?,
        };
        let answer = connection.send_request(request).await?;
        let (mut parts, body) = answer.into_parts();
        let body = body.collect().await?.to_bytes();
        connection.ready().await?;
        self.connection = Some(connection);
        without_connection(&mut parts.headers);
        Ok(Response::from_parts(parts, Full::from(body)))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Error> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let stream = TcpStream::connect(listener.local_addr()?).await?;
        stream.set_nodelay(true)?;
        let (mut connection, driver) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        // Its own shutdown would end the connection, too.
        let serving = serve_with_shutdown(listener, self.database.clone(), std::future::pending());
        let mut health = Request::new(Full::default());
        health
            .headers_mut()
            .insert(HOST, HeaderValue::from_static("localhost"));
        let answer = tokio::select! {
            answer = connection.send_request(health) => answer?,
            ended = serving => return Err(io::Error::other(format!("{ended:?}")).into()),
        };
        answer.into_body().collect().await?;
        connection.ready().await?;
        Ok(connection)
    }
}
