//! How to import, and why an import ends early.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use sitemap::mapping::ExportMapping;
use sitemap::time::Zone;

/// What a source is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// A sitemap, or an index with its sitemaps.
    Sitemap,
    /// A WordPress export.
    Wxr,
    /// Comma-separated values.
    Csv,
    /// One JSON document.
    Json,
    /// A JSON document a line.
    Jsonl,
    /// RSS, Atom or JSON Feed.
    Feed,
    /// A URL a line.
    Urls,
    /// A file `_redirects`.
    Redirects,
}

impl SourceKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Sitemap,
        Self::Wxr,
        Self::Csv,
        Self::Json,
        Self::Jsonl,
        Self::Feed,
        Self::Urls,
        Self::Redirects,
    ];

    /// Returns its name as an option.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sitemap => "sitemap",
            Self::Wxr => "wxr",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Feed => "feed",
            Self::Urls => "urls",
            Self::Redirects => "redirects",
        }
    }
}

/// How to import.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What sources are; by default what they look like.
    pub from: Option<SourceKind>,
    /// How the items of CSV and JSON become records.
    pub mapping: Option<ExportMapping>,
    /// Beginnings of addresses, and what they are replaced by.
    pub map_urls: Vec<(String, String)>,
    /// The only site that is imported; the host of addresses without one.
    pub site: Option<String>,
    /// The language of records without one.
    pub language: Option<String>,
    /// Records that changed earlier are left out (Unix seconds).
    pub since: Option<i64>,
    /// Whether reciprocal alternates become a translation group.
    pub groups: bool,
    /// The types of WordPress's posts that are imported; empty for those that have pages, as far as can be told.
    pub types: BTreeSet<String>,
    /// The zone of WordPress's dates that are not in GMT.
    pub zone: Option<Zone>,
    /// Whether the archives of a WordPress export's terms are written, too.
    pub archives: bool,
    /// Where the archives of a taxonomy are.
    pub archive_urls: BTreeMap<String, String>,
    /// Whether the settings of the sites are written, too.
    pub settings: bool,
    /// The time (Unix seconds).
    pub now: i64,
}

/// Why an import ended early.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The records cannot be written.
    #[error("cannot write the records: {0}")]
    Output(io::Error),
    /// The temporary file cannot be written or read.
    #[error("cannot keep records in a temporary file: {0}")]
    Spool(io::Error),
}
