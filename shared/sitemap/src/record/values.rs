//! The values of a record's fields, the names that records write them by, and their limits.

/// Images a page may list (Google's image sitemap guide).
pub const MAX_IMAGES: usize = 1_000;
/// Terms a record may have, so that a reconcile stays one transaction.
pub const MAX_TERMS: usize = 30;
/// Alternates a record may have: as many as a translation group has members.
pub const MAX_ALTERNATES: usize = 200;
/// Parts of a multi-part page.
pub const MAX_PARTS: u32 = 1_000;
/// Bytes of a taxonomy's name, of a term and of a group's name. All are parts of partition keys (DynamoDB: 2,048 bytes), where
/// each may take three times as many.
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

/// Where a page is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The only one that is listed.
    Published,
    /// Not yet finished.
    Draft,
    /// Waiting for review.
    Pending,
    /// To be published by its author's system.
    Scheduled,
    /// For its authors alone.
    Private,
    /// Thrown away.
    Trash,
    /// Its page answers with an error.
    Error,
}

/// Who may see a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Everybody: the only one that is listed.
    Public,
    /// Some.
    Private,
    /// Who knows the password.
    Password,
}

/// What sort of page it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Content: the only one that is listed.
    Content,
    /// A page of search results.
    SearchResults,
    /// An error page.
    Error,
    /// The second or a later page of an archive.
    PaginatedArchive,
}

/// Displays the values of a field as records write them.
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

/// The archive that a record is the page of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveOf {
    /// For example `category`.
    pub taxonomy: String,
    /// For example `news`.
    pub term: String,
}

/// What a record says of itself as a piece of news.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Its own, else the page's.
    pub title: Option<String>,
    /// Its own, else the page's, else the site's.
    pub language: Option<String>,
}
