//! Bodies that are checked, that stream, and that fail.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use front::{Body, MAX_WHOLE_BYTES, SITE_HOST_HEADER};
use http::Request;
use http_body_util::BodyExt;
use objects::ObjectKey;
use sitemap::member::PLAIN_HEADER;

use crate::bucket::{Stored, document, index, member, member_at, shard, stored};
use crate::fixture::*;

#[tokio::test]
async fn a_damaged_object_is_unavailable() {
    let sound = document(URLSET, 2);
    let damaged = |change: fn(&mut Stored)| {
        let mut stored = sound.clone();
        change(&mut stored);
        stored
    };
    let refuse = |stored: &mut Stored, body: Vec<u8>| {
        stored.meta.length = body.len() as u64;
        stored.arrives = body.len();
        stored.body = body.into();
    };
    let mut plain_gzip = sound.clone();
    refuse(
        &mut plain_gzip,
        [&PLAIN_HEADER[..], &sound.body[312..]].concat(),
    );
    let mut not_gzip = sound.clone();
    refuse(&mut not_gzip, URLSET.into());
    let mut short = sound.clone();
    refuse(&mut short, sound.body[..11].to_vec());
    let mut header_alone = sound.clone();
    refuse(&mut header_alone, sound.body[..318].to_vec());
    for (name, stored, everywhere) in [
        (
            "no metadata",
            damaged(|stored| stored.meta.document = None),
            true,
        ),
        (
            "an odd digest",
            damaged(|stored| set_digest(stored, "a\"\r\nx: y")),
            true,
        ),
        ("no digest", damaged(|stored| set_digest(stored, "")), true),
        (
            "an empty document",
            damaged(|stored| stored.meta.document.as_mut().unwrap().bytes = 0),
            true,
        ),
        (
            "a document of any size",
            damaged(|stored| stored.meta.document.as_mut().unwrap().bytes = u64::MAX),
            true,
        ),
        ("no FEXTRA", plain_gzip, false),
        ("no gzip", not_gzip, false),
        ("a piece of a header", short, false),
        ("a header alone", header_alone, false),
        (
            "nothing arrives",
            damaged(|stored| stored.arrives = 0),
            false,
        ),
    ] {
        let fixture = Fixture::new();
        fixture.bucket.insert(&shard("post", 1), stored);
        for path in ["/post-sitemap.xml", "/post-sitemap.txt"] {
            is_unavailable(&fixture, path, name).await;
            // A copy that is current by the metadata is not sent again, whatever the state of the body is.
            let conditional = fixture.get(path, &[("if-none-match", "*")]).await;
            let expected = if everywhere { 503 } else { 304 };
            assert_eq!(conditional.status, expected, "{name} {path}");
        }
    }
}

fn set_digest(stored: &mut Stored, digest: &str) {
    stored.meta.document.as_mut().unwrap().digest = digest.to_owned();
}

/// Checks the answers in the XML form or the text form, in every coding, to GET and to HEAD.
async fn is_unavailable(fixture: &Fixture, path: &str, what: &str) {
    let file = format!("{path}.gz");
    for (path, headers) in [(path, &[][..]), (path, &[GZIP]), (&file, &[])] {
        let (answer, head) = (
            fixture.get(path, headers).await,
            fixture.head(path, headers).await,
        );
        assert_eq!(answer.status, 503, "{what} {path} {headers:?}");
        assert_eq!(
            (head.status, &head.headers),
            (answer.status, &answer.headers)
        );
        assert_eq!(
            answer.header("cache-control"),
            Some("no-store"),
            "{what} {path}"
        );
        assert!(answer.header("retry-after").is_some() && answer.header("etag").is_none());
        assert_eq!(answer.text(), "Unavailable for the moment\n");
    }
}

#[tokio::test]
async fn damage_is_found_before_anything_is_sent() {
    let sound = document(URLSET, 2);
    let length = sound.body.len();
    let count = |bytes: u64, entries: u64| {
        sound.with(|stored| {
            let document = stored.meta.document.as_mut().unwrap();
            (document.bytes, document.entries) = (bytes, entries);
        })
    };
    let (xml, txt) = ("/post-sitemap.xml", "/post-sitemap.txt");
    let mut cases = vec![
        (sound.resized(&sound.body[..length - 1]), vec![xml, txt]),
        (
            sound.resized(&[&sound.body[..], b"x"].concat()),
            vec![xml, txt],
        ),
        (sound.flipped(length - 1), vec![xml, txt]),
        (sound.flipped(length - 8), vec![xml, txt]),
        (sound.flipped(320), vec![xml, txt]),
        (count(URLSET.len() as u64 - 1, 2), vec![xml, txt]),
        (count(URLSET.len() as u64 + 1, 2), vec![xml, txt]),
        (count(URLSET.len() as u64, 1), vec![txt]),
        (count(URLSET.len() as u64, 3), vec![txt]),
    ];
    for arrives in [
        13,
        311,
        312,
        313,
        length / 2 + 200,
        length - 9,
        length - 8,
        length - 1,
    ] {
        cases.push((
            sound.with(|stored| stored.arrives = arrives),
            vec![xml, txt],
        ));
    }
    for (n, (stored, paths)) in cases.into_iter().enumerate() {
        let fixture = Fixture::new();
        fixture.bucket.insert(&shard("post", 1), stored);
        for path in paths {
            is_unavailable(&fixture, path, &format!("case {n}")).await;
        }
        assert_eq!(broken(&fixture), [], "nothing broke off");
    }
}

#[tokio::test]
async fn a_damaged_feed_and_a_damaged_robots_txt_are_unavailable() {
    let fixture = Fixture::new();
    let robots = ObjectKey::Robots {
        site: SITE.to_owned(),
    };
    for (key, path) in [(feed(), "/feed.atom"), (robots, "/robots.txt")] {
        let mut broken = stored(FEED.into(), FEED.len(), 0);
        broken.arrives -= 1;
        for damaged in [broken, stored("".into(), 0, 0)] {
            fixture.bucket.insert(&key, damaged);
            for headers in [&[][..], &[GZIP]] {
                let answer = fixture.get(path, headers).await;
                assert_eq!(answer.status, 503, "{path} {headers:?}");
                assert_eq!(fixture.head(path, headers).await.status, 503, "{path}");
            }
        }
    }
}

/// Returns a urlset that is too large to be read whole. The inflater's last step has only one byte.
fn large() -> (String, Stored) {
    const ENTRIES: usize = 100_000;
    let entries: String = (0..ENTRIES)
        .map(|n| format!("<url><loc>https://www.example.com/{n:060}</loc></url>\n"))
        .collect();
    let end = "</urlset>\n";
    let padding =
        " ".repeat(STEP_BYTES - ("<urlset>\n".len() + entries.len() + end.len() - 1) % STEP_BYTES);
    let xml = format!("<urlset>\n{entries}{padding}{end}");
    assert_eq!(xml.len() % STEP_BYTES, 1);
    let mut large = stored(
        member_at(0, 300, [xml.as_bytes()]),
        xml.len(),
        ENTRIES as u64,
    );
    assert!(large.meta.length > MAX_WHOLE_BYTES);
    large.chunk_bytes = 100_000;
    (xml, large)
}

const STEP_BYTES: usize = 64 * 1024;

/// Returns the objects whose bodies have failed since the last call.
fn broken(fixture: &Fixture) -> Vec<ObjectKey> {
    std::mem::take(&mut *fixture.process.broken.lock().unwrap())
}

#[tokio::test]
async fn a_large_body_that_breaks_off_is_seen_to_be_broken_and_is_counted() {
    let (xml, sound) = large();
    let length = sound.body.len();
    let forms = [
        ("/post-sitemap.xml", &[][..]),
        ("/post-sitemap.xml", &[GZIP]),
        ("/post-sitemap.xml.gz", &[]),
        ("/post-sitemap.txt", &[]),
        ("/post-sitemap.txt", &[GZIP]),
        ("/post-sitemap.txt.gz", &[]),
    ];
    let fixture = Fixture::new();
    fixture.bucket.insert(&shard("post", 1), sound.clone());
    let mut whole = Vec::new();
    for (path, headers) in forms {
        whole.push(fixture.get(path, headers).await);
    }
    assert_eq!(whole[0].text(), xml);
    assert_eq!((whole[1].gunzip(), whole[2].gunzip()), (xml.clone(), xml));
    assert!(whole[3].text().ends_with("099999\n"));
    for n in [4, 5] {
        assert_eq!(whole[n].gunzip(), whole[3].text());
    }
    assert_eq!(broken(&fixture), []);

    for (what, stored, is_flipped) in [
        (
            "half arrives",
            sound.with(|stored| stored.arrives = length / 2),
            false,
        ),
        (
            "the trailer is missing",
            sound.with(|stored| stored.arrives = length - 8),
            false,
        ),
        (
            "a byte is missing",
            sound.with(|stored| stored.arrives = length - 1),
            false,
        ),
        (
            "a byte too many",
            sound.resized(&[&sound.body[..], b"x"].concat()),
            false,
        ),
        ("another checksum", sound.flipped(length - 8), true),
        ("another length", sound.flipped(length - 1), true),
    ] {
        fixture.bucket.insert(&shard("post", 1), stored);
        for ((path, headers), whole) in forms.into_iter().zip(&whole) {
            let answer = fixture.get(path, headers).await;
            assert_eq!(
                (answer.status, &answer.headers),
                (whole.status, &whole.headers)
            );
            let broken = broken(&fixture);
            // A gzip member is sent as stored, with the checksum that reveals the damage.
            if is_flipped && path.contains(".xml") && whole.body.starts_with(&PLAIN_HEADER) {
                assert!(answer.try_gunzip().is_err(), "{what} {path} {headers:?}");
                assert_eq!(broken, []);
                continue;
            }
            assert!(
                whole.body.starts_with(&answer.body) && answer.body.len() < whole.body.len(),
                "{what} {path} {headers:?}: what was sent is the beginning of the whole, and nothing else"
            );
            assert_eq!(broken, [shard("post", 1)], "{what} {path} {headers:?}");
            if whole.body.starts_with(&PLAIN_HEADER) {
                assert!(answer.try_gunzip().is_err(), "{what} {path} {headers:?}");
            } else if path.ends_with(".xml") {
                assert!(
                    !answer.text().contains("</urlset>"),
                    "{what}: it is well-formed"
                );
            } else {
                let (text, rest) = whole.text().split_at(answer.body.len());
                assert!(
                    !text.ends_with('\n') && rest.starts_with('\n'),
                    "{what}: whole lines, and no end"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_large_document_streams_in_small_steps() {
    const PIECE: &[u8] = &[b' '; 1_000_000];
    const PIECES: usize = 20;
    let bytes = PIECE.len() * PIECES;
    let mut large = stored(
        member_at(0, 0, std::iter::repeat_n(PIECE, PIECES)),
        bytes,
        0,
    );
    large.chunk_bytes = large.body.len() / PIECES;
    let fixture = Fixture::new();
    fixture.bucket.insert(&index(1), large);
    // The site file is cached then.
    fixture.get("/robots.txt", &[]).await;
    fixture.bucket.0.chunks_read.store(0, Ordering::Relaxed);
    let mut body = open(&fixture, "/sitemap_index.xml").await;
    let mut sent = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame;
        let step = frame.into_data().unwrap();
        assert!(step.len() <= STEP_BYTES);
        sent += step.len();
        let read = fixture.bucket.0.chunks_read.load(Ordering::Relaxed);
        assert!(
            read <= sent / PIECE.len() + 3,
            "{read} chunks were read for {sent} bytes"
        );
    }
    assert_eq!(sent, bytes);
}

/// Tests an object that is small enough to be read whole, but whose document is not. A kilobyte may contain a megabyte.
#[tokio::test]
async fn a_document_that_inflates_far_is_sent_in_small_steps() {
    const PIECE: &[u8] = &[b' '; 1_000_000];
    const PIECES: usize = 50;
    let bytes = PIECE.len() * PIECES;
    let bomb = stored(member(0, std::iter::repeat_n(PIECE, PIECES)), bytes, 0);
    assert!(bomb.meta.length < MAX_WHOLE_BYTES / 10);
    let fixture = Fixture::new();
    fixture.bucket.insert(&index(1), bomb);
    let mut body = open(&fixture, "/sitemap_index.xml").await;
    let mut sent = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame;
        let step = frame.into_data().unwrap();
        assert!(step.len() <= STEP_BYTES);
        sent += step.len();
    }
    assert_eq!(sent, bytes);
}

async fn open(fixture: &Fixture, path: &str) -> Body {
    let request = Request::builder()
        .uri(path)
        .header(SITE_HOST_HEADER, SITE)
        .body(())
        .unwrap();
    fixture.respond(request).await.into_body()
}

#[tokio::test]
async fn servers_may_spawn_an_answer() {
    let fixture = Arc::new(Fixture::new());
    let answer = tokio::spawn(async move {
        let request = Request::builder()
            .uri("/robots.txt")
            .header(SITE_HOST_HEADER, SITE)
            .body(())
            .unwrap();
        fixture.respond(request).await.into_body().collect().await
    });
    let Ok(body) = answer.await.unwrap();
    assert_eq!(body.to_bytes(), ROBOTS);
}
