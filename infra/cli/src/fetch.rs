//! Requests documents from servers of others, from buckets and from folders.

pub(crate) mod args;
pub(crate) mod body;
pub mod bucket;
pub mod client;
mod guard;
mod led;
pub(crate) mod origin;
