//! Tests multi-part pages: each part is a page of its own.

use serde_json::json;

use super::harness::{World, simulated};
use crate::records::{SITE, post, settings, with};

#[test]
fn parts_come_and_go_with_the_number_of_pages() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        let images = json!({"pages": 3, "images": [{"url": "https://i.example.net/1.jpg"}]});
        let long = with(&post("/long/", 1), images);
        world.put(&long).await;
        assert_eq!(world.paths().await, ["/long/", "/long/2/", "/long/3/"]);
        let listed = world.listed().await;
        let third = &listed[&format!("https://{SITE}/long/3/")];
        assert_eq!(third.lastmod.as_deref(), Some("2026-01-01T12:00:00+00:00"));
        assert_eq!(third.elements, ["loc", "lastmod"]);
        world.put(&with(&long, json!({"pages": 5}))).await;
        assert_eq!(world.paths().await.len(), 5);
        world.put(&with(&long, json!({"pages": 2}))).await;
        assert_eq!(world.paths().await, ["/long/", "/long/2/"]);
        world.put(&with(&long, json!({"status": "draft"}))).await;
        assert!(world.paths().await.is_empty());
        world.put(&with(&long, json!({"pages": 120}))).await;
        assert_eq!(world.paths().await.len(), 120);
        world.delete("post/long/").await;
        assert!(world.paths().await.is_empty());
        for prefix in ["LEDGER#", "LOC#", "TIMER#1"] {
            assert!(world.rows(prefix).await.is_empty(), "{prefix}");
        }
        world.stop();
    });
}

#[test]
fn a_parts_address_may_be_anothers_and_is_handed_over() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        world.put(&post("/a/2/", 1)).await;
        world.settle().await;
        world.put(&with(&post("/a/", 2), json!({"pages": 2}))).await;
        let listed = world.listed().await;
        let second = || format!("https://{SITE}/a/2/");
        assert_eq!(listed.len(), 2);
        assert_eq!(
            listed[&second()].lastmod.as_deref(),
            Some("2026-01-01T12:00:00+00:00")
        );
        world.delete("post/a/2/").await;
        let listed = world.listed().await;
        assert_eq!(
            listed[&second()].lastmod.as_deref(),
            Some("2026-01-02T12:00:00+00:00")
        );
        world.stop();
    });
}

#[test]
fn a_type_says_how_its_parts_addresses_are_made() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        world
            .put(&with(&post("/?p=1", 1), json!({"pages": 2})))
            .await;
        assert_eq!(world.paths().await, ["/?p=1"]);
        assert_eq!(
            world.refusal("~2~post/?p=1").await.as_deref(),
            Some("no_part_url")
        );
        let types = json!({"types": {"post": {"part_url": "{url}&page={part}"}}});
        world.put(&settings(types)).await;
        assert_eq!(world.paths().await, ["/?p=1", "/?p=1&page=2"]);
        world.stop();
    });
}

#[test]
fn numbers_of_pages_that_are_none_cost_the_parts_alone() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        for (at, pages) in [json!(0), json!(100_000), json!("3"), json!(-1)]
            .into_iter()
            .enumerate()
        {
            let path = format!("/{at}/");
            world
                .put(&with(&post(&path, 1), json!({"pages": pages})))
                .await;
        }
        assert_eq!(world.paths().await, ["/0/", "/1/", "/2/", "/3/"]);
        world.stop();
    });
}

#[test]
fn an_archive_lists_no_part_beyond_its_first() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        let archive = json!({"pages": 3, "archive_of": {"taxonomy": "author", "term": "ann"}});
        let ann = post("/author/ann/", 1);
        world.put(&with(&ann, json!({"pages": 3}))).await;
        world
            .put(&with(&post("/a", 1), json!({"terms": {"author": ["ann"]}})))
            .await;
        assert_eq!(world.paths().await.len(), 4);
        world.put(&with(&ann, archive)).await;
        assert_eq!(world.paths().await, ["/a", "/author/ann/"]);
        assert!(world.rows("LEDGER#post/author/ann/").await.len() <= 1);
        world.stop();
    });
}
