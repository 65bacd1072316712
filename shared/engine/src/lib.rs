//! The protocols that keep the published files correct, on two ports: tables of items and a bucket of objects.
//!
//! content → [`ingest`] → [`reconcile`] → sitemap table → [`regenerate`] → bucket, and by the clock [`sweep`]. Where nothing is
//! placed yet and nobody else writes, [`bulk`] makes the same of all records at once.
//!
//! - Reads are consistent. A decision is made by a pure function of `sitemap`, never between two awaits.
//! - Every write has a condition that fails if the rows it is based on have changed.
//! - A lost race is a result, not an error. An error is a failed service or damaged derived state.
//! - Time, pauses and randomness come from [`Env`] alone, and nothing is spawned: in a simulated world a history repeats.

mod batch_get;
pub mod bulk;
pub mod concurrency;
pub mod content;
mod env;
pub mod error;
pub mod ingest;
pub mod metrics;
pub mod reconcile;
pub mod regenerate;
pub mod rows;
pub mod stream;
pub mod sweep;
#[cfg(test)]
mod testing;
pub mod timers;

pub use env::{Deadline, Env, Environment};
pub use rows::keys;
pub use rows::table::SitemapTable;
