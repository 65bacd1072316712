//! Tests the limits of a document: several indexes, and no sitemap over its byte limit at any moment.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use engine::regenerate::index::IndexLimits;
use engine::sweep::audit::{Finding, Problem};
use futures::future::{Either, select};
use http::Method;
use objects::{Document, ObjectKey, Precondition, Put, stamp};
use serde_json::{Value, json};
use sitemap::member::{Builder, Frame, Segment};

use super::calls::Fuse;
use super::harness::{Options, World, simulated};
use crate::crawler::{Response, gunzip};
use crate::records::{SITE, post, settings, with};

/// Longer than it takes until failed records are delivered again.
const DELIVERED_AGAIN: Duration = Duration::from_secs(5);
/// The pause between two looks at all published files: shorter than that between two batches of events.
const GLANCE: Duration = Duration::from_millis(200);
/// The most sitemaps of one index here.
const LINES: u32 = 2;

fn options() -> Options {
    Options {
        index_limits: IndexLimits {
            lines: LINES,
            ..IndexLimits::default()
        },
        ..Options::default()
    }
}

/// Returns `count` pages, each of a type of its own.
fn pages(count: u32) -> Vec<Value> {
    (0..count).map(page).collect()
}

fn page(n: u32) -> Value {
    with(
        &post(&format!("/{n}"), 1 + n),
        json!({"type": format!("t{n}")}),
    )
}

fn key(n: u32) -> ObjectKey {
    let site = SITE.to_owned();
    ObjectKey::Index { site, n }
}

/// Returns the file names that the n-th index lists. Returns `None` if the object does not exist.
async fn index(world: &World, n: u32) -> Option<Vec<String>> {
    let (_, bytes) = world.objects().get(&key(n)).await.unwrap()?;
    let response = Response {
        status: 200,
        headers: http::HeaderMap::new(),
        body: gunzip(&bytes),
        sent: bytes,
    };
    let name = |(loc, _): (String, _)| loc.rsplit('/').next().unwrap().to_owned();
    Some(response.index().into_iter().map(name).collect())
}

/// Returns the indexes that robots.txt names.
async fn named(world: &World) -> Vec<String> {
    let robots = world.crawler.get("/robots.txt").await.body;
    let robots = String::from_utf8(robots).unwrap();
    let lines = robots.lines();
    let prefix = format!("Sitemap: https://{SITE}/");
    lines
        .filter_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
        .collect()
}

fn numbered(count: u32) -> Vec<String> {
    let name = |n| match n {
        1 => "sitemap_index.xml".to_owned(),
        n => format!("sitemap_index{n}.xml"),
    };
    (1..=count).map(name).collect()
}

/// Checks that robots.txt names as many indexes as these pages need, that these list the sitemap of each page once, and that no
/// other index lists any.
async fn check(world: &World, expected: &BTreeSet<u32>) {
    world.settle().await;
    let count = u32::try_from(expected.len()).unwrap();
    let needed = count.div_ceil(LINES).max(1);
    assert_eq!(named(world).await, numbered(needed));
    let mut listed = Vec::new();
    for n in 1..=9 {
        let lines = index(world, n).await.unwrap_or_default();
        assert!(n <= needed || lines.is_empty(), "index {n}: {lines:?}");
        assert!(lines.len() <= LINES as usize, "index {n}: {lines:?}");
        listed.extend(lines);
    }
    let expected: Vec<String> = expected
        .iter()
        .map(|n| format!("t{n}-sitemap.xml"))
        .collect();
    assert_eq!(listed, expected);
}

#[test]
fn indexes_come_and_go_with_the_sitemaps_and_robots_txt_names_them() {
    simulated(async |sim| {
        let world = World::with(&sim, options(), &pages(2)).await;
        let mut expected: BTreeSet<u32> = [0, 1].into();
        check(&world, &expected).await;
        assert_eq!(index(&world, 2).await, None);
        // Listed sitemaps move to the next index, and back.
        for n in [4, 3, 2, 8, 6] {
            world.put(&page(n)).await;
            expected.insert(n);
            check(&world, &expected).await;
        }
        for n in [0, 2, 8, 1, 6, 3, 4] {
            world.delete(&format!("post/{n}")).await;
            expected.remove(&n);
            check(&world, &expected).await;
        }
        // Then all at once.
        for page in pages(7) {
            world.put(&page).await;
        }
        check(&world, &(0..7).collect()).await;
        world.put(&settings(json!({"public": false}))).await;
        world.settle().await;
        for n in 1..=4 {
            assert_eq!(index(&world, n).await, Some(Vec::new()));
        }
        assert!(named(&world).await.is_empty());
        world.put(&settings(json!({}))).await;
        check(&world, &(0..7).collect()).await;
        world.stop();
    });
}

#[test]
fn after_a_crash_at_any_write_the_indexes_are_as_many_as_are_needed() {
    simulated(async |sim| {
        let fuse = Arc::new(Fuse::default());
        let options = Options {
            watcher: Some(fuse.clone()),
            ..options()
        };
        let world = World::with(&sim, options, &pages(2)).await;
        let few: BTreeSet<u32> = [0, 1].into();
        let mut crashes = 0;
        loop {
            fuse.set(crashes);
            for n in [2, 3, 4] {
                world.put(&page(n)).await;
            }
            until_blown(&world, &fuse).await;
            let grown = fuse.lift();
            check(&world, &(0..5).collect()).await;
            fuse.set(crashes);
            for n in [2, 3, 4] {
                world.delete(&format!("post/{n}")).await;
            }
            until_blown(&world, &fuse).await;
            let shrunk = fuse.lift();
            check(&world, &few).await;
            if !grown && !shrunk {
                break;
            }
            crashes += 1;
        }
        assert!(crashes >= 10, "only {crashes} writes were seen");
        world.stop();
    });
}

/// Waits until the fuse has blown and events were delivered again, or until everything was done with fewer writes than it allows.
async fn until_blown(world: &World, fuse: &Fuse) {
    let blown = async {
        let blown = async || fuse.blown();
        world.until("the fuse blows", blown).await;
        world.clock.sleep(DELIVERED_AGAIN).await;
    };
    select(pin!(world.settle()), pin!(blown)).await;
}

#[test]
fn a_cascade_is_one_index_that_lists_the_others() {
    simulated(async |sim| {
        let mut records = pages(5);
        records.push(settings(json!({"cascaded_index": true})));
        let world = World::with(&sim, options(), &records).await;
        let first = numbered(1);
        assert_eq!(named(&world).await, first);
        let lines = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let files = ["t0", "t1", "t2", "t3", "t4"].map(|name| format!("{name}-sitemap.xml"));
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let others: Vec<String> = numbered(4).split_off(1);
        assert_eq!(index(&world, 1).await, Some(others));
        assert_eq!(index(&world, 2).await, lines(&files[..2]));
        assert_eq!(index(&world, 4).await, lines(&files[4..]));
        // Without the cascade each index is named, and with few sitemaps there is none.
        world.put(&settings(json!({}))).await;
        check(&world, &(0..5).collect()).await;
        world.put(&settings(json!({"cascaded_index": true}))).await;
        for n in 2..5 {
            world.delete(&format!("post/{n}")).await;
        }
        world.settle().await;
        assert_eq!(named(&world).await, first);
        assert_eq!(index(&world, 1).await, lines(&files[..2]));
        for n in 2..=4 {
            assert_eq!(index(&world, n).await, Some(Vec::new()));
        }
        world.stop();
    });
}

#[test]
fn the_audit_looks_at_every_index() {
    simulated(async |sim| {
        let world = World::with(&sim, options(), &pages(5)).await;
        for n in 1..=3 {
            for how in 0..3 {
                world.lose_object(&key(n), how).await;
                let mut findings = Vec::new();
                let report = |finding: &Finding| findings.push(finding.clone());
                assert!(world.audit(true, report).await.is_some());
                let found: Vec<_> = findings
                    .iter()
                    .map(|finding| (finding.problem, &finding.what))
                    .collect();
                assert!(
                    found.contains(&(Problem::ObjectLost, &key(n).path())),
                    "{found:?}"
                );
                check(&world, &(0..5).collect()).await;
            }
        }
        world.stop();
    });
}

#[test]
fn an_index_of_a_dropped_table_is_emptied_if_it_is_not_needed() {
    simulated(async |sim| {
        let mut world = World::idle(&sim, options());
        let mut builder = Builder::new(&Frame::index(None), 7);
        let gone = format!("<sitemap><loc>https://{SITE}/gone-sitemap.xml</loc></sitemap>\n");
        builder.push(&Segment {
            stamp: 9,
            entries: 1,
            newest: None,
            xml: gone.as_bytes(),
        });
        let built = builder.finish();
        let document = Document {
            digest: built.directory.digest(),
            changed: 0,
            bytes: built.directory.document_bytes(),
            entries: 1,
            stamp: stamp(7, 9),
        };
        for n in 1..=3 {
            let bytes = built.bytes.clone().into();
            let objects = world.objects();
            let absent = Precondition::Absent;
            let put = objects.put(&key(n), bytes, &document, &absent).await;
            assert_eq!(put.unwrap(), Put::Done);
        }
        world.put(&page(0)).await;
        world.begin().await;
        check(&world, &[0].into()).await;
        assert_eq!(index(&world, 3).await, Some(Vec::new()));
        world.stop();
    });
}

/// Reads all published files again and again, and counts the rounds. Checks that no sitemap ever has more bytes than `limit`.
async fn watch(world: &World, limit: usize, rounds: &AtomicU32) -> Infallible {
    loop {
        let response = world.crawler.get("/sitemap_index.xml").await;
        if response.status == 200 {
            for (loc, _) in response.index() {
                let path = loc.strip_prefix(&format!("https://{SITE}")).unwrap();
                let bytes = world
                    .crawler
                    .request(Method::GET, path, &[])
                    .await
                    .body
                    .len();
                assert!(bytes <= limit, "{path}: {bytes} bytes");
            }
            rounds.fetch_add(1, Ordering::Relaxed);
        }
        world.clock.sleep(GLANCE).await;
    }
}

#[test]
fn pages_of_a_thousand_images_never_make_a_sitemap_larger_than_it_may_be() {
    simulated(async |sim| {
        const LIMIT: usize = 10_000_000;
        let images = |n: u32| -> Vec<Value> {
            let image = |i| json!({"url": format!("https://cdn.example.net/{n}/{i:0>200}.png")});
            (0..1_000).map(image).collect()
        };
        let large = |n: u32| with(&post(&format!("/{n}"), 1), json!({"images": images(n)}));
        let records: Vec<Value> = (0..50)
            .map(large)
            .chain([settings(json!({"byte_limit": LIMIT}))])
            .collect();
        let mut world = World::idle(&sim, Options::default());
        for record in &records {
            world.put(record).await;
        }
        world.begin().await;
        let rounds = AtomicU32::new(0);
        let changes = async {
            world.settle().await;
            for n in 50..60 {
                world.put(&large(n)).await;
            }
            // One that grows where there is no room, and one that leaves a slot in a full sitemap.
            world.put(&post("/0", 2)).await;
            world.settle().await;
            world.put(&large(0)).await;
            world.delete("post/1").await;
            world.put(&large(60)).await;
            world.listed().await
        };
        let watched = watch(&world, LIMIT, &rounds);
        let Either::Right((listed, _)) = select(pin!(watched), pin!(changes)).await;
        assert!(rounds.into_inner() > 0);
        let expected: BTreeSet<String> = (0..=60)
            .filter(|n| *n != 1)
            .map(|n| format!("https://{SITE}/{n}"))
            .collect();
        assert!(listed.keys().eq(&expected), "{:?}", listed.keys());
        assert!(listed.values().all(|entry| entry.images.len() == 1_000));
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in listed.values() {
            *sizes.entry(&entry.sitemap).or_default() += 1;
        }
        assert!(sizes.len() >= 2, "{sizes:?}");
        world.stop();
    });
}
