//! The sites over HTTP, as the CDN serves them. The site's header is set here, and replaces any value from the client.
//!
//! - The Host of a request names the site. A browser reaches site `www.example.com` at
//!   `http://www.example.com.localhost:<port>/`, because browsers and curl take every name under `.localhost` for this machine.
//! - While there is only one site, this machine's own names mean that site, too. Other hosts do not, because one of them may be
//!   the next site.
//! - A request without a Host gets no site's header, and reaches the function like a request at the function's URL. The test of
//!   the distribution (`tests/deploy/cdn_test.py`) sends such requests.
//! - Without a site, `/` is a page that lists the sites, but only under this machine's own names. It does not come from the
//!   function.
//! - No request is refused for its Origin, unlike requests to DynamoDB and S3 (`guard`). The published files are public, and
//!   nothing can be written here. No answer allows a page of another origin to read it. No header that is missing in the CDN's
//!   cache key may change an answer.

use std::convert::Infallible;
use std::sync::{Arc, RwLock};

use bytes::Bytes;
use front::{Body, SITE_HOST_HEADER};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Empty, Full};
use http_function::{respond, site_front};
use hyper::body::Incoming;
use hyper::service::service_fn;
use objects::Objects;

use super::options::Options;
use crate::guard::{LOCAL, host_and_port, is_this_machine};
use crate::invocation::{HTTP, invoke};
use crate::loopback::{ListenError, Server};

/// The hosts of the sites that have objects.
pub(super) type Hosts = Arc<RwLock<Vec<String>>>;

/// Returns the address at which a browser on this machine reaches a site, without a slash at its end. `port` is that of the
/// sites.
#[must_use]
pub fn local_address(site: &str, port: u16) -> String {
    format!("http://{}:{port}", local_name(site))
}

/// Returns a site's name under [`LOCAL`]. A host's last label is never a number, so a numeric last label can only be a port.
fn local_name(site: &str) -> String {
    format!("{}{LOCAL}", site.replace(':', "."))
}

pub(super) fn serve_sites(
    options: &Options,
    objects: Arc<dyn Objects>,
    hosts: Hosts,
) -> Result<Server, ListenError> {
    let front = Arc::new(site_front(
        objects,
        options.clock.clone(),
        options.metrics.clone(),
    ));
    let observer = options.observer.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let sites = hosts.read().map(|hosts| hosts.clone()).unwrap_or_default();
        let host = request
            .headers()
            .get(HOST)
            .and_then(|host| host.to_str().ok());
        let host = host.unwrap_or_default().to_ascii_lowercase();
        let list = asks_for_list(&request, &host, &sites).then(|| list(&host, &sites));
        let site = match host.as_str() {
            "" => None,
            host => HeaderValue::from_str(site_of(host, &sites)).ok(),
        };
        let (front, observer) = (front.clone(), observer.clone());
        async move {
            if let Some(list) = list {
                return Ok::<_, Infallible>(page(list, request.method()));
            }
            request.headers_mut().remove(SITE_HOST_HEADER);
            if let Some(site) = site {
                request.headers_mut().insert(SITE_HOST_HEADER, site);
            }
            Ok(invoke(HTTP, observer, respond(&front, request)).await)
        }
    });
    Server::start("the sites", options.port, service)
}

/// Returns the site of a request with this Host. If the Host is this machine's, it is the only site, if there is only one.
fn site_of<'a>(host: &'a str, sites: &'a [String]) -> &'a str {
    if sites.iter().any(|site| site == host) {
        return host;
    }
    let (name, _) = host_and_port(host);
    let local = sites.iter().find(|site| local_name(site) == name);
    match (local, sites) {
        (Some(site), _) => site,
        (None, [site]) if is_this_machine(host) => site,
        _ => host,
    }
}

fn asks_for_list<B>(request: &Request<B>, host: &str, sites: &[String]) -> bool {
    request.uri().path() == "/"
        && [Method::GET, Method::HEAD].contains(request.method())
        && is_this_machine(host)
        && !sites.iter().any(|site| site == host)
}

/// Returns the page that lists the sites, with links that work in a browser on this machine.
fn list(host: &str, sites: &[String]) -> String {
    let port = host_and_port(host).1.and_then(|port| port.parse().ok());
    let mut rows = String::new();
    for site in sites {
        let address = local_address(site, port.unwrap_or(80));
        let links = [
            ("sitemap_index.xml", "index"),
            ("robots.txt", "robots.txt"),
            ("feed.atom", "feed"),
        ]
        .map(|(path, name)| format!("<a href=\"{address}/{path}\">{name}</a>"));
        rows += &format!("<tr><th>{site}</th><td>{}</td></tr>\n", links.join(" "));
    }
    let sites = match sites {
        [] => "<p>No site is published yet.</p>".to_owned(),
        _ => format!("<table>\n{rows}</table>"),
    };
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Sites of this local stack</title>\n\
         <style>body{{font:1rem/1.6 sans-serif;margin:2rem}}th{{text-align:left;padding-right:2rem}}a{{margin-right:1rem}}</style>\n\
         <h1>Sites of this local stack</h1>\n{sites}\n\
         <p>curl can also name a site: <code>curl -H 'Host: www.example.com' http://127.0.0.1:{}/sitemap_index.xml</code></p>\n</html>\n",
        port.unwrap_or(80)
    )
}

fn page(list: String, method: &Method) -> Response<Body> {
    let body = match *method {
        Method::HEAD => Empty::new().map_err(|never| match never {}).boxed_unsync(),
        _ => Full::new(Bytes::from(list))
            .map_err(|never| match never {})
            .boxed_unsync(),
    };
    let mut response = Response::new(body);
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'",
        ),
    ];
    for (name, value) in headers {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_named_by_its_host_by_its_name_on_this_machine_or_by_being_alone() {
        let sites = |sites: &[&str]| -> Vec<String> {
            sites.iter().map(|site| (*site).to_owned()).collect()
        };
        let two = sites(&["a.example", "b.example:8443"]);
        let one = sites(&["a.example"]);
        for (host, sites, expected) in [
            ("a.example", &two, "a.example"),
            ("b.example:8443", &two, "b.example:8443"),
            ("a.example.localhost:8080", &two, "a.example"),
            ("a.example.localhost", &two, "a.example"),
            ("b.example.8443.localhost:8080", &two, "b.example:8443"),
            ("127.0.0.1:8080", &two, "127.0.0.1:8080"),
            ("x.example.localhost:8080", &two, "x.example.localhost:8080"),
            ("127.0.0.1:8080", &one, "a.example"),
            ("localhost:8080", &one, "a.example"),
            ("[::1]:8080", &one, "a.example"),
            ("x.example.localhost:8080", &one, "a.example"),
            ("b.example:8443", &one, "b.example:8443"),
            ("", &two, ""),
        ] {
            assert_eq!(site_of(host, sites), expected, "{host} of {sites:?}");
        }
    }
}
