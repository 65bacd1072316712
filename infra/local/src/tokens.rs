//! Takes the SDK's idempotency tokens off transactions.
//!
//! At each transaction with a token, dynoxide walks every token of the last ten minutes: a load of 200,000 records would
//! spend most of its time there. Waymark's transactions do not depend on tokens: sent twice, their conditions either
//! let the same state be written again or cancel the second one.

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextMut;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_s3::primitives::SdkBody;
use serde_json::Value;

#[derive(Debug)]
struct WithoutTokens;

/// As an interceptor of a DynamoDB client.
#[must_use]
pub(crate) fn without_tokens() -> SharedInterceptor {
    SharedInterceptor::new(WithoutTokens)
}

impl Intercept for WithoutTokens {
    fn name(&self) -> &'static str {
        "WithoutTokens"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        let transaction = request
            .headers()
            .get("x-amz-target")
            .is_some_and(|target| target.ends_with(".TransactWriteItems"));
        if let Some(body) = request.body().bytes().filter(|_| transaction) {
            let mut input: Value = serde_json::from_slice(body)?;
            if let Value::Object(fields) = &mut input {
                fields.remove("ClientRequestToken");
            }
            let body = serde_json::to_vec(&input)?;
            request
                .headers_mut()
                .insert("content-length", body.len().to_string());
            *request.body_mut() = SdkBody::from(body);
        }
        Ok(())
    }
}
