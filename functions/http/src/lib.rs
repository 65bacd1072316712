//! The function that crawlers and people reach.
//!
//! A request names a site in a header and a document in its path; the document is read from the bucket and streamed
//! in the form that was asked for: as XML, gzip, a gzip file or text.
//!
//! ```text
//! request ─▶ route ─▶ site file ─▶ object ─▶ representation ─▶ 304, or a body in steps
//! ```
//!
//! - The function keeps no state but the site files of the last seconds, and writes nothing.
//! - A client gets gzip only if it asked for it, and XML whatever its Accept says.
//! - ETag and Last-Modified are the document's, not the object's: equal documents have equal tags.
//! - No body is whole in memory, and none that is damaged ends as if it were whole.
//!
//! [`SiteFront`] is the one router, behind Lambda's adapter and on a plain server alike.

mod body;
mod form;
mod front;
mod host;
mod inflater;
mod locs;
mod negotiation;
mod representation;
mod route;
mod site_files;
mod validators;

pub use body::{Body, BoxError};
pub use front::SiteFront;
pub use host::SITE_HOST_HEADER;
pub use site_files::{MAX_CACHED_SITES, MAX_SITE_FILE_BYTES, SITE_FILE_TTL_SECONDS};

/// The environment variables of the function.
pub const ENVIRONMENT: [&str; 1] = [store::deployment::BUCKET_NAME];
