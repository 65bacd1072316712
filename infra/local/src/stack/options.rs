//! Options of the local stack.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aws::Clock;
use aws_sdk_dynamodb::config::SharedInterceptor;
use engine::content::SourceTable;
use engine::metrics::Metrics;
use engine::reconcile::KnownSites;
use engine::regenerate::index::IndexLimits;
use sweep::Endpoint;

use crate::event_source::Faults;
use crate::invocation::Observer;

/// The time within which DynamoDB deletes an expired item: "within a few days", of which it said "48 hours" before.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html>
const EXPIRY: Duration = Duration::from_secs(48 * 60 * 60);

/// Options for starting a stack.
#[derive(Clone, Debug)]
pub struct Options {
    /// The sites' port. 0 for any free port.
    pub port: u16,
    /// DynamoDB's port. 0 for any free port.
    pub dynamodb_port: u16,
    /// S3's port. 0 for any free port.
    pub s3_port: u16,
    /// The folder for state. `None` for a temporary folder.
    pub data: Option<PathBuf>,
    /// The functions' clock.
    pub clock: Clock,
    /// The deployment's sites.
    pub known: KnownSites,
    /// The faults of the event sources.
    pub faults: Faults,
    /// Whether `sweep` runs by itself. A test that calls it may want nothing else to run.
    pub sweeps: bool,
    /// The number of stream shards that each table's stream is read as.
    pub stream_shards: usize,
    /// The number of concurrent batches of a stream shard.
    pub parallel: usize,
    /// The number of retries before a batch is given up. `None` means until it succeeds.
    pub retries: Option<u32>,
    /// The limits of an index.
    pub index_limits: IndexLimits,
    /// Sees every request of the functions except `http`, and may fail it.
    pub interceptor: Option<SharedInterceptor>,
    /// Observes the functions.
    pub observer: Option<Arc<dyn Observer>>,
    /// The endpoint for notifying search engines. `None` if they are not notified.
    pub indexnow: Option<Endpoint>,
    /// A user's table whose items are content too. It is created if it does not exist.
    pub source: Option<SourceTable>,
    /// The most by which the deletion of an expired row is late. DynamoDB takes up to two days, the default.
    pub expiry: Duration,
    /// The functions' metrics.
    pub metrics: Metrics,
}

impl Default for Options {
    /// Returns options with any ports, no state, the system's clock, any site and no faults. They have no observer, no search
    /// engine and no user's table.
    fn default() -> Self {
        let (clock, known, faults) = (Clock::system(), KnownSites::Any, Faults::default());
        Self {
            port: 0,
            dynamodb_port: 0,
            s3_port: 0,
            data: None,
            clock,
            known,
            faults,
            sweeps: true,
            stream_shards: 1,
            parallel: 1,
            retries: None,
            index_limits: IndexLimits::default(),
            interceptor: None,
            observer: None,
            indexnow: None,
            source: None,
            expiry: EXPIRY,
            metrics: Metrics::default(),
        }
    }
}
