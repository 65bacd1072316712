//! Wires `sweep` to Lambda.

use std::time::Duration;

use aws::{Aws, environment};
use engine::sweep::AuditTimes;
use engine::sweep::notices::SearchEngines;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::Value;
use sweep::{Endpoint, setup};

/// Both streams gather events for a second, and a busy shard takes a second to publish.
const SECOND_LOOK: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> Result<(), Error> {
    lambda_runtime::tracing::init_default_subscriber();
    let aws = Aws::from_environment(sweep::TIMEOUTS);
    let wire = || {
        let (reconciler, objects) = (environment::reconciler(&aws)?, environment::objects(&aws)?);
        let (failures, indexnow) = (environment::failures(&aws)?, Endpoint::from_environment()?);
        let times = AuditTimes {
            period: sweep::audit_period()?,
            second_look: SECOND_LOOK,
        };
        Ok::<_, Error>((reconciler, objects, failures, indexnow, times))
    };
    // The function still starts, because CloudFormation waits to hear the error. A sweep fails with it.
    let wired = wire();
    let handler = async |event: LambdaEvent<Value>| {
        if setup::answered(&aws, &event.payload).await? {
            return Ok(());
        }
        // The schedule's event contains nothing of use.
        let (reconciler, objects, failures, indexnow, times) =
            wired.as_ref().map_err(ToString::to_string)?;
        sweep::count_failures(&reconciler.metrics, failures).await;
        let engines = indexnow
            .as_ref()
            .map(|endpoint| endpoint as &dyn SearchEngines);
        // Boxed, because the runtime would otherwise copy the whole future around.
        let sweep = engine::sweep::sweep(reconciler, objects, *times, engines);
        Box::pin(sweep).await?;
        Ok::<_, Error>(())
    };
    lambda_runtime::run(service_fn(handler)).await
}
