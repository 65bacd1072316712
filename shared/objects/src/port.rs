//! The port.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use futures::Stream;
use futures::future::BoxFuture;

use crate::files::ObjectKey;

/// The future result of a call.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, ObjectError>>;

/// A body as it arrives.
pub type BodyStream = Pin<Box<dyn Stream<Item = Result<Bytes, ObjectError>> + Send>>;

/// Why a call of the bucket failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// There was no answer, the service failed, or a body was incomplete. A put may have succeeded.
    #[error("{operation} failed: {message}")]
    Unavailable {
        /// The API call, for example `GetObject`.
        operation: &'static str,
        /// The service's code and message, or the transport's.
        message: String,
    },
    /// An object of Waymark's is invalid. It is derived state, so the audit has it published again.
    #[error("{what} is damaged: {message}")]
    Damaged {
        /// The object's key.
        what: String,
        /// The problem.
        message: String,
    },
}

/// The metadata of an object about its document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Document {
    /// A digest of the document in lower-case hex, equal for equal documents regardless of their stamps. The public ETag is made
    /// from it.
    pub digest: String,
    /// When the document last changed, in Unix seconds: the public Last-Modified.
    pub changed: i64,
    /// The document's length in bytes, unencoded.
    pub bytes: u64,
    /// The number of `<url>` or `<sitemap>` elements; 0 if the document has neither.
    pub entries: u64,
    /// The site's epoch and the sum of the versions of the document's rows. Equal stamps mean equal rows, but equal documents may
    /// have different stamps. So the stamp decides whether to write.
    pub stamp: String,
}

/// Returns an epoch and a generation as one text.
#[must_use]
pub fn stamp(epoch: u64, generation: u64) -> String {
    format!("{epoch:016x}-{generation}")
}

/// An object without its body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectMeta {
    /// S3's ETag, only for `If-Match`.
    pub etag: String,
    /// The stored length in bytes, without the [seal](ObjectKey::seal).
    pub length: u64,
    /// The document's metadata. `None` if the object was not written by [`Objects::put`].
    pub document: Option<Document>,
}

/// The precondition of a put.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Precondition {
    /// The object does not exist (`If-None-Match: *`).
    Absent,
    /// The object still has this S3 ETag (`If-Match`).
    Unchanged(String),
}

/// The outcome of a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Put {
    /// The object was written.
    Done,
    /// The precondition failed (412, 409, 404). Read again, then decide again.
    Lost,
}

/// The bucket.
///
/// - Reads are strongly consistent.
/// - Of concurrent puts with the same precondition, one succeeds.
/// - Puts with different stamps have different ETags.
pub trait Objects: fmt::Debug + Send + Sync {
    /// Returns the object without its body. Returns `None` if there is no such object.
    fn head<'a>(&'a self, key: &'a ObjectKey) -> Reply<'a, Option<ObjectMeta>>;

    /// Returns the object, with its body as a stream.
    fn open<'a>(&'a self, key: &'a ObjectKey) -> Reply<'a, Option<(ObjectMeta, BodyStream)>>;

    /// Returns the object with its whole body. The body is empty if the object is larger than any that Waymark publishes, because
    /// then it is not Waymark's.
    fn get<'a>(&'a self, key: &'a ObjectKey) -> Reply<'a, Option<(ObjectMeta, Bytes)>>;

    /// Writes the object if the precondition holds. Its seal is stored behind the body.
    fn put<'a>(
        &'a self,
        key: &'a ObjectKey,
        body: Bytes,
        document: &'a Document,
        precondition: &'a Precondition,
    ) -> Reply<'a, Put>;

    /// Returns the keys of a site's objects, in no particular order.
    fn list<'a>(&'a self, site: &'a str) -> Reply<'a, Vec<ObjectKey>>;

    /// Returns the time at which the newest of a site's objects was written, in Unix seconds. Returns `None` if there is none, or
    /// if the bucket does not keep such times.
    fn last_put<'a>(&'a self, site: &'a str) -> Reply<'a, Option<i64>> {
        let _ = site;
        Box::pin(async { Ok(None) })
    }

    /// Returns up to `most` hosts of sites that have objects, after `after`, in the order of their objects' paths.
    fn sites<'a>(&'a self, after: Option<&'a str>, most: usize) -> Reply<'a, Vec<String>>;
}

/// Returns the hosts of all sites that have objects, sorted.
///
/// # Errors
///
/// If the bucket fails.
pub async fn all_sites(objects: &dyn Objects) -> Result<Vec<String>, ObjectError> {
    let mut sites = objects.sites(None, usize::MAX).await?;
    sites.sort();
    Ok(sites)
}
