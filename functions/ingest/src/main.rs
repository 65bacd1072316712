//! Wires `ingest` to Lambda.

use aws::{Aws, environment};
use aws_lambda_events::event::dynamodb::Event;
use lambda_runtime::{Error, LambdaEvent, service_fn};

#[tokio::main]
async fn main() -> Result<(), Error> {
    lambda_runtime::tracing::init_default_subscriber();
    let reconciler = environment::reconciler(&Aws::from_environment(ingest::TIMEOUTS))?;
    let handler = async |event: LambdaEvent<Event>| {
        Ok::<_, Error>(ingest::ingest(&reconciler, &event.payload).await)
    };
    lambda_runtime::run(service_fn(handler)).await
}
