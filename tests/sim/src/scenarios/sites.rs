//! Tests several sites, their settings, and their first load.

use engine::reconcile::KnownSites;
use serde_json::{Value, json};

use super::harness::{Options, World, simulated};
use crate::records::{SITE, post, settings, with};

#[test]
fn a_private_site_has_an_empty_index_no_sitemaps_and_says_so_in_robots_txt() {
    simulated(async |sim| {
        let world = World::with(
            &sim,
            Options::default(),
            &[settings(json!({})), post("/a", 1)],
        )
        .await;
        let robots = String::from_utf8(world.crawler.get("/robots.txt").await.body).unwrap();
        assert_eq!(
            robots,
            format!("User-agent: *\nDisallow:\n\nSitemap: https://{SITE}/sitemap_index.xml\n")
        );
        world.put(&settings(json!({"public": false}))).await;
        world.settle().await;
        // The origin itself caches a site's file for seconds.
        world.clock.leap(10);
        assert!(world.sitemaps().await.is_empty());
        let closed = world.crawler.urlset("/post-sitemap.xml").await;
        assert_eq!(closed, [], "a cached index may still list it");
        let robots = world.crawler.get("/robots.txt").await.body;
        assert_eq!(robots, b"User-agent: *\nDisallow: /\n");
        assert_eq!(
            world.refusal("post/a").await.as_deref(),
            Some("site_private")
        );
        world
            .put(&settings(
                json!({"public": true, "robots": ["User-agent: *", "Disallow: /admin"]}),
            ))
            .await;
        world.settle().await;
        world.clock.leap(10);
        assert_eq!(world.paths().await, ["/a"]);
        assert!(
            world
                .crawler
                .get("/robots.txt")
                .await
                .body
                .starts_with(b"User-agent: *\nDisallow: /admin\n")
        );
        world.stop();
    });
}

#[test]
fn settings_change_every_entry_of_a_type() {
    simulated(async |sim| {
        let world = World::with(
            &sim,
            Options::default(),
            &[post("/a", 1), with(&post("/b", 1), json!({"type": "page"}))],
        )
        .await;
        world
            .put(&settings(
                json!({"types": {"post": {"priority": 0.3}, "page": {"public": false}}}),
            ))
            .await;
        let listed = world.listed().await;
        assert_eq!(
            listed.keys().collect::<Vec<_>>(),
            [&format!("https://{SITE}/a")]
        );
        assert!(
            listed[&format!("https://{SITE}/a")]
                .elements
                .contains(&"priority".to_owned())
        );
        // A lower capacity moves what no longer fits. A higher one moves nothing.
        for n in 0..5 {
            world.put(&post(&format!("/{n}"), 1)).await;
        }
        world.settle().await;
        world
            .put(&settings(json!({"entries_per_sitemap": 2})))
            .await;
        assert_eq!(world.listed().await.len(), 7);
        for sitemap in world.sitemaps().await {
            assert!(
                world.crawler.urlset(&format!("/{sitemap}")).await.len() <= 2,
                "{sitemap}"
            );
        }
        let before = world.listed().await;
        world
            .put(&settings(json!({"entries_per_sitemap": 100})))
            .await;
        assert_eq!(world.listed().await, before);
        world.stop();
    });
}

#[test]
fn several_sites_are_apart_and_unknown_ones_are_left_out() {
    simulated(async |sim| {
        let known = KnownSites::Only(vec!["a.example".to_owned(), "b.example".to_owned()]);
        let page = |host: &str| {
            with(
                &post("/p", 1),
                json!({"id": host, "url": format!("https://{host}/p")}),
            )
        };
        let recorded =
            json!({"id": "site/d.example", "type": "site", "base_url": "http://d.example"});
        let records: Vec<Value> = ["a.example", "b.example", "c.example"]
            .into_iter()
            .map(page)
            .chain([recorded])
            .collect();
        let world = World::with(
            &sim,
            Options {
                known,
                ..Options::default()
            },
            &records,
        )
        .await;
        world
            .put(&with(
                &page("d.example"),
                json!({"url": "http://d.example/p"}),
            ))
            .await;
        world.settle().await;
        for (host, scheme) in [
            ("a.example", "https"),
            ("b.example", "https"),
            ("d.example", "http"),
        ] {
            let entries = world.crawler.of(host).entries().await;
            assert_eq!(
                entries.into_keys().collect::<Vec<_>>(),
                [format!("{scheme}://{host}/p")]
            );
        }
        assert_eq!(
            world
                .crawler
                .of("c.example")
                .get("/sitemap_index.xml")
                .await
                .status,
            404
        );
        assert_eq!(
            world.refusal("c.example").await.as_deref(),
            Some("unknown_site")
        );
        // A viewer cannot name another site than the CDN does.
        let headers = [
            ("x-waymark-host", "b.example"),
            ("x-forwarded-host", "b.example"),
        ];
        let response = world
            .crawler
            .of("a.example")
            .request(http::Method::GET, "/robots.txt", &headers)
            .await;
        assert!(
            String::from_utf8(response.body)
                .unwrap()
                .contains("https://a.example/")
        );
        world.stop();
    });
}

#[test]
fn a_first_load_publishes_nothing_before_it_is_complete() {
    simulated(async |sim| {
        let records: Vec<Value> = (0..1_200).map(|n| post(&format!("/{n}"), 1)).collect();
        let world = World::with(&sim, Options::default(), &records).await;
        assert_eq!(world.listed().await.len(), 1_200);
        // Two sitemaps and the index, robots.txt, the site file and the feed, once each. No intermediate state was published.
        assert_eq!(world.puts()[0], 6);
        world.stop();
    });
}

#[test]
fn a_site_that_becomes_known_after_its_records_is_published_whole() {
    simulated(async |sim| {
        let records: Vec<Value> = (0..600).map(|n| post(&format!("/{n}"), 1)).collect();
        let options = Options {
            known: KnownSites::Only(Vec::new()),
            ..Options::default()
        };
        let world = World::with(&sim, options, &records).await;
        assert_eq!(world.puts()[0], 0, "nobody's pages");
        world.put(&settings(json!({}))).await;
        assert_eq!(world.listed().await.len(), 600);
        // A sitemap and the index, robots.txt, the site file and the feed, once each.
        assert_eq!(world.puts()[0], 5);
        world.stop();
    });
}

#[test]
fn a_record_that_spells_its_address_anew_keeps_it() {
    simulated(async |sim| {
        let respelled = |path: &str| with(&post(path, 1), json!({"id": "coffee"}));
        let world = World::with(&sim, Options::default(), &[respelled("/caf%C3%A9/")]).await;
        let again = |path: &str| with(&post(path, 2), json!({"id": "again"}));
        world.put(&again("/café/")).await;
        world.settle().await;
        let claims = world.rows("LOC#").await;
        for path in ["/caf%c3%a9/", "/%63af%C3%A9/", "/caf%C3%A9/"] {
            world.put(&respelled(path)).await;
            assert_eq!(world.paths().await, [path]);
            world.settle().await;
            let now = world.rows("LOC#").await;
            assert!(now.keys().eq(claims.keys()), "{now:?}");
            let locs = now.values().filter_map(|row| row.get("loc"));
            let loc = format!("https://{SITE}{path}");
            assert!(locs.eq([&loc]), "{now:?}");
        }
        let refused = world.refusal("again").await;
        assert_eq!(refused.as_deref(), Some("duplicate"));
        world.stop();
    });
}
