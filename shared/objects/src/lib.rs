//! The bucket: which objects are published, under which keys, and with what headers.
//!
//! - Every object is written by [`Objects::put`] under a precondition, in one step; none is ever deleted.
//! - S3's ETag follows the bytes alone, so objects with different stamps have different bytes: `If-Match` can tell an
//!   object from a later one with the same document. Where the document has no room for the stamp, it is stored behind the
//!   document, and readers of the bucket get the document without it.
//! - S3's ETag and Last-Modified change whenever a stamp does. So the object's metadata has the document's own digest, length and
//!   time of change, and `http` answers with these.
//! - There are two implementations: S3's, in `aws`, and [`MemoryObjects`]. [`conformance`] holds both to the same behaviour.

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

/// The largest body that an object may have, in bytes. The largest sitemap that sitemaps.org allows has 52,428,800, and no
/// deflated one is larger by more than a few for each segment.
pub const MAX_OBJECT_BYTES: u64 = 60_000_000;
