//! Wires the function to Lambda.

use std::sync::Arc;

use aws::{Aws, Clock, environment};
use http_function::{Event, TIMEOUTS, answer, gzip, site_front};
use lambda_runtime::{Error, LambdaEvent, service_fn};

#[tokio::main]
async fn main() -> Result<(), Error> {
    lambda_runtime::tracing::init_default_subscriber();
    let objects = Arc::new(environment::objects(&Aws::from_environment(TIMEOUTS))?);
    let front = site_front(objects, Clock::system(), environment::metrics()?).with_gzip(gzip()?);
    let handler =
        async |event: LambdaEvent<Event>| Ok::<_, Error>(answer(&front, &event.payload).await);
    lambda_runtime::run(service_fn(handler)).await
}
