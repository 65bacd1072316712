//! Wires the function to Lambda.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use http_function::SiteFront;
use lambda_http::{Error, run_with_streaming_response, service_fn, tracing};
use store::aws::Aws;
use store::s3::S3Objects;

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing::init_default_subscriber();
    let bucket = std::env::var("BUCKET_NAME").map_err(|error| format!("BUCKET_NAME: {error}"))?;
    let objects = S3Objects::new(Aws::from_environment(), bucket);
    let front = &SiteFront::new(objects, Arc::new(unix_seconds));
    run_with_streaming_response(service_fn(async |request| {
        Ok::<_, Infallible>(front.respond(request).await)
    }))
    .await
}

fn unix_seconds() -> i64 {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX)
}
