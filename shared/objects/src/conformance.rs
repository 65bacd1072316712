//! The behaviour that publishing requires of every implementation of [`Objects`], case by case.
//!
//! Each case gets an empty bucket, and panics if the implementation behaves differently. If implementations disagree, S3's
//! documentation decides.

use std::collections::BTreeSet;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};

use crate::{Document, ObjectKey, ObjectMeta, Objects, Precondition, Put};

const SITE: &str = "www.example.com";

/// Runs every case on a new and empty bucket, one after the other, and prints its name.
///
/// # Panics
///
/// If the implementation behaves differently.
pub async fn run<O: Objects>(new_bucket: impl AsyncFn() -> O) {
    macro_rules! cases {
        ($($case:ident),* $(,)?) => {
            $(
                eprintln!("objects conformance: {}", stringify!($case));
                $case(&new_bucket().await).await;
            )*
        };
    }
    cases![
        what_is_not_there_is_no_error,
        an_object_is_what_was_put,
        a_put_happens_under_its_precondition_alone,
        of_concurrent_puts_one_wins,
        the_etag_follows_the_bytes,
        objects_with_other_stamps_have_other_etags_and_the_same_document,
        a_large_body_is_read_whole,
        a_site_has_its_own_objects,
    ];
}

/// Returns the keys of objects of each kind.
fn keys(site: &str) -> [ObjectKey; 7] {
    let site = || site.to_owned();
    let shard = |n| ObjectKey::Shard {
        site: site(),
        series: "post".to_owned(),
        n,
    };
    [
        shard(1),
        shard(2),
        ObjectKey::Index { site: site(), n: 1 },
        ObjectKey::Feed { site: site() },
        ObjectKey::Llms { site: site() },
        ObjectKey::Robots { site: site() },
        ObjectKey::SiteFile { site: site() },
    ]
}

fn document(body: &[u8], stamp: &str) -> Document {
    Document {
        digest: "0123abcd".to_owned(),
        changed: 1_800_000_000,
        bytes: body.len() as u64,
        entries: 7,
        stamp: stamp.to_owned(),
    }
}

async fn put(
    objects: &dyn Objects,
    key: &ObjectKey,
    body: &'static [u8],
    stamp: &str,
    precondition: &Precondition,
) -> Put {
    let (document, body) = (document(body, stamp), Bytes::from_static(body));
    let put = objects.put(key, body, &document, precondition);
    put.await.expect("a put")
}

async fn head(objects: &dyn Objects, key: &ObjectKey) -> ObjectMeta {
    let meta = objects.head(key).await.expect("a head");
    meta.expect("an object")
}

async fn body(objects: &dyn Objects, key: &ObjectKey) -> Bytes {
    let (meta, body) = objects.get(key).await.expect("a read").expect("an object");
    assert_eq!(meta, head(objects, key).await);
    let (opened, stream) = objects.open(key).await.expect("a read").expect("an object");
    assert_eq!(meta, opened);
    let chunks: Vec<Bytes> = stream.try_collect().await.expect("a body");
    assert_eq!(chunks.concat(), body);
    assert_eq!(meta.length, body.len() as u64);
    body
}

async fn what_is_not_there_is_no_error(objects: &dyn Objects) {
    for key in keys(SITE) {
        assert_eq!(objects.head(&key).await, Ok(None));
        assert_eq!(objects.get(&key).await, Ok(None));
        assert!(matches!(objects.open(&key).await, Ok(None)));
        let changed = Precondition::Unchanged("\"0123\"".to_owned());
        assert_eq!(put(objects, &key, b"text", "1", &changed).await, Put::Lost);
        assert_eq!(objects.head(&key).await, Ok(None));
    }
    assert_eq!(objects.list(SITE).await, Ok(Vec::new()));
    assert_eq!(objects.sites(None, 10).await, Ok(Vec::new()));
}

async fn an_object_is_what_was_put(objects: &dyn Objects) {
    for key in keys(SITE) {
        let text: &[u8] = b"<urlset/>";
        assert_eq!(
            put(objects, &key, text, "1", &Precondition::Absent).await,
            Put::Done
        );
        assert_eq!(body(objects, &key).await, text, "{key}");
        assert_eq!(
            head(objects, &key).await.document,
            Some(document(text, "1"))
        );
        let unchanged = Precondition::Unchanged(head(objects, &key).await.etag);
        assert_eq!(put(objects, &key, b"", "2", &unchanged).await, Put::Done);
        assert_eq!(body(objects, &key).await, "", "{key}");
        assert_eq!(head(objects, &key).await.document, Some(document(b"", "2")));
    }
}

async fn a_put_happens_under_its_precondition_alone(objects: &dyn Objects) {
    let [key, ..] = keys(SITE);
    assert_eq!(
        put(objects, &key, b"one", "1", &Precondition::Absent).await,
        Put::Done
    );
    assert_eq!(
        put(objects, &key, b"two", "2", &Precondition::Absent).await,
        Put::Lost
    );
    let before = Precondition::Unchanged(head(objects, &key).await.etag);
    assert_eq!(put(objects, &key, b"two", "2", &before).await, Put::Done);
    assert_eq!(put(objects, &key, b"three", "3", &before).await, Put::Lost);
    assert_eq!(body(objects, &key).await, "two");
}

async fn of_concurrent_puts_one_wins(objects: &dyn Objects) {
    let [key, ..] = keys(SITE);
    let bodies: [&'static [u8]; 4] = [b"a", b"b", b"c", b"d"];
    let absent = Precondition::Absent;
    let puts = bodies.map(|body| put(objects, &key, body, "1", &absent));
    let outcomes = futures::future::join_all(puts).await;
    let won: Vec<usize> = (0..bodies.len())
        .filter(|at| outcomes[*at] == Put::Done)
        .collect();
    assert_eq!(won.len(), 1, "{outcomes:?}");
    assert_eq!(body(objects, &key).await, bodies[won[0]]);
}

async fn the_etag_follows_the_bytes(objects: &dyn Objects) {
    let [key, other, ..] = keys(SITE);
    for key in [&key, &other] {
        assert_eq!(
            put(objects, key, b"one", "1", &Precondition::Absent).await,
            Put::Done
        );
    }
    let one = head(objects, &key).await.etag;
    assert_eq!(head(objects, &other).await.etag, one);
    let unchanged = Precondition::Unchanged(one.clone());
    assert_eq!(put(objects, &key, b"two", "2", &unchanged).await, Put::Done);
    let two = head(objects, &key).await.etag;
    assert_ne!(two, one);
    // The first content again. A client that has the first ETag cannot detect it.
    assert_eq!(
        put(objects, &key, b"one", "3", &Precondition::Unchanged(two)).await,
        Put::Done
    );
    assert_eq!(head(objects, &key).await.etag, one);
}

async fn objects_with_other_stamps_have_other_etags_and_the_same_document(objects: &dyn Objects) {
    for key in keys(SITE) {
        if key.seal("1").is_empty() {
            continue;
        }
        assert_eq!(
            put(objects, &key, b"text\n", "1", &Precondition::Absent).await,
            Put::Done
        );
        let before = head(objects, &key).await;
        let unchanged = Precondition::Unchanged(before.etag.clone());
        assert_eq!(
            put(objects, &key, b"text\n", "2", &unchanged).await,
            Put::Done
        );
        let after = head(objects, &key).await;
        assert_ne!(after.etag, before.etag, "{key}");
        assert_eq!(after.length, before.length, "{key}");
        assert_eq!(body(objects, &key).await, "text\n", "{key}");
    }
}

async fn a_large_body_is_read_whole(objects: &dyn Objects) {
    let [key, ..] = keys(SITE);
    let large: Bytes = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let document = document(&large, "1");
    let put = objects.put(&key, large.clone(), &document, &Precondition::Absent);
    assert_eq!(put.await, Ok(Put::Done));
    assert!(body(objects, &key).await == large, "another body");
    // A reader may stop at any point.
    let (_, mut stream) = objects
        .open(&key)
        .await
        .expect("a read")
        .expect("an object");
    let first = stream.next().await.expect("a chunk").expect("a chunk");
    assert!(large.starts_with(&first));
}

async fn a_site_has_its_own_objects(objects: &dyn Objects) {
    let other = "www.example.com.evil.example";
    for site in [SITE, other] {
        for key in keys(site) {
            assert_eq!(
                put(objects, &key, b"x", "1", &Precondition::Absent).await,
                Put::Done
            );
        }
    }
    for site in [SITE, other] {
        let listed = objects.list(site).await.expect("a listing");
        let listed: BTreeSet<ObjectKey> = listed.into_iter().collect();
        assert_eq!(listed, keys(site).into_iter().collect());
    }
    assert_eq!(objects.list("none.example").await, Ok(Vec::new()));
    let after = async |after, most| objects.sites(after, most).await.expect("a listing");
    // A point sorts before a slash.
    assert_eq!(after(None, usize::MAX).await, [other, SITE]);
    assert_eq!(after(None, 1).await, [other]);
    assert_eq!(after(Some(other), 1).await, [SITE]);
    assert!(after(Some(SITE), 10).await.is_empty());
}
