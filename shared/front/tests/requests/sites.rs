//! Which site is served, and which parts of it.

use std::sync::atomic::Ordering;

use front::{MAX_CACHED_SITES, SITE_FILE_TTL_SECONDS, SITE_HOST_HEADER};
use http::Method;
use objects::ObjectKey;

use crate::bucket::{document, shard, stored};
use crate::fixture::*;

/// A part of a site file with an IndexNow key.
const KEY: &str = r#""indexnow_key":"0123-abcd","#;
const KEY_PATH: &str = "/0123-abcd.txt";

#[tokio::test]
async fn other_names_lead_to_the_one() {
    let fixture = Fixture::new();
    for (path, location) in [
        ("/sitemap.xml", "/sitemap_index.xml"),
        ("/wp-sitemap.xml?x=1", "/sitemap_index.xml"),
        ("/post-sitemap0.xml", "/post-sitemap.xml"),
        ("/post-sitemap1.xml?x=1", "/post-sitemap.xml"),
        ("/post-sitemap1.xml.gz", "/post-sitemap.xml.gz"),
        ("/post-sitemap1.txt", "/post-sitemap.txt"),
        ("/post-sitemap1.txt.gz", "/post-sitemap.txt.gz"),
    ] {
        let answer = fixture.get(path, &[]).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("location")),
            (301, Some(location)),
            "{path}"
        );
    }
}

#[tokio::test]
async fn only_get_and_head_are_allowed() {
    let fixture = Fixture::new();
    for method in [
        "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND",
    ] {
        let method: Method = method.parse().unwrap();
        let answer = fixture
            .send(method, "/sitemap_index.xml", &[(SITE_HOST_HEADER, SITE)])
            .await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("allow")),
            (405, Some("GET, HEAD"))
        );
    }
}

#[tokio::test]
async fn a_site_is_named_by_its_header_alone() {
    let fixture = Fixture::new();
    for headers in [
        &[("host", SITE), ("x-forwarded-host", SITE)][..],
        &[(SITE_HOST_HEADER, "other.example.com"), ("host", SITE)],
        &[(SITE_HOST_HEADER, "../published/www.example.com")],
        &[(SITE_HOST_HEADER, SITE), (SITE_HOST_HEADER, SITE)],
    ] {
        for path in ["/sitemap_index.xml", "/robots.txt"] {
            assert_eq!(
                fixture.send(Method::GET, path, headers).await.status,
                404,
                "{path} {headers:?}"
            );
        }
    }
    for headers in [
        &[("host", SITE), ("x-forwarded-host", SITE)][..],
        &[(SITE_HOST_HEADER, "../published/www.example.com")],
        &[(SITE_HOST_HEADER, SITE), (SITE_HOST_HEADER, SITE)],
    ] {
        for path in ["/sitemap.xml", "/sitemap.css"] {
            assert_eq!(
                fixture.send(Method::GET, path, headers).await.status,
                404,
                "{path} {headers:?}"
            );
        }
    }
    assert_eq!(fixture.get("/site.json", &[]).await.status, 404);
    let other = fixture
        .send(
            Method::GET,
            "/robots.txt",
            &[(SITE_HOST_HEADER, SITE), ("host", "other.example")],
        )
        .await;
    assert_eq!(other.text(), ROBOTS);
}

#[tokio::test]
async fn what_is_the_same_on_every_site_takes_no_call() {
    let fixture = Fixture::new();
    fixture.bucket.0.fails.store(true, Ordering::Relaxed);
    for site in [SITE, "other.example.com"] {
        for (path, status) in [
            ("/sitemap.xml", 301),
            ("/post-sitemap1.xml", 301),
            ("/sitemap.css", 200),
        ] {
            let answer = fixture
                .send(Method::GET, path, &[(SITE_HOST_HEADER, site)])
                .await;
            assert_eq!(answer.status, status, "{path} of {site}");
        }
    }
    assert!(fixture.bucket.calls().is_empty());
}

#[tokio::test]
async fn a_private_site_shows_no_shard() {
    let fixture = Fixture::new();
    assert_eq!(fixture.get("/post-sitemap.xml", &[]).await.status, 200);
    fixture.bucket.site_file(SITE, false);
    fixture.wait(SITE_FILE_TTL_SECONDS);
    for path in [
        "/post-sitemap.xml",
        "/post-sitemap2.xml.gz",
        "/post-sitemap.txt",
    ] {
        assert_eq!(fixture.get(path, &[]).await.status, 404, "{path}");
        assert_eq!(
            fixture.head(path, &[("if-none-match", "*")]).await.status,
            404,
            "{path}"
        );
    }
    assert_eq!(fixture.get("/sitemap_index.xml", &[]).await.status, 200);
    assert_eq!(fixture.get("/robots.txt", &[]).await.status, 200);
    // A site that is public again is served at once, because the index may list its sitemaps by now.
    fixture.bucket.site_file(SITE, true);
    assert_eq!(fixture.get("/post-sitemap.xml", &[]).await.status, 200);
}

#[tokio::test]
async fn an_emptied_shard_is_shown_for_a_grace_period() {
    let fixture = Fixture::new();
    fixture
        .bucket
        .insert(&shard("post", 2), document("<urlset/>\n", 0));
    fixture.wait(GRACE_SECONDS - 1);
    assert_eq!(
        fixture.get("/post-sitemap2.xml", &[]).await.text(),
        "<urlset/>\n"
    );
    assert_eq!(fixture.get("/post-sitemap2.txt", &[]).await.text(), "\n");
    fixture.wait(1);
    for headers in [&[][..], &[GZIP], &[("if-none-match", "*")]] {
        assert_eq!(fixture.get("/post-sitemap2.xml", headers).await.status, 404);
        assert_eq!(
            fixture.head("/post-sitemap2.xml", headers).await.status,
            404
        );
    }
    assert_eq!(fixture.get("/post-sitemap.xml", &[]).await.status, 200);
    assert_eq!(
        fixture.get("/sitemap_index.xml", &[]).await.status,
        200,
        "an index may be empty"
    );
}

#[tokio::test]
async fn a_site_file_is_believed_for_seconds_and_while_the_bucket_fails() {
    let fixture = Fixture::new();
    fixture.bucket.site_file_with(SITE, true, KEY);
    let key_file = async || fixture.get(KEY_PATH, &[]).await.status.as_u16();
    assert_eq!(key_file().await, 200);
    assert_eq!(key_file().await, 200);
    assert_eq!(fixture.bucket.calls(), ["open"]);
    fixture.wait(SITE_FILE_TTL_SECONDS);
    fixture.bucket.0.fails.store(true, Ordering::Relaxed);
    assert_eq!(key_file().await, 200);
    let failed = fixture.get("/post-sitemap.xml", &[]).await;
    assert_eq!(
        (failed.status.as_u16(), failed.header("retry-after")),
        (503, Some("30"))
    );
    assert_eq!(failed.header("cache-control"), Some("no-store"));
    assert!(!failed.text().contains("secret"));
    assert_eq!(
        fixture
            .send(Method::GET, "/", &[(SITE_HOST_HEADER, "other.example")])
            .await
            .status,
        503,
        "nobody knows whether a page of such a site departed"
    );
    let unknown = fixture
        .send(
            Method::GET,
            KEY_PATH,
            &[(SITE_HOST_HEADER, "other.example")],
        )
        .await;
    assert_eq!(
        unknown.status, 503,
        "nobody knows whether there is such a site"
    );
    fixture.bucket.0.fails.store(false, Ordering::Relaxed);
    fixture.bucket.0.objects.lock().unwrap().clear();
    assert_eq!(key_file().await, 404);
}

#[tokio::test]
async fn a_damaged_site_file_is_no_site_file() {
    let fixture = Fixture::new();
    let key = ObjectKey::SiteFile {
        site: SITE.to_owned(),
    };
    fixture.bucket.insert(&key, stored("{}".into(), 0, 0));
    assert_eq!(fixture.get("/robots.txt", &[]).await.status, 503);
}

#[tokio::test]
async fn any_number_of_sites_is_served_from_a_bounded_memory() {
    let fixture = Fixture::new();
    fixture.bucket.site_file_with(SITE, true, KEY);
    assert_eq!(fixture.get(KEY_PATH, &[]).await.status, 200);
    fixture.wait(1);
    for i in 0..=MAX_CACHED_SITES {
        let site = format!("s{i}.example");
        fixture.bucket.site_file_with(&site, true, KEY);
        let answer = fixture
            .send(Method::GET, KEY_PATH, &[(SITE_HOST_HEADER, &site)])
            .await;
        assert_eq!(answer.status, 200);
    }
    fixture.bucket.calls();
    fixture.get(KEY_PATH, &[]).await;
    assert_eq!(fixture.bucket.calls(), ["open"], "the oldest made room");
}
