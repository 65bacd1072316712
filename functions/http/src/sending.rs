//! What is sent of an object, and what is checked before the status is.
//!
//! - A stored object of up to [`MAX_WHOLE_BYTES`] is read whole and checked first: its length, the member's checksum and
//!   length, the metadata, in the text form the number of locs. Damage is then an error, and the answer a 503.
//! - A larger one is sent as it arrives. Damage ends the body early, so that a reader can see it: gzip has no trailer, XML
//!   is not well-formed, and text has no line break at its end.
//! - No body ends in an error: `lambda_runtime` would write the error's text into the body and close it with status 200.

use std::future::ready;
use std::time::Duration;

use async_stream::stream;
use aws::Clock;
use bytes::Bytes;
use engine::metrics::{BODIES_BROKEN, Metrics};
use futures::{TryStreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use objects::BodyStream;
use objects::ObjectError;
use tokio::time::timeout;
use tracing::error;

use crate::TIMEOUTS;
use crate::body::{self, Body, StoredMember};
use crate::form::Variant;
use crate::representation::Representation;

/// The largest stored object that is read whole before it is sent. 50,000 entries with an image each take about 2 MB
/// (`docs/BENCHMARKS.md`), so nearly every sitemap is checked; and of the function's 512 MB, which serve one request at a
/// time, this is little.
pub const MAX_WHOLE_BYTES: u64 = 8 * 1024 * 1024;

/// Where it is told that a body broke off.
#[derive(Clone, Debug)]
pub(crate) struct Breaks {
    pub(crate) metrics: Metrics,
    pub(crate) clock: Clock,
}

impl Breaks {
    /// By now the status has been sent, and the client learns no more than that there is no more.
    fn report(&self, key: &str, error: &ObjectError) {
        error!(key, %error, "the body of {key} broke off");
        self.metrics.note(&BODIES_BROKEN, 1);
        self.metrics.emit(self.clock.now());
    }
}

/// The body of a 200, and its length where it is known beforehand.
///
/// # Errors
///
/// If the object cannot be read, or is found to be damaged before anything of it is sent.
pub(crate) async fn open(
    found: &Representation,
    stored: BodyStream,
    breaks: &Breaks,
) -> Result<(Option<u64>, Body), ObjectError> {
    if found.stored_bytes() > MAX_WHOLE_BYTES {
        let (length, chunks) = chunks(found, found.variant(), stored).await?;
        return Ok((length, streamed(found, chunks, breaks)));
    }
    let whole = read_whole(found, stored, TIMEOUTS.operation).await?;
    let again = || -> BodyStream { Box::pin(stream::iter([Ok(whole.clone())])) };
    let variant = found.variant();
    match variant {
        // About as short as what was read, and dear to make twice.
        Variant::StoredGzip | Variant::TextGzip | Variant::TextGzipFile => {
            let (_, chunks) = chunks(found, variant, again()).await?;
            let made = chunks.try_collect::<Vec<Bytes>>().await?.concat();
            Ok((Some(made.len() as u64), body::full(made)))
        }
        // Up to 50 MB, and cheap to make twice.
        Variant::Stored | Variant::Identity | Variant::Gzip | Variant::GzipFile | Variant::Text => {
            let checked = match variant {
                Variant::Gzip | Variant::GzipFile => Variant::Identity,
                other => other,
            };
            let made = length_of(chunks(found, checked, again()).await?.1).await?;
            let (length, chunks) = chunks(found, variant, again()).await?;
            Ok((length.or(Some(made)), streamed(found, chunks, breaks)))
        }
    }
}

/// The bytes that are sent of a stored object, which fail where it is damaged, and their number where it is known.
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

async fn read_whole(
    found: &Representation,
    stored: BodyStream,
    within: Duration,
) -> Result<Bytes, ObjectError> {
    let chunks = body::stored(found.key().clone(), found.stored_bytes(), stored);
    let whole = chunks.try_fold(Vec::new(), |mut whole, chunk| {
        whole.extend_from_slice(&chunk);
        ready(Ok(whole))
    });
    match timeout(within, whole).await {
        Ok(whole) => whole.map(Bytes::from),
        Err(_) => Err(ObjectError::Unavailable {
            operation: "GetObject",
            message: format!(
                "the body of {} did not arrive within {within:?}",
                found.key()
            ),
        }),
    }
}

async fn length_of(chunks: BodyStream) -> Result<u64, ObjectError> {
    let add = |length, chunk: Bytes| ready(Ok(length + chunk.len() as u64));
    chunks.try_fold(0, add).await
}

/// A body that ends where its chunks fail.
fn streamed(found: &Representation, mut chunks: BodyStream, breaks: &Breaks) -> Body {
    let (key, breaks) = (found.key().path(), breaks.clone());
    let frames = stream! {
        loop {
            match chunks.try_next().await {
                Ok(Some(chunk)) => yield Ok(Frame::data(chunk)),
                Ok(None) => break,
                Err(error) => {
                    breaks.report(&key, &error);
                    break;
                }
            }
        }
    };
    StreamBody::new(frames).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use objects::{Document, ObjectKey, ObjectMeta};

    use super::*;

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
        let read = read_whole(&found, stalls, Duration::from_millis(1));
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
