//! Content files: JSON Lines, plain or gzipped, into the content table.
//!
//! - A line that cannot become an item is reported with its number, field and reason, and left out.
//! - A line whose record has a bad field or a bad URL is loaded and reported: the ledger will say the same.
//! - Of two lines with one id the later one counts.
//! - Files are read and parsed on a thread of their own: a pipe that nobody writes to must not hold up a signal.

pub(crate) mod args;
pub(crate) mod attributes;
pub mod forecast;
mod lines;
mod outcome;
mod plain_item;
pub mod sample;
mod source;
mod spool;

pub(crate) use lines::{BATCH, Counted, Item, Line, Lined, Parsed, id_of, read_lines};
pub use lines::{CONCURRENCY, MAX_KEY_BYTES};
pub(crate) use lines::{read_record, too_long};
pub(crate) use outcome::WHOLE_LINE;
pub use outcome::{LineProblem, Loaded, NoRecords};
pub(crate) use plain_item::{item, item_of, refusal, refused};
pub use source::{LoadError, SAMPLE_NAME, STDIN_NAME, Source};
pub(crate) use spool::{Spool, SpooledLine};
