//! The view for people: which requests get it, and what a cache may do with the answers.

use std::sync::atomic::Ordering;

use front::{SITE_FILE_TTL_SECONDS, SITE_HOST_HEADER};
use http::{Method, StatusCode};

use crate::bucket::{document, index, shard, stored};
use crate::fixture::*;

const HTML_TYPE: &str = "text/html; charset=utf-8";
const FEED_TYPE: &str = "application/atom+xml; charset=utf-8";
const PRIVATE: &str = "private, no-store";
const CRAWLER: (&str, &str) = ("user-agent", "Mozilla/5.0 (compatible; Googlebot/2.1)");
/// A header of an agent that signs its requests. Its User-Agent is that of a browser.
const SIGNED: (&str, &str) = ("signature-agent", "\"https://agent.example\"");
const HTML: (&str, &str) = (
    "accept",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
);

#[tokio::test]
async fn a_person_sees_a_page() {
    let fixture = Fixture::new();
    fixture.bucket.insert(&index(2), document(INDEX, 3));
    fixture
        .bucket
        .insert(&feed(), stored(FEED.into(), FEED.len(), 0));
    let mut pages = Vec::new();
    for path in [
        "/sitemap_index.xml",
        "/sitemap_index2.xml",
        "/post-sitemap.xml",
        "/post-sitemap2.xml?page=3&q=x&sort=-lastmod",
        "/feed.atom",
    ] {
        for headers in [
            &[NAVIGATION][..],
            &[NAVIGATION, GZIP, HTML],
            &[NAVIGATION, ("if-none-match", "*")],
        ] {
            let (get, head) = (
                fixture.get(path, headers).await,
                fixture.head(path, headers).await,
            );
            assert_eq!(get.status, 200, "{path} {headers:?}");
            assert_eq!((head.status, &head.headers), (get.status, &get.headers));
            assert!(head.body.is_empty());
            for (name, value) in [
                ("content-type", Some(HTML_TYPE)),
                ("cache-control", Some(PRIVATE)),
                ("vary", Some("Accept-Encoding, Sec-Fetch-Dest")),
                ("x-robots-tag", Some("noindex, follow")),
                ("x-content-type-options", Some("nosniff")),
                ("etag", None),
                ("last-modified", None),
                ("content-encoding", None),
            ] {
                assert_eq!(get.header(name), value, "{path} {name}");
            }
            let length = get.body.len().to_string();
            assert_eq!(get.header("content-length"), Some(length.as_str()));
            let policy = get.header("content-security-policy").unwrap();
            assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"));
            pages.push(get.text().to_owned());
        }
    }
    pages.dedup();
    assert_eq!(pages.len(), 1, "nothing of a document or request is in it");
}

#[tokio::test]
async fn a_page_loads_what_is_served() {
    let fixture = Fixture::new();
    let page = fixture.get("/post-sitemap.xml", &[NAVIGATION]).await;
    let named: Vec<&str> = page
        .text()
        .split('"')
        .filter(|value| value.starts_with("/sitemap-view."))
        .collect();
    assert_eq!(named.len(), 2);
    for path in named {
        let asset = fixture.get(path, &[("sec-fetch-dest", "script")]).await;
        assert_eq!(asset.status, 200, "{path}");
        let etag = asset.header("etag").unwrap().trim_matches('"');
        assert!(path.ends_with(&format!("?v={etag}")), "{path} is {etag}");
    }
}

#[tokio::test]
async fn a_crawler_gets_the_document_whatever_it_accepts() {
    let fixture = Fixture::new();
    let plain = fixture.get("/post-sitemap.xml", &[]).await;
    for headers in [
        &[HTML][..],
        &[HTML, CRAWLER],
        &[HTML, ("sec-fetch-dest", "empty")],
        &[HTML, ("sec-fetch-mode", "navigate")],
    ] {
        let answer = fixture.get("/post-sitemap.xml", headers).await;
        assert_eq!(answer.text(), URLSET, "{headers:?}");
        assert_eq!(answer.headers, plain.headers, "{headers:?}");
    }
}

/// Tests that a cache with Sec-Fetch-Dest in its key never gives a crawler's document to people, or the reverse.
#[tokio::test]
async fn no_cache_keeps_what_a_navigation_gets() {
    let fixture = Fixture::new();
    fixture
        .bucket
        .insert(&feed(), stored(FEED.into(), FEED.len(), 0));
    for (path, headers) in [
        ("/post-sitemap.xml", &[NAVIGATION, CRAWLER][..]),
        ("/post-sitemap.xml", &[NAVIGATION, SIGNED]),
        ("/post-sitemap.xml", &[NAVIGATION, CRAWLER, GZIP]),
        ("/post-sitemap.xml?view=xml", &[NAVIGATION]),
        ("/post-sitemap.xml?a=b&view=xml", &[NAVIGATION, GZIP]),
        ("/sitemap_index.xml?view=xml", &[NAVIGATION]),
        ("/feed.atom?view=xml", &[NAVIGATION]),
        ("/feed.atom", &[NAVIGATION, CRAWLER]),
    ] {
        let answer = fixture.get(path, headers).await;
        let content_type = match path.starts_with("/feed") {
            true => FEED_TYPE,
            false => XML_TYPE,
        };
        assert_eq!(answer.header("content-type"), Some(content_type), "{path}");
        assert_eq!(answer.header("cache-control"), Some(PRIVATE), "{path}");
        let current = [headers, &[("if-none-match", "*")]].concat();
        let again = fixture.get(path, &current).await;
        assert_eq!(again.status, 304, "{path}");
        assert_eq!(again.header("cache-control"), Some(PRIVATE), "{path}");
    }
    // The query has no effect on a request that is not a navigation.
    let (plain, query) = (
        fixture.get("/post-sitemap.xml", &[]).await,
        fixture.get("/post-sitemap.xml?view=xml", &[]).await,
    );
    assert_eq!((plain.headers, plain.body), (query.headers, query.body));
}

#[tokio::test]
async fn other_forms_have_no_view() {
    let fixture = Fixture::new();
    for path in [
        "/post-sitemap.txt",
        "/post-sitemap.txt.gz",
        "/post-sitemap.xml.gz",
        "/sitemap_index.xml.gz",
        "/robots.txt",
        "/post-sitemap1.xml",
        "/sitemap.xml",
    ] {
        let (plain, opened) = (
            fixture.get(path, &[]).await,
            fixture.get(path, &[NAVIGATION]).await,
        );
        assert_eq!(
            (plain.status, &plain.headers, &plain.body),
            (opened.status, &opened.headers, &opened.body),
            "{path}"
        );
    }
}

#[tokio::test]
async fn what_is_not_shown_is_a_404_with_the_page_that_says_what_to_do() {
    let fixture = Fixture::new();
    fixture
        .bucket
        .insert(&shard("post", 2), document("<urlset/>\n", 0));
    fixture
        .bucket
        .insert(&shard("page", 1), document(URLSET, 2));
    let status = async |path: &str| {
        let (get, head) = (
            fixture.get(path, &[NAVIGATION]).await,
            fixture.head(path, &[NAVIGATION]).await,
        );
        assert_eq!(get.headers, head.headers, "{path}");
        // The answer for a closed document equals that for one that never existed.
        let shown = fixture.get("/sitemap_index.xml", &[NAVIGATION]).await;
        assert_eq!(
            (&get.headers, &get.body),
            (&shown.headers, &shown.body),
            "{path}"
        );
        assert_eq!(get.header("cache-control"), Some(PRIVATE), "{path}");
        let crawled = fixture.get(path, &[NAVIGATION, CRAWLER]).await;
        if get.status == 404 {
            assert_eq!(
                (crawled.status.as_u16(), crawled.text()),
                (404, "Not found\n")
            );
            // An intermediate cache must not give it to a person.
            assert_eq!(crawled.header("vary"), get.header("vary"), "{path}");
        }
        get.status.as_u16()
    };
    assert_eq!(status("/post-sitemap2.xml").await, 200);
    fixture.wait(GRACE_SECONDS);
    assert_eq!(status("/post-sitemap2.xml").await, 404);
    assert_eq!(status("/post-sitemap3.xml").await, 404);
    assert_eq!(status("/sitemap_index2.xml").await, 404);
    assert_eq!(status("/page-sitemap.xml").await, 200);
    fixture
        .bucket
        .site_file_with(SITE, true, r#""hidden":["page"],"#);
    fixture.wait(SITE_FILE_TTL_SECONDS);
    assert_eq!(status("/page-sitemap.xml").await, 404);
    fixture.bucket.site_file(SITE, false);
    fixture.wait(SITE_FILE_TTL_SECONDS);
    assert_eq!(status("/post-sitemap.xml").await, 404);
    assert_eq!(status("/sitemap_index.xml").await, 200);
}

#[tokio::test]
async fn a_person_gets_the_page_for_whatever_is_not_there() {
    let fixture = Fixture::new();
    let shown = fixture.get("/sitemap_index.xml", &[NAVIGATION]).await;
    fixture.bucket.site_file(SITE, false);
    for path in [
        "/nothing",
        "/",
        "/feed.atom",
        "/llms.txt",
        "/none-sitemap.txt",
        "/none-sitemap.xml.gz",
        "/0123456789.txt",
        "/%2e%2e/x",
    ] {
        let (get, head) = (
            fixture.get(path, &[NAVIGATION]).await,
            fixture.head(path, &[NAVIGATION]).await,
        );
        assert_eq!(
            (get.status, head.status),
            (StatusCode::NOT_FOUND, StatusCode::NOT_FOUND),
            "{path}"
        );
        assert_eq!(get.headers, head.headers, "{path}");
        assert_eq!(
            (&get.headers, &get.body),
            (&shown.headers, &shown.body),
            "{path}"
        );
        let crawled = fixture.get(path, &[NAVIGATION, CRAWLER]).await;
        assert_eq!(
            (crawled.status, crawled.text()),
            (StatusCode::NOT_FOUND, "Not found\n"),
            "{path}"
        );
        // An intermediate cache must not give it to a person.
        assert_eq!(crawled.header("vary"), get.header("vary"), "{path}");
    }
    // Nor is there anything on a host that is no site's.
    let host = (SITE_HOST_HEADER, "not a host");
    let answer = fixture
        .send(Method::GET, "/nothing", &[host, NAVIGATION])
        .await;
    assert_eq!(
        (answer.status, &answer.body),
        (StatusCode::NOT_FOUND, &shown.body)
    );
}

#[tokio::test]
async fn a_view_costs_one_call() {
    let fixture = Fixture::new();
    // The site file is cached then.
    fixture.get("/robots.txt", &[]).await;
    fixture.bucket.calls();
    for method in [Method::GET, Method::HEAD] {
        let headers = [(SITE_HOST_HEADER, SITE), NAVIGATION, ("if-none-match", "*")];
        fixture.send(method, "/post-sitemap.xml", &headers).await;
        assert_eq!(fixture.bucket.calls(), ["head"]);
    }
}

#[tokio::test]
async fn a_view_of_what_cannot_be_read_is_unavailable() {
    let fixture = Fixture::new();
    let mut damaged = document(URLSET, 2);
    damaged.meta.document = None;
    fixture.bucket.insert(&shard("post", 1), damaged);
    let answer = fixture.get("/post-sitemap.xml", &[NAVIGATION]).await;
    assert_eq!(answer.status, 503);
    fixture.bucket.0.fails.store(true, Ordering::Relaxed);
    let answer = fixture.get("/post-sitemap2.xml", &[NAVIGATION]).await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}
