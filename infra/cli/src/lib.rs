//! The operator's command, `waymark`: a module for each verb, and the modules that they share.
//!
//! ```text
//! main ─▶ verbs ─▶ a verb's command (its options) ─▶ the verb ─▶ listing ─▶ content, fetch, deployment ─▶ terminal, files
//! ```

#![expect(
    clippy::doc_markdown,
    reason = "the documentation of an option is its help text, which is shown without markup"
)]

pub mod audit;
pub mod build;
pub mod check;
mod completions;
pub mod content;
mod crawl;
pub mod deployment;
pub mod diff;
pub mod error;
pub mod explain;
pub mod export;
pub mod fetch;
pub mod files;
pub mod first_load;
pub mod import;
pub mod listing;
pub mod load;
pub mod mapping;
pub mod purge;
pub mod redirects;
pub mod redrive;
mod sample;
#[cfg(feature = "serve")]
mod serve;
pub mod status;
pub mod terminal;
pub mod values;
pub mod verbs;
