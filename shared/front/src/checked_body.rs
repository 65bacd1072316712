//! Opens a stored object and verifies it before the status line is sent.
//!
//! - A stored object of up to [`MAX_WHOLE_BYTES`] is read whole and checked first: its length, the member's checksum and
//!   length, the metadata, in the text form the number of locs. Damage is then an error, and the answer a 503.
//! - A larger one is sent as it arrives. Damage ends the body early, so that a reader can see it: gzip has no trailer, XML
//!   is not well-formed, and text has no line break at its end.
//! - No body ends in an error: `lambda_runtime` would write the error's text into the body and close it with status 200.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use async_stream::stream;
use bytes::Bytes;
use futures::future::{Either, select};
use futures::{TryStreamExt, pin_mut, stream};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use objects::{BodyStream, ObjectError};
use tracing::error;

use crate::body::{self, Body, StoredMember};
use crate::representation::Representation;
use crate::runtime::Runtime;
use crate::variant::Variant;

/// The largest stored object that is read whole before it is sent.
///
/// 50,000 entries with an image each take about 2 MB (`docs/BENCHMARKS.md`), so nearly every sitemap is checked. The function has
/// 512 MB and one request at a time.
pub const MAX_WHOLE_BYTES: u64 = 8 * 1024 * 1024;

/// Opens objects for sending.
pub(crate) struct CheckedBodies {
    pub(crate) runtime: Arc<dyn Runtime>,
    /// The time limit for the arrival of an object that is read whole.
    pub(crate) body_timeout: Duration,
}

impl CheckedBodies {
    /// Returns the body of a 200, and its length if that is known beforehand.
    ///
    /// # Errors
    ///
    /// If the object cannot be read, or is found to be damaged before anything of it is sent.
    pub(crate) async fn open(
        &self,
        found: &Representation,
        stored: BodyStream,
    ) -> Result<(Option<u64>, Body), ObjectError> {
        if found.stored_bytes() > MAX_WHOLE_BYTES {
            let (length, chunks) = chunks(found, found.variant(), stored).await?;
            return Ok((length, self.streamed(found, chunks)));
        }
        let whole = self.read_whole(found, stored).await?;
        let again = || -> BodyStream { Box::pin(stream::iter([Ok(whole.clone())])) };
        let variant = found.variant();
        match variant {
            // Compressing again would cost more than keeping the result in memory.
            Variant::StoredGzip | Variant::TextGzip | Variant::TextGzipFile => {
                let (_, chunks) = chunks(found, variant, again()).await?;
                let made = chunks.try_collect::<Vec<Bytes>>().await?.concat();
                Ok((Some(made.len() as u64), body::full(made)))
            }
            // Up to 50 MB, and cheap to make again.
            Variant::Stored
            | Variant::Identity
            | Variant::Gzip
            | Variant::GzipFile
            | Variant::Text => {
                let checked = match variant {
                    Variant::Gzip | Variant::GzipFile => Variant::Identity,
                    other => other,
                };
                let made = length_of(chunks(found, checked, again()).await?.1).await?;
                let (length, chunks) = chunks(found, variant, again()).await?;
                Ok((length.or(Some(made)), self.streamed(found, chunks)))
            }
        }
    }

    async fn read_whole(
        &self,
        found: &Representation,
        stored: BodyStream,
    ) -> Result<Bytes, ObjectError> {
        let chunks = body::stored(found.key().clone(), found.stored_bytes(), stored);
        let whole = chunks.try_fold(Vec::new(), |mut whole, chunk| {
            whole.extend_from_slice(&chunk);
            ready(Ok(whole))
        });
        pin_mut!(whole);
        let within = self.body_timeout;
        match select(whole, self.runtime.sleep(within)).await {
            Either::Left((whole, _)) => whole.map(Bytes::from),
            Either::Right(_) => Err(ObjectError::Unavailable {
                operation: "GetObject",
                message: format!(
                    "the body of {} did not arrive within {within:?}",
                    found.key()
                ),
            }),
        }
    }

    /// Returns a body that ends where its chunks fail.
    fn streamed(&self, found: &Representation, mut chunks: BodyStream) -> Body {
        let (key, runtime) = (found.key().clone(), Arc::clone(&self.runtime));
        let frames = stream! {
            loop {
                match chunks.try_next().await {
                    Ok(Some(chunk)) => yield Ok(Frame::data(chunk)),
                    Ok(None) => break,
                    Err(error) => {
                        error!(key = key.path(), %error, "the body of {key} broke off");
                        runtime.body_broke(&key, &error);
                        break;
                    }
                }
            }
        };
        StreamBody::new(frames).boxed_unsync()
    }
}

/// Returns the bytes to send of a stored object, which fail where it is damaged, and their number if it is known.
async fn chunks(
    found: &Representation,
    variant: Variant,
    stored: BodyStream,
) -> Result<(Option<u64>, BodyStream), ObjectError> {
    let (key, length, document) = (found.key(), found.stored_bytes(), found.document());
    let (bytes, entries) = (document.bytes, document.entries);
    let member = async |stored| StoredMember::open(key, length, stored).await;
    Ok(match variant {
        Variant::Stored => {
            let chunks = body::stored(key.clone(), length, stored);
            (Some(length), Box::pin(chunks))
        }
        Variant::StoredGzip => {
            let chunks = body::stored(key.clone(), length, stored);
            (None, Box::pin(body::gzip(key.clone(), chunks)))
        }
        Variant::Identity => {
            let chunks = member(stored).await?.document(bytes);
            (Some(bytes), Box::pin(chunks))
        }
        Variant::Gzip | Variant::GzipFile => {
            let member = member(stored).await?;
            (Some(member.gzip_bytes()), Box::pin(member.gzip()))
        }
        Variant::Text => {
            let chunks = member(stored).await?.text(bytes, entries);
            (None, Box::pin(chunks))
        }
        Variant::TextGzip | Variant::TextGzipFile => {
            let chunks = member(stored).await?.text(bytes, entries);
            (None, Box::pin(body::gzip(key.clone(), chunks)))
        }
    })
}

async fn length_of(chunks: BodyStream) -> Result<u64, ObjectError> {
    let add = |length, chunk: Bytes| ready(Ok(length + chunk.len() as u64));
    chunks.try_fold(0, add).await
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;
    use objects::{Document, ObjectKey, ObjectMeta};
    use tokio::time::{sleep, timeout};

    use super::*;

    #[derive(Debug)]
    struct Pauses;

    impl Runtime for Pauses {
        fn now(&self) -> i64 {
            panic!("no time is needed")
        }

        fn sleep(&self, pause: Duration) -> BoxFuture<'static, ()> {
            Box::pin(sleep(pause))
        }

        fn body_broke(&self, key: &ObjectKey, error: &ObjectError) {
            panic!("{key}: {error}")
        }
    }

    #[tokio::test]
    async fn a_body_that_stalls_is_not_waited_for() {
        let key = ObjectKey::Robots {
            site: "www.example.com".to_owned(),
        };
        let meta = ObjectMeta {
            etag: String::new(),
            length: 10,
            document: Some(Document {
                digest: "0".to_owned(),
                changed: 0,
                bytes: 10,
                entries: 0,
                stamp: String::new(),
            }),
        };
        let found = Representation::new(&key, Variant::Stored, meta).expect("sound metadata");
        let stalls = Box::pin(stream::pending());
        let bodies = CheckedBodies {
            runtime: Arc::new(Pauses),
            body_timeout: Duration::from_millis(1),
        };
        let read = bodies.read_whole(&found, stalls);
        let error = timeout(Duration::from_secs(60), read)
            .await
            .expect("a limit");
        let message = error.expect_err("nothing arrived").to_string();
        assert!(
            message.contains("published/www.example.com/robots.txt did not arrive within 1ms"),
            "{message}"
        );
    }
}
