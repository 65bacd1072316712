//! Paths and headers, as `http` reads them.

use http::header::{ACCEPT_ENCODING, IF_MODIFIED_SINCE, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue};
use objects::{Form, ObjectKey};

use sitemap::site::{is_series_name, is_site_host};

use front::negotiation::accepts_gzip;
use front::route::Route;
use front::site_header::{SITE_HOST_HEADER, named};
use front::validators::{Condition, Validators};
use front::variant::Variant;

/// The requested site.
const SITE: &str = "www.example.com";

/// Checks an input. The first line is a path, each other one a header.
pub fn check(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    if let Some(Ok(path)) = lines.next().map(str::from_utf8) {
        leads_to_a_document_or_nowhere(path);
    }
    let mut headers = HeaderMap::new();
    for line in lines {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = parts.next().map(HeaderName::from_bytes);
        let value = parts
            .next()
            .map(|value| HeaderValue::from_bytes(value.trim_ascii()));
        if let (Some(Ok(name)), Some(Ok(value))) = (name, value) {
            headers.append(name, value);
        }
    }
    names_a_site(&headers);
    asks_for_gzip(&headers);
    has_a_copy(&headers);
}

fn leads_to_a_document_or_nowhere(path: &str) {
    let Some(route) = Route::parse(SITE, path) else {
        return;
    };
    let spelled = match &route {
        Route::Redirect(location) => {
            assert!(
                location.starts_with('/') && !location.starts_with("//"),
                "{location:?} is elsewhere"
            );
            assert!(
                location
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() && byte != b'\\'),
                "{location:?}"
            );
            let there = Route::parse(SITE, location).expect("a redirect leads to a document");
            assert!(
                !matches!(there, Route::Redirect(_)),
                "{path:?} is redirected twice"
            );
            return;
        }
        Route::Asset(asset) => asset.path().to_owned(),
        Route::KeyFile(key) => {
            assert!((8..=128).contains(&key.len()), "{key:?} is no key");
            assert!(!key.contains(|c: char| !c.is_ascii_alphanumeric() && c != '-'));
            format!("/{key}.txt")
        }
        Route::Object(key, form) => {
            assert_eq!(key.site(), SITE);
            let name = match key {
                ObjectKey::Index { n, .. } => {
                    assert!(matches!(form, Form::Xml | Form::Gz));
                    format!("sitemap_index{}", number(*n))
                }
                ObjectKey::Shard { series, n, .. } => {
                    assert!(is_series_name(series), "{series:?} is no series");
                    format!("{series}-sitemap{}", number(*n))
                }
                _ => {
                    assert!(key.file().forms.contains(form), "{path:?} is not served");
                    key.file().name.to_owned()
                }
            };
            format!("/{name}{}", form.extension())
        }
    };
    assert_eq!(spelled, path, "a document has two paths");
}

fn number(n: u32) -> String {
    if n == 1 { String::new() } else { n.to_string() }
}

fn names_a_site(headers: &HeaderMap) {
    if let Some(site) = named(headers) {
        assert!(is_site_host(site));
        assert!(
            !site.contains(['/', '\\', '%', '@']) && !site.split('.').any(str::is_empty),
            "{site:?}"
        );
        assert_eq!(headers.get_all(SITE_HOST_HEADER).iter().count(), 1);
        let alone: HeaderMap = headers
            .get(SITE_HOST_HEADER)
            .map(|value| (HeaderName::from_static(SITE_HOST_HEADER), value.clone()))
            .into_iter()
            .collect();
        assert_eq!(
            named(&alone),
            Some(site),
            "another header has to do with it"
        );
    }
}

fn asks_for_gzip(headers: &HeaderMap) {
    if accepts_gzip(headers) {
        let said = headers.get_all(ACCEPT_ENCODING).iter().any(|value| {
            let value = value.as_bytes().to_ascii_lowercase();
            value.contains(&b'*') || memchr::memmem::find(&value, b"gzip").is_some()
        });
        assert!(said, "gzip unasked: {headers:?}");
        let mut refusing = headers.clone();
        refusing.append(ACCEPT_ENCODING, HeaderValue::from_static("gzip;q=0"));
        assert!(!accepts_gzip(&refusing));
    }
}

fn has_a_copy(headers: &HeaderMap) {
    let tags = [
        Variant::Identity,
        Variant::Gzip,
        Variant::GzipFile,
        Variant::Text,
        Variant::TextGzip,
        Variant::TextGzipFile,
    ]
    .map(|variant| format!("0123abcd{}", variant.tag_suffix()));
    for tag in &tags {
        let validators = Validators::new(tag, Some(784_111_777)).expect("a tag");
        let written = validators
            .last_modified()
            .expect("a date that HTTP can tell");
        assert!(httpdate::parse_http_date(written.to_str().expect("ASCII")).is_ok());
        let meets = |headers: &HeaderMap| {
            let condition = Condition::of(headers);
            condition.is_some_and(|condition| validators.meet(&condition))
        };
        let matches = meets(headers);
        let is_conditional =
            headers.contains_key(IF_NONE_MATCH) || headers.contains_key(IF_MODIFIED_SINCE);
        assert!(!matches || is_conditional);
        if headers.contains_key(IF_NONE_MATCH) {
            let quoted = format!("\"{tag}\"");
            let listed = |value: &HeaderValue| {
                let value = value.as_bytes().trim_ascii();
                value == b"*" || memchr::memmem::find(value, quoted.as_bytes()).is_some()
            };
            assert!(
                !matches || headers.get_all(IF_NONE_MATCH).iter().any(listed),
                "{headers:?}"
            );
            let mut listing = headers.clone();
            listing.append(IF_NONE_MATCH, HeaderValue::try_from(quoted).expect("ASCII"));
            assert!(meets(&listing));
        } else if matches {
            assert!(headers.contains_key(IF_MODIFIED_SINCE));
        }
    }
}
