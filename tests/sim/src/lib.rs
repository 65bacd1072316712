//! A simulated world: the real engine over tables and a bucket in memory, on one thread, in virtual time, from one seed.
//!
//! - [`runtime`] runs tasks. Which of those that can go on does is drawn from the seed; time goes on when none can.
//! - [`world`] is a deployment: tables with streams and a bucket whose calls take time and fail, event sources as Lambda's, the
//!   schedule, an endpoint for notices. Runs of functions end anywhere, and some that were thought dead come back.
//! - [`history`] draws what happens, [`deployment`] in what, [`oracle`] says what must be published then, [`audit`] compares every row and object.
//! - `watch` says what must be so at every moment, behind each write.
//! - [`cases`] draws histories by their numbers, [`run`] lets one happen. The same seed gives the same history, to the call: its
//!   digest says so.
//! - `scenarios` are directed tests of what the engine does, in such a world without faults.

pub mod audit;
pub mod cases;
pub mod crawler;
pub mod deployment;
pub mod document;
pub mod endpoint;
pub mod event_source;
pub mod faults;
pub mod history;
pub mod latency;
#[cfg(test)]
mod loss;
pub mod oracle;
pub mod price;
pub mod public;
pub mod reader;
pub mod records;
#[cfg(test)]
mod regressions;
#[cfg(test)]
mod release;
pub mod run;
pub mod runtime;
pub mod scale;
#[cfg(test)]
mod scenarios;
pub mod source;
pub mod tables;
pub mod template;
pub mod throughput;
pub mod told;
mod watch;
pub mod world;
