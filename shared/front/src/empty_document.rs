//! The empty documents that are sent in place of a sitemap or an index that settings have closed.
//!
//! An index that names the document may be in a cache during the grace period, and must not lead to a 404. The empty document is
//! the one that the publisher makes without entries and without a style sheet. So a closed sitemap looks like an emptied one, and
//! equal bytes have equal ETags.

use std::sync::LazyLock;

use bytes::Bytes;
use futures::stream;
use objects::{BodyStream, Document, ObjectKey, ObjectMeta};
use sitemap::member::{Builder, Built, Frame};

static URLSET: LazyLock<Built> = LazyLock::new(|| Builder::new(&Frame::urlset(None), 0).finish());
static INDEX: LazyLock<Built> = LazyLock::new(|| Builder::new(&Frame::index(None), 0).finish());

fn built(key: &ObjectKey) -> &'static Built {
    match key {
        ObjectKey::Index { .. } => &INDEX,
        _ => &URLSET,
    }
}

/// Returns the metadata of an empty document that has been sent since `changed`.
pub(crate) fn meta(key: &ObjectKey, changed: i64) -> ObjectMeta {
    let Built { bytes, directory } = built(key);
    ObjectMeta {
        etag: String::new(),
        length: bytes.len() as u64,
        document: Some(Document {
            digest: directory.digest(),
            changed,
            bytes: directory.document_bytes(),
            entries: 0,
            stamp: String::new(),
        }),
    }
}

/// Returns the empty document as it would be stored.
pub(crate) fn stored(key: &ObjectKey) -> BodyStream {
    let bytes = Bytes::from_static(&built(key).bytes);
    Box::pin(stream::iter([Ok(bytes)]))
}
