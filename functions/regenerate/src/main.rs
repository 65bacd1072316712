//! Wires `regenerate` to Lambda.

use aws_lambda_events::event::dynamodb::Event;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use regenerate::Regenerator;
use store::deployment::Deployment;

#[tokio::main]
async fn main() -> Result<(), Error> {
    lambda_runtime::tracing::init_default_subscriber();
    let Deployment { reconciler, objects } = Deployment::from_environment()?;
    let regenerator = Regenerator { reconciler, objects };
    let handler = async |event: LambdaEvent<Event>| Ok::<_, Error>(regenerator.regenerate(&event.payload).await);
    lambda_runtime::run(service_fn(handler)).await
}
