//! What a request asks for, read once.

use http::Method;
use http::request::Parts;

use crate::negotiation::Gzip;
use crate::route::Route;
use crate::site_header;
use crate::validators::Condition;
use crate::view::Reader;

/// A request as it is answered: nothing else of it is read later.
pub(crate) struct Asked<'r> {
    pub(crate) method: &'r Method,
    /// The site that it names, if it names one.
    pub(crate) site: Option<&'r str>,
    /// What its path leads to on that site.
    pub(crate) route: Option<Route>,
    /// Whether gzip is sent as the encoding of what it asks for.
    pub(crate) is_encoded: bool,
    /// Who reads the answer.
    pub(crate) reader: Reader,
    /// The copy that its sender has.
    pub(crate) condition: Option<Condition<'r>>,
}

impl<'r> Asked<'r> {
    /// Reads a request for `path`, the path as the client sent it.
    pub(crate) fn of(request: &'r Parts, path: &str, gzip: Gzip) -> Self {
        let site = site_header::named(&request.headers);
        Self {
            method: &request.method,
            site,
            route: site.and_then(|site| Route::parse(site, path)),
            is_encoded: gzip.encodes(&request.headers),
            reader: Reader::of(request),
            condition: Condition::of(&request.headers),
        }
    }
}
