//! What is listed: reads all pages of a site, a sitemap, a folder, a file, a bucket, content or a deployment, for the verbs that compare it.
//!
//! A target is read whole, or it is an error: what could not be read would look as if it were not listed.

pub mod error;
pub(crate) mod named;
pub mod pages;
pub mod reader;
pub mod target;
