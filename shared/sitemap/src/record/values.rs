//! The values of a record's fields, their names in records, and their limits.

use serde::{Deserialize, Serialize};

/// The most images of a page (Google's image sitemap guide).
pub const MAX_IMAGES: usize = 1_000;
/// The most terms of a record, so that a reconcile stays one transaction.
pub const MAX_TERMS: usize = 30;
/// The most alternates of a record: as many as a translation group has members.
pub const MAX_ALTERNATES: usize = 200;
/// The most parts of a page.
pub const MAX_PARTS: u32 = 1_000;
/// The most bytes of a taxonomy's name, of a term and of a group's name. All are parts of partition keys (DynamoDB: 2,048 bytes),
/// where each may take three times as many.
pub const MAX_TERM_BYTES: usize = 200;

pub(super) const STATUSES: &[(&str, Status)] = &[
    ("published", Status::Published),
    ("draft", Status::Draft),
    ("pending", Status::Pending),
    ("scheduled", Status::Scheduled),
    ("private", Status::Private),
    ("trash", Status::Trash),
    ("error", Status::Error),
];
pub(super) const VISIBILITIES: &[(&str, Visibility)] = &[
    ("public", Visibility::Public),
    ("private", Visibility::Private),
    ("password", Visibility::Password),
];
pub(super) const KINDS: &[(&str, Kind)] = &[
    ("content", Kind::Content),
    ("search_results", Kind::SearchResults),
    ("error", Kind::Error),
    ("paginated_archive", Kind::PaginatedArchive),
];

/// What became of a page that is no longer at its address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Departure {
    /// It moved to this address: an absolute `http` or `https` URL, possibly with a fragment, and possibly on another site.
    MovedTo(String),
    /// It is gone for good.
    Gone,
}

/// The status of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Published: the only status that is listed.
    Published,
    /// Not yet finished.
    Draft,
    /// Waiting for review.
    Pending,
    /// To be published later by its author's system.
    Scheduled,
    /// Visible only for its authors.
    Private,
    /// Deleted, but still recoverable.
    Trash,
    /// Its page answers with an error.
    Error,
}

/// The people who may see a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Everybody: the only visibility that is listed.
    Public,
    /// Only some people.
    Private,
    /// People who know the password.
    Password,
}

/// The kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Content: the only kind that is listed.
    Content,
    /// A page of search results.
    SearchResults,
    /// An error page.
    Error,
    /// The second or a later page of an archive.
    PaginatedArchive,
}

/// Displays the values of a field as records spell them.
macro_rules! display_as_written {
    ($($type:ty: $names:expr),*) => {$(
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let name = $names.iter().find(|(_, value)| value == self);
                f.write_str(name.map_or("", |(name, _)| name))
            }
        }
    )*};
}
display_as_written!(Status: STATUSES, Visibility: VISIBILITIES, Kind: KINDS);

/// The archive whose page a record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveOf {
    /// For example `category`.
    pub taxonomy: String,
    /// For example `news`.
    pub term: String,
}

/// A record's data about itself as news.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Its own title. `None` means the page's.
    pub title: Option<String>,
    /// Its own language. `None` means the page's, or else the site's.
    pub language: Option<String>,
}
