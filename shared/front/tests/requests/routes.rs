//! The files of a site besides its first index and its shards.

use front::SITE_FILE_TTL_SECONDS;

use crate::bucket::{document, index, shard, stored};
use crate::fixture::*;

const KEY: &str = "0123-abcd";

#[tokio::test]
async fn every_index_is_a_document() {
    let fixture = Fixture::new();
    assert_eq!(fixture.get("/sitemap_index2.xml", &[]).await.status, 404);
    fixture.bucket.insert(&index(2), document(INDEX, 3));
    let plain = fixture.get("/sitemap_index2.xml", &[]).await;
    assert_eq!(plain.text(), INDEX);
    assert_eq!(plain.header("content-type"), Some(XML_TYPE));
    assert_eq!(plain.header("etag"), Some("\"0123abcd\""));
    let gzip = fixture.get("/sitemap_index2.xml", &[GZIP]).await;
    assert_eq!(
        (gzip.header("content-encoding"), gzip.gunzip()),
        (Some("gzip"), INDEX.to_owned())
    );
    let file = fixture.get("/sitemap_index2.xml.gz", &[]).await;
    assert_eq!(
        (file.header("content-type"), file.gunzip()),
        (Some("application/gzip"), INDEX.to_owned())
    );
    for path in ["/sitemap_index2.txt", "/sitemap_index2.txt.gz"] {
        assert_eq!(fixture.get(path, &[]).await.status, 404, "{path}");
    }
    for headers in [
        [("if-none-match", "\"0123abcd\"")],
        [("if-modified-since", DATE)],
    ] {
        let answer = fixture.get("/sitemap_index2.xml", &headers).await;
        assert_eq!(answer.status, 304, "{headers:?}");
    }
}

#[tokio::test]
async fn a_further_index_that_was_emptied_goes_after_the_grace_period() {
    let fixture = Fixture::new();
    fixture.bucket.insert(&index(2), document(INDEX, 0));
    fixture.wait(GRACE_SECONDS - 1);
    assert_eq!(fixture.get("/sitemap_index2.xml", &[]).await.status, 200);
    fixture.wait(1);
    for headers in [&[][..], &[GZIP], &[NAVIGATION], &[("if-none-match", "*")]] {
        for path in ["/sitemap_index2.xml", "/sitemap_index2.xml.gz"] {
            let (get, head) = (
                fixture.get(path, headers).await,
                fixture.head(path, headers).await,
            );
            assert_eq!(
                (get.status, head.status.as_u16()),
                (head.status, 404),
                "{path} {headers:?}"
            );
        }
        let first = fixture.get("/sitemap_index.xml", headers).await;
        assert_ne!(first.status, 404, "robots.txt names the first: {headers:?}");
    }
}

#[tokio::test]
async fn the_feed_is_sent_as_it_is_stored_or_as_gzip() {
    let fixture = Fixture::new();
    assert_eq!(fixture.get("/feed.atom", &[]).await.status, 404);
    fixture
        .bucket
        .insert(&feed(), stored(FEED.into(), FEED.len(), 0));
    fixture.wait(GRACE_SECONDS + 1);
    for (headers, encoding, tag) in [
        (&[][..], None, "\"0123abcd\""),
        (&[FETCH], None, "\"0123abcd\""),
        (
            &[("accept-encoding", "gzip;q=0.1, identity")],
            None,
            "\"0123abcd\"",
        ),
        (&[GZIP], Some("gzip"), "W/\"0123abcd-gzip\""),
        (&[GZIP, FETCH], Some("gzip"), "W/\"0123abcd-gzip\""),
    ] {
        let answer = fixture.get("/feed.atom", headers).await;
        match encoding {
            Some(_) => assert_eq!(answer.gunzip(), FEED),
            None => assert_eq!(answer.text(), FEED),
        }
        assert_eq!(
            answer.header("content-type"),
            Some("application/atom+xml; charset=utf-8")
        );
        assert_eq!(answer.header("content-encoding"), encoding);
        assert_eq!(
            answer.header("cache-control"),
            Some(feed().cache_control()),
            "{headers:?}"
        );
        assert_eq!(answer.header("last-modified"), Some(DATE));
        let length = answer.body.len().to_string();
        assert_eq!(answer.header("content-length"), Some(length.as_str()));
        let vary = "Accept-Encoding, Sec-Fetch-Dest";
        assert_eq!(answer.header("vary"), Some(vary));
        assert_eq!(answer.header("etag"), Some(tag), "{headers:?}");
        for (copy, status) in [(tag, 304), ("\"0123abcd-gz\"", 200)] {
            let headers = [headers, &[("if-none-match", copy)]].concat();
            let again = fixture.get("/feed.atom", &headers).await;
            assert_eq!(again.status, status, "{headers:?}");
        }
    }
    let head = fixture.head("/feed.atom", &[]).await;
    assert_eq!((head.status.as_u16(), head.text()), (200, ""));
}

#[tokio::test]
async fn the_indexnow_key_is_the_sites_own_or_not_found() {
    let fixture = Fixture::new();
    let path = format!("/{KEY}.txt");
    assert_eq!(fixture.get(&path, &[]).await.status, 404, "a site without");
    let named = format!(r#""indexnow_key":"{KEY}","#);
    fixture.bucket.site_file_with(SITE, true, &named);
    fixture.wait(SITE_FILE_TTL_SECONDS);
    let (get, head) = (
        fixture.get(&path, &[NAVIGATION]).await,
        fixture.head(&path, &[NAVIGATION]).await,
    );
    assert_eq!((get.status.as_u16(), get.text()), (200, KEY));
    assert_eq!((head.status.as_u16(), head.text()), (200, ""));
    assert_eq!(get.headers, head.headers);
    assert_eq!(get.header("content-type"), Some(TEXT_TYPE));
    assert_eq!(get.header("content-length"), Some("9"));
    assert!(get.header("cache-control").unwrap().contains("max-age=60"));
    for path in [
        "/0123-abce.txt",
        "/0123-abcd0.txt",
        "/0123-ABCD.txt",
        "/0123-abcd.xml",
    ] {
        assert_eq!(fixture.get(path, &[]).await.status, 404, "{path}");
    }
    fixture.bucket.site_file_with(SITE, false, &named);
    fixture.wait(SITE_FILE_TTL_SECONDS);
    let private = fixture.get(&path, &[]).await;
    assert_eq!(private.text(), KEY, "what has gone is told of too");
}

#[tokio::test]
async fn a_key_that_looks_like_a_shard_is_a_shard() {
    let fixture = Fixture::new();
    let named = r#""indexnow_key":"post-sitemap","#;
    fixture.bucket.site_file_with(SITE, true, named);
    assert_eq!(fixture.get("/post-sitemap.txt", &[]).await.text(), URLS);
}

#[tokio::test]
async fn a_hidden_series_shows_no_shard() {
    let fixture = Fixture::new();
    fixture
        .bucket
        .insert(&shard("posts", 1), document(URLSET, 2));
    assert_eq!(fixture.get("/post-sitemap.xml", &[]).await.status, 200);
    fixture
        .bucket
        .site_file_with(SITE, true, r#""hidden":["page","post"],"#);
    fixture.wait(SITE_FILE_TTL_SECONDS);
    for path in [
        "/post-sitemap.xml",
        "/post-sitemap2.xml",
        "/post-sitemap.xml.gz",
        "/post-sitemap.txt",
        "/post-sitemap.txt.gz",
    ] {
        for headers in [&[][..], &[NAVIGATION], &[("if-none-match", "*")]] {
            assert_eq!(fixture.get(path, headers).await.status, 404, "{path}");
            assert_eq!(fixture.head(path, headers).await.status, 404, "{path}");
        }
    }
    for path in ["/posts-sitemap.xml", "/sitemap_index.xml", "/robots.txt"] {
        assert_eq!(fixture.get(path, &[]).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn a_private_site_shows_its_first_index_alone() {
    let fixture = Fixture::new();
    fixture.bucket.insert(&index(2), document(INDEX, 3));
    fixture
        .bucket
        .insert(&feed(), stored(FEED.into(), FEED.len(), 0));
    fixture.bucket.site_file(SITE, false);
    for path in [
        "/sitemap_index2.xml",
        "/sitemap_index2.xml.gz",
        "/feed.atom",
    ] {
        for headers in [&[][..], &[NAVIGATION], &[("if-none-match", "*")]] {
            assert_eq!(fixture.get(path, headers).await.status, 404, "{path}");
        }
    }
    assert_eq!(fixture.get("/sitemap_index.xml", &[]).await.status, 200);
}

#[tokio::test]
async fn assets_are_the_same_for_every_site() {
    let fixture = Fixture::new();
    let (css, xsl, script) = (
        "text/css; charset=utf-8",
        "application/xslt+xml; charset=utf-8",
        "text/javascript; charset=utf-8",
    );
    for (path, content_type, part) in [
        ("/sitemap.css", css, "counter-increment"),
        ("/sitemap.xsl", xsl, "s:sitemapindex"),
        ("/video-sitemap.xsl", xsl, "video:title"),
        ("/news-sitemap.xsl", xsl, "news:title"),
        ("/sitemap-view.css", css, "color-scheme"),
        ("/sitemap-view.js", script, "?view=xml"),
        ("/sitemap-view.js?v=0", script, "?view=xml"),
    ] {
        let answer = fixture.get(path, &[GZIP, NAVIGATION]).await;
        assert!(answer.text().contains(part), "{path}");
        assert_eq!(answer.header("content-type"), Some(content_type), "{path}");
        let length = answer.body.len().to_string();
        assert_eq!(answer.header("content-length"), Some(length.as_str()));
        let etag = answer.header("etag").unwrap();
        let again = fixture.get(path, &[("if-none-match", etag)]).await;
        assert_eq!((again.status.as_u16(), again.text()), (304, ""), "{path}");
        assert_eq!(again.header("etag"), Some(etag));
        assert_eq!(again.header("content-type"), Some(content_type));
        let changed = answer.header("last-modified").unwrap();
        let again = fixture.get(path, &[("if-modified-since", changed)]).await;
        assert_eq!((again.status.as_u16(), again.text()), (304, ""), "{path}");
        assert_eq!(again.header("last-modified"), Some(changed));
        let before = [("if-modified-since", "Fri, 20 Nov 2026 00:00:00 GMT")];
        assert_eq!(fixture.get(path, &before).await.status, 200, "{path}");
    }
}
