//! Options of the local stack.

use std::path::PathBuf;
use std::sync::Arc;

use aws::Clock;
use aws_sdk_dynamodb::config::SharedInterceptor;
use engine::content::SourceTable;
use engine::metrics::Metrics;
use engine::reconcile::KnownSites;
use engine::regenerate::index::IndexLimits;
use sweep::Endpoint;

use crate::event_source::Faults;
use crate::invocation::Observer;

/// How a stack is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// The sites' port; 0 for any.
    pub port: u16,
    /// DynamoDB's port; 0 for any.
    pub dynamodb_port: u16,
    /// S3's port; 0 for any.
    pub s3_port: u16,
    /// Where state is kept; without it in a temporary folder.
    pub data: Option<PathBuf>,
    /// The functions' clock.
    pub clock: Clock,
    /// The deployment's sites.
    pub known: KnownSites,
    /// What the event sources do wrong.
    pub faults: Faults,
    /// Whether `sweep` runs by itself: not where a test calls it and nothing may be done beside it.
    pub sweeps: bool,
    /// The number of stream shards that each table's stream is read as.
    pub stream_shards: usize,
    /// Batches of a stream shard under way at the same time.
    pub parallel: usize,
    /// Times a batch is tried again before it is given up; without it, until it succeeds.
    pub retries: Option<u32>,
    /// How much an index may hold.
    pub index_limits: IndexLimits,
    /// Sees every request of the functions but `http`, and may fail it.
    pub interceptor: Option<SharedInterceptor>,
    /// Sees what the functions do.
    pub observer: Option<Arc<dyn Observer>>,
    /// The endpoint to notify search engines at. Without it they are not notified.
    pub indexnow: Option<Endpoint>,
    /// A table of the user's own whose items are content too. It is created if it does not exist.
    pub source: Option<SourceTable>,
    /// What the functions count.
    pub metrics: Metrics,
}

impl Default for Options {
    /// Returns options with any ports, no state, the system's clock, any site and no faults. They name no observer, no search engine and no
    /// table but Waymark's own.
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
            metrics: Metrics::default(),
        }
    }
}
