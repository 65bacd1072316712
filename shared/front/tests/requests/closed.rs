//! Closed documents: empty for as long as a cache may name them, then not found.

use std::time::{Duration, UNIX_EPOCH};

use front::SITE_FILE_TTL_SECONDS;
use objects::ObjectKey;

use crate::bucket::{document, index, shard, stored};
use crate::fixture::*;

const EMPTY: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset ";
const EMPTY_INDEX: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex ";
/// The time at which the settings change, after the objects were published.
const CLOSED: i64 = CHANGED + 100;

fn date(seconds: i64) -> String {
    let seconds = u64::try_from(seconds).unwrap();
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Returns the fixture's site at [`CLOSED`], with a series or the whole site closed then.
fn closed(series: Option<&str>) -> Fixture {
    let fixture = Fixture::new();
    fixture.bucket.insert(&index(2), document(INDEX, 3));
    fixture.wait(CLOSED - CHANGED);
    let closings = match series {
        Some(name) => {
            format!(r#""hidden":["{name}"],"closings":{{"series":{{"{name}":{CLOSED}}}}},"#)
        }
        None => format!(r#""closings":{{"site":{CLOSED}}},"#),
    };
    let bucket = &fixture.bucket;
    bucket.site_file_with(SITE, series.is_some(), &closings);
    fixture
}

/// Checks all forms of a closed document, and returns their ETags.
async fn is_empty(fixture: &Fixture, document: &str, start: &str) -> Vec<String> {
    let plain = fixture.get(document, &[]).await;
    assert!(plain.text().starts_with(start), "{}", plain.text());
    assert!(!plain.text().contains("loc>"), "{}", plain.text());
    let gzip = fixture.get(document, &[GZIP]).await;
    assert_eq!(gzip.header("content-encoding"), Some("gzip"));
    assert_eq!(gzip.gunzip(), plain.text());
    let file = fixture.get(&format!("{document}.gz"), &[]).await;
    assert_eq!(file.gunzip(), plain.text());
    let view = fixture.get(document, &[NAVIGATION]).await;
    assert_eq!(
        view.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let mut answers = vec![
        (document.to_owned(), &[][..], plain),
        (document.to_owned(), &[GZIP][..], gzip),
        (format!("{document}.gz"), &[], file),
    ];
    if !document.contains("index") {
        let path = document.replace(".xml", ".txt");
        let text = fixture.get(&path, &[]).await;
        assert_eq!(text.text(), "\n");
        answers.push((path, &[], text));
    }
    let mut etags = Vec::new();
    for (path, headers, answer) in answers {
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(
            answer.header("last-modified"),
            Some(&*date(CLOSED)),
            "{path}"
        );
        let head = fixture.head(&path, headers).await;
        assert_eq!((head.status.as_u16(), head.body.len()), (200, 0), "{path}");
        assert_eq!(head.header("etag"), answer.header("etag"), "{path}");
        let etag = answer.header("etag").unwrap();
        assert!(!etag.contains(DIGEST), "{path}: {etag} is the object's");
        let (before, at) = (date(CLOSED - 1), date(CLOSED));
        for (condition, status) in [
            (("if-none-match", etag), 304),
            (("if-none-match", "\"0123abcd\""), 200),
            (("if-modified-since", &*at), 304),
            (("if-modified-since", &*before), 200),
        ] {
            let headers = [headers, &[condition]].concat();
            let again = fixture.get(&path, &headers).await;
            assert_eq!(again.status, status, "{path} {condition:?}");
        }
        etags.push(etag.to_owned());
    }
    etags
}

async fn is_not_found(fixture: &Fixture, paths: &[&str]) {
    for path in paths {
        for headers in [&[][..], &[GZIP], &[NAVIGATION], &[("if-none-match", "*")]] {
            let get = fixture.get(path, headers).await;
            assert_eq!(get.status, 404, "{path} {headers:?}");
            let head = fixture.head(path, headers).await;
            assert_eq!(head.status, 404, "{path} {headers:?}");
        }
    }
}

#[tokio::test]
async fn a_closed_series_is_empty_for_a_grace_period() {
    let fixture = closed(Some("post"));
    let fresh = is_empty(&fixture, "/post-sitemap.xml", EMPTY).await;
    fixture.wait(GRACE_SECONDS - 1);
    let late = is_empty(&fixture, "/post-sitemap2.xml", EMPTY).await;
    assert_eq!(fresh, late, "the same bytes have the same ETags");
    let text = fixture.get("/sitemap_index2.xml", &[]).await;
    assert_eq!(text.text(), INDEX, "the site is open");
    fixture.wait(1);
    let forms = ["xml", "xml.gz", "txt"].map(|form| format!("/post-sitemap.{form}"));
    is_not_found(&fixture, &forms.each_ref().map(String::as_str)).await;
}

#[tokio::test]
async fn a_closed_site_is_empty_for_a_grace_period() {
    let fixture = closed(None);
    let feed = ObjectKey::Feed {
        site: SITE.to_owned(),
    };
    fixture
        .bucket
        .insert(&feed, stored(ROBOTS.into(), ROBOTS.len(), 0));
    is_empty(&fixture, "/post-sitemap.xml", EMPTY).await;
    is_empty(&fixture, "/sitemap_index2.xml", EMPTY_INDEX).await;
    is_not_found(&fixture, &["/feed.atom"]).await;
    fixture.wait(GRACE_SECONDS);
    is_not_found(
        &fixture,
        &[
            "/post-sitemap.xml",
            "/post-sitemap.txt",
            "/sitemap_index2.xml",
            "/feed.atom",
        ],
    )
    .await;
    assert_eq!(fixture.get("/sitemap_index.xml", &[]).await.text(), INDEX);
    assert_eq!(fixture.get("/robots.txt", &[]).await.text(), ROBOTS);
}

#[tokio::test]
async fn llms_txt_is_served_while_its_site_asks_for_it() {
    let llms = ObjectKey::Llms {
        site: SITE.to_owned(),
    };
    for (fields, public, is_served) in [
        ("", true, false),
        (r#""llms":true,"#, true, true),
        (r#""llms":true,"#, false, false),
    ] {
        let fixture = Fixture::new();
        fixture
            .bucket
            .insert(&llms, stored(LLMS.into(), LLMS.len(), 0));
        fixture.bucket.site_file_with(SITE, public, fields);
        let answer = fixture.get("/llms.txt", &[]).await;
        assert_eq!(answer.status == 200, is_served, "{fields} {public}");
        if is_served {
            assert_eq!(answer.text(), LLMS);
            assert_eq!(answer.header("content-type"), Some(TEXT_TYPE));
            let answer = fixture.get("/llms.txt", &[GZIP]).await;
            assert_eq!(answer.gunzip(), LLMS);
            for path in ["/llms.txt.gz", "/LLMS.txt", "/a/llms.txt", "/llms.txt/"] {
                assert_eq!(fixture.get(path, &[]).await.status, 404, "{path}");
            }
        }
    }
}

#[tokio::test]
async fn what_was_never_published_is_not_revealed_by_its_closing() {
    let fixture = closed(Some("secret"));
    is_not_found(&fixture, &["/secret-sitemap.xml", "/secret-sitemap.txt"]).await;
    let fixture = closed(None);
    is_not_found(
        &fixture,
        &[
            "/secret-sitemap.xml",
            "/post-sitemap3.xml",
            "/sitemap_index3.xml",
        ],
    )
    .await;
}

#[tokio::test]
async fn what_was_closed_at_a_time_that_nobody_knows_is_not_found() {
    let fixture = Fixture::new();
    let hidden = r#""hidden":["post"],"#;
    fixture.bucket.site_file_with(SITE, true, hidden);
    is_not_found(&fixture, &["/post-sitemap.xml", "/post-sitemap.txt"]).await;
    // A later reason does not give it a grace period.
    let both = format!(r#"{hidden}"closings":{{"site":{CHANGED}}},"#);
    fixture.bucket.site_file_with(SITE, false, &both);
    is_not_found(&fixture, &["/post-sitemap.xml"]).await;
    let hidden = format!(r#"{hidden}"closings":{{"others":{CHANGED}}},"#);
    fixture.bucket.site_file_with(SITE, true, &hidden);
    assert_eq!(fixture.get("/post-sitemap.xml", &[]).await.status, 200);
}

#[tokio::test]
async fn what_is_closed_costs_one_call_and_no_body() {
    let fixture = closed(Some("post"));
    fixture.get("/robots.txt", &[]).await;
    for (path, headers) in [
        ("/post-sitemap.xml", &[][..]),
        ("/post-sitemap.xml", &[GZIP]),
        ("/post-sitemap.txt", &[]),
        ("/post-sitemap.xml", &[("if-none-match", "\"0123abcd\"")]),
    ] {
        fixture.bucket.calls();
        assert_eq!(fixture.get(path, headers).await.status, 200);
        // A cached file that closes an object is not trusted, but read again.
        assert_eq!(fixture.bucket.calls(), ["open", "head"], "{path}");
    }
}

#[tokio::test]
async fn what_is_open_again_has_changed_when_it_was_opened() {
    let fixture = closed(Some("post"));
    let empty = fixture.get("/post-sitemap.xml", &[]).await;
    let opened = CLOSED + 10;
    fixture.wait(10);
    let closings = format!(r#""closings":{{"series":{{"post":{opened}}}}},"#);
    fixture.bucket.site_file_with(SITE, true, &closings);
    let open = fixture.get("/post-sitemap.xml", &[]).await;
    assert_eq!(open.text(), URLSET);
    assert_eq!(open.header("etag"), Some("\"0123abcd\""));
    assert_eq!(open.header("last-modified"), Some(&*date(opened)));
    let since = empty.header("last-modified").unwrap();
    let again = fixture
        .get("/post-sitemap.xml", &[("if-modified-since", since)])
        .await;
    assert_eq!(again.status, 200, "the copy is of the closed one");
    // A later change sets the time.
    let mut newer = document(URLSET, 2);
    newer.meta.document.as_mut().unwrap().changed = opened + 5;
    fixture.bucket.insert(&shard("post", 1), newer);
    let newer = fixture.get("/post-sitemap.xml", &[]).await;
    assert_eq!(newer.header("last-modified"), Some(&*date(opened + 5)));
    // Reopening the site affects its further indexes, but nothing that was never closed.
    let site = format!(r#""closings":{{"site":{}}},"#, opened + 20);
    fixture.bucket.site_file_with(SITE, true, &site);
    fixture.wait(SITE_FILE_TTL_SECONDS);
    for (path, changed) in [
        ("/post-sitemap2.xml", opened + 20),
        ("/sitemap_index2.xml", opened + 20),
        ("/sitemap_index.xml", CHANGED),
        ("/robots.txt", CHANGED),
    ] {
        let answer = fixture.get(path, &[]).await;
        assert_eq!(
            answer.header("last-modified"),
            Some(&*date(changed)),
            "{path}"
        );
    }
}
