//! A function URL's event as a request.
//!
//! `lambda_http` can do that too, but it panics on an invalid query such as `?<`. Any client can send such a query if a CDN
//! passes it on, and the function's alarm counts a panic as an error.

use std::collections::BTreeMap;

use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use serde::Deserialize;

/// The parts of an event that an answer may depend on
/// ([payload format 2.0](https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html#urls-payloads)).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    raw_path: String,
    #[serde(default)]
    raw_query_string: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    request_context: Context,
}

#[derive(Debug, Deserialize)]
struct Context {
    http: Http,
}

#[derive(Debug, Deserialize)]
struct Http {
    method: String,
}

impl Event {
    /// Returns the path as the client sent it.
    #[must_use]
    pub fn raw_path(&self) -> &str {
        &self.raw_path
    }

    /// Returns the request without its body. An invalid header or query is omitted, and an invalid method becomes OPTIONS.
    #[must_use]
    pub fn request(&self) -> Parts {
        let (mut request, ()) = Request::new(()).into_parts();
        let method = self.request_context.http.method.as_bytes();
        request.method = Method::from_bytes(method).unwrap_or(Method::OPTIONS);
        request.uri = uri(&self.raw_path, &self.raw_query_string);
        request.headers = self
            .headers
            .iter()
            .filter_map(|(name, value)| {
                let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
                Some((name, HeaderValue::from_str(value).ok()?))
            })
            .collect();
        request
    }
}

fn uri(path: &str, query: &str) -> Uri {
    let whole = format!("{path}?{query}");
    // The raw path decides the route. The URI's path is only for the log.
    whole.parse().or_else(|_| path.parse()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(path: &str, query: &str, headers: &serde_json::Value, method: &str) -> Parts {
        let event = json!({
            "version": "2.0",
            "rawPath": path,
            "rawQueryString": query,
            "headers": headers,
            "requestContext": {"timeEpoch": 0, "http": {"method": method, "path": path}},
            "isBase64Encoded": false,
        });
        let event: Event = serde_json::from_value(event).unwrap();
        assert_eq!(event.raw_path(), path);
        event.request()
    }

    #[test]
    fn a_request_is_what_the_event_says() {
        let headers = json!({"accept-encoding": "gzip,br", "x-waymark-host": "www.example.com"});
        let request = request("/a/../b%2f", "x=1&view=xml", &headers, "HEAD");
        assert_eq!(request.method, Method::HEAD);
        assert_eq!(request.uri.query(), Some("x=1&view=xml"));
        assert_eq!(request.headers["accept-encoding"], "gzip,br");
        assert_eq!(request.headers["x-waymark-host"], "www.example.com");
        assert_eq!(request.headers.len(), 2);
    }

    #[test]
    fn regression_what_no_request_may_have_asks_for_nothing() {
        let headers = json!({"a b": "1", "c": "a\nb", "": "x", "d": "ä", "e": "f"});
        for query in ["<script>", "a b", "\u{0}", "ü", "\"", "a\r\nb", "#", "%"] {
            for path in [
                "/sitemap_index.xml",
                "",
                "*",
                "no slash",
                "/ü",
                "//x",
                "http://[",
                "/\u{0}",
            ] {
                for method in ["GET", "", "G T", "GÄT", "BREW"] {
                    let request = request(path, query, &headers, method);
                    assert_eq!(request.method == Method::GET, method == "GET", "{method:?}");
                    assert_eq!(request.headers["e"], "f");
                    for name in request.headers.keys() {
                        assert!(["d", "e"].contains(&name.as_str()), "{name:?}");
                    }
                }
            }
        }
        assert_eq!(request("/a", "<", &headers, "GET").uri.path(), "/a");
    }

    #[test]
    fn an_event_of_anything_else_is_refused() {
        for event in [json!({}), json!({"Records": []}), json!({"rawPath": "/"})] {
            assert!(serde_json::from_value::<Event>(event).is_err());
        }
    }
}
