//! A document that is queued to be read.

use check::site::Listing;
use check::url::Scope;

/// A document to look at.
#[derive(Clone, Debug)]
pub(super) struct Next {
    pub(super) url: String,
    pub(super) listing: Option<Listing>,
    /// Where it may list pages.
    pub(super) scope: Scope,
    pub(super) depth: u32,
    /// The indexes above it.
    pub(super) above: Vec<String>,
    /// Other hosts whose robots.txt lets it list their pages.
    pub(super) permitted: Vec<String>,
}
