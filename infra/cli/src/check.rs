//! `waymark check`: anyone's sitemaps, over HTTP, in a folder or a bucket, against the rules of `waymark-check`.

pub mod baseline;
pub mod bucket;
pub mod config;
pub mod expected;
pub mod fetch;
pub(crate) mod names;
mod pages;
mod probe;
pub mod report;
pub(crate) mod robots;
pub(crate) mod source;
pub mod walk;
