//! Wires `sweep` to Lambda.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use store::aws::Aws;
use store::deployment;

#[tokio::main]
async fn main() -> Result<(), Error> {
    lambda_runtime::tracing::init_default_subscriber();
    let aws = Aws::from_environment();
    let (reconciler, objects) = (deployment::reconciler(&aws)?, deployment::objects(&aws)?);
    // The schedule's event says nothing that is of use.
    let handler = async |_: LambdaEvent<serde::de::IgnoredAny>| {
        sweep::sweep(&reconciler, &objects.sites().await?).await?;
        Ok::<_, Error>(())
    };
    lambda_runtime::run(service_fn(handler)).await
}
