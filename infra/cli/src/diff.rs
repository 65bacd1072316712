//! `waymark diff`: compares the pages that two sides list, page by page.
//!
//! Each side is read whole before anything is printed: what could not be read would look gone. Pages go through the sorter of
//! `waymark-check`, so memory does not grow with them.

pub(crate) mod command;
mod error;
mod max_removed;
mod pages;
pub mod report;

pub use error::DiffError;
pub use max_removed::MaxRemoved;
pub use pages::{Files, Ignored, Pages};
