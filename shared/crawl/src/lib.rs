//! Joins access logs with what is listed: which pages crawlers fetched, when, and how long after their last change.
//!
//! ```text
//! log ─▶ inflate, lines ─▶ Request        ─▶ bot, verified?   ─▶ sorted by address ─┐
//!        (input)           (forms, a file each) (bots)           (join)             ├▶ Report
//! sitemaps, records ─────────────────────────────────────────▶ sorted by address ─┘  (report)
//! ```
//!
//! - It does no I/O but to read what it is given, and files without a name: the sorter's, and a copy of a table that cannot be sought in. Memory does not grow with the logs.
//! - It reads no clock, environment or randomness: the time is an argument.
//! - The address of a client is compared with the ranges of crawlers, and dropped. No report contains one.
//! - What a form of log cannot say is said in the report, not guessed.

pub mod address;
pub mod bots;
pub mod forms;
pub mod input;
pub mod join;
pub mod log;
pub mod page;
pub mod report;
pub mod request;
mod tally;
