//! Wires the function to Lambda.

use std::convert::Infallible;

use http_function::{SiteFront, TIMEOUTS};
use lambda_http::{Error, run_with_streaming_response, service_fn, tracing};
use store::aws::Aws;
use store::clock::Clock;
use store::deployment;

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing::init_default_subscriber();
    let objects = deployment::objects(&Aws::from_environment(TIMEOUTS))?;
    let front = &SiteFront::new(objects, Clock::system(), deployment::metrics());
    run_with_streaming_response(service_fn(async |request| {
        Ok::<_, Infallible>(front.respond(request).await)
    }))
    .await
}
