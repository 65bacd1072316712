//! Directed tests of what the engine does, feature by feature: `harness` has what they are written in.
//!
//! The functions run over tables and a bucket in memory, in virtual time, and what is published is read through the real
//! front. Nothing fails here unless a test says so: generated histories are there for faults.

mod archives;
mod bulk;
mod calls;
mod closing;
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
