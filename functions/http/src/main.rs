//! Wires the function to Lambda.

use std::convert::Infallible;
use std::sync::Arc;

use aws::{Aws, Clock, environment};
use http_function::{SiteFront, TIMEOUTS};
use lambda_http::{Error, run_with_streaming_response, service_fn, tracing};

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing::init_default_subscriber();
    let objects = Arc::new(environment::objects(&Aws::from_environment(TIMEOUTS))?);
    let front = &SiteFront::new(objects, Clock::system(), environment::metrics());
    run_with_streaming_response(service_fn(async |request| {
        Ok::<_, Infallible>(front.respond(request).await)
    }))
    .await
}
