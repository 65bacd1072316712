//! The function that the clock calls: what time alone changes ([`engine::sweep`]).
//!
//! - Batches that wait in the failure bucket are counted ([`count_failures`]).
//! - Search engines are told by an endpoint of IndexNow ([`Endpoint`]).
//! - CloudFormation asks it whether the user's own table can be read ([`setup`]).

mod endpoint;
pub mod setup;

use std::time::Duration;

use aws::Timeouts;
use aws::environment::{
    BUCKET_NAME, CONTENT_TABLE, FAILURE_BUCKET, MONITORING, SITEMAP_TABLE, SITES, SOURCE_MAPPING,
    SOURCE_TABLE, STACK_NAME,
};
use aws::failures::FailureBucket;
use engine::metrics::{self, Metrics};
use tracing::error;

pub use endpoint::{Endpoint, EndpointError, INDEXNOW_ENDPOINT};

/// The environment variables of the function.
pub const ENVIRONMENT: [&str; 10] = [
    CONTENT_TABLE,
    SITEMAP_TABLE,
    SITES,
    SOURCE_TABLE,
    SOURCE_MAPPING,
    STACK_NAME,
    MONITORING,
    BUCKET_NAME,
    FAILURE_BUCKET,
    INDEXNOW_ENDPOINT,
];
/// The limits of its calls. One that hangs at the end of an audit's slice must leave the function time to end; the audit
/// reads whole objects, of 50 MB at most.
pub const TIMEOUTS: Timeouts = Timeouts {
    attempt: Duration::from_secs(4),
    operation: Duration::from_secs(10),
};

/// Notes how many batches wait in the failure bucket, for the line of metrics that the sweep will write: as long as one
/// does, not only when it comes. If the bucket cannot be listed there is no value; the clock does not stop for it. Where
/// nobody watches the number, the bucket is not listed: a call each minute is paid for.
pub async fn count_failures(metrics: &Metrics, failures: &FailureBucket) {
    if !metrics.writes(&metrics::FAILURES_WAITING) {
        return;
    }
    match failures.waiting().await {
        Ok(waiting) => metrics.note(&metrics::FAILURES_WAITING, waiting),
        Err(error) => error!(%error, "the failure bucket was not listed"),
    }
}
