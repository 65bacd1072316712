//! Tests that the published files follow the changes of a record.

use serde_json::json;

use super::harness::{Options, World, simulated};
use crate::records::{SITE, post, settings, with};

#[test]
fn a_page_is_created_edited_unpublished_republished_and_deleted() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        let hello = post("/hello/", 1);
        world.put(&hello).await;
        let listed = world.listed().await;
        let entry = &listed[&format!("https://{SITE}/hello/")];
        assert_eq!(entry.lastmod.as_deref(), Some("2026-01-01T12:00:00+00:00"));
        assert_eq!(entry.sitemap, "post-sitemap.xml");

        let edit = json!({"modified_at": "2026-02-03T04:05:06+02:00", "images": [{"url": "https://cdn.example.net/ü.png"}],
            "priority": 0.8, "changefreq": "weekly", "alternates": [{"hreflang": "de", "url": "https://de.example.com/"}]});
        world.put(&with(&hello, edit)).await;
        let listed = world.listed().await;
        let entry = &listed[&format!("https://{SITE}/hello/")];
        assert_eq!(entry.lastmod.as_deref(), Some("2026-02-03T02:05:06+00:00"));
        assert_eq!(entry.images, ["https://cdn.example.net/%C3%BC.png"]);
        assert_eq!(
            entry.elements,
            [
                "loc",
                "lastmod",
                "changefreq",
                "priority",
                "image:loc",
                "xhtml:link"
            ]
        );

        world.put(&with(&hello, json!({"status": "draft"}))).await;
        assert!(world.paths().await.is_empty());
        assert_eq!(
            world.refusal("post/hello/").await.as_deref(),
            Some("not_published")
        );
        assert!(
            world.sitemaps().await.is_empty(),
            "the last page's going takes the sitemap out of the index"
        );

        world.put(&hello).await;
        assert_eq!(world.paths().await, ["/hello/"]);

        world.delete("post/hello/").await;
        assert!(world.paths().await.is_empty());
        assert!(
            world.rows("LEDGER#").await.is_empty(),
            "nothing is remembered of it"
        );
        assert!(world.rows("LOC#").await.is_empty());
        world.stop();
    });
}

#[test]
fn a_page_that_changes_its_type_or_its_address_is_listed_once() {
    simulated(async |sim| {
        let world = World::with(&sim, Options::default(), &[post("/a", 1), post("/b", 2)]).await;
        world
            .put(&with(&post("/a", 1), json!({"type": "page"})))
            .await;
        let listed = world.listed().await;
        assert_eq!(
            listed[&format!("https://{SITE}/a")].sitemap,
            "page-sitemap.xml"
        );
        assert_eq!(listed.len(), 2);
        world
            .put(&with(
                &post("/a", 1),
                json!({"url": format!("https://{SITE}/moved")}),
            ))
            .await;
        assert_eq!(world.paths().await, ["/b", "/moved"]);
        world.stop();
    });
}

#[test]
fn a_series_grows_over_several_sitemaps_and_reuses_what_becomes_free() {
    simulated(async |sim| {
        let world = World::with(
            &sim,
            Options::default(),
            &[settings(json!({"entries_per_sitemap": 3})), post("/0", 1)],
        )
        .await;
        for n in 1..8 {
            world.put(&post(&format!("/{n}"), 1)).await;
        }
        assert_eq!(world.paths().await.len(), 8);
        assert_eq!(
            world.sitemaps().await,
            ["post-sitemap.xml", "post-sitemap2.xml", "post-sitemap3.xml"]
        );

        world.delete("post/1").await;
        world.settle().await;
        assert_eq!(world.rows("FREE#").await.len(), 1);
        let place = |listed: &std::collections::BTreeMap<String, crate::crawler::Entry>,
                     path: &str| {
            listed[&format!("https://{SITE}{path}")].sitemap.clone()
        };
        let before = world.listed().await;
        world.put(&post("/new", 2)).await;
        let after = world.listed().await;
        assert_eq!(
            place(&after, "/new"),
            "post-sitemap.xml",
            "the freed slot is used again"
        );
        assert!(world.rows("FREE#").await.is_empty());
        for path in ["/0", "/2", "/7"] {
            assert_eq!(
                place(&after, path),
                place(&before, path),
                "nothing else has moved"
            );
        }
        world.stop();
    });
}

#[test]
fn an_address_is_listed_for_one_record_and_handed_over() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        let twin = |id: &str| with(&post("/same", 1), json!({"id": id}));
        world.put(&twin("first")).await;
        world.settle().await;
        world.put(&twin("second")).await;
        world.put(&twin("third")).await;
        assert_eq!(world.paths().await, ["/same"]);
        assert_eq!(world.refusal("second").await.as_deref(), Some("duplicate"));
        world.delete("first").await;
        assert_eq!(world.paths().await, ["/same"]);
        let refused = [world.refusal("second").await, world.refusal("third").await];
        assert_eq!(
            refused.iter().flatten().count(),
            1,
            "one of them has taken over: {refused:?}"
        );
        let series = world.rows("SERIES#").await.into_values().next().unwrap();
        assert!(
            series["next_i"].parse::<u32>().unwrap() <= 2,
            "a handover takes one slot, however many wait: {series:?}"
        );
        world.delete("second").await;
        world.delete("third").await;
        assert!(world.paths().await.is_empty());
        assert!(
            world.rows("LOC#").await.is_empty(),
            "no claim and no waiter is left"
        );
        world.stop();
    });
}

#[test]
fn addresses_are_normalised_and_escaped() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        for (id, url) in [
            ("space", "/with space"),
            ("emoji", "/\u{1f980}"),
            ("amp", "/?a=1&b='2'"),
            ("encoded", "/%C3%BC"),
            ("umlaut", "/ö"),
        ] {
            world.put(&with(&post(url, 1), json!({"id": id}))).await;
        }
        let host = format!("https://{}", SITE.to_uppercase());
        world
            .put(&with(
                &post("/upper", 1),
                json!({"url": format!("{host}:443/upper")}),
            ))
            .await;
        let paths = world.paths().await;
        assert_eq!(
            paths,
            [
                "/%C3%B6",
                "/%C3%BC",
                "/%F0%9F%A6%80",
                "/?a=1&b=%272%27",
                "/upper",
                "/with%20space"
            ]
        );
        world.stop();
    });
}
