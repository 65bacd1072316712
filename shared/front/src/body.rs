//! The bodies made of a stored object: as stored, inflated, as text, or compressed, in steps of limited size.
//!
//! - Memory does not grow with the document. It is used for a chunk from the bucket, one step of output, and one that is held
//!   back.
//! - A damaged or incomplete body never looks complete. The end of a document or a text is held back until lengths and checksum
//!   are verified. The trailer of a body that is compressed here is not written before.

use std::convert::Infallible;
use std::io::Write;

use async_stream::try_stream;
use bytes::{Buf, Bytes, BytesMut};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::{Stream, StreamExt, TryStreamExt, pin_mut, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use objects::{BodyStream, ObjectError, ObjectKey};
use sitemap::member::{PLAIN_HEADER, payload_offset};

use crate::inflater::{Inflater, STEP_BYTES, TRAILER_BYTES};
use crate::text_form::{LINE_END, Locs};

/// A response's body. A document is streamed. Reading a body never fails: if the object turns out to be damaged, the body ends
/// early.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// At least this many bytes at the end of a document are held back until it has been checked. They are more than the closing tag
/// and a line break, so that a document without them is not well-formed.
const HELD_BYTES: usize = 64;

/// zlib's default level. Texts of up to some megabytes are compressed with it, once for each request that no cache answers. Higher
/// levels would take much more time and save few bytes.
const LEVEL: u32 = 6;

/// The bytes at the start of a member's header that determine where its payload begins: the ten fixed ones, and XLEN (RFC 1952,
/// section 2.3.1).
const HEADER_START_BYTES: usize = 12;

/// Returns an empty body.
pub(crate) fn empty() -> Body {
    Empty::new().boxed_unsync()
}

/// Returns a body from bytes in memory.
pub(crate) fn full(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).boxed_unsync()
}

/// Returns an object as it is stored. Checks that it has the length in its metadata.
pub(crate) fn stored(
    key: ObjectKey,
    length: u64,
    mut body: BodyStream,
) -> impl Stream<Item = Result<Bytes, ObjectError>> + Send {
    try_stream! {
        let mut left = length;
        while let Some(chunk) = body.try_next().await? {
            left = left.checked_sub(chunk.len() as u64).ok_or_else(|| damaged(&key, "more bytes than its length"))?;
            yield chunk;
        }
        if left > 0 {
            Err(damaged(&key, &format!("{left} bytes are missing")))?;
        }
    }
}

/// Compresses these bytes into one gzip member, which does not depend on the cuts between chunks.
pub(crate) fn gzip(
    key: ObjectKey,
    chunks: impl Stream<Item = Result<Bytes, ObjectError>> + Send,
) -> impl Stream<Item = Result<Bytes, ObjectError>> + Send {
    try_stream! {
        let failed = |_| damaged(&key, "it could not be compressed");
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
        pin_mut!(chunks);
        while let Some(chunk) = chunks.try_next().await? {
            encoder.write_all(&chunk).map_err(failed)?;
            if encoder.get_ref().len() >= STEP_BYTES {
                yield std::mem::take(encoder.get_mut()).into();
            }
        }
        yield encoder.finish().map_err(failed)?.into();
    }
}

/// A stored gzip member whose header has been read, and whose payload follows.
pub(crate) struct StoredMember {
    key: ObjectKey,
    /// The bytes that have been read beyond the start of the header.
    read: Bytes,
    /// The number of header bytes before the payload, counted from the beginning of `read`.
    skip: usize,
    payload_bytes: u64,
    rest: BodyStream,
}

impl StoredMember {
    /// Reads the start of the header.
    ///
    /// # Errors
    ///
    /// [`ObjectError::Damaged`] if the body is not a member of Waymark's.
    pub(crate) async fn open(
        key: &ObjectKey,
        length: u64,
        mut rest: BodyStream,
    ) -> Result<Self, ObjectError> {
        let mut read = Bytes::new();
        while read.len() < HEADER_START_BYTES {
            let Some(chunk) = rest.try_next().await? else {
                return Err(damaged(key, "shorter than a gzip header"));
            };
            read = if read.is_empty() {
                chunk
            } else {
                Bytes::from([read, chunk].concat())
            };
        }
        let skip =
            payload_offset(&read).ok_or_else(|| damaged(key, "not a gzip member of segments"))?;
        let payload_bytes = length
            .checked_sub(skip as u64)
            .filter(|bytes| *bytes > TRAILER_BYTES as u64)
            .ok_or_else(|| damaged(key, "shorter than its header says"))?;
        Ok(Self {
            key: key.clone(),
            read,
            skip,
            payload_bytes,
            rest,
        })
    }

    /// Returns the length of [`StoredMember::gzip`] in bytes.
    pub(crate) fn gzip_bytes(&self) -> u64 {
        PLAIN_HEADER.len() as u64 + self.payload_bytes
    }

    /// Returns the member with a plain header in place of that with the directory, so that equal documents are sent as equal
    /// bytes.
    pub(crate) fn gzip(self) -> impl Stream<Item = Result<Bytes, ObjectError>> + Send {
        stream::iter([Ok(Bytes::from_static(&PLAIN_HEADER))]).chain(self.payload())
    }

    /// Returns the document, which must have this many bytes.
    pub(crate) fn document(
        self,
        bytes: u64,
    ) -> impl Stream<Item = Result<Bytes, ObjectError>> + Send {
        try_stream! {
            let key = self.key.clone();
            let mut inflater = Inflater::new(bytes);
            let mut held: Option<Bytes> = None;
            let payload = self.payload();
            pin_mut!(payload);
            while let Some(mut chunk) = payload.try_next().await? {
                while let Some(step) = inflater.step(&mut chunk).map_err(|message| damaged(&key, message))? {
                    held = match held {
                        // A short step is the last one.
                        Some(earlier) if step.len() < HELD_BYTES => Some([earlier, step].concat().into()),
                        Some(earlier) => {
                            yield earlier;
                            Some(step)
                        }
                        None => Some(step),
                    };
                }
            }
            inflater.finish().map_err(|message| damaged(&key, message))?;
            if let Some(last) = held {
                yield last;
            }
        }
    }

    /// Returns the document's locs, one on each line. The document must have this many bytes and entries. If it has no entries,
    /// the text is one line break, because a text without a line break at its end counts as incomplete.
    pub(crate) fn text(
        self,
        bytes: u64,
        entries: u64,
    ) -> impl Stream<Item = Result<Bytes, ObjectError>> + Send {
        try_stream! {
            let key = self.key.clone();
            let mut locs = Locs::default();
            let mut lines = BytesMut::new();
            let document = self.document(bytes);
            pin_mut!(document);
            while let Some(step) = document.try_next().await? {
                locs.push(&step, &mut lines).map_err(|message| damaged(&key, message))?;
                if lines.len() > LINE_END.len() {
                    // The last line break is held back until something follows.
                    yield lines.split_to(lines.len() - LINE_END.len()).freeze();
                }
            }
            locs.finish(entries).map_err(|message| damaged(&key, message))?;
            yield Bytes::from_static(LINE_END);
        }
    }

    fn payload(self) -> impl Stream<Item = Result<Bytes, ObjectError>> + Send {
        let Self {
            key,
            read,
            mut skip,
            payload_bytes,
            rest,
        } = self;
        let stored_bytes = skip as u64 + payload_bytes;
        let whole: BodyStream = Box::pin(stream::iter([Ok(read)]).chain(rest));
        stored(key, stored_bytes, whole).try_filter_map(move |mut chunk| {
            let header = skip.min(chunk.len());
            chunk.advance(header);
            skip -= header;
            std::future::ready(Ok((!chunk.is_empty()).then_some(chunk)))
        })
    }
}

fn damaged(key: &ObjectKey, message: &str) -> ObjectError {
    ObjectError::Damaged {
        what: key.path(),
        message: message.to_owned(),
    }
}
