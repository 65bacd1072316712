//! Tests the feed of changes, and that no slow publisher replaces it by an older one.
//!
//! In most tests its rows are written by the test, which checks how they are published.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::content::NO_SOURCE;
use engine::keys;
use engine::regenerate::feed::FEED_PERIOD;
use engine::rows::feed::EXPIRES;
use engine::rows::site::Hold;
use objects::ObjectKey;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::{Value, json};
use sitemap::feed::MAX_FEED_ENTRIES;
use sitemap::loc::Loc;
use sitemap::plan::{Address, FeedItem};
use sitemap::site::SiteSettings;
use sitemap::time::When;

use super::calls::{Gate, overtaken};
use super::harness::{Options, World, simulated};
use crate::audit::Row;
use crate::records::{SITE, post, settings, with};
use crate::runtime::{BEGINNING, Sim};

/// The time of the clock, in Unix seconds: eight in the morning.
const NOW: i64 = BEGINNING;

async fn world(sim: &Sim, records: &[Value]) -> World {
    sim.stop_clock();
    World::with(sim, Options::default(), records).await
}

/// Creates a deployment whose functions do not run, with a site on hold.
async fn on_hold(sim: &Sim) -> World {
    sim.stop_clock();
    let world = World::idle(sim, Options::default());
    let settings = SiteSettings::default_for(SITE).unwrap();
    let table = &world.reconciler().table;
    table.create_site(&settings, NO_SOURCE, NOW).await.unwrap();
    world
}

/// Writes the row of a page that changed this number of seconds ago.
async fn changed(world: &World, path: &str, seconds_ago: i64, fields: &[(&str, &str)]) {
    let field = |name| fields.iter().find(|(field, _)| *field == name);
    let text = |name| field(name).map(|(_, text)| (*text).to_owned());
    let item = FeedItem {
        address: Address {
            site: SITE.to_owned(),
            loc: Loc::parse_any(&format!("https://{SITE}{path}")).unwrap(),
        },
        title: text("title"),
        summary: text("summary"),
        published: text("published").map(|at| When::parse(&at).unwrap()),
    };
    let row = engine::rows::feed::row(NOW - seconds_ago, &format!("post{path}"), &item);
    world.put_row(row).await;
}

/// Deletes the row.
async fn gone(world: &World, path: &str, seconds_ago: i64) {
    let key = keys::feed(SITE, NOW - seconds_ago, &format!("post{path}"));
    world.delete_row(&key.pk, &key.sk).await;
}

fn object() -> ObjectKey {
    ObjectKey::Feed {
        site: SITE.to_owned(),
    }
}

/// Returns the published feed.
async fn feed(world: &World) -> String {
    let found = world.objects().get(&object()).await.unwrap();
    let (meta, bytes) = found.expect("published");
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let document = meta.document.unwrap();
    assert_eq!(document.bytes, bytes.len() as u64);
    assert_eq!(document.digest, keys::sha256_hex(&text));
    assert_eq!(document.entries as usize, texts(&text, "entry", "id").len());
    text
}

/// Returns the texts of an element of the feed itself, or of each of its entries.
fn texts(feed: &str, parent: &str, name: &str) -> Vec<String> {
    let mut reader = Reader::from_str(feed);
    let (mut path, mut found, mut text): (Vec<String>, Vec<String>, _) =
        (Vec::new(), Vec::new(), String::new());
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => {
                path.push(start.name().as_ref().to_owned());
                text.clear();
            }
            Event::Text(part) => text.push_str(&part),
            Event::GeneralRef(entity) => {
                let entity = format!("&{};", &*entity);
                text.push_str(&quick_xml::escape::unescape(&entity).unwrap());
            }
            Event::End(_) => {
                if path.ends_with(&[parent.to_owned(), name.to_owned()]) {
                    found.push(std::mem::take(&mut text));
                }
                path.pop();
            }
            Event::Eof => return found,
            _ => {}
        }
    }
}

/// Returns the rows of changes.
async fn rows(world: &World) -> BTreeMap<(String, String), Row> {
    let mut rows = world.rows("FEED#").await;
    rows.retain(|_, row| row.contains_key(EXPIRES));
    rows
}

/// Returns the paths of the entries, in their order, once the feed may be published again.
async fn paths(world: &World) -> Vec<String> {
    world.settle().await;
    world.clock.leap(FEED_PERIOD);
    world.sweep().await;
    world.settle().await;
    let prefix = format!("https://{SITE}");
    let ids = texts(&feed(world).await, "entry", "id");
    let path = |id: &String| id.strip_prefix(&prefix).unwrap().to_owned();
    ids.iter().map(path).collect()
}

#[test]
fn what_has_changed_is_in_the_feed_the_newest_first() {
    simulated(async |sim| {
        let world = world(
            &sim,
            &[settings(json!({"name": "Bread & Butter"})), post("/a", 1)],
        )
        .await;
        assert_eq!(paths(&world).await, [""; 0], "empty after a first load");
        let title = "<b>Tom & \"Jerry\"</b>\u{8}";
        let fields = [
            ("title", title),
            ("summary", "Mice & cats"),
            ("published", "2026-01-02"),
        ];
        changed(&world, "/a", 86_400 + 100, &fields).await;
        changed(&world, "/b?x=1&y=2", 100, &[]).await;
        changed(&world, "/c", 2 * 86_400 - 1_000, &[]).await;
        changed(&world, "/d", 2 * 86_400, &[]).await;
        assert_eq!(paths(&world).await, ["/b?x=1&y=2", "/a", "/c"]);
        let text = feed(&world).await;
        let of_feed = |name| texts(&text, "feed", name);
        assert_eq!(of_feed("id"), [format!("https://{SITE}/feed.atom")]);
        assert_eq!(of_feed("title"), ["Bread & Butter"]);
        assert_eq!(of_feed("updated"), ["2027-01-15T07:58:20+00:00"]);
        let of_entries = |name| texts(&text, "entry", name);
        assert_eq!(of_entries("title")[1], "<b>Tom & \"Jerry\"</b>");
        assert_eq!(of_entries("summary"), ["Mice & cats"]);
        assert_eq!(of_entries("published"), ["2026-01-02T00:00:00+00:00"]);
        gone(&world, "/b?x=1&y=2", 100).await;
        assert_eq!(paths(&world).await, ["/a", "/c"]);
        world.stop();
    });
}

#[test]
fn a_page_that_is_edited_is_in_the_feed_for_two_days_or_until_it_goes() {
    simulated(async |sim| {
        let world = world(&sim, &[post("/a", 1), post("/b", 1), post("/c", 1)]).await;
        assert_eq!(paths(&world).await, [""; 0], "empty after a first load");
        for (path, title) in [("/a", "One"), ("/b", "Two"), ("/a", "Three")] {
            world.clock.leap(10);
            let edited = with(&post(path, 2), json!({"title": title}));
            world.put(&edited).await;
            world.settle().await;
        }
        assert_eq!(paths(&world).await, ["/a", "/b"]);
        let text = feed(&world).await;
        assert_eq!(texts(&text, "entry", "title"), ["Three", "Two"]);
        world.delete("post/a").await;
        assert_eq!(paths(&world).await, ["/b"]);
        // On another day each feed is published again.
        world.clock.leap(48 * 3_600);
        assert_eq!(paths(&world).await, [""; 0]);
        assert_eq!(rows(&world).await.len(), 1, "DynamoDB deletes it");
        world.stop();
    });
}

#[test]
fn a_feed_that_has_just_changed_waits_for_its_minute() {
    simulated(async |sim| {
        let world = world(&sim, &[post("/a", 1), post("/b", 1)]).await;
        world.settle().await;
        world.clock.leap(FEED_PERIOD);
        for (path, count) in [("/a", 1), ("/b", 1)] {
            let edited = with(&post(path, 2), json!({"title": "New"}));
            world.put(&edited).await;
            world.settle().await;
            let entries = texts(&feed(&world).await, "entry", "id");
            assert_eq!(entries.len(), count, "{path}: {entries:?}");
            world.clock.leap(10);
        }
        assert_eq!(paths(&world).await, ["/b", "/a"]);
        // New settings publish it at once.
        world
            .put(&settings(json!({"name": "Bread & Butter"})))
            .await;
        world.settle().await;
        let title = texts(&feed(&world).await, "feed", "title");
        assert_eq!(title, ["Bread & Butter"]);
        world.stop();
    });
}

#[test]
fn a_row_that_is_lost_comes_back_as_it_was_and_one_whose_claim_is_lost_stays() {
    simulated(async |sim| {
        let world = world(&sim, &[post("/a", 1), post("/b", 1)]).await;
        world.settle().await;
        for (path, title) in [("/a", "One"), ("/b", "Two")] {
            world.clock.leap(10);
            let edited =
                json!({"title": title, "description": "<d>", "published_at": "2026-01-01"});
            world.put(&with(&post(path, 2), edited)).await;
            world.settle().await;
        }
        let before = rows(&world).await;
        assert_eq!(before.len(), 2);
        world.clock.leap(3_600);
        let (lost, row) = before.first_key_value().unwrap();
        let claim = keys::claim(SITE, &row["loc"]);
        for (pk, sk) in [lost, &(claim.pk, claim.sk)] {
            world.delete_row(pk, sk).await;
            world.settle().await;
            let left = world.audit(true, |_| ()).await;
            assert_eq!(left, Some(Vec::new()));
            assert_eq!(rows(&world).await, before);
            assert_eq!(paths(&world).await, ["/b", "/a"]);
            let titles = texts(&feed(&world).await, "entry", "title");
            assert_eq!(titles, ["Two", "One"]);
        }
        world.stop();
    });
}

#[test]
fn the_feed_has_no_more_than_its_newest_entries() {
    simulated(async |sim| {
        let world = world(&sim, &[post("/a", 1)]).await;
        // Over two days, so that one partition does not have enough.
        for n in 0..MAX_FEED_ENTRIES as i64 + 20 {
            changed(&world, &format!("/{n}"), n * 200, &[]).await;
        }
        let expected: Vec<_> = (0..MAX_FEED_ENTRIES).map(|n| format!("/{n}")).collect();
        assert_eq!(paths(&world).await, expected);
        world.stop();
    });
}

#[test]
fn a_site_that_is_private_or_wants_no_feed_has_an_empty_one() {
    simulated(async |sim| {
        let world = world(&sim, &[post("/a", 1)]).await;
        changed(&world, "/a", 100, &[]).await;
        assert_eq!(paths(&world).await, ["/a"]);
        for closed in [json!({"feed": false}), json!({"public": false})] {
            world.put(&settings(closed)).await;
            assert_eq!(paths(&world).await, [""; 0]);
            world.put(&settings(json!({}))).await;
            assert_eq!(paths(&world).await, ["/a"]);
        }
        world.stop();
    });
}

#[test]
fn a_damaged_row_costs_its_own_entry() {
    simulated(async |sim| {
        let world = world(&sim, &[post("/a", 1)]).await;
        changed(&world, "/a", 300, &[]).await;
        changed(&world, "/b", 200, &[("published", "2026-01-02")]).await;
        let row = keys::feed(SITE, NOW - 200, "post/b");
        let elsewhere = "https://elsewhere.example/";
        world
            .damage((&row.pk, &row.sk), "loc", Some(elsewhere))
            .await;
        changed(&world, "/c", 100, &[]).await;
        assert_eq!(paths(&world).await, ["/c", "/a"]);
        world.stop();
    });
}

#[test]
fn nothing_is_in_the_feed_of_a_site_on_hold() {
    simulated(async |sim| {
        let mut world = on_hold(&sim).await;
        world.put(&post("/a", 1)).await;
        changed(&world, "/a", 100, &[]).await;
        let functions = world.functions(None);
        functions.publish_feed(SITE, true).await.unwrap();
        assert_eq!(functions.objects.head(&object()).await.unwrap(), None);
        world.begin().await;
        assert_eq!(paths(&world).await, ["/a"], "the release publishes it");
        world.stop();
    });
}

#[test]
fn a_slow_publisher_of_the_feed_puts_nothing_over_a_faster_one() {
    simulated(async |sim| {
        // The faster one publishes something newer, or the same text as before.
        for last in ["/newer", "/first"] {
            let world = on_hold(&sim).await;
            let fast = world.functions(None);
            let table = &fast.reconciler.table;
            for (from, to) in [
                (Hold::Loading, Hold::Publishing),
                (Hold::Publishing, Hold::Released),
            ] {
                table.move_hold(SITE, from, to).await.unwrap();
            }
            changed(&world, "/first", 300, &[]).await;
            fast.publish_feed(SITE, true).await.unwrap();
            gone(&world, "/first", 300).await;
            changed(&world, "/second", 300, &[]).await;
            let gate = Arc::new(Gate::behind("Query", "FEED#"));
            let slow = world.functions(Some(gate.clone()));
            let slow = async { slow.publish_feed(SITE, true).await.unwrap() };
            let faster = async {
                gone(&world, "/second", 300).await;
                changed(&world, last, 300, &[]).await;
                fast.publish_feed(SITE, true).await.unwrap();
            };
            overtaken(&gate, slow, faster).await;
            let ids = texts(&feed(&world).await, "entry", "id");
            assert_eq!(ids, [format!("https://{SITE}{last}")]);
            world.stop();
        }
    });
}

#[test]
fn robots_txt_names_the_feed_of_a_site_that_wants_it() {
    simulated(async |sim| {
        let index = format!("Sitemap: https://{SITE}/sitemap_index.xml");
        let feed = format!("Sitemap: https://{SITE}/feed.atom");
        let world = world(&sim, &[post("/a", 1)]).await;
        for (fields, expected) in [
            (json!({}), vec![&index]),
            (json!({"feed_in_robots": true}), vec![&index, &feed]),
            (json!({"feed_in_robots": true, "feed": false}), vec![&index]),
            (json!({"feed_in_robots": true, "public": false}), vec![]),
        ] {
            world.put(&settings(fields.clone())).await;
            world.settle().await;
            let robots = world.crawler.get("/robots.txt").await;
            let robots = String::from_utf8(robots.body).expect("text");
            let named = robots.lines().filter(|line| line.starts_with("Sitemap:"));
            assert_eq!(Vec::from_iter(named), expected, "{fields}");
        }
        world.stop();
    });
}
