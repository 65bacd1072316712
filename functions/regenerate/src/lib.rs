//! The function behind the sitemap table's stream.
