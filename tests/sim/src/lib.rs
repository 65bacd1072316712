//! A simulated world: the real engine over tables and a bucket in memory, on one thread, in virtual time, from one seed.
//!
//! - [`runtime`] runs tasks. The seed decides which ready task runs next. Time advances when none is ready.
//! - [`world`] is a deployment: tables with streams and a bucket whose calls take time and fail, event sources like Lambda's, the
//!   schedule, an endpoint for notices. Runs of functions end anywhere, and some that were thought dead continue.
//! - [`history`] draws the steps, [`deployment`] the deployment. [`oracle`] knows what must be published then, and [`audit`]
//!   compares every row and object.
//! - `first_load` publishes a world's content in bulk, before the functions start.
//! - `watch` checks the invariants after each write, `visitor` asks for the pages themselves.
//! - [`cloudwatch`] has the metrics of AWS's services and of the functions, and [`alarms`] the alarms of the template over them.
//! - [`cases`] draws histories by their numbers, and [`run`] executes one. The same seed gives exactly the same history and
//!   calls, which the digest confirms.
//! - `scenarios` are directed tests of the engine, in such a world without faults.

pub mod alarms;
pub mod audit;
pub mod cases;
pub mod cloudwatch;
pub mod crawler;
pub mod deployment;
pub mod document;
pub mod endpoint;
pub mod event_source;
pub mod faults;
mod first_load;
pub mod history;
pub mod invoker;
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
mod visitor;
mod watch;
pub mod world;
