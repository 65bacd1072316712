//! Servers on the loopback address. None of them is for the network.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The time limit for running requests when a server is stopped.
pub const STOP_GRACE: Duration = Duration::from_secs(2);

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Another process has the port.
    #[error(
        "{service}: port {port} is in use; stop what listens there, or choose another port (0 for any)"
    )]
    PortInUse {
        /// The name of the server.
        service: &'static str,
        /// The requested port.
        port: u16,
    },
    /// Another cause: a port that needs privileges, or no loopback interface.
    #[error("{service}: cannot listen on port {port}: {source}")]
    Bind {
        /// The name of the server.
        service: &'static str,
        /// The requested port.
        port: u16,
        /// The system's reason.
        source: io::Error,
    },
}

/// Listens on 127.0.0.1, on `port` or, if it is 0, on any free port. The listener does not block, as tokio requires.
///
/// # Errors
///
/// [`ListenError`], which names the port.
pub fn listen(service: &'static str, port: u16) -> Result<(TcpListener, SocketAddr), ListenError> {
    let bound = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    bound().map_err(|source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => ListenError::PortInUse { service, port },
        _ => ListenError::Bind {
            service,
            port,
            source,
        },
    })
}

/// An HTTP server in this process.
#[derive(Debug)]
pub struct Server {
    /// The address on which it listens.
    pub address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves every connection to 127.0.0.1:`port` (0 for any free port) with `service`. `name` is for messages.
    ///
    /// # Errors
    ///
    /// [`ListenError`], which names the port.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start<S, B>(name: &'static str, port: u16, service: S) -> Result<Self, ListenError>
    where
        S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        Self::on(name, listen(name, port)?, service)
    }

    /// Serves every connection to a listener, as [`Server::start`] does.
    pub(crate) fn on<S, B>(
        name: &'static str,
        (listener, address): (TcpListener, SocketAddr),
        service: S,
    ) -> Result<Self, ListenError>
    where
        S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let listener =
            tokio::net::TcpListener::from_std(listener).map_err(|source| ListenError::Bind {
                service: name,
                port: address.port(),
                source,
            })?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(accept(name, listener, service, stopped));
        Ok(Self {
            address,
            stop,
            task,
        })
    }

    /// Stops accepting, lets running requests finish for [`STOP_GRACE`], and closes every connection.
    pub async fn stop(self) {
        drop(self.stop);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "server at {} ended badly", self.address);
        }
    }
}

async fn accept<S, B>(
    name: &'static str,
    listener: tokio::net::TcpListener,
    service: S,
    mut stopped: oneshot::Receiver<()>,
) where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let graceful = GracefulShutdown::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Probably out of file descriptors. A pause lets others close theirs.
                    tracing::warn!(%error, "{name}: cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            _ = &mut stopped => break,
        };
        // Small answers on a kept connection would otherwise wait for the client's delayed acknowledgement.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "{name}: TCP_NODELAY");
        }
        let connection = Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service.clone())
            .into_owned();
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "{name}: connection ended");
            }
        });
    }
    if tokio::time::timeout(STOP_GRACE, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("{name}: requests were still running when it stopped");
    }
}
