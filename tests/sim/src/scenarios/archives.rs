//! Tests archives: each is listed only while one of its pages is, with the newest lastmod of these.

use serde_json::{Value, json};

use super::harness::{Options, World, simulated};
use crate::records::{SITE, post, settings, with};

fn archive(path: &str, taxonomy: &str, term: &str) -> Value {
    let fields = json!({"type": taxonomy, "archive_of": {"taxonomy": taxonomy, "term": term}});
    with(&post(path, 31), fields)
}

fn tagged(path: &str, day: u32, terms: &[&str]) -> Value {
    with(&post(path, day), json!({"terms": {"category": terms}}))
}

async fn lastmod(world: &World, path: &str) -> Option<String> {
    let loc = format!("https://{SITE}{path}");
    world.listed().await.get(&loc)?.lastmod.clone()
}

#[test]
fn an_archive_comes_with_its_first_page_and_goes_with_its_last() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        world.put(&archive("/c/news", "category", "news")).await;
        world.put(&archive("/c/rare", "category", "rare")).await;
        assert!(world.sitemaps().await.is_empty());
        assert_eq!(
            world.refusal("post/c/news").await.as_deref(),
            Some("empty_archive")
        );

        world.put(&tagged("/a", 3, &["news"])).await;
        assert_eq!(world.paths().await, ["/a", "/c/news"]);
        assert_eq!(
            world.sitemaps().await,
            ["category-sitemap.xml", "post-sitemap.xml"]
        );
        assert_eq!(
            lastmod(&world, "/c/news").await.as_deref(),
            Some("2026-01-03T12:00:00+00:00")
        );

        // A newer page, which is then edited back, unpublished, and deleted.
        world.put(&tagged("/b", 9, &["news", "rare"])).await;
        assert_eq!(
            lastmod(&world, "/c/news").await.as_deref(),
            Some("2026-01-09T12:00:00+00:00")
        );
        world.put(&tagged("/b", 2, &["news"])).await;
        assert_eq!(
            lastmod(&world, "/c/news").await.as_deref(),
            Some("2026-01-03T12:00:00+00:00")
        );
        assert_eq!(world.paths().await, ["/a", "/b", "/c/news"]);
        let draft = json!({"status": "draft"});
        world.put(&with(&tagged("/a", 3, &["news"]), draft)).await;
        assert_eq!(
            lastmod(&world, "/c/news").await.as_deref(),
            Some("2026-01-02T12:00:00+00:00")
        );
        // Its only page becomes one that search engines are asked not to index.
        let noindex = json!({"noindex": true});
        world.put(&with(&tagged("/b", 2, &["news"]), noindex)).await;
        assert!(world.sitemaps().await.is_empty());
        world.delete("post/a").await;
        world.delete("post/b").await;
        world.settle().await;
        let terms = world.rows("TERM#").await;
        assert_eq!(terms.len(), 2, "the archives alone: {:?}", terms.keys());
        for id in ["post/c/news", "post/c/rare"] {
            world.delete(id).await;
        }
        world.settle().await;
        assert!(world.rows("TERM#").await.is_empty() && world.rows("LEDGER#").await.is_empty());
        world.stop();
    });
}

#[test]
fn only_a_page_that_is_listed_itself_counts() {
    simulated(async |sim| {
        let records = [
            archive("/c/news", "category", "news"),
            // The second of two records with one address. The first one's name is listed.
            tagged("/twin", 5, &["other"]),
            archive("/author/jane", "author", "jane"),
            archive("/c/other", "category", "other"),
        ];
        let world = World::with(&sim, Options::default(), &records).await;
        let twin = json!({"id": "post/second", "terms": {"category": ["news"]}, "modified_at": "2026-01-20T12:00:00Z"});
        world.put(&with(&tagged("/twin", 5, &[]), twin)).await;
        assert_eq!(world.paths().await, ["/c/other", "/twin"]);
        assert_eq!(
            world.refusal("post/second").await.as_deref(),
            Some("duplicate")
        );
        // The first is deleted, and the second becomes the archive's page.
        world.delete("post/twin").await;
        assert_eq!(world.paths().await, ["/c/news", "/twin"]);
        // An archive is not a page of another one, because two could keep each other listed forever.
        let ring = |path, term, other: &str| {
            let terms = json!({"terms": {"author": [other]}});
            with(&archive(path, "author", term), terms)
        };
        world.put(&ring("/author/jane", "jane", "joe")).await;
        world.put(&ring("/author/joe", "joe", "jane")).await;
        assert_eq!(world.paths().await, ["/c/news", "/twin"]);
        world.stop();
    });
}

#[test]
fn a_change_costs_its_terms_and_not_its_archives() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        world.put(&archive("/c/news", "category", "news")).await;
        let pages: Vec<Value> = (0..40)
            .map(|n| tagged(&format!("/p{n}"), 1 + n % 28, &["news"]))
            .collect();
        for page in &pages {
            world.put(page).await;
        }
        world.settle().await;
        let before = world.rows("").await;
        let edited = json!({"modified_at": "2026-02-01T00:00:00Z"});
        world.put(&with(&pages[7], edited)).await;
        assert_eq!(
            lastmod(&world, "/c/news").await.as_deref(),
            Some("2026-02-01T00:00:00+00:00")
        );
        // Of the forty pages, only the ledger of the changed one differs.
        let after = world.rows("").await;
        let ledgers = after.iter().filter(|(key, row)| {
            key.0.starts_with("LEDGER#")
                && before.get(key).map(|row| &row["token"]) != Some(&row["token"])
        });
        let ledgers: Vec<&str> = ledgers.map(|((pk, _), _)| pk.as_str()).collect();
        assert_eq!(ledgers, ["LEDGER#post/c/news", "LEDGER#post/p7"]);
        world.stop();
    });
}

#[test]
fn an_archive_and_its_pages_may_come_in_any_order_and_settings_close_both() {
    simulated(async |sim| {
        let mut records: Vec<Value> = (0..20)
            .map(|n| tagged(&format!("/p{n}"), 1 + n, &["a", "b"]))
            .collect();
        records.insert(9, archive("/c/a", "category", "a"));
        records.push(archive("/c/b", "category", "b"));
        let world = World::with(&sim, Options::default(), &records).await;
        assert_eq!(world.paths().await.len(), 22);
        world
            .put(&settings(json!({"types": {"post": {"public": false}}})))
            .await;
        assert!(world.paths().await.is_empty());
        world.put(&settings(json!({}))).await;
        assert_eq!(world.paths().await.len(), 22);
        world.stop();
    });
}
