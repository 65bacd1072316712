//! Bodies that stream, and bodies that break.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::Request;
use http_body_util::BodyExt;
use http_function::SITE_HOST_HEADER;
use sitemap::member::PLAIN_HEADER;
use store::object::ObjectKey;

use crate::bucket::{Stored, document, member, shard, stored};
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
        for path in [
            "/post-sitemap.xml",
            "/post-sitemap.xml.gz",
            "/post-sitemap.txt",
        ] {
            let answer = fixture.get(path, &[]).await;
            assert_eq!(answer.status, 503, "{name} {path}");
            assert_eq!(
                answer.header("cache-control"),
                Some("no-store"),
                "{name} {path}"
            );
            assert!(answer.header("retry-after").is_some() && answer.header("etag").is_none());
            assert_eq!(answer.text(), "Unavailable for the moment\n");
            if everywhere {
                assert_eq!(
                    fixture.head(path, &[("if-none-match", "*")]).await.status,
                    503,
                    "{name} {path}"
                );
            }
        }
    }
}

fn set_digest(stored: &mut Stored, digest: &str) {
    stored.meta.document.as_mut().unwrap().digest = digest.to_owned();
}

#[tokio::test]
async fn a_body_that_breaks_off_does_not_look_whole() {
    let sound = document(URLSET, 2);
    let length = sound.body.len();
    let with = |change: &dyn Fn(&mut Stored)| {
        let mut stored = sound.clone();
        change(&mut stored);
        stored
    };
    let flipped = |at: usize| {
        with(&|stored| {
            let mut body = stored.body.to_vec();
            body[at] ^= 1;
            stored.body = body.into();
        })
    };
    let resized = |body: Vec<u8>| {
        with(&|stored| {
            stored.arrives = body.len();
            stored.body = body.clone().into();
        })
    };
    let (xml, gz, txt) = (
        "/post-sitemap.xml",
        "/post-sitemap.xml.gz",
        "/post-sitemap.txt",
    );
    let count = |bytes: u64, entries: u64| {
        with(&|stored| {
            let document = stored.meta.document.as_mut().unwrap();
            (document.bytes, document.entries) = (bytes, entries);
        })
    };
    let mut cases = vec![
        (
            resized(sound.body[..length - 1].to_vec()),
            vec![xml, gz, txt],
        ),
        (
            resized([&sound.body[..], b"x"].concat()),
            vec![xml, gz, txt],
        ),
        (flipped(length - 1), vec![xml, txt]),
        (flipped(length - 8), vec![xml, txt]),
        (flipped(320), vec![xml, txt]),
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
        cases.push((with(&|stored| stored.arrives = arrives), vec![xml, gz, txt]));
    }
    for (stored, paths) in cases {
        let fixture = Fixture::new();
        fixture.bucket.insert(&shard("post", 1), stored);
        for path in paths {
            let answer = fixture.get(path, &[]).await;
            assert_eq!(answer.status, 200, "{path}");
            assert!(answer.error.is_some(), "{path} ended well");
            if path == xml {
                assert!(
                    answer.body.len() < URLSET.len(),
                    "the client has counted all it was promised"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_large_document_streams_in_small_steps() {
    const PIECE: &[u8] = &[b' '; 1_000_000];
    const PIECES: usize = 60;
    const STEP_BYTES: usize = 64 * 1024;
    let bytes = PIECE.len() * PIECES;
    let mut large = stored(member(0, std::iter::repeat_n(PIECE, PIECES)), bytes, 0);
    large.chunk_bytes = large.body.len() / PIECES;
    let fixture = Fixture::new();
    fixture.bucket.insert(
        &ObjectKey::Index {
            site: SITE.to_owned(),
            n: 1,
        },
        large,
    );
    let request = Request::builder()
        .uri("/sitemap_index.xml")
        .header(SITE_HOST_HEADER, SITE)
        .body(())
        .unwrap();
    // The site file is known by then.
    fixture.get("/robots.txt", &[]).await;
    fixture.bucket.0.chunks_read.store(0, Ordering::Relaxed);
    let mut body = fixture.front.respond(request).await.into_body();
    let mut sent = 0;
    while let Some(frame) = body.frame().await {
        let step = frame.unwrap().into_data().unwrap();
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

#[tokio::test]
async fn servers_may_spawn_an_answer() {
    let fixture = Arc::new(Fixture::new());
    let answer = tokio::spawn(async move {
        let request = Request::builder()
            .uri("/robots.txt")
            .header(SITE_HOST_HEADER, SITE)
            .body(())
            .unwrap();
        fixture
            .front
            .respond(request)
            .await
            .into_body()
            .collect()
            .await
            .map(|body| body.to_bytes())
    });
    assert_eq!(answer.await.unwrap().unwrap(), ROBOTS);
}
