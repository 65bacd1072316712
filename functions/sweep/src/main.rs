//! Wires `sweep` to Lambda.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use store::deployment::Deployment;

#[tokio::main]
async fn main() -> Result<(), Error> {
    lambda_runtime::tracing::init_default_subscriber();
    let deployment = Deployment::from_environment()?;
    // The schedule's event says nothing that is of use.
    let handler = async |_: LambdaEvent<serde::de::IgnoredAny>| {
        let published = deployment.objects.sites().await?;
        sweep::sweep(&deployment.reconciler, &published).await?;
        Ok::<_, Error>(())
    };
    lambda_runtime::run(service_fn(handler)).await
}
