//! The way of this process's clients to DynamoDB, past HTTP.
//!
//! Of a call over HTTP, a third is the connection and reading its JSON three times. So the calls that a load makes for each
//! page are handed to DynamoDB's thread as what dynoxide reads them as. What fails there has changed nothing: it is asked
//! again over HTTP, for dynoxide's own words of the failure.

use aws::Aws;
use aws_sdk_s3::primitives::SdkBody;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use dynoxide::Database;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, oneshot};

use crate::dynamodb::DynamoDb;

/// A call, run on DynamoDB's thread.
pub(crate) type Call = Box<dyn FnOnce(&Database) + Send>;

/// Takes calls to DynamoDB's thread.
#[derive(Clone, Debug)]
pub(crate) struct Calls(pub(crate) mpsc::UnboundedSender<Call>);

impl Calls {
    /// The answer, if the call is made here and does not fail.
    async fn call(&self, operation: &str, body: &[u8]) -> Option<Vec<u8>> {
        match operation {
            "BatchGetItem" => self.ask(body, Database::batch_get_item).await,
            "BatchWriteItem" => self.ask(body, Database::batch_write_item).await,
            "DeleteItem" => self.ask(body, Database::delete_item).await,
            "GetItem" => self.ask(body, Database::get_item).await,
            "GetRecords" => self.ask(body, Database::get_records).await,
            "PutItem" => self.ask(body, Database::put_item).await,
            "Query" => self.ask(body, Database::query).await,
            "Scan" => self.ask(body, Database::scan).await,
            "TransactWriteItems" => self.ask(body, Database::transact_write_items).await,
            "UpdateItem" => self.ask(body, Database::update_item).await,
            _ => None,
        }
    }

    async fn ask<Q, A>(
        &self,
        body: &[u8],
        run: fn(&Database, Q) -> dynoxide::Result<A>,
    ) -> Option<Vec<u8>>
    where
        Q: DeserializeOwned + Send + 'static,
        A: Serialize + Send + 'static,
    {
        let question: Q = serde_json::from_slice(body).ok()?;
        let (answer, answered) = oneshot::channel();
        let call = move |database: &Database| drop(answer.send(run(database, question)));
        self.0.send(Box::new(call)).ok()?;
        serde_json::to_vec(&answered.await.ok()?.ok()?).ok()
    }
}

/// An HTTP client for DynamoDB's clients of this process.
pub(crate) async fn client(aws: &Aws, dynamodb: &DynamoDb) -> SharedHttpClient {
    let http = aws.config().await.http_client();
    SharedHttpClient::new(Direct {
        calls: dynamodb.calls.clone(),
        http: http.expect("it is set"),
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
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (calls, http) = (self.calls.clone(), self.http.clone());
        HttpConnectorFuture::new(async move {
            let target = request.headers().get("x-amz-target");
            let operation = target.and_then(|target| Some(target.split_once('.')?.1));
            if let (Some(operation), Some(body)) = (operation, request.body().bytes())
                && let Some(answer) = calls.call(operation, body).await
            {
                let status = StatusCode::try_from(200).expect("a status");
                return Ok(HttpResponse::new(status, SdkBody::from(answer)));
            }
            http.call(request).await
        })
    }
}
