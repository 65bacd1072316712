//! A double of CloudFront's key value stores, which speaks its protocol on this machine:
//! <https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_Operations_Amazon_CloudFront_KeyValueStore.html>.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use aws::Aws;
use aws_sdk_cloudfrontkeyvaluestore::Client;
use aws_sdk_cloudfrontkeyvaluestore::config::Builder;
use aws_sdk_cloudfrontkeyvaluestore::config::endpoint::{
    Endpoint, EndpointFuture, Params, ResolveEndpoint,
};
use aws_smithy_types::endpoint::EndpointAuthScheme;
use bytes::Bytes;
use edge::{Changes, Described, MemoryStore, Store, StoreError};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response};
use hyper_util::rt::TokioIo;
use redirects::CloudFrontStore;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The ARN of its only store.
pub(crate) const ARN: &str =
    "arn:aws:cloudfront::123456789012:key-value-store/0c1e0d3a-0000-4000-8000-000000000000";

/// The double.
#[derive(Clone, Debug, Default)]
pub(crate) struct Double {
    pub(crate) store: MemoryStore,
    /// The errors with which it answers the next requests: status and code.
    pub(crate) errors: Arc<Mutex<Vec<(u16, &'static str)>>>,
    /// The headers of the last request.
    pub(crate) last: Arc<Mutex<HeaderMap>>,
}

/// The endpoint of the double, in place of CloudFront's. It asks for the same signatures.
#[derive(Debug)]
struct Here(String);

impl ResolveEndpoint for Here {
    fn resolve_endpoint<'a>(&'a self, _: &'a Params) -> EndpointFuture<'a> {
        let scheme = EndpointAuthScheme::with_capacity("sigv4a", 2)
            .put("signingName", "cloudfront-keyvaluestore".to_owned())
            .put("signingRegionSet", vec!["*".to_owned().into()]);
        let endpoint = Endpoint::builder()
            .url(self.0.clone())
            .auth_scheme(scheme)
            .build();
        EndpointFuture::ready(Ok(endpoint))
    }
}

fn response(status: u16, etag: Option<&str>, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::builder().status(status);
    if let Some(etag) = etag {
        response = response.header("ETag", etag);
    }
    let response = response.header("Content-Type", "application/json");
    response
        .body(Full::from(body.to_string()))
        .expect("a response")
}

fn refusal(status: u16, code: &str) -> Response<Full<Bytes>> {
    let mut response = response(status, None, &json!({"Message": format!("a {code}")}));
    let code = code.parse().expect("a code");
    response.headers_mut().insert("x-amzn-ErrorType", code);
    response
}

fn described(is: &Described) -> Response<Full<Bytes>> {
    let body =
        json!({"ItemCount": is.items, "TotalSizeInBytes": is.bytes, "KvsARN": ARN, "Created": 1.5});
    response(200, Some(&is.etag), &body)
}

/// Returns the changes in a request's body.
fn changes(body: &[u8]) -> Changes {
    let body: Value = serde_json::from_slice(body).expect("JSON");
    let list = |name: &str| body[name].as_array().cloned().unwrap_or_default();
    let text = |one: &Value, name: &str| one[name].as_str().map(str::to_owned);
    let puts = list("Puts");
    let puts = puts
        .iter()
        .map(|one| (text(one, "Key"), text(one, "Value")));
    let deletes = list("Deletes");
    let deletes = deletes.iter().map(|one| (text(one, "Key"), None));
    let all = puts.chain(deletes);
    all.map(|(key, value)| (key.expect("a key"), value))
        .collect()
}

/// Returns the parameters of a query, decoded.
fn parameter(query: &str, name: &str) -> Option<String> {
    let found = query.split('&').find_map(|pair| pair.strip_prefix(name));
    let value = found?.strip_prefix('=')?;
    Some(value.replace("%2F", "/"))
}

impl Double {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        *self.last.lock().expect("no panic") = parts.headers.clone();
        if let Some((status, code)) = self.errors.lock().expect("no panic").pop() {
            return refusal(status, code);
        }
        let path = parts.uri.path().replace("%3A", ":").replace("%2F", "/");
        let Some(rest) = path.strip_prefix(&format!("/key-value-stores/{ARN}")) else {
            return refusal(404, "ResourceNotFoundException");
        };
        let outcome = match (&parts.method, rest) {
            (&Method::GET, "") => self.store.describe().await.map(|is| described(&is)),
            (&Method::POST, "/keys") => {
                let etag = parts.headers.get("If-Match").expect("If-Match");
                let etag = etag.to_str().expect("a text");
                let updated = self.store.update(etag, &changes(&body)).await;
                updated.map(|is| described(&is))
            }
            (&Method::GET, "/keys") => {
                let query = parts.uri.query().unwrap_or_default();
                assert_eq!(parameter(query, "MaxResults").as_deref(), Some("50"));
                let listed = self.store.list(parameter(query, "NextToken")).await;
                listed.map(|(pairs, next)| {
                    let items = pairs.iter();
                    let items = items.map(|(key, value)| json!({"Key": key, "Value": value}));
                    let items: Vec<Value> = items.collect();
                    response(200, None, &json!({"Items": items, "NextToken": next}))
                })
            }
            other => panic!("{other:?} is no request of this service"),
        };
        outcome.unwrap_or_else(|error| match error {
            StoreError::Conflict { .. } => refusal(409, "ConflictException"),
            StoreError::Missing { .. } => refusal(404, "ResourceNotFoundException"),
            StoreError::Full { .. } => refusal(402, "ServiceQuotaExceededException"),
            StoreError::Refused { .. } => refusal(400, "ValidationException"),
            StoreError::Unavailable { .. } => refusal(500, "InternalServerException"),
        })
    }

    /// Starts the double. Returns the function's store that is behind it.
    pub(crate) async fn start(&self) -> CloudFrontStore {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let double = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let double = double.clone();
                let service = service_fn(move |request| {
                    let double = double.clone();
                    async move { Ok::<_, Infallible>(double.answer(request).await) }
                });
                tokio::spawn(async move {
                    let http = hyper::server::conn::http1::Builder::new();
                    // A client that closes its connection is no failure.
                    drop(http.serve_connection(TokioIo::new(stream), service).await);
                });
            }
        });
        let aws = Aws::on_loopback(&address, &address, Vec::new());
        let config = Builder::from(aws.config().await).endpoint_resolver(Here(address));
        let client = Client::from_conf(config.build());
        CloudFrontStore::with_client(aws, ARN.to_owned(), client)
    }
}
