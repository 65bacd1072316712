//! `waymark check`: anyone's sitemaps, over HTTP, in a folder or a bucket, against the rules of `waymark-check`.

pub mod baseline;
pub(crate) mod command;
pub mod config;
pub mod crawl;
pub mod expected;
pub mod limits;
pub(crate) mod names;
mod options;
mod pages;
mod probe;
pub mod report;
pub(crate) mod robots;
pub mod target;
