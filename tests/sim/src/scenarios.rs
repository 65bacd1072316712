//! Directed tests of the engine, feature by feature. `harness` has their common parts.
//!
//! The functions run over tables and a bucket in memory, in virtual time, and the published files are read through the real
//! front. No call fails unless a test makes it fail, because generated histories cover faults.

mod archives;
mod bulk;
mod calls;
mod closing;
mod departures;
mod feed;
mod harness;
mod limits;
mod llms;
mod loss;
mod media;
mod meter;
mod notices;
mod pages;
mod parts;
mod publishing;
mod races;
mod sites;
mod store;
mod time;
mod translations;
