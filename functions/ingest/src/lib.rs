//! The function behind the streams of the content table and the user's table: reconciles each changed record
//! ([`engine::ingest`]).

use std::time::Duration;

use aws::Timeouts;
use aws::environment::RECONCILER_VARIABLES;
use aws::stream::{records, response};
use aws_lambda_events::event::dynamodb::Event;
use aws_lambda_events::event::streams::DynamoDbEventResponse;
use engine::reconcile::Reconciler;

/// The environment variables of the function.
pub const ENVIRONMENT: [&str; 7] = RECONCILER_VARIABLES;

/// The limits of its calls, which are all small. They are at most a third of the function's time, so that a call that hangs
/// leaves time for the rest of the batch.
pub const TIMEOUTS: Timeouts = Timeouts {
    attempt: Duration::from_secs(5),
    operation: Duration::from_secs(20),
};

/// Handles a batch of a content table's stream.
pub async fn ingest(reconciler: &Reconciler, event: &Event) -> DynamoDbEventResponse {
    response(engine::ingest::ingest(reconciler, &records(event)).await)
}
