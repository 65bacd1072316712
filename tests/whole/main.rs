//! Whole-pipeline tests: real clients, real servers, everything over HTTP on loopback.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

mod bad_input;
mod conformance;
mod crash;
mod expiry;
mod explain;
mod histories;
mod loss;
mod metrics;
mod notices;
mod poison;
mod price;
mod privileges;
mod redrive;
mod silence;
mod source;
mod store;
mod template;
mod until;
mod viewer;
