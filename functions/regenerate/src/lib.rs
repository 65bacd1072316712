//! The function behind the sitemap table's stream: publishes the files that changed rows are part of ([`engine::regenerate`]).

use std::time::Duration;

use aws::Timeouts;
use aws::environment::{
    BUCKET_NAME, CONTENT_TABLE, MONITORING, SITEMAP_TABLE, SITES, SOURCE_MAPPING, SOURCE_TABLE,
    STACK_NAME,
};
use aws::stream::{records, response};
use aws_lambda_events::event::dynamodb::Event;
use aws_lambda_events::event::streams::DynamoDbEventResponse;
use engine::regenerate::Regenerator;

/// The environment variables of the function.
pub const ENVIRONMENT: [&str; 8] = [
    CONTENT_TABLE,
    SITEMAP_TABLE,
    SITES,
    SOURCE_TABLE,
    SOURCE_MAPPING,
    STACK_NAME,
    MONITORING,
    BUCKET_NAME,
];

/// The limits of its calls: long enough to put the largest object, 50 MB, and at most a third of the function's time.
pub const TIMEOUTS: Timeouts = Timeouts {
    attempt: Duration::from_secs(20),
    operation: Duration::from_secs(60),
};

/// Handles a batch of the sitemap table's stream.
pub async fn regenerate(regenerator: &Regenerator, event: &Event) -> DynamoDbEventResponse {
    response(regenerator.regenerate(&records(event)).await)
}
