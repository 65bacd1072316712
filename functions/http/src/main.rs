//! Wires the function to Lambda.

use std::convert::Infallible;

use http_function::SiteFront;
use lambda_http::{Error, run_with_streaming_response, service_fn, tracing};
use store::aws::Aws;
use store::clock::Clock;
use store::deployment;

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing::init_default_subscriber();
    let objects = deployment::objects(&Aws::from_environment())?;
    let front = &SiteFront::new(objects, Clock::system());
    // Boxed: the SDK's futures within are nested deeper than the compiler is ready to lay out.
    run_with_streaming_response(service_fn(|request| Box::pin(async { Ok::<_, Infallible>(front.respond(request).await) })))
        .await
}
