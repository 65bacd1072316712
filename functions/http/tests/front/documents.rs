//! The forms of a document, their headers, and conditional requests.

use http::{Method, StatusCode};
use http_function::SITE_HOST_HEADER;

use crate::bucket::shard;
use crate::fixture::*;

#[tokio::test]
async fn a_document_is_sent_in_the_form_that_was_asked_for() {
    let fixture = Fixture::new();
    for (path, headers, content_type, encoding, tag, expected) in [
        (
            "/sitemap_index.xml",
            &[][..],
            XML_TYPE,
            None,
            "0123abcd",
            INDEX,
        ),
        (
            "/sitemap_index.xml",
            &[GZIP],
            XML_TYPE,
            Some("gzip"),
            "0123abcd-gzip",
            INDEX,
        ),
        (
            "/sitemap_index.xml.gz",
            &[GZIP],
            "application/gzip",
            None,
            "0123abcd-gz",
            INDEX,
        ),
        ("/post-sitemap.xml", &[], XML_TYPE, None, "0123abcd", URLSET),
        (
            "/post-sitemap.xml?v=1",
            &[("accept", "text/html")],
            XML_TYPE,
            None,
            "0123abcd",
            URLSET,
        ),
        (
            "/post-sitemap.xml",
            &[("range", "bytes=0-1")],
            XML_TYPE,
            None,
            "0123abcd",
            URLSET,
        ),
        (
            "/post-sitemap2.xml",
            &[GZIP],
            XML_TYPE,
            Some("gzip"),
            "0123abcd-gzip",
            URLSET,
        ),
        (
            "/post-sitemap2.xml",
            &[("accept-encoding", "gzip;q=0")],
            XML_TYPE,
            None,
            "0123abcd",
            URLSET,
        ),
        (
            "/post-sitemap2.xml.gz",
            &[],
            "application/gzip",
            None,
            "0123abcd-gz",
            URLSET,
        ),
        (
            "/post-sitemap.txt",
            &[GZIP],
            TEXT_TYPE,
            None,
            "0123abcd-txt",
            URLS,
        ),
        ("/robots.txt", &[GZIP], TEXT_TYPE, None, "0123abcd", ROBOTS),
    ] {
        let answer = fixture.get(path, headers).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        assert_eq!(answer.header("content-type"), Some(content_type), "{path}");
        assert_eq!(answer.header("content-encoding"), encoding, "{path}");
        assert_eq!(
            answer.header("etag"),
            Some(format!("\"{tag}\"").as_str()),
            "{path}"
        );
        assert_eq!(answer.header("last-modified"), Some(DATE), "{path}");
        assert_eq!(
            answer.header("vary"),
            Some("Accept-Encoding, Sec-Fetch-Dest"),
            "{path}"
        );
        let cache_control = shard("post", 1).cache_control();
        assert_eq!(
            answer.header("cache-control"),
            Some(cache_control),
            "{path}"
        );
        let length = (!tag.ends_with("-txt")).then(|| answer.body.len().to_string());
        assert_eq!(answer.header("content-length"), length.as_deref(), "{path}");
        if tag.contains("-gz") {
            assert_eq!(answer.gunzip(), expected, "{path}");
        } else {
            assert_eq!(answer.text(), expected, "{path}");
        }
    }
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let fixture = Fixture::new();
    for path in [
        "/sitemap_index.xml",
        "/post-sitemap.xml",
        "/post-sitemap.xml.gz",
        "/post-sitemap.txt",
        "/robots.txt",
        "/sitemap.css",
        "/sitemap-view.js",
        "/sitemap.xml",
        "/nothing",
    ] {
        for headers in [
            &[][..],
            &[GZIP],
            &[("if-none-match", "\"x\"")],
            &[("if-none-match", "*")],
            &[NAVIGATION],
            &[NAVIGATION, GZIP, ("user-agent", "a bot")],
        ] {
            let (get, head) = (
                fixture.get(path, headers).await,
                fixture.head(path, headers).await,
            );
            assert_eq!(
                (get.status, &get.headers),
                (head.status, &head.headers),
                "{path} {headers:?}"
            );
            assert_eq!((head.body.len(), head.error), (0, None), "{path}");
        }
    }
}

#[tokio::test]
async fn every_answer_says_how_long_to_keep_it_and_not_to_index_it() {
    let fixture = Fixture::new();
    let site = (SITE_HOST_HEADER, SITE);
    let brief = "public, max-age=60, s-maxage=60";
    for (method, path, headers, status, cache_control) in [
        (
            Method::GET,
            "/post-sitemap.xml",
            &[site][..],
            200,
            shard("post", 1).cache_control(),
        ),
        (
            Method::GET,
            "/sitemap.css",
            &[site],
            200,
            "public, max-age=86400, s-maxage=60",
        ),
        (Method::GET, "/post-sitemap1.xml", &[site], 301, brief),
        (
            Method::GET,
            "/robots.txt",
            &[site, ("if-none-match", "*")],
            304,
            shard("post", 1).cache_control(),
        ),
        (
            Method::GET,
            "/sitemap.css",
            &[site, ("if-none-match", "*")],
            304,
            "public, max-age=86400, s-maxage=60",
        ),
        (Method::GET, "/page-sitemap.xml", &[site], 404, brief),
        (Method::GET, "/post-sitemap.xml", &[], 404, brief),
        (Method::POST, "/post-sitemap.xml", &[site], 405, "no-store"),
    ] {
        let answer = fixture.send(method, path, headers).await;
        assert_eq!(answer.status.as_u16(), status, "{path}");
        assert_eq!(
            answer.header("cache-control"),
            Some(cache_control),
            "{path} {status}"
        );
        assert_eq!(
            answer.header("x-robots-tag"),
            Some("noindex, follow"),
            "{path} {status}"
        );
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path} {status}"
        );
    }
}

#[tokio::test]
async fn a_copy_that_is_current_is_not_sent_again() {
    let fixture = Fixture::new();
    for (path, headers, status) in [
        (
            "/post-sitemap.xml",
            &[("if-none-match", "\"0123abcd\"")][..],
            304,
        ),
        (
            "/post-sitemap.xml",
            &[("if-none-match", "W/\"0123abcd\", \"x\"")],
            304,
        ),
        (
            "/post-sitemap.xml",
            &[("if-none-match", "\"0123abcd\""), GZIP],
            200,
        ),
        (
            "/post-sitemap.xml",
            &[("if-none-match", "\"0123abcd-gzip\""), GZIP],
            304,
        ),
        (
            "/post-sitemap.xml.gz",
            &[("if-none-match", "\"0123abcd-gz\"")],
            304,
        ),
        (
            "/post-sitemap.txt",
            &[("if-none-match", "\"0123abcd-txt\"")],
            304,
        ),
        ("/post-sitemap.xml", &[("if-modified-since", DATE)], 304),
        (
            "/post-sitemap.xml",
            &[("if-modified-since", "Fri, 02 Jan 2026 03:04:04 GMT")],
            200,
        ),
        (
            "/post-sitemap.xml",
            &[("if-modified-since", "yesterday")],
            200,
        ),
        (
            "/post-sitemap.xml",
            &[("if-none-match", "\"x\""), ("if-modified-since", DATE)],
            200,
        ),
        ("/page-sitemap.xml", &[("if-none-match", "*")], 404),
    ] {
        let answer = fixture.get(path, headers).await;
        assert_eq!(answer.status.as_u16(), status, "{path} {headers:?}");
        if status == 304 {
            assert!(answer.body.is_empty());
            let full = fixture.get(path, &headers[1..]).await;
            for name in ["etag", "last-modified", "cache-control", "vary"] {
                assert_eq!(answer.header(name), full.header(name), "{path} {name}");
            }
            assert_eq!(answer.header("content-type"), None);
        }
    }
}

#[tokio::test]
async fn one_call_on_the_bucket_answers() {
    let fixture = Fixture::new();
    fixture.get("/robots.txt", &[]).await;
    assert_eq!(fixture.bucket.calls(), ["open", "open"]);
    for (method, path, headers, calls) in [
        (Method::GET, "/post-sitemap.xml", &[][..], &["open"][..]),
        (Method::GET, "/post-sitemap.xml", &[GZIP], &["open"]),
        (Method::HEAD, "/post-sitemap.xml", &[], &["head"]),
        (Method::HEAD, "/post-sitemap.xml", &[GZIP], &["open"]),
        (Method::HEAD, "/post-sitemap.txt", &[], &["head"]),
        (
            Method::GET,
            "/post-sitemap.xml",
            &[("if-none-match", "*")],
            &["head"],
        ),
        (
            Method::GET,
            "/post-sitemap.xml",
            &[("if-none-match", "\"x\"")],
            &["head", "open"],
        ),
        (Method::GET, "/post-sitemap1.xml", &[], &[]),
        (Method::GET, "/sitemap.css", &[], &[]),
        (Method::GET, "/../post-sitemap.xml", &[], &[]),
    ] {
        let headers = [&[(SITE_HOST_HEADER, SITE)], headers].concat();
        fixture.send(method.clone(), path, &headers).await;
        assert_eq!(fixture.bucket.calls(), calls, "{method} {path} {headers:?}");
    }
}
