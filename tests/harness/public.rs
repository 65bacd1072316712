//! The sites over HTTP.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::HOST;
use http::{Method, Request};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use sim::crawler::{Crawler, Public};
use sim::document::Response;

use crate::waits::within;

/// The sites at an endpoint.
#[derive(Clone, Debug)]
pub struct Http {
    client: Client<HttpConnector, Empty<Bytes>>,
    endpoint: String,
}

impl Http {
    /// Returns the sites that are served at this endpoint.
    #[must_use]
    pub fn at(endpoint: &str) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        let endpoint = endpoint.to_owned();
        Self { client, endpoint }
    }

    /// Returns a crawler of a site.
    #[must_use]
    pub fn crawler(&self, site: &str) -> Crawler {
        Crawler::new(Arc::new(self.clone()), site)
    }
}

impl Public for Http {
    fn request<'a>(
        &'a self,
        site: &'a str,
        method: Method,
        path: &'a str,
        headers: &'a [(&'a str, &'a str)],
    ) -> BoxFuture<'a, Response> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.endpoint))
            .header(HOST, site);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Empty::new()).expect("a request");
        Box::pin(async move {
            let answered = async {
                let response = self.client.request(request).await.expect("an answer");
                let (parts, body) = response.into_parts();
                let sent = body.collect().await.expect("a whole body").to_bytes();
                Response::new(parts.status, parts.headers, sent)
            };
            within(&format!("the answer to {path}"), answered).await
        })
    }
}
