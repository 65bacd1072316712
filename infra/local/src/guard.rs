//! Refuses requests that a web page of another origin makes a browser send to this machine.
//!
//! The embedded DynamoDB and S3 trust every client, and a browser on this machine can reach them for any page that it shows. Two
//! headers distinguish such a request from that of a program, and a page can set neither:
//!
//! - `Origin` names the page's origin. A browser sends it with each request that may change something, and with each whose answer
//!   the page may read.
//! - `Host` names the host of the address. After DNS rebinding, a page's own host leads to this machine, so that the request has
//!   the page's own origin. Its Host is the page's.
//!
//! <https://fetch.spec.whatwg.org/#origin-header>

use std::net::IpAddr;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{Either, Full};
use hyper::body::{Body, Incoming};
use hyper::service::{Service, service_fn};

/// All names with this suffix mean this machine (RFC 6761, section 6.3).
pub(crate) const LOCAL: &str = ".localhost";

const FOREIGN_HOST: &str = "refused: the Host of the request does not name this machine. The local stack answers at localhost and \
                            at 127.0.0.1 alone\n";
const FOREIGN_ORIGIN: &str = "refused: the Origin of the request is not on this machine. The local stack answers no page of \
                              another origin\n";

/// Wraps a service so that refused requests do not reach it.
pub(crate) fn guarded<S, B>(
    service: S,
) -> impl Service<
    Request<Incoming>,
    Response = Response<Either<B, Full<Bytes>>>,
    Error = S::Error,
    Future: Send + 'static,
> + Clone
+ Send
+ 'static
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    service_fn(move |request: Request<Incoming>| {
        let answer = match refusal(&request) {
            None => Ok(service.call(request)),
            Some(why) => Err(why),
        };
        async move {
            match answer {
                Ok(answer) => Ok(answer.await?.map(Either::Left)),
                Err(why) => {
                    let body = Either::Right(Full::from(why));
                    let mut response = Response::new(body);
                    *response.status_mut() = StatusCode::FORBIDDEN;
                    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
                    response.headers_mut().insert(CONTENT_TYPE, kind);
                    Ok(response)
                }
            }
        }
    })
}

/// Returns why a request is refused. A request without these headers is accepted, because no browser omits the Host.
fn refusal<B>(request: &Request<B>) -> Option<&'static str> {
    let authority = request.uri().authority().map(http::uri::Authority::as_str);
    let is_here = |host: Option<&str>| host.is_some_and(is_this_machine);
    if !authority.is_none_or(is_this_machine) || !each(request.headers(), HOST, is_here) {
        return Some(FOREIGN_HOST);
    }
    let is_ours = |origin: Option<&str>| {
        let address = origin.and_then(|origin| {
            let http = origin.strip_prefix("http://");
            http.or_else(|| origin.strip_prefix("https://"))
        });
        address.is_some_and(is_this_machine)
    };
    (!each(request.headers(), ORIGIN, is_ours)).then_some(FOREIGN_ORIGIN)
}

/// Returns whether a condition holds for every value of a header. A value that is not text is passed as `None`.
fn each(headers: &HeaderMap, name: http::HeaderName, holds: impl Fn(Option<&str>) -> bool) -> bool {
    let mut values = headers.get_all(name).into_iter();
    values.all(|value| holds(value.to_str().ok()))
}

/// Returns whether a host, with or without a port, is a name or an address that always means this machine.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let (name, _) = host_and_port(host);
    let name = name.to_ascii_lowercase();
    let address = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
        .unwrap_or(&name);
    name == "localhost"
        || name.ends_with(LOCAL)
        || address
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Splits a host into its name and its port. Colons of an address in brackets do not begin a port.
pub(crate) fn host_and_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_this_machine_are_answered_and_those_of_other_origins_and_hosts_are_not() {
        let answered: &[&[(&str, &str)]] = &[
            &[],
            &[("host", "127.0.0.1:8000")],
            &[("host", "127.9.9.9")],
            &[("host", "LocalHost:8000")],
            &[("host", "bucket.localhost:9000")],
            &[("host", "[::1]:8000")],
            &[("host", "[::1]")],
            &[("host", "localhost"), ("origin", "http://localhost:3000")],
            &[("host", "localhost"), ("origin", "https://127.0.0.1")],
            &[("host", "localhost"), ("origin", "http://[::1]:8080")],
        ];
        let refused: &[&[(&str, &str)]] = &[
            &[("host", "evil.example:8000")],
            &[("host", "localhost.evil.example")],
            &[("host", "evillocalhost")],
            &[("host", "127.0.0.1.evil.example:8000")],
            &[("host", "10.0.0.1:8000")],
            &[("host", "0.0.0.0:8000")],
            &[("host", "[2001:db8::1]:8000")],
            &[("host", "")],
            &[("host", "localhost"), ("host", "evil.example")],
            &[("host", "localhost"), ("origin", "https://evil.example")],
            &[("host", "localhost"), ("origin", "null")],
            &[("host", "localhost"), ("origin", "")],
            &[("host", "localhost"), ("origin", "localhost")],
            &[("host", "localhost"), ("origin", "file://localhost")],
            &[
                ("host", "localhost"),
                ("origin", "http://localhost@evil.example"),
            ],
            &[
                ("host", "localhost"),
                ("origin", "http://evil.example#localhost"),
            ],
            &[
                ("host", "localhost"),
                ("origin", "http://localhost"),
                ("origin", "https://evil.example"),
            ],
            &[("host", "localhost"), ("origin", "http://\u{fc}.localhost")],
        ];
        let request = |headers: &[(&str, &str)]| {
            let mut request = Request::new(());
            for (name, value) in headers {
                let name: http::HeaderName = name.parse().expect("a name");
                let value = HeaderValue::from_bytes(value.as_bytes()).expect("a value");
                request.headers_mut().append(name, value);
            }
            request
        };
        for headers in answered {
            assert_eq!(refusal(&request(headers)), None, "{headers:?}");
        }
        for headers in refused {
            assert!(refusal(&request(headers)).is_some(), "{headers:?}");
        }
        // HTTP/2 has the host in the address, and so may HTTP/1.1.
        let mut request = request(&[("host", "localhost")]);
        for (uri, is_refused) in [
            ("http://localhost:1/", false),
            ("http://evil.example/", true),
        ] {
            *request.uri_mut() = uri.parse().expect("a URI");
            assert_eq!(refusal(&request).is_some(), is_refused, "{uri}");
        }
    }
}
