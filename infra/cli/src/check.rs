//! `waymark check`: anyone's sitemaps, over HTTP or in a folder, against the rules of `waymark-check`.

pub mod fetch;
pub mod report;
pub mod walk;
