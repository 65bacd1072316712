//! The front over a bucket in memory: its answers and headers for each kind of request, and the visible effects of a damaged or
//! failing bucket.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bodies;
mod bucket;
mod closed;
mod departures;
mod documents;
mod edge;
mod fixture;
mod hostile;
mod routes;
mod sites;
mod view;
