//! The path from this process's clients to DynamoDB without HTTP.
//!
//! A call over HTTP costs a connection's system calls, and dynoxide reads its JSON three times. So the frequent calls go to
//! DynamoDB's thread as the types that dynoxide reads from JSON. A call that fails there is made again over HTTP, so that its
//! error is exactly the server's. Repeating it is safe: a failed call has changed nothing, and a failed batch of writes can be
//! written again.

use aws::Aws;
use aws_sdk_s3::primitives::SdkBody;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;

use super::calls::Calls;

/// The authentication that dynoxide's server requires of a request. It only checks that all parts exist, so the calls are not
/// signed.
const UNVERIFIED_SIGNATURE: [(&str, &str); 2] = [
    (
        "authorization",
        "AWS4-HMAC-SHA256 Credential=local/20000101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
    ),
    ("x-amz-date", "20000101T000000Z"),
];

/// Returns an HTTP client for the DynamoDB clients of this process. It makes all other calls as `aws` does.
pub(crate) async fn client(aws: &Aws, calls: &Calls) -> SharedHttpClient {
    let http = aws.config().await.http_client();
    SharedHttpClient::new(Direct {
        calls: calls.clone(),
        http: http.expect("the clients have an HTTP client"),
    })
}

#[derive(Debug)]
struct Direct<H> {
    calls: Calls,
    http: H,
}

impl HttpClient for Direct<SharedHttpClient> {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(Direct {
            calls: self.calls.clone(),
            http: self.http.http_connector(settings, components),
        })
    }
}

impl HttpConnector for Direct<SharedHttpConnector> {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let (calls, http) = (self.calls.clone(), self.http.clone());
        HttpConnectorFuture::new(async move {
            let target = request.headers().get("x-amz-target");
            let operation = target.and_then(|target| Some(target.split_once('.')?.1));
            if let (Some(operation), Some(body)) = (operation, request.body().bytes())
                && let Some(answer) = calls.call(operation, body.to_vec()).await
            {
                let status = StatusCode::try_from(200).expect("a status");
                return Ok(HttpResponse::new(status, SdkBody::from(answer)));
            }
            let headers = request.headers_mut();
            for (name, value) in UNVERIFIED_SIGNATURE {
                if headers.get(name).is_none() {
                    headers.insert(name, value);
                }
            }
            http.call(request).await
        })
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;
    use crate::dynamodb::DynamoDb;
    use crate::dynamodb::tests::{client as http_client, create_table};

    #[tokio::test]
    async fn frequent_calls_need_no_http_and_errors_are_the_server_s() {
        let data = tempfile::tempdir().expect("a folder");
        let dynamodb = DynamoDb::start(0, data.path()).expect("it starts");
        create_table(&http_client(&dynamodb.endpoint)).await;
        let put = async |aws: Aws, id: &str| {
            let http = client(&aws, &dynamodb.calls).await;
            let aws = aws.with_dynamodb_http(http);
            let put = aws.dynamodb().await.put_item().table_name("table");
            let put = put.item("id", AttributeValue::S(id.to_owned()));
            let put = put.condition_expression("attribute_not_exists(id)");
            put.send().await.map_err(|error| error.into_service_error())
        };
        // No server listens on port 9.
        let nowhere = "http://127.0.0.1:9";
        let unreachable = Aws::on_loopback(nowhere, nowhere, Vec::new());
        put(unreachable, "page").await.expect("put without HTTP");

        let reachable = Aws::on_loopback(&dynamodb.endpoint, nowhere, Vec::new());
        let error = put(reachable, "page").await.expect_err("it exists");
        assert!(error.is_conditional_check_failed_exception(), "{error:?}");
        dynamodb.stop().await.expect("it stops");
    }
}
