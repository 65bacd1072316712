//! Asking servers of others, buckets and folders for documents.

pub(crate) mod args;
mod body;
pub mod bucket;
pub mod client;
mod guard;
pub(crate) mod origin;
