//! The site of a request.

use http::HeaderMap;
use sitemap::site::is_site_host;

/// The header that names the site. The CDN sets it from the viewer's host, and replaces any value that the viewer sent.
///
/// `Host` is the function's own, and any client can send `X-Forwarded-Host`, so neither is read.
pub const SITE_HOST_HEADER: &str = "x-waymark-host";

/// Returns the site that a request names, if it is valid in an object key. A single dot or a slash in it could lead out of the
/// site's folder.
#[must_use]
pub fn named(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(SITE_HOST_HEADER).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let site = value.to_str().ok()?;
    is_site_host(site).then_some(site)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn site_of(values: &[&'static str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("www.example.com"));
        headers.insert(
            "x-forwarded-host",
            HeaderValue::from_static("www.example.com"),
        );
        for value in values {
            headers.append(SITE_HOST_HEADER, HeaderValue::from_static(value));
        }
        named(&headers).map(str::to_owned)
    }

    #[test]
    fn a_site_is_a_host_with_or_without_a_port() {
        for site in [
            "www.example.com",
            "localhost",
            "127.0.0.1:8080",
            "xn--bcher-kva.example",
            "a-b.c0:65535",
        ] {
            assert_eq!(site_of(&[site]).as_deref(), Some(site));
        }
    }

    #[test]
    fn nothing_else_names_a_site() {
        for values in [
            &[][..],
            &["www.example.com", "www.example.com"],
            &[""],
            &["."],
            &[".."],
            &["../x"],
            &["a..b"],
            &[".a"],
            &["a."],
            &["a/b"],
            &["a\\b"],
            &["a%2fb"],
            &["WWW.example.com"],
            &["a b"],
            &["a_b"],
            &["a,b"],
            &["a:"],
            &[":80"],
            &["a:+80"],
            &["a:65536"],
            &["a:80:80"],
            &["[::1]"],
            &["user@a"],
        ] {
            assert_eq!(site_of(values), None, "{values:?}");
        }
        let long = ["a"; 127].join(".") + ".bc";
        let headers = HeaderMap::from_iter([(
            http::header::HeaderName::from_static(SITE_HOST_HEADER),
            HeaderValue::try_from(&long).expect("ASCII"),
        )]);
        assert_eq!((long.len(), named(&headers)), (256, None));
    }
}
