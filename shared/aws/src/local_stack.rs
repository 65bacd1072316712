//! The names of the local stack's tables and bucket. They are in this crate so that the command knows them without the stack's
//! code.

/// The content table's name.
pub const CONTENT_TABLE: &str = "waymark-content";
/// The sitemap table's name.
pub const SITEMAP_TABLE: &str = "waymark-sitemap";
/// The bucket's name.
pub const BUCKET: &str = "waymark-sitemaps";
