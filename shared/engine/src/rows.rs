//! The rows of the sitemap table. Each kind has one file, with its key, body, reads and writes.
//!
//! [`key`] has the parts of keys and the list of kinds, `parse` reads any key, and [`row`] reads any row, as the audit does.
//! `table` is what all kinds share.

pub mod audit;
pub mod claim;
pub mod departed;
pub mod entry;
pub mod feed;
pub mod group;
pub mod holding;
pub mod key;
pub mod keys;
pub mod ledger;
pub mod left_out;
pub mod llms;
pub mod mark;
pub mod notice;
mod parse;
pub mod row;
pub mod scan;
pub mod series;
pub mod site;
pub mod slot;
pub mod summary;
pub(crate) mod table;
pub mod term;
#[cfg(test)]
mod tests;
pub mod timer;
pub mod turn;
