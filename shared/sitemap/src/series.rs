//! A series: all sitemaps of one type on one site, and the names that types may have.

use serde::{Deserialize, Serialize};

/// The most bytes of a type's name, which becomes a part of a path.
pub const MAX_TYPE_BYTES: usize = 64;

/// All sitemaps of one type on one site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Series {
    /// The site's host.
    pub site: String,
    /// The series' name: the type's.
    pub name: String,
}

/// Returns whether a type may have this name, which becomes a part of the file name `{type}-sitemap.xml`.
#[must_use]
pub fn is_type_name(name: &str) -> bool {
    is_name(name, MAX_TYPE_BYTES)
}

pub(crate) fn is_name(name: &str, longest: usize) -> bool {
    (1..=longest).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
