//! The front over a bucket in memory: what is answered to whom, with which headers, and what a damaged or failing
//! bucket looks like from outside.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bodies;
mod bucket;
mod closed;
mod documents;
mod edge;
mod fixture;
mod hostile;
mod routes;
mod sites;
mod view;
