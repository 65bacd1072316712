//! The rows of the sitemap table: a file a kind, with its key, what it holds, and its reads and writes.
//!
//! [`key`] has what keys are made of and which kinds there are, `parse` reads any key, [`row`] any row, as the audit does.
//! `table` is what all kinds share.

pub mod audit;
pub mod claim;
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
