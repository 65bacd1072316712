//! The HTTP front that crawlers and people reach, over the bucket's port and without any AWS crate.
//!
//! A request names a site in a header and a document in its path; the document is read from the bucket and streamed
//! in the form that was asked for: as XML or text, each plain, as gzip or as a gzip file. A person who opens it in a browser sees a page.
//!
//! ```text
//! request ─▶ asked ─▶ site file ─▶ object ─▶ representation ─▶ 304, a checked body, or the view
//! ```
//!
//! - The front keeps no state but the site files of the last seconds, and writes nothing.
//! - A client gets gzip only if it asked for it, and XML whatever its Accept says. With [`Gzip::Files`] it gets gzip only
//!   as a file.
//! - ETag and Last-Modified are the document's, not the object's: equal documents have equal tags. The tag of a gzip
//!   encoding is weak, since a server on the way may undo the encoding.
//! - No damaged object is sent as if it were whole: one of up to [`MAX_WHOLE_BYTES`] is checked before the status is
//!   sent, a larger one breaks off where a reader can see it.
//!
//! # The view for people
//!
//! A browser's navigation (`Sec-Fetch-Dest: document`, no crawler's User-Agent, no `Signature-Agent`) to a sitemap or
//! an index that is there gets an HTML page in place of it. The page's script fetches the document as anybody does, and
//! shows it as a table. With `?view=xml`, a navigation gets the XML.
//!
//! Whatever a navigation gets at such an address, page or XML, is `private, no-store`. What is left to keep depends on
//! host, path, Accept-Encoding and on this being no navigation. So a CDN
//!
//! - sets [`SITE_HOST_HEADER`] to the viewer's host;
//! - has in its cache's key the host, the path, Accept-Encoding and Sec-Fetch-Dest, the last made `document` or nothing
//!   by its viewer-request function, so that a document is kept at most twice;
//! - hands on, without keying by it, User-Agent, Signature-Agent and the query. If it does not, its function has to remove
//!   Sec-Fetch-Dest itself, from requests of crawlers and from those that ask for `view=xml`.
//!
//! The stack's own distribution puts the host and what a person is to see into the path instead of headers
//! ([`EDGE_PREFIX`]), so that a cache that keys by the path alone is enough.
//!
//! [`SiteFront`] is the one router, behind Lambda's adapter and on a plain server alike. The time, pauses and the count of
//! broken bodies come through [`Runtime`].

mod asked;
pub mod asset;
mod body;
mod cdn_path;
mod checked_body;
mod empty_document;
pub mod inflater;
pub mod negotiation;
mod representation;
pub mod route;
mod runtime;
mod site_files;
mod site_front;
pub mod site_header;
pub mod text_form;
pub mod validators;
pub mod variant;
mod view;

pub use body::Body;
pub use cdn_path::EDGE_PREFIX;
pub use checked_body::MAX_WHOLE_BYTES;
pub use negotiation::{Gzip, UnknownGzip};
pub use runtime::Runtime;
pub use site_files::{MAX_CACHED_SITES, MAX_SITE_FILE_BYTES, SITE_FILE_TTL_SECONDS};
pub use site_front::SiteFront;
pub use site_header::SITE_HOST_HEADER;

/// Returns whether a path can be answered with more than 404: what a CDN has to send to the front, beside a site's own.
#[must_use]
pub fn is_routed(path: &str) -> bool {
    route::Route::parse(EXAMPLE_SITE, path).is_some()
}

/// Paths of all kinds that can be answered with more than 404, but for the file of an IndexNow key: each published file
/// in each of its forms, the other names of the index, and the assets.
#[must_use]
pub fn example_paths() -> Vec<String> {
    route::Route::examples(EXAMPLE_SITE)
}

/// The routes of all sites are the same.
const EXAMPLE_SITE: &str = "www.example.com";
