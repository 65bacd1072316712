//! The HTTP front that crawlers and people reach, over the bucket's port and without any AWS crate.
//!
//! A request names a site in a header and a document in its path. The document is read from the bucket and streamed in the
//! requested form: as XML or text, each plain, gzip-encoded or as a gzip file. A person who opens it in a browser sees a page.
//!
//! ```text
//! request ─▶ asked ─▶ site file ─▶ object ─▶ representation ─▶ 304, a checked body, or the view
//! ```
//!
//! - The front keeps no state except the site files of the last seconds, and writes nothing.
//! - A client gets gzip only if it asked for it, and XML whatever its Accept says. With [`Gzip::Files`] it gets gzip only
//!   as a file.
//! - ETag and Last-Modified are the document's, not the object's, so equal documents have equal tags. The tag of a gzip encoding
//!   is weak, because an intermediate server may undo the encoding.
//! - No damaged object is sent as if it were complete. An object of up to [`MAX_WHOLE_BYTES`] is checked before the status is
//!   sent. The body of a larger one ends early in a way that a reader can detect.
//!
//! # The view for people
//!
//! A browser's navigation (`Sec-Fetch-Dest: document`, no crawler's User-Agent, no `Signature-Agent`) to an existing
//! sitemap, index or feed gets an HTML page instead, and so does one to an address where there is nothing. The page's script
//! fetches the document as any client does, and shows it as a table. With `?view=xml`, a navigation gets the XML.
//!
//! The answer to a navigation at such an address, page or XML, is `private, no-store`. All other answers depend on host, path,
//! Accept-Encoding and on not being a navigation. So a CDN
//!
//! - sets [`SITE_HOST_HEADER`] to the viewer's host;
//! - has in its cache's key the host, the path, Accept-Encoding and Sec-Fetch-Dest. Its viewer-request function reduces the last
//!   to `document` or nothing, so that a document is cached at most twice;
//! - passes on User-Agent, Signature-Agent and the query without including them in the key. If it does not, its function has to
//!   remove Sec-Fetch-Dest itself, from requests of crawlers and from those that ask for `view=xml`.
//!
//! The stack's own distribution puts the host and the kind of answer into the path instead of headers ([`EDGE_PREFIX`]), so that
//! the path alone is a sufficient key.
//!
//! [`SiteFront`] is the only router, both behind Lambda's adapter and on a plain server. The time, pauses and the count of broken
//! bodies come through [`Runtime`].

mod asked;
pub mod asset;
mod body;
mod cdn_path;
mod checked_body;
mod departed;
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

/// Returns whether the answer for a path can be more than a 404. A CDN has to send such paths to the front.
#[must_use]
pub fn is_routed(path: &str) -> bool {
    route::Route::parse(EXAMPLE_SITE, path).is_some()
}

/// Returns paths of all kinds whose answer can be more than a 404, except the file of an IndexNow key: each published file in
/// each of its forms, the other names of the index, and the assets.
#[must_use]
pub fn example_paths() -> Vec<String> {
    route::Route::examples(EXAMPLE_SITE)
}

/// The routes of all sites are the same.
const EXAMPLE_SITE: &str = "www.example.com";
