//! Wires the function to Lambda.

use std::convert::Infallible;
use std::sync::Arc;

use aws::{Aws, Clock, environment};
use http_function::{TIMEOUTS, respond, site_front};
use lambda_http::{Error, run_with_streaming_response, service_fn, tracing};

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing::init_default_subscriber();
    let objects = Arc::new(environment::objects(&Aws::from_environment(TIMEOUTS))?);
    let front = &site_front(objects, Clock::system(), environment::metrics()?);
    run_with_streaming_response(service_fn(async |request| {
        Ok::<_, Infallible>(respond(front, request).await)
    }))
    .await
}
