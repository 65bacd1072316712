//! The feed of what has changed, and that no slow publisher puts an older one over it.
//!
//! In most tests its rows are written by hand: what is held here is what becomes of them.

use std::collections::BTreeMap;

use aws::Aws;
use aws::Clock;
use aws_sdk_dynamodb::config::SharedInterceptor;
use cli::audit::{Ended, audit};
use engine::content::NO_SOURCE;
use engine::feed::EXPIRES;
use engine::keys;
use engine::regenerate::Regenerator;
use engine::regenerate::feed::FEED_PERIOD;
use engine::sites::Hold;
use engine::sweep::sweep;
use harness::{Gate, SITE, World, post, settings, until, with};
use local::stack::{AUDIT_TIMES, Options};
use local::tables::SITEMAP_TABLE;
use objects::ObjectKey;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::{Value, json};
use sitemap::feed::MAX_FEED_ENTRIES;
use sitemap::loc::Loc;
use sitemap::plan::{Address, FeedItem};
use sitemap::site::SiteSettings;
use sitemap::time::When;

/// Where the clock stands, in Unix seconds: eight in the morning.
const NOW: i64 = 1_800_000_000;

async fn world(records: &[Value]) -> World {
    let options = Options {
        clock: Clock::stopped(NOW),
        ..Options::default()
    };
    World::with(options, records).await
}

/// A stack whose functions do not run, with a site on hold.
async fn on_hold() -> World {
    let options = Options {
        clock: Clock::stopped(NOW),
        ..Options::default()
    };
    let world = World::idle(options).await;
    let settings = SiteSettings::default_for(SITE).unwrap();
    let table = &world.stack.reconciler.table;
    table.create_site(&settings, NO_SOURCE, NOW).await.unwrap();
    world
}

/// The functions with these interceptors in front of all their calls.
fn functions(world: &World, interceptors: Vec<SharedInterceptor>) -> Regenerator {
    let (dynamodb, s3) = (&world.stack.dynamodb_endpoint, &world.stack.s3_endpoint);
    let aws = Aws::on_loopback(dynamodb, s3, interceptors);
    harness::functions(&aws, &world.clock)
}

/// Writes the row of a page that changed so many seconds ago.
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
    let row = engine::feed::row(NOW - seconds_ago, &format!("post{path}"), &item);
    let attributes = row.iter().map(|(name, value)| {
        let json = match value {
            table::Value::Number(number) => serde_json::from_str(number).unwrap(),
            value => json!(value.as_text().expect("a text or a number")),
        };
        (name.to_string(), json)
    });
    let row = Value::Object(attributes.collect());
    world.put_into(SITEMAP_TABLE, &row).await;
}

/// Takes the row away.
async fn gone(world: &World, path: &str, seconds_ago: i64) {
    let key = keys::feed(SITE, NOW - seconds_ago, &format!("post{path}"));
    world.delete_row(&key.pk, &key.sk).await;
}

fn object() -> ObjectKey {
    ObjectKey::Feed {
        site: SITE.to_owned(),
    }
}

/// The feed as it is published.
async fn feed(world: &World) -> String {
    let found = world.stack.objects.get(&object()).await.unwrap();
    let (meta, bytes) = found.expect("published");
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let document = meta.document.unwrap();
    assert_eq!(document.bytes, bytes.len() as u64);
    assert_eq!(document.digest, keys::sha256_hex(&text));
    assert_eq!(document.entries as usize, texts(&text, "entry", "id").len());
    text
}

/// The texts of an element of the feed's own, or of each of its entries.
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

/// The rows of what has changed.
async fn rows(world: &World) -> BTreeMap<(String, String), BTreeMap<String, String>> {
    let mut rows = world.rows("FEED#").await;
    rows.retain(|_, row| row.contains_key(EXPIRES));
    rows
}

/// The paths of the entries, in their order, once a feed that was published just now may be published again.
async fn paths(world: &World) -> Vec<String> {
    world.settle().await;
    world.clock.advance(FEED_PERIOD);
    let (reconciler, objects) = (&world.stack.reconciler, &world.stack.objects);
    // The stack's own may be under way.
    until("it is this sweep's turn", async || {
        let swept = sweep(reconciler, &**objects, AUDIT_TIMES, None);
        Box::pin(swept).await.unwrap()
    })
    .await;
    world.settle().await;
    let prefix = format!("https://{SITE}");
    let ids = texts(&feed(world).await, "entry", "id");
    let path = |id: &String| id.strip_prefix(&prefix).unwrap().to_owned();
    ids.iter().map(path).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_changed_is_in_the_feed_the_newest_first() {
    let world = world(&[settings(json!({"name": "Bread & Butter"})), post("/a", 1)]).await;
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
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_is_edited_is_in_the_feed_for_two_days_or_until_it_goes() {
    let world = world(&[post("/a", 1), post("/b", 1), post("/c", 1)]).await;
    assert_eq!(paths(&world).await, [""; 0], "empty after a first load");
    for (path, title) in [("/a", "One"), ("/b", "Two"), ("/a", "Three")] {
        world.clock.advance(10);
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
    world.clock.advance(48 * 3_600);
    assert_eq!(paths(&world).await, [""; 0]);
    assert_eq!(rows(&world).await.len(), 1, "DynamoDB deletes it");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_that_has_just_changed_waits_for_its_minute() {
    let world = world(&[post("/a", 1), post("/b", 1)]).await;
    world.settle().await;
    world.clock.advance(FEED_PERIOD);
    for (path, count) in [("/a", 1), ("/b", 1)] {
        let edited = with(&post(path, 2), json!({"title": "New"}));
        world.put(&edited).await;
        world.settle().await;
        let entries = texts(&feed(&world).await, "entry", "id");
        assert_eq!(entries.len(), count, "{path}: {entries:?}");
        world.clock.advance(10);
    }
    assert_eq!(paths(&world).await, ["/b", "/a"]);
    // Settings wait for nothing.
    world
        .put(&settings(json!({"name": "Bread & Butter"})))
        .await;
    world.settle().await;
    let title = texts(&feed(&world).await, "feed", "title");
    assert_eq!(title, ["Bread & Butter"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_lost_comes_back_as_it_was_and_one_whose_claim_is_lost_stays() {
    let world = world(&[post("/a", 1), post("/b", 1)]).await;
    world.settle().await;
    for (path, title) in [("/a", "One"), ("/b", "Two")] {
        world.clock.advance(10);
        let edited = json!({"title": title, "description": "<d>", "published_at": "2026-01-01"});
        world.put(&with(&post(path, 2), edited)).await;
        world.settle().await;
    }
    let before = rows(&world).await;
    assert_eq!(before.len(), 2);
    world.clock.advance(3_600);
    let (lost, row) = before.first_key_value().unwrap();
    let claim = keys::claim(SITE, &row["loc"]);
    for (pk, sk) in [lost, &(claim.pk, claim.sk)] {
        world.delete_row(pk, sk).await;
        world.settle().await;
        let target = world.target();
        let pause = std::time::Duration::from_millis(150);
        let ended = audit(&target, true, pause, |_| ()).await.unwrap();
        assert_eq!(ended, Ended::Whole(Vec::new()));
        assert_eq!(rows(&world).await, before);
        assert_eq!(paths(&world).await, ["/b", "/a"]);
        let titles = texts(&feed(&world).await, "entry", "title");
        assert_eq!(titles, ["Two", "One"]);
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_has_no_more_than_its_newest_entries() {
    let world = world(&[post("/a", 1)]).await;
    // Over two days, so that one partition alone has not enough.
    for n in 0..MAX_FEED_ENTRIES as i64 + 20 {
        changed(&world, &format!("/{n}"), n * 200, &[]).await;
    }
    let expected: Vec<_> = (0..MAX_FEED_ENTRIES).map(|n| format!("/{n}")).collect();
    assert_eq!(paths(&world).await, expected);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_is_private_or_wants_no_feed_has_an_empty_one() {
    let world = world(&[post("/a", 1)]).await;
    changed(&world, "/a", 100, &[]).await;
    assert_eq!(paths(&world).await, ["/a"]);
    for closed in [json!({"feed": false}), json!({"public": false})] {
        world.put(&settings(closed)).await;
        assert_eq!(paths(&world).await, [""; 0]);
        world.put(&settings(json!({}))).await;
        assert_eq!(paths(&world).await, ["/a"]);
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_row_costs_its_own_entry() {
    let world = world(&[post("/a", 1)]).await;
    changed(&world, "/a", 300, &[]).await;
    changed(&world, "/b", 200, &[("published", "2026-01-02")]).await;
    let row = keys::feed(SITE, NOW - 200, "post/b");
    let elsewhere = "https://elsewhere.example/";
    world
        .damage((&row.pk, &row.sk), "loc", Some(elsewhere))
        .await;
    changed(&world, "/c", 100, &[]).await;
    assert_eq!(paths(&world).await, ["/c", "/a"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_in_the_feed_of_a_site_on_hold() {
    let mut world = on_hold().await;
    world.put(&post("/a", 1)).await;
    changed(&world, "/a", 100, &[]).await;
    let functions = functions(&world, Vec::new());
    functions.publish_feed(SITE, true).await.unwrap();
    assert_eq!(functions.objects.head(&object()).await.unwrap(), None);
    world.begin().await;
    assert_eq!(paths(&world).await, ["/a"], "the release publishes it");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_publisher_of_the_feed_puts_nothing_over_a_faster_one() {
    // What the faster one publishes is something newer, or reads as what was published before.
    for last in ["/newer", "/first"] {
        let world = on_hold().await;
        let fast = functions(&world, Vec::new());
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
        let gate = Gate::behind("Query", "FEED#");
        let slow = functions(&world, vec![gate.interceptor()]);
        let slow = tokio::spawn(async move { slow.publish_feed(SITE, true).await.unwrap() });
        gate.reached().await;
        gone(&world, "/second", 300).await;
        changed(&world, last, 300, &[]).await;
        fast.publish_feed(SITE, true).await.unwrap();
        gate.open();
        slow.await.unwrap();
        let ids = texts(&feed(&world).await, "entry", "id");
        assert_eq!(ids, [format!("https://{SITE}{last}")]);
        world.stop().await;
    }
}
