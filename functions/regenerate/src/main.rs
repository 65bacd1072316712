//! Wires `regenerate` to Lambda.

use aws_lambda_events::event::dynamodb::Event;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use regenerate::Regenerator;
use regenerate::index::IndexLimits;
use store::aws::Aws;
use store::deployment;

#[tokio::main]
async fn main() -> Result<(), Error> {
    lambda_runtime::tracing::init_default_subscriber();
    let aws = Aws::from_environment(regenerate::TIMEOUTS);
    let regenerator = Regenerator {
        reconciler: deployment::reconciler(&aws)?,
        objects: deployment::objects(&aws)?,
        limits: IndexLimits::default(),
    };
    let handler = async |event: LambdaEvent<Event>| {
        Ok::<_, Error>(regenerator.regenerate(&event.payload).await)
    };
    lambda_runtime::run(service_fn(handler)).await
}
