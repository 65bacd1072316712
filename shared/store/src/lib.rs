//! The two tables and the bucket behind narrow ports, and the protocols that keep them true.
//!
//! content table → [`reconcile`] → sitemap table → (publishing, in `regenerate`) → bucket.
//!
//! - Reads are consistent. A decision is made by a pure function of `sitemap`, never between two awaits.
//! - What is written is written under a condition that fails if what was read is no longer so.
//! - Lost races are results, not errors; an error is a service that fails or derived state that is damaged.

pub mod aws;
pub mod clock;
pub mod concurrency;
pub mod content;
pub mod deployment;
pub mod error;
pub mod failures;
pub mod feed;
mod https;
pub mod keys;
pub mod ledgers;
pub mod metrics;
pub mod notices;
pub mod object;
pub mod reconcile;
pub mod relations;
pub mod rows;
pub mod s3;
pub mod segments;
pub mod site_file;
pub mod sites;
pub mod slots;
pub mod stream;
mod table;
pub mod timers;

pub use table::SitemapTable;
