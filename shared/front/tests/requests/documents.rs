//! The forms of a document, their headers, and conditional requests.

use front::{Gzip, SITE_HOST_HEADER};
use http::{Method, StatusCode};

use crate::bucket::{document, shard, stored};
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
            &[],
            TEXT_TYPE,
            None,
            "0123abcd-txt",
            URLS,
        ),
        (
            "/post-sitemap.txt",
            &[("accept-encoding", "gzip;q=0.5, identity")],
            TEXT_TYPE,
            None,
            "0123abcd-txt",
            URLS,
        ),
        (
            "/post-sitemap.txt",
            &[GZIP],
            TEXT_TYPE,
            Some("gzip"),
            "0123abcd-txt-gzip",
            URLS,
        ),
        (
            "/post-sitemap2.txt.gz",
            &[],
            "application/gzip",
            None,
            "0123abcd-txt-gz",
            URLS,
        ),
        (
            "/post-sitemap2.txt.gz",
            &[GZIP],
            "application/gzip",
            None,
            "0123abcd-txt-gz",
            URLS,
        ),
        ("/robots.txt", &[GZIP], TEXT_TYPE, None, "0123abcd", ROBOTS),
    ] {
        let answer = fixture.get(path, headers).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        assert_eq!(answer.header("content-type"), Some(content_type), "{path}");
        assert_eq!(answer.header("content-encoding"), encoding, "{path}");
        // A server that undoes the encoding leaves the ETag. So the ETag must be weak, because the bytes differ.
        let strength = if encoding.is_some() { "W/" } else { "" };
        assert_eq!(
            answer.header("etag"),
            Some(format!("{strength}\"{tag}\"").as_str()),
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
        let length = answer.body.len().to_string();
        assert_eq!(
            answer.header("content-length"),
            Some(length.as_str()),
            "{path}"
        );
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
    let empty = document("<urlset/>\n", 0);
    fixture.bucket.insert(&shard("post", 2), empty);
    let mut damaged = document(URLSET, 2);
    damaged.arrives -= 1;
    fixture.bucket.insert(&shard("post", 3), damaged);
    fixture
        .bucket
        .insert(&feed(), stored(FEED.into(), FEED.len(), 0));
    for path in [
        "/sitemap_index.xml",
        "/post-sitemap.xml",
        "/post-sitemap.xml.gz",
        "/post-sitemap.txt",
        "/post-sitemap.txt.gz",
        "/robots.txt",
        "/feed.atom",
        "/sitemap.css",
        "/sitemap-view.js",
        "/sitemap.xml",
        "/nothing",
        "/post-sitemap2.xml",
        "/post-sitemap2.txt",
        "/post-sitemap3.xml",
        "/post-sitemap3.txt",
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
            assert!(head.body.is_empty(), "{path}");
            // A 200 to GET always has a body, because it may hang on a streamed function URL otherwise.
            assert_eq!(get.body.is_empty(), get.status == 304, "{path} {headers:?}");
            assert!(get.header("content-type").is_some(), "{path} {headers:?}");
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
        (
            "/post-sitemap.txt",
            &[("if-none-match", "\"0123abcd-txt\""), GZIP],
            200,
        ),
        (
            "/post-sitemap.txt",
            &[("if-none-match", "\"0123abcd-txt-gzip\""), GZIP],
            304,
        ),
        (
            "/post-sitemap.txt.gz",
            &[("if-none-match", "\"0123abcd-txt-gz\""), GZIP],
            304,
        ),
        ("/robots.txt", &[("if-none-match", "*")], 304),
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
            // Without a type of its own, a 304 gets application/octet-stream from Lambda's runtime.
            for name in [
                "etag",
                "last-modified",
                "cache-control",
                "vary",
                "content-type",
            ] {
                assert_eq!(answer.header(name), full.header(name), "{path} {name}");
            }
        }
    }
}

#[tokio::test]
async fn no_form_is_taken_for_another() {
    let fixture = Fixture::new();
    fixture
        .bucket
        .insert(&feed(), stored(FEED.into(), FEED.len(), 0));
    for forms in [
        &[
            ("/post-sitemap.xml", &[][..]),
            ("/post-sitemap.xml", &[GZIP]),
            ("/post-sitemap.xml.gz", &[]),
            ("/post-sitemap.txt", &[]),
            ("/post-sitemap.txt", &[GZIP]),
            ("/post-sitemap.txt.gz", &[]),
        ][..],
        &[("/feed.atom", &[]), ("/feed.atom", &[GZIP])],
    ] {
        for (copied, (path, headers)) in forms.iter().enumerate() {
            let copy = fixture.get(path, headers).await;
            let etag = copy.header("etag").unwrap();
            for (asked, (path, headers)) in forms.iter().enumerate() {
                let headers = [headers, &[("if-none-match", etag)][..]].concat();
                let answer = fixture.get(path, &headers).await;
                let status = if asked == copied { 304 } else { 200 };
                assert_eq!(answer.status, status, "{path} {headers:?}");
            }
        }
    }
}

#[tokio::test]
async fn gzip_of_files_alone_encodes_nothing() {
    let (encoded, files) = (Fixture::new(), Fixture::new().with_gzip(Gzip::Files));
    for fixture in [&encoded, &files] {
        fixture
            .bucket
            .insert(&feed(), stored(FEED.into(), FEED.len(), 0));
    }
    for path in [
        "/sitemap_index.xml",
        "/sitemap_index.xml.gz",
        "/post-sitemap.xml",
        "/post-sitemap.xml.gz",
        "/post-sitemap.txt",
        "/post-sitemap.txt.gz",
        "/robots.txt",
        "/feed.atom",
    ] {
        let plain = encoded.get(path, &[]).await;
        for headers in [&[][..], &[GZIP], &[("accept-encoding", "*")]] {
            for answer in [
                files.get(path, headers).await,
                files.head(path, headers).await,
            ] {
                assert_eq!(answer.status, 200, "{path} {headers:?}");
                assert_eq!(answer.headers, plain.headers, "{path} {headers:?}");
                assert_eq!(answer.header("content-encoding"), None, "{path}");
            }
            let answer = files.get(path, headers).await;
            assert_eq!(answer.body, plain.body, "{path} {headers:?}");
            let etag = plain.header("etag").unwrap();
            assert!(!etag.starts_with("W/"), "{path}: {etag}");
            let current = [headers, &[("if-none-match", etag)]].concat();
            assert_eq!(files.get(path, &current).await.status, 304, "{path}");
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
        (Method::HEAD, "/post-sitemap.xml", &[], &["open"]),
        (Method::HEAD, "/post-sitemap.xml", &[GZIP], &["open"]),
        (Method::HEAD, "/post-sitemap.txt", &[], &["open"]),
        (Method::GET, "/post-sitemap.txt", &[GZIP], &["open"]),
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

#[tokio::test]
async fn the_text_of_an_empty_sitemap_is_one_line_break() {
    let fixture = Fixture::new();
    fixture
        .bucket
        .insert(&shard("post", 2), document("<urlset/>\n", 0));
    for (path, headers, is_gzip, tag) in [
        ("/post-sitemap2.txt", &[][..], false, "\"0123abcd-txt\""),
        (
            "/post-sitemap2.txt",
            &[GZIP],
            true,
            "W/\"0123abcd-txt-gzip\"",
        ),
        ("/post-sitemap2.txt.gz", &[], true, "\"0123abcd-txt-gz\""),
    ] {
        let answer = fixture.get(path, headers).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        let text = if is_gzip {
            answer.gunzip()
        } else {
            answer.text().to_owned()
        };
        assert_eq!(text, "\n", "{path}");
        assert_eq!(answer.header("etag"), Some(tag), "{path}");
        let length = answer.body.len().to_string();
        assert_eq!(answer.header("content-length"), Some(length.as_str()));
    }
}

#[tokio::test]
async fn what_is_compressed_on_the_way_is_the_same_each_time() {
    let text: String = (0..9_000)
        .map(|n| format!("<url><loc>https://www.example.com/{n}</loc></url>\n"))
        .collect();
    let (mut texts, mut feeds) = (Vec::new(), Vec::new());
    for chunk_bytes in [1, 7, 1_000, 1_000_000] {
        let fixture = Fixture::new();
        let mut sitemap = document(&format!("<urlset>\n{text}</urlset>\n"), 9_000);
        let mut atom = stored(text.clone().into(), text.len(), 0);
        (sitemap.chunk_bytes, atom.chunk_bytes) = (chunk_bytes, chunk_bytes);
        fixture.bucket.insert(&shard("post", 1), sitemap);
        fixture.bucket.insert(&feed(), atom);
        texts.push(fixture.get("/post-sitemap.txt", &[GZIP]).await.body);
        texts.push(fixture.get("/post-sitemap.txt.gz", &[]).await.body);
        feeds.push(fixture.get("/feed.atom", &[GZIP]).await.body);
    }
    for mut bodies in [texts, feeds] {
        let bytes = bodies[0].len();
        assert!(bytes > 1_000 && bytes < text.len() / 5, "{bytes} bytes");
        bodies.dedup();
        assert_eq!(bodies.len(), 1);
    }
}
