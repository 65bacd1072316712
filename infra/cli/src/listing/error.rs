//! The errors that prevent that all pages of a target are read.

use check::listing::sort::SortError;
use engine::error::EngineError;

/// Why not all pages of a target could be read.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// A document cannot be read whole.
    #[error("{file}: {why}. Nothing was compared")]
    Unread {
        /// Its address or path.
        file: String,
        /// Why.
        why: String,
    },
    /// A site or a folder has no sitemaps that anything names.
    #[error(
        "{target}: found no sitemap in robots.txt or at {names}: give the sitemap's own address"
    )]
    NoSitemaps {
        /// The site or folder.
        target: String,
        /// The usual names.
        names: String,
    },
    /// A side lists nothing.
    #[error("{target}: lists no page: {what}. Nothing was compared")]
    Nothing {
        /// The target.
        target: String,
        /// The documents without entries.
        what: String,
    },
    /// There are too many sitemaps.
    #[error("{target}: has more than {limit} sitemaps. Nothing was compared")]
    TooMany {
        /// The target.
        target: String,
        /// The most sitemaps that are read.
        limit: usize,
    },
    /// A table cannot be read.
    #[error("{0}")]
    Table(#[from] EngineError),
    /// The pages cannot be sorted.
    #[error(transparent)]
    Sort(#[from] SortError),
}
