//! Hostile requests: what they cannot reach, and what they cannot change.

use std::sync::atomic::Ordering;

use front::{MAX_SITE_FILE_BYTES, SITE_HOST_HEADER};
use http::Method;
use objects::ObjectKey;
use proptest::prelude::*;

use crate::bucket::stored;
use crate::fixture::*;

const EVIL: &str = "evil.example";

/// Paths with every kind of answer.
const PATHS: [&str; 18] = [
    "/sitemap_index.xml",
    "/sitemap_index.xml.gz",
    "/post-sitemap.xml",
    "/post-sitemap2.xml.gz",
    "/post-sitemap2.txt",
    "/post-sitemap.txt.gz",
    "/post-sitemap3.xml",
    "/post-sitemap1.xml",
    "/robots.txt",
    "/sitemap.css",
    "/sitemap-view.js",
    "/sitemap_index2.xml",
    "/feed.atom",
    "/llms.txt",
    "/0123abcd.txt",
    "/sitemap.xml",
    "/site.json",
    "/nothing",
];

/// Headers by which frameworks accept another host, path, scheme or method than the request's, and headers that are not in a
/// cache's key of path, host and Vary.
const UNKEYED: [&str; 20] = [
    "host",
    "x-forwarded-host",
    "x-forwarded-server",
    "x-forwarded-proto",
    "x-forwarded-scheme",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-host",
    "forwarded",
    "x-original-url",
    "x-rewrite-url",
    "x-http-method-override",
    "range",
    "if-range",
    "if-match",
    "if-unmodified-since",
    "accept",
    "accept-language",
    "user-agent",
    "cookie",
];

async fn content(fixture: &Fixture, path: &str, headers: &[(&str, &str)]) -> String {
    let answer = fixture.get(path, headers).await;
    format!("{} {:?} {:?}", answer.status, answer.headers, answer.body)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
}

proptest! {
    #[test]
    fn no_unkeyed_header_changes_an_answer(
        path in prop::sample::select(&PATHS[..]),
        gzip in any::<bool>(),
        headers in prop::collection::vec(
            (prop::sample::select(&UNKEYED[..]), prop::sample::select(&[EVIL, "http", "//evil.example/", "/site.json", "bytes=0-1", "POST", "*", "text/html", ""][..])),
            0..12,
        ),
    ) {
        runtime().block_on(async {
            let fixture = Fixture::new();
            fixture.bucket.insert(&feed(), stored(FEED.into(), FEED.len(), 0));
            let keyed: &[(&str, &str)] = if gzip { &[GZIP] } else { &[] };
            let plain = content(&fixture, path, keyed).await;
            let with = content(&fixture, path, &[keyed, &headers].concat()).await;
            prop_assert_eq!(plain, with, "{} {:?}", path, headers);
            Ok(())
        })?;
    }

    /// Tests that a request reads only the objects of its own site, under valid names, whatever site and path it names.
    #[test]
    fn nothing_is_read_but_a_sites_published_objects(
        site in prop_oneof![Just(SITE.to_owned()), "[a-z./%\\\\:@-]{0,20}", "\\PC{0,20}"],
        path in prop_oneof![
            "/[a-zA-Z0-9_.%/\\\\-]{0,30}",
            "/[a-z./%-]{0,12}-sitemap[0-9]{0,3}\\.(xml|txt)(\\.gz)?",
            "/(\\.\\.|%2e%2e|%2f|\\\\|/|published|site\\.json){1,8}",
        ],
    ) {
        let fixture = Fixture::new();
        let request = http::Request::builder().uri(&path).header(SITE_HOST_HEADER, site.as_bytes()).body(());
        if let Ok(request) = request {
            runtime().block_on(fixture.respond(request));
        }
        for key in fixture.bucket.0.keys.lock().unwrap().iter() {
            let parts: Vec<&str> = key.split('/').collect();
            prop_assert!(parts.len() == 3 && parts[0] == "published" && parts[1] == site, "{}", key);
            prop_assert!(!parts.contains(&"..") && !parts.contains(&"."), "{}", key);
            let read = ObjectKey::from_path(key).map(|key| key.path());
            prop_assert_eq!(read.as_deref(), Some(key.as_str()));
        }
    }
}

#[tokio::test]
async fn ten_thousand_paths_of_no_documents_cost_one_call() {
    let fixture = Fixture::new();
    for n in 0..10_000 {
        assert_eq!(fixture.get(&format!("/a/{n}"), &[]).await.status, 404);
    }
    // Of the site file, which says that no page of the site departed.
    assert_eq!(fixture.bucket.calls(), ["open"]);
}

#[tokio::test]
async fn every_redirect_stays_on_its_host() {
    let fixture = Fixture::new();
    for path in [
        "/sitemap.xml?//evil.example",
        "/evil-sitemap1.xml",
        "//evil.example/x-sitemap1.xml",
        "/x-sitemap1.xml?u=https://evil.example",
        "https://evil.example/x-sitemap0.txt",
        "https://evil.example/sitemap.xml",
        "/\\evil.example/x-sitemap1.xml",
    ] {
        let evil = [("host", EVIL), ("x-forwarded-host", EVIL)];
        let answer = fixture.get(path, &evil).await;
        match answer.header("location") {
            Some(location) => {
                assert!(
                    location.starts_with('/') && !location.starts_with("//"),
                    "{path}"
                );
                assert!(!location.contains(EVIL), "{path}");
            }
            None => assert_eq!(answer.status, 404, "{path}"),
        }
    }
}

#[tokio::test]
async fn no_error_tells_what_is_behind() {
    let fixture = Fixture::new();
    fixture.bucket.0.fails.store(true, Ordering::Relaxed);
    for method in [Method::GET, Method::HEAD, Method::POST] {
        for path in PATHS {
            let answer = fixture
                .send(method.clone(), path, &[(SITE_HOST_HEADER, SITE)])
                .await;
            let texts = [
                "",
                "Not found\n",
                "Method not allowed\n",
                "Unavailable for the moment\n",
            ];
            // Files that are the same on every site are still sent.
            let is_error = answer.status.is_client_error() || answer.status.is_server_error();
            assert!(
                !is_error || texts.contains(&answer.text()),
                "{method} {path}: {}",
                answer.text()
            );
            assert!(!answer.text().contains("secret"), "{method} {path}");
            assert!(
                !format!("{:?}", answer.headers).contains("secret"),
                "{path}"
            );
        }
    }
}

#[tokio::test]
async fn regression_a_site_file_of_any_size_is_not_read_whole() {
    let fixture = Fixture::new();
    let key = ObjectKey::SiteFile {
        site: SITE.to_owned(),
    };
    let mut large = stored(vec![b' '; 100 * MAX_SITE_FILE_BYTES].into(), 0, 0);
    large.chunk_bytes = 1_024;
    fixture.bucket.insert(&key, large);
    assert_eq!(fixture.get("/robots.txt", &[]).await.status, 503);
    let read = fixture.bucket.0.chunks_read.load(Ordering::Relaxed);
    assert!(
        read * 1_024 <= MAX_SITE_FILE_BYTES + 2 * 1_024,
        "{read} kilobytes were read"
    );
}
