//! Wires `redirects` to Lambda.

use std::sync::Arc;

use aws::environment::{SITEMAP_TABLE, sitemap_table, variable};
use aws::{Aws, Clock, environment};
use edge::Keeper;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use redirects::{CloudFrontStore, STORE_ARN};
use serde_json::Value;

#[tokio::main]
async fn main() -> Result<(), Error> {
    lambda_runtime::tracing::init_default_subscriber();
    let aws = Aws::from_environment(redirects::TIMEOUTS);
    let env = Clock::system().env();
    let keeper = Keeper {
        table: sitemap_table(&aws, variable(SITEMAP_TABLE)?, &env),
        store: Arc::new(CloudFrontStore::new(aws.clone(), variable(STORE_ARN)?)),
        env,
    };
    let objects = environment::objects(&aws)?;
    let handler =
        async |event: LambdaEvent<Value>| redirects::handle(&keeper, &objects, event.payload).await;
    lambda_runtime::run(service_fn(handler)).await
}
