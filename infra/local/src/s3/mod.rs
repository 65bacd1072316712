//! S3 in this process: `s3s` for the protocol, with a small store behind it.
//!
//! - Objects are in memory, and with a data folder also in files, which are read at the start.
//! - Reads and lists are strongly consistent, and preconditions are decided as S3 decides them (`bucket`).
//! - Requests with any signature or without one are accepted. Features that Waymark does not use (versions, multipart uploads,
//!   access control) answer `NotImplemented`.

mod bucket;
mod disk;
mod object;
mod protocol;
mod signature;
mod store;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{Body, HttpError, S3Error, S3ErrorCode};

use crate::guard::guarded;
use crate::loopback::{ListenError, Server};
pub use disk::Unread;
pub use store::Counts;
use store::Store;

/// The buckets' folder in the data folder.
const FOLDER: &str = "s3";

/// Why the embedded S3 failed to start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// It cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Its folder cannot be read.
    #[error("S3's folder {}: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The problem.
        source: io::Error,
    },
}

/// A running S3.
#[derive(Debug)]
pub struct S3 {
    /// Its address, `http://127.0.0.1:PORT`. Buckets are addressed by path.
    pub endpoint: String,
    store: Arc<Store>,
    server: Server,
}

impl S3 {
    /// Starts it on 127.0.0.1:`port` (0 for any free port), with the buckets that an earlier run left in `data`, if that is
    /// given.
    ///
    /// # Errors
    ///
    /// [`StartError`] if the port is in use, or the folder cannot be read.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start(port: u16, data: Option<&Path>) -> Result<Self, StartError> {
        let folder = data.map(|data| data.join(FOLDER));
        let store = Store::open(folder.clone()).map_err(|source| StartError::Folder {
            folder: folder.unwrap_or_default(),
            source,
        })?;
        let store = Arc::new(store);
        let s3 = S3ServiceBuilder::new(protocol::Protocol(Arc::clone(&store))).build();
        let server = Server::start(
            "S3",
            port,
            guarded(service_fn(move |request| answer(s3.clone(), request))),
        )?;
        Ok(Self {
            endpoint: format!("http://{}", server.address),
            store,
            server,
        })
    }

    /// Returns the files among the objects that are not valid objects.
    #[must_use]
    pub fn unread(&self) -> &[Unread] {
        self.store.unread()
    }

    /// Returns the numbers of requests that this S3 has answered, by kind.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.store.counts()
    }

    /// Lets running requests finish and closes the connections.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}

async fn answer(s3: S3Service, request: Request<Incoming>) -> Result<Response<Body>, HttpError> {
    match signature::without_signature(request).await {
        Ok(request) => s3.call(request).await,
        Err(error) => {
            let error = S3Error::with_message(S3ErrorCode::IncompleteBody, error.to_string());
            error
                .to_http_response()
                .map_err(|error| HttpError::new(Box::new(error)))
        }
    }
}
