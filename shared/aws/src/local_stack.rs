//! What the local stack calls its tables and its bucket: here, so that the command finds them without the stack's own code.

/// The content table's name.
pub const CONTENT_TABLE: &str = "waymark-content";
/// The sitemap table's name.
pub const SITEMAP_TABLE: &str = "waymark-sitemap";
/// The bucket's name.
pub const BUCKET: &str = "waymark-sitemaps";
