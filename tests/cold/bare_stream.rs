//! Reads a batch of a table's stream, and reports no failures.

use aws_lambda_events::event::dynamodb::Event;
use aws_lambda_events::event::streams::DynamoDbEventResponse;
use lambda_runtime::{Error, LambdaEvent, run, service_fn, tracing};

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing::init_default_subscriber();
    run(service_fn(async |_: LambdaEvent<Event>| {
        Ok::<_, Error>(DynamoDbEventResponse::default())
    }))
    .await
}
