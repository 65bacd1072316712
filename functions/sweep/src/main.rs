//! Wires `sweep` to Lambda.

use std::time::Duration;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use store::aws::Aws;
use store::deployment;
use sweep::notices::Endpoint;

/// Both streams gather events for a second, and a busy shard takes one to publish.
const SECOND_LOOK: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> Result<(), Error> {
    lambda_runtime::tracing::init_default_subscriber();
    let aws = Aws::from_environment();
    let (reconciler, objects) = (deployment::reconciler(&aws)?, deployment::objects(&aws)?);
    let indexnow = Endpoint::from_environment()?;
    // The schedule's event says nothing that is of use.
    let handler = async |_: LambdaEvent<serde::de::IgnoredAny>| {
        let published = objects.sites().await?;
        // Boxed: else the runtime starts with copying room for all of it about.
        Box::pin(sweep::sweep(
            &reconciler,
            &objects,
            &published,
            SECOND_LOOK,
            indexnow.as_ref(),
        ))
        .await?;
        Ok::<_, Error>(())
    };
    lambda_runtime::run(service_fn(handler)).await
}
