//! The bucket: the published objects, their keys and their headers.
//!
//! - Every object is written by [`Objects::put`] under a precondition, in one step. No object is ever deleted.
//! - S3's ETag depends only on the bytes, so objects with different stamps have different bytes. So `If-Match` can distinguish an
//!   object from a later one with the same document. If the document cannot contain the stamp, the stamp is stored behind it, and
//!   readers of the bucket get the document without it.
//! - S3's ETag and Last-Modified change whenever a stamp does. So the object's metadata has the document's own digest, length and
//!   time of change, and `http` uses these in its answers.
//! - There are two implementations: S3's, in `aws`, and [`MemoryObjects`]. [`conformance`] tests that both behave the same.

pub mod conformance;
mod files;
mod memory;
mod port;
mod site_file;

pub use files::{
    Closing, FILES, Form, MAX_CACHED_SECONDS, ObjectKey, PUBLISHED_PREFIX, PublishedFile, Source,
    Storage,
};
pub use memory::MemoryObjects;
pub use port::{
    BodyStream, Document, ObjectError, ObjectMeta, Objects, Precondition, Put, Reply, all_sites,
    stamp,
};
pub use site_file::{Closings, Closure, MAX_CLOSINGS, SiteFile};

/// The largest body of an object, in bytes. The largest sitemap that sitemaps.org allows has 52,428,800, and a deflated one is
/// larger by at most a few bytes for each segment.
pub const MAX_OBJECT_BYTES: u64 = 60_000_000;
