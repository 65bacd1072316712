//! The function that keeps the redirects at the edge in step ([`edge`]), by the sitemap table's stream and once a day by the clock.
//!
//! [`CloudFrontStore`] is the store. No other function calls CloudFront, whose stores want signatures of their own.

mod store;

use std::time::Duration;

use aws::Timeouts;
use aws::environment::{BUCKET_NAME, SITEMAP_TABLE};
use aws::stream::{records, response};
use aws_lambda_events::event::dynamodb::Event;
use edge::{Keeper, Repaired};
use engine::error::EngineError;
use lambda_runtime::Error;
use serde_json::Value;

pub use store::CloudFrontStore;

/// The environment variable with the ARN of the key value store.
pub const STORE_ARN: &str = "STORE_ARN";
/// The environment variables of the function.
pub const ENVIRONMENT: [&str; 3] = [SITEMAP_TABLE, BUCKET_NAME, STORE_ARN];
/// The limits of its calls. They leave an update time after the last moment at which one begins.
pub const TIMEOUTS: Timeouts = Timeouts {
    attempt: Duration::from_secs(8),
    operation: Duration::from_secs(20),
};

/// A repair lists the whole store once in so many days, because a wrong value changes no number. A page of a listing costs as much
/// as an update.
const LISTED_EACH_DAYS: i64 = 7;

/// Handles an event: a batch of the stream, or whatever else as the clock's.
///
/// # Errors
///
/// If a batch cannot be read, or a repair fails. A batch that cannot be handled is reported, and comes again.
pub async fn handle(
    keeper: &Keeper,
    objects: &dyn objects::Objects,
    event: Value,
) -> Result<Value, Error> {
    if event.get("Records").is_some() {
        let event: Event = serde_json::from_value(event)?;
        let response = response(keeper.keep(&records(&event)).await);
        return Ok(serde_json::to_value(response)?);
    }
    Ok(repair(keeper, objects).await.map(|_| Value::Null)?)
}

/// Compares the store with the rows.
async fn repair(keeper: &Keeper, objects: &dyn objects::Objects) -> Result<Repaired, EngineError> {
    let day = keeper.env.now().div_euclid(86_400);
    keeper.repair(objects, day % LISTED_EACH_DAYS == 0).await
}
