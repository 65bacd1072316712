//! Paths that name the site, as the stack's own distribution asks for them.
//!
//! CloudFront's managed cache policies key by the path, and by no header and no query. So the distribution's function
//! (`infra/cdn/viewer-request.js`) adds the site and the kind of answer before the viewer's path:
//!
//! ```text
//! /waymark-edge/www.example.com/view/post-sitemap.xml       a person opens it in a browser
//! /waymark-edge/www.example.com/document/post-sitemap.xml   any other request
//! ```
//!
//! - A request with [`SITE_HOST_HEADER`] is not read in this way, because its path is the viewer's, who must not name a site.
//! - The function prefixes every path, even if the viewer's own path begins with this prefix. Only one prefix is removed here.
//!   The rest of such a path has no route, so the answer is a 404.
//! - Only the headers that a cache handles itself are kept. No other header may change an answer that is cached under the path.
//! - The rest of the front does not see the prefix. So it is in no redirect, no ETag and no log.

use http::Request;
use http::header::{ACCEPT_ENCODING, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH};
use http::request::Parts;

use crate::site_header::SITE_HOST_HEADER;

/// The prefix of each path that names a site.
pub const EDGE_PREFIX: &str = "/waymark-edge/";

/// The part after the host if a person is to see the view.
const VIEW: &str = "view";

/// The part after the host in all other requests.
const DOCUMENT: &str = "document";

/// The headers that CloudFront adds to its cache's key by itself, and those with which it revalidates its copy.
const KEPT: [HeaderName; 3] = [ACCEPT_ENCODING, IF_NONE_MATCH, IF_MODIFIED_SINCE];

/// Returns the equivalent request of a CDN that sets headers, and its path. Returns `None` if the request does not name a site in
/// its path.
pub(crate) fn unfold<'a>(request: &Parts, path: &'a str) -> Option<(Parts, &'a str)> {
    if request.headers.contains_key(SITE_HOST_HEADER) {
        return None;
    }
    let (host, rest) = path.strip_prefix(EDGE_PREFIX)?.split_once('/')?;
    let (kind, _) = rest.split_once('/')?;
    let path = &rest[kind.len()..];
    let mut unfolded = Request::builder()
        .method(request.method.clone())
        .uri(path)
        .header(SITE_HOST_HEADER, host);
    match kind {
        VIEW => unfolded = unfolded.header("sec-fetch-dest", "document"),
        DOCUMENT => {}
        _ => return None,
    }
    for name in KEPT {
        for value in request.headers.get_all(&name) {
            unfolded = unfolded.header(&name, value);
        }
    }
    let (unfolded, ()) = unfolded.body(()).ok()?.into_parts();
    Some((unfolded, path))
}
