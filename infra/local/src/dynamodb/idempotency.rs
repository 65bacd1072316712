//! Removes the SDK's idempotency tokens from transactions.
//!
//! For each transaction with a token, dynoxide walks every token of the last ten minutes, which would take most of the time of a
//! load of 200,000 records. Waymark's transactions do not depend on tokens. If one is sent twice, its conditions either allow the
//! same state to be written again or cancel the second one.

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextMut;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents, SharedInterceptor};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_s3::primitives::SdkBody;

#[derive(Debug)]
struct WithoutTokens;

/// Returns an interceptor for a DynamoDB client that removes the tokens from its transactions.
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
        let body = request.body().bytes().filter(|_| transaction);
        if let Some(body) = body.and_then(without_token) {
            request
                .headers_mut()
                .insert("content-length", body.len().to_string());
            *request.body_mut() = SdkBody::from(body);
        }
        Ok(())
    }
}

/// Returns the body without its token. Returns `None` if the body has no token. The body is not parsed, because a load makes a
/// transaction for each record. JSON escapes each quote within a text, so nothing else in the body looks like this.
fn without_token(body: &[u8]) -> Option<String> {
    const FIELD: &str = r#""ClientRequestToken":""#;
    let body = std::str::from_utf8(body).ok()?;
    let (before, field) = body.split_once(FIELD)?;
    let (_, after) = field.split_once('"')?;
    Some(match before.strip_suffix(',') {
        Some(before) => format!("{before}{after}"),
        None => format!("{before}{}", after.trim_start_matches(',')),
    })
}

#[cfg(test)]
mod tests {
    use super::without_token;

    #[test]
    fn only_the_token_is_taken_off() {
        let token = r#""ClientRequestToken":"0b-1""#;
        // An attribute may have this name, and a text may contain it.
        let rest = r#""TransactItems":[{"Put":{"Item":{"ClientRequestToken":{"S":"\"ClientRequestToken\":\"x\""}}}}]"#;
        let without = format!("{{{rest}}}");
        for body in [format!("{{{token},{rest}}}"), format!("{{{rest},{token}}}")] {
            assert_eq!(without_token(body.as_bytes()), Some(without.clone()));
        }
        assert_eq!(without_token(without.as_bytes()), None);
    }
}
