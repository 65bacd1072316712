//! `waymark crawl`: joins access logs with what is listed, and says what crawlers fetched, when, and what they did not.
//!
//! The answers are made by `waymark-crawl`. This room finds and opens the logs, reads the listing, and shows the report.

pub(crate) mod command;
mod csv;
mod listed;
mod logs;
mod reasons;
mod text;
