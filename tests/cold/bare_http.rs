//! A redirect, and nothing else.

use lambda_http::{Body, Error, Request, run_with_streaming_response, service_fn, tracing};

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing::init_default_subscriber();
    run_with_streaming_response(service_fn(async |_: Request| {
        http::Response::builder()
            .status(http::StatusCode::MOVED_PERMANENTLY)
            .header(http::header::LOCATION, "/sitemap_index.xml")
            .body(Body::from("Moved permanently\n"))
            .map_err(Error::from)
    }))
    .await
}
