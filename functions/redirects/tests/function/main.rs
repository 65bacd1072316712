//! Tests of the function: its store, against a double of CloudFront's on this machine; its events; and its template.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod double;
mod events;
mod store;
mod template;
