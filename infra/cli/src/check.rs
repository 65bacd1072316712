//! `waymark check`: anyone's sitemaps, over HTTP, in a folder or a bucket, against the rules of `waymark-check`.

pub mod baseline;
pub mod config;
pub mod fetch;
pub mod report;
pub mod walk;
