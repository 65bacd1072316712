//! Simulated answers of services: a call is redirected to where it has no effect, and its answer is replaced.

use std::time::Duration;

use aws_sdk_dynamodb::config::ConfigBag;
use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_s3::primitives::SdkBody;
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use serde_json::{Value, json};

/// The SDK's first pause before a retry, instead of a second.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
/// The header that names an operation of DynamoDB.
const TARGET: &str = "x-amz-target";

/// An answer instead of the service's.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: u16,
    body: String,
}

impl Storable for Answer {
    type Storer = StoreReplace<Self>;
}

impl Answer {
    /// Returns the service's error of this code to a request.
    pub(crate) fn error(request: &HttpRequest, status: u16, code: &str) -> Self {
        let body = if is_dynamodb(request) {
            dynamodb_error(code, json!({}))
        } else if request.method() == "HEAD" {
            String::new()
        } else {
            format!("<Error><Code>{code}</Code><Message>injected</Message></Error>")
        };
        Self { status, body }
    }

    /// Returns the answer to a transaction that is cancelled because of a conflict at its last item.
    pub(crate) fn cancelled(request: &HttpRequest) -> Result<Self, BoxError> {
        let input: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default())?;
        let actions = input["TransactItems"].as_array().map_or(0, Vec::len);
        let mut reasons = vec![json!({"Code": "None"}); actions];
        if let Some(last) = reasons.last_mut() {
            *last = json!({"Code": "TransactionConflict", "Message": "injected"});
        }
        let reasons = json!({"CancellationReasons": reasons});
        let body = dynamodb_error("TransactionCanceledException", reasons);
        Ok(Self { status: 400, body })
    }

    /// Returns the answer as a response.
    pub(crate) fn response(&self) -> Result<HttpResponse, BoxError> {
        let body = SdkBody::from(self.body.as_str());
        Ok(HttpResponse::new(self.status.try_into()?, body))
    }
}

fn dynamodb_error(code: &str, with: Value) -> String {
    let mut error = json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{code}"), "message": "injected"});
    if let (Value::Object(error), Value::Object(with)) = (&mut error, with) {
        error.extend(with);
    }
    error.to_string()
}

/// Returns whether a request goes to DynamoDB, not to S3.
pub(crate) fn is_dynamodb(request: &HttpRequest) -> bool {
    request.headers().contains_key(TARGET)
}

/// Returns the operation of a request to DynamoDB (`Query`), or the method of one to S3 (`PUT`).
pub(crate) fn operation(request: &HttpRequest) -> &str {
    match request.headers().get(TARGET) {
        Some(target) => target.rsplit('.').next().unwrap_or(target),
        None => request.method(),
    }
}

/// Returns whether a request to DynamoDB has this text in its body, or one to S3 in its address.
pub(crate) fn mentions(request: &HttpRequest, text: &str) -> bool {
    if is_dynamodb(request) {
        String::from_utf8_lossy(request.body().bytes().unwrap_or_default()).contains(text)
    } else {
        request.uri().contains(text)
    }
}

/// Redirects a signed request to an operation or a bucket that does not exist.
pub(crate) fn divert(request: &mut HttpRequest) -> Result<(), BoxError> {
    if is_dynamodb(request) {
        request
            .headers_mut()
            .insert(TARGET, "DynamoDB_20120810.Nothing");
        return Ok(());
    }
    let (scheme, rest) = request.uri().split_once("://").ok_or("no scheme")?;
    let authority = rest.split('/').next().unwrap_or(rest);
    let nowhere = format!("{scheme}://{authority}/no-such-bucket/{}", request.method());
    Ok(request.set_uri(nowhere)?)
}

/// Makes the SDK retry as often as usual, but sooner.
pub(crate) fn retry_soon(config: &mut ConfigBag) {
    if let Some(retries) = config.load::<RetryConfig>().cloned() {
        let sooner = retries.with_initial_backoff(FIRST_PAUSE);
        config.interceptor_state().store_put(sooner);
    }
}
