//! The function that runs every minute, for work that only the time requires ([`engine::sweep`]).
//!
//! - Batches that wait in the failure bucket are counted ([`count_failures`]).
//! - Search engines are notified by an endpoint of IndexNow ([`Endpoint`]).
//! - CloudFormation asks it whether the user's table can be read ([`setup`]).

mod endpoint;
pub mod setup;

use std::num::{NonZeroU32, ParseIntError};
use std::time::Duration;

use aws::Timeouts;
use aws::environment::{
    BUCKET_NAME, CONTENT_TABLE, EnvironmentError, FAILURE_BUCKET, MONITORING, SITEMAP_TABLE, SITES,
    SOURCE_MAPPING, SOURCE_TABLE, STACK_NAME, variable,
};
use aws::failures::FailureBucket;
use engine::metrics::{self, Metrics};
use tracing::error;

pub use endpoint::{Endpoint, EndpointError, INDEXNOW_ENDPOINT};

/// The environment variable with the hours from the beginning of an audit to the beginning of the next.
pub const AUDIT_HOURS: &str = "AUDIT_HOURS";
/// The environment variables of the function.
pub const ENVIRONMENT: [&str; 11] = [
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
    AUDIT_HOURS,
];
/// The limits of its calls. A call that hangs at the end of an audit's slice must leave the function time to end. The audit reads
/// whole objects, of at most 50 MB.
pub const TIMEOUTS: Timeouts = Timeouts {
    attempt: Duration::from_secs(4),
    operation: Duration::from_secs(10),
};

/// Why the hours between audits cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditHoursError {
    /// The environment variable is not set.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// The value is not a number of hours.
    #[error("{AUDIT_HOURS} is {text:?}, which is no whole number of hours: {cause}")]
    NoNumber {
        /// The value.
        text: String,
        /// Why it is not a number.
        cause: ParseIntError,
    },
}

/// Returns the time from the beginning of an audit to the beginning of the next.
///
/// # Errors
///
/// If [`AUDIT_HOURS`] is not set, or not a whole number above zero.
pub fn audit_period() -> Result<Duration, AuditHoursError> {
    parse_hours(variable(AUDIT_HOURS)?)
}

fn parse_hours(text: String) -> Result<Duration, AuditHoursError> {
    match text.parse::<NonZeroU32>() {
        Ok(hours) => Ok(Duration::from_secs(u64::from(hours.get()) * 3_600)),
        Err(cause) => Err(AuditHoursError::NoNumber { text, cause }),
    }
}

/// Counts the batches in the failure bucket, for the sweep's line of metrics.
///
/// The count is written as long as a batch waits, not only when one arrives. If the bucket cannot be listed, the line has no
/// count, and the sweep continues. The bucket is not listed if the count is not written, because a call each minute costs money.
pub async fn count_failures(metrics: &Metrics, failures: &FailureBucket) {
    if !metrics.writes(&metrics::FAILURES_WAITING) {
        return;
    }
    match failures.waiting().await {
        Ok(waiting) => metrics.note(&metrics::FAILURES_WAITING, waiting),
        Err(error) => error!(%error, "the failure bucket was not listed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audit_comes_every_so_many_hours() {
        let parsed = |text: &str| parse_hours(text.to_owned());
        assert_eq!(parsed("24").unwrap(), engine::sweep::AuditTimes::DAILY);
        for text in ["", "0", "-1", "1.5", "24h", "4294967296"] {
            let told = parsed(text).unwrap_err().to_string();
            let begin = format!("AUDIT_HOURS is {text:?}, which is no whole number of hours: ");
            assert!(told.starts_with(&begin), "{told}");
        }
    }
}
