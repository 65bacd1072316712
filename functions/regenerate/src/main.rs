//! Wires `regenerate` to Lambda.

use std::sync::Arc;

use aws::{Aws, environment};
use aws_lambda_events::event::dynamodb::Event;
use engine::regenerate::Regenerator;
use engine::regenerate::index::IndexLimits;
use lambda_runtime::{Error, LambdaEvent, service_fn};

#[tokio::main]
async fn main() -> Result<(), Error> {
    lambda_runtime::tracing::init_default_subscriber();
    let aws = Aws::from_environment(regenerate::TIMEOUTS);
    let regenerator = Regenerator {
        reconciler: environment::reconciler(&aws)?,
        objects: Arc::new(environment::objects(&aws)?),
        limits: IndexLimits::default(),
    };
    let handler = async |event: LambdaEvent<Event>| {
        Ok::<_, Error>(regenerate::regenerate(&regenerator, &event.payload).await)
    };
    lambda_runtime::run(service_fn(handler)).await
}
