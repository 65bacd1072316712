//! The parts of a request that its answer depends on.

use http::Method;
use http::request::Parts;

use crate::negotiation::Gzip;
use crate::route::Route;
use crate::site_header;
use crate::validators::Condition;
use crate::view::Reader;

/// A parsed request. No other part of it is read later.
pub(crate) struct Asked<'r> {
    pub(crate) method: &'r Method,
    /// The site that it names. `None` if it names none.
    pub(crate) site: Option<&'r str>,
    /// The path as its sender wrote it.
    pub(crate) path: &'r str,
    /// The route of its path on that site. `None` if there is none.
    pub(crate) route: Option<Route>,
    /// Whether gzip is used as the encoding of the answer.
    pub(crate) is_encoded: bool,
    /// The kind of reader.
    pub(crate) reader: Reader,
    /// The condition about the copy that its sender has. `None` if it is unconditional.
    pub(crate) condition: Option<Condition<'r>>,
}

impl<'r> Asked<'r> {
    /// Reads a request for `path`, the path as the client sent it.
    pub(crate) fn of(request: &'r Parts, path: &'r str, gzip: Gzip) -> Self {
        let site = site_header::named(&request.headers);
        Self {
            method: &request.method,
            site,
            path,
            route: site.and_then(|site| Route::parse(site, path)),
            is_encoded: gzip.encodes(&request.headers),
            reader: Reader::of(request),
            condition: Condition::of(&request.headers),
        }
    }
}
