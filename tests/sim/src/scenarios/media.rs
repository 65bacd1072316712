//! Tests video and news sitemaps, with entries in addition to the page's own, for a limited time.

use serde_json::{Value, json};
use sitemap::time::When;

use super::harness::{Options, World, simulated};
use super::time::pass;
use crate::records::{SITE, post, settings, with};

fn video(fields: Value) -> Value {
    let video = json!({"title": "v", "thumbnail_url": "https://i.example.net/1.jpg", "content_url": "https://v.example.net/1.mp4"});
    with(&video, fields)
}

/// Returns the paths of the entries of one kind, with the sitemap of each.
async fn of_kind(world: &World, kind: &str) -> Vec<(String, String)> {
    world.settle().await;
    let all = world.crawler.all().await.into_iter();
    let prefix = format!("https://{SITE}");
    let path = |loc: String| loc.strip_prefix(&prefix).unwrap().to_owned();
    all.filter(|((of, _), _)| *of == kind)
        .map(|((_, loc), entry)| (path(loc), entry.sitemap))
        .collect()
}

fn only(path: &str, sitemap: &str) -> Vec<(String, String)> {
    vec![(path.to_owned(), sitemap.to_owned())]
}

#[test]
fn a_page_with_videos_is_in_the_video_sitemap_until_the_last_has_expired() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        let ends = |seconds: i64| When::at(world.clock.now() + seconds).to_string();
        let videos = json!({"videos": [video(json!({"expires_at": ends(5_000), "title": "]]> \u{0} 🏮 & <b>"})),
            video(json!({"expires_at": ends(9_000), "tags": ["lamp"], "duration": 60})), {"title": "no thumbnail"}]});
        let page = with(&post("/v", 1), videos);
        world.put(&page).await;
        world.put(&post("/plain", 1)).await;
        assert_eq!(
            of_kind(&world, "video").await,
            only("/v", "video-sitemap.xml")
        );
        assert_eq!(world.paths().await, ["/plain", "/v"]);
        let entries = world.crawler.all().await;
        let entry = &entries[&("video", format!("https://{SITE}/v"))];
        let titles = entry.elements.iter().filter(|name| *name == "video:title");
        assert_eq!(titles.count(), 2, "the one without a thumbnail is left out");
        pass(&world, 5_001).await;
        let entries = world.crawler.all().await;
        let entry = &entries[&("video", format!("https://{SITE}/v"))];
        assert!(entry.elements.contains(&"video:tag".to_owned()));
        pass(&world, 4_000).await;
        assert_eq!(of_kind(&world, "video").await, []);
        assert_eq!(world.paths().await, ["/plain", "/v"]);
        world.stop();
    });
}

#[test]
fn news_leave_at_48_hours_by_the_clock_and_the_page_stays() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        world
            .put(&settings(
                json!({"news_name": "The Lantern", "language": "en-GB"}),
            ))
            .await;
        let ago = |hours: i64| When::at(world.clock.now() - hours * 3_600).to_string();
        let news =
            json!({"published_at": ago(40), "modified_at": ago(40), "title": "Now", "news": {}});
        let news = with(&post("/news", 1), news);
        world.put(&news).await;
        let old =
            json!({"published_at": ago(60), "modified_at": ago(1), "title": "Again", "news": {}});
        world.put(&with(&post("/again", 1), old)).await;
        let both = [
            only("/again", "news-sitemap.xml"),
            only("/news", "news-sitemap.xml"),
        ]
        .concat();
        assert_eq!(of_kind(&world, "news").await, both);
        pass(&world, 8 * 3_600).await;
        assert_eq!(
            of_kind(&world, "news").await,
            only("/again", "news-sitemap.xml")
        );
        assert_eq!(world.paths().await, ["/again", "/news"]);
        // Google's reading: the modification of an old page is not news.
        let settings_fields =
            json!({"news_name": "The Lantern", "language": "en", "news_published_only": true});
        world.put(&settings(settings_fields)).await;
        assert_eq!(of_kind(&world, "news").await, []);
        world.stop();
    });
}

#[test]
fn a_news_sitemap_has_a_thousand_entries_whatever_the_site_allows() {
    simulated(async |sim| {
        let mut world = World::idle(&sim, Options::default());
        let types = json!({"news_name": "N", "language": "en", "entries_per_sitemap": 5_000, "types": {"post": {"news": true}}});
        world.put(&settings(types)).await;
        let now = When::at(world.clock.now() - 60).to_string();
        let news_post = |n: u32| {
            let fields = json!({"published_at": now, "title": "t"});
            with(&post(&format!("/{n}"), 1), fields)
        };
        for n in 0..1_000 {
            world.put(&news_post(n)).await;
        }
        world.begin().await;
        world.settle().await;
        // So many commits at once are throttled. One that is given up does not use its slot, which the audit gives back.
        let left = world.audit(true, |_| {}).await.expect("no scan goes on");
        assert!(
            left.iter().all(|finding| finding.problem.is_harmless()),
            "{left:?}"
        );
        for n in 1_000..1_010 {
            world.put(&news_post(n)).await;
        }
        world.settle().await;
        let news = of_kind(&world, "news").await;
        assert_eq!(news.len(), 1_010);
        let in_first = news
            .iter()
            .filter(|(_, sitemap)| sitemap == "news-sitemap.xml");
        assert_eq!(in_first.count(), 1_000);
        world.stop();
    });
}

#[test]
fn types_called_video_and_news_do_not_mix_with_the_series() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        let is = |name: &str| json!({"type": name, "videos": [video(json!({}))]});
        world.put(&with(&post("/v", 1), is("video"))).await;
        world.put(&with(&post("/n", 1), is("news"))).await;
        assert_eq!(
            world.sitemaps().await,
            [
                "news-pages-sitemap.xml",
                "video-sitemap.xml",
                "video-pages-sitemap.xml"
            ]
        );
        assert_eq!(world.paths().await, ["/n", "/v"]);
        // The site may choose both series' names, and every entry moves.
        let names = json!({"video_series": "clips", "news_series": "google-news"});
        world.put(&settings(names)).await;
        assert_eq!(
            world.sitemaps().await,
            ["clips-sitemap.xml", "news-sitemap.xml", "video-sitemap.xml"]
        );
        assert_eq!(world.paths().await, ["/n", "/v"]);
        assert_eq!(of_kind(&world, "video").await.len(), 2);
        world.stop();
    });
}

#[test]
fn a_type_made_private_closes_no_other_types_pages() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        for (path, name) in [("/n", "news"), ("/p", "news-pages")] {
            world
                .put(&with(&post(path, 1), json!({"type": name})))
                .await;
        }
        assert_eq!(
            world.sitemaps().await,
            ["news-pages-sitemap.xml", "news-pages-pages-sitemap.xml"]
        );
        let hide = |name: &str| settings(json!({"types": {name: {"public": false}}}));
        world.put(&hide("news")).await;
        assert_eq!(world.paths().await, ["/p"]);
        world.put(&hide("news-pages")).await;
        assert_eq!(world.paths().await, ["/n"]);
        world.stop();
    });
}
