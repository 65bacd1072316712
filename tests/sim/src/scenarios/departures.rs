//! Tests pages that moved or are gone: their addresses answer 301 or 410.

use std::time::Duration;

use engine::keys;
use http::Method;
use serde_json::{Value, json};

use super::harness::{Options, World, simulated};
use super::loss::{find, is_clean};
use crate::records::{SITE, post, settings, with};

/// Returns the status of the answer for a path, and its Location.
async fn answer(world: &World, path: &str) -> (u16, String) {
    world.settle().await;
    // The front may use a site file for five seconds.
    world.clock.sleep(Duration::from_secs(6)).await;
    let answer = world.crawler.get(path).await;
    (answer.status, answer.header("location").to_owned())
}

fn moved(path: &str, target: &str) -> Value {
    with(&post(path, 1), json!({"moved_to": target}))
}

fn gone(path: &str) -> Value {
    with(&post(path, 1), json!({"gone": true}))
}

fn at(path: &str) -> String {
    format!("https://{SITE}{path}")
}

const ABSENT: (u16, String) = (404, String::new());

#[test]
fn a_page_that_moves_and_leaves_is_answered_until_its_record_goes() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        world.put(&post("/a", 1)).await;
        assert_eq!(world.paths().await, ["/a"]);
        assert_eq!(
            answer(&world, "/a").await,
            ABSENT,
            "a listed page is never answered"
        );

        world.put(&moved("/a", "/b?x=1#part")).await;
        assert!(world.paths().await.is_empty());
        assert_eq!(world.refusal("post/a").await.as_deref(), Some("moved"));
        assert_eq!(answer(&world, "/a").await, (301, at("/b?x=1#part")));
        let response = world.crawler.get("/a").await;
        assert_eq!(
            response.header("cache-control"),
            "public, max-age=3600, s-maxage=3600"
        );
        assert_eq!(response.header("x-robots-tag"), "");
        let page = String::from_utf8(response.body).expect("text");
        assert!(
            page.contains("moved to <a href=\"https://www.example.com/b?x=1#part\">"),
            "{page}"
        );
        let head = world.crawler.request(Method::HEAD, "/a", &[]).await;
        assert_eq!((head.status, head.body.len()), (301, 0));

        world.put(&gone("/a")).await;
        assert_eq!(world.refusal("post/a").await.as_deref(), Some("gone"));
        assert_eq!(answer(&world, "/a").await, (410, String::new()));
        let response = world.crawler.get("/a").await;
        assert_eq!(response.header("x-robots-tag"), "noindex, follow");

        world.put(&post("/a", 2)).await;
        assert_eq!(world.paths().await, ["/a"]);
        assert_eq!(answer(&world, "/a").await, ABSENT);

        world.put(&gone("/a")).await;
        assert_eq!(answer(&world, "/a").await.0, 410);
        world.delete("post/a").await;
        assert_eq!(answer(&world, "/a").await, ABSENT);
        for prefix in ["LEDGER#", "LOC#", "MOVED#", "OUT#"] {
            assert!(world.rows(prefix).await.is_empty(), "{prefix}");
        }
        assert_eq!(find(&world, false).await.1, []);
        world.stop();
    });
}

/// Tests that all spellings of an address are one, that a query is not part of what a CDN asks for, and that another site's page may be
/// the target.
#[test]
fn addresses_compare_as_everywhere() {
    simulated(async |sim| {
        let records = [
            moved("/%7Eold/", "https://elsewhere.example/new"),
            moved("/?p=1", "/b"),
            with(
                &moved("/out", "/b"),
                json!({"url": "https://other.example/x"}),
            ),
        ];
        let world = World::with(&sim, Options::default(), &records).await;
        let elsewhere = (301, "https://elsewhere.example/new".to_owned());
        assert_eq!(answer(&world, "/~old/").await, elsewhere);
        assert_eq!(answer(&world, "/%7eold/").await, elsewhere);
        assert_eq!(answer(&world, "/~old").await, ABSENT);
        assert_eq!(answer(&world, "/").await, ABSENT);
        world.stop();
    });
}

#[test]
fn moves_are_followed_and_loops_are_not() {
    simulated(async |sim| {
        let mut records: Vec<Value> = (0..8)
            .map(|n| moved(&format!("/{n}"), &format!("/{}", n + 1)))
            .collect();
        records.extend([moved("/x", "/y"), moved("/y", "/z"), moved("/z", "/x")]);
        records.extend([moved("/old", "/older"), gone("/older")]);
        let world = World::with(&sim, Options::default(), &records).await;
        assert_eq!(answer(&world, "/7").await, (301, at("/8")));
        assert_eq!(answer(&world, "/4").await, (301, at("/8")));
        // After five moves the reader is sent on.
        assert_eq!(answer(&world, "/0").await, (301, at("/5")));
        assert_eq!(answer(&world, "/x").await, ABSENT);
        assert_eq!(answer(&world, "/old").await, (410, String::new()));
        world.stop();
    });
}

#[test]
fn a_listed_page_takes_an_address_from_one_that_departed_and_gives_it_back() {
    simulated(async |sim| {
        let other = |fields: Value| {
            let record = with(&post("/a", 3), json!({"id": "post/other"}));
            with(&record, fields)
        };
        let second = with(&gone("/a"), json!({"id": "post/second"}));
        let world = World::with(&sim, Options::default(), &[moved("/a", "/b")]).await;
        world.put(&second).await;
        assert_eq!(answer(&world, "/a").await, (301, at("/b")));
        let waits = world.refusal("post/second").await;
        assert_eq!(waits.as_deref(), Some("duplicate"));

        world.put(&other(json!({}))).await;
        assert_eq!(world.paths().await, ["/a"]);
        assert_eq!(answer(&world, "/a").await, ABSENT);
        let waits = world.refusal("post/a").await;
        assert_eq!(waits.as_deref(), Some("duplicate"));
        assert!(world.rows("MOVED#").await.is_empty());
        assert_eq!(find(&world, false).await.1, []);

        // It departs itself: of the three, one has the address.
        world.put(&other(json!({"moved_to": "/c"}))).await;
        assert_eq!(answer(&world, "/a").await, (301, at("/c")));
        assert!(world.paths().await.is_empty());
        // A page that waits is listed at once, since the owner's claim yields.
        world
            .put(&with(&post("/a", 4), json!({"id": "post/second"})))
            .await;
        assert_eq!(world.paths().await, ["/a"]);
        assert_eq!(answer(&world, "/a").await, ABSENT);
        world.delete("post/second").await;
        world.settle().await;
        let (status, to) = answer(&world, "/a").await;
        assert_eq!(status, 301);
        assert!([at("/b"), at("/c")].contains(&to), "{to}");
        assert_eq!(find(&world, false).await.1, []);
        world.stop();
    });
}

/// Tests a listed page that waits for the address of a listed page, which then departs.
#[test]
fn a_page_that_waits_is_listed_when_the_owner_departs() {
    simulated(async |sim| {
        let waiting = with(&post("/a", 3), json!({"id": "post/waiting"}));
        let world = World::with(&sim, Options::default(), &[post("/a", 1)]).await;
        world.put(&waiting).await;
        let waits = world.refusal("post/waiting").await;
        assert_eq!(waits.as_deref(), Some("duplicate"));
        world.put(&moved("/a", "/b")).await;
        assert_eq!(world.paths().await, ["/a"]);
        assert_eq!(world.refusal("post/waiting").await, None);
        assert_eq!(answer(&world, "/a").await, ABSENT);
        assert_eq!(find(&world, false).await.1, []);
        world.stop();
    });
}

#[test]
fn a_private_site_answers_nothing_and_an_open_one_again() {
    simulated(async |sim| {
        let max_age = json!({"moved_max_age": 60});
        let records = [settings(max_age.clone()), gone("/a")];
        let world = World::with(&sim, Options::default(), &records).await;
        assert_eq!(answer(&world, "/a").await.0, 410);
        let cached = world.crawler.get("/a").await;
        let cached = cached.header("cache-control");
        assert_eq!(cached, "public, max-age=60, s-maxage=60");
        world.put(&settings(json!({"public": false}))).await;
        world.settle().await;
        assert_eq!(answer(&world, "/a").await, ABSENT);
        assert!(world.rows("MOVED#").await.is_empty());
        world.put(&settings(max_age)).await;
        world.settle().await;
        assert_eq!(answer(&world, "/a").await.0, 410);
        world.stop();
    });
}

/// Tests lost rows and objects, and a dropped table, after which nothing redirects that should not.
#[test]
fn what_is_lost_is_found_and_made_again() {
    simulated(async |sim| {
        let records = [moved("/a", "/b"), gone("/c"), post("/d", 1)];
        let world = World::with(&sim, Options::default(), &records).await;
        let is_whole = async |what: &str| {
            assert_eq!(answer(&world, "/a").await, (301, at("/b")), "{what}");
            assert_eq!(answer(&world, "/c").await.0, 410, "{what}");
            assert_eq!(world.paths().await, ["/d"], "{what}");
            assert_eq!(find(&world, false).await.1, [], "{what}");
        };
        is_whole("at first").await;
        let rows = world.rows("MOVED#").await;
        assert_eq!(rows.len(), 2);
        for (pk, sk) in rows.keys() {
            world.delete_row(pk, sk).await;
            world.settle().await;
            let (ended, findings) = find(&world, true).await;
            assert!(is_clean(&ended), "{findings:?}");
            is_whole("a lost row").await;
            world.damage((pk, sk), "departure", Some("\"lost\"")).await;
            world.settle().await;
            let (ended, findings) = find(&world, true).await;
            assert!(is_clean(&ended), "{findings:?}");
            is_whole("a damaged row").await;
        }
        for key in world.objects().list(SITE).await.expect("a list") {
            if !key.path().contains("/moved/") {
                continue;
            }
            for how in 0..2 {
                world.lose_object(&key, how).await;
                let (ended, findings) = find(&world, true).await;
                assert!(is_clean(&ended), "{findings:?}");
                is_whole("a lost object").await;
            }
        }
        world.delete("post/a").await;
        world.drop_sitemap_table().await;
        world.settle().await;
        for _ in 0..3 {
            world.sweep().await;
            world.settle().await;
        }
        assert_eq!(answer(&world, "/a").await, ABSENT, "a dropped table");
        assert_eq!(answer(&world, "/c").await.0, 410, "a dropped table");
        assert_eq!(find(&world, false).await.1, []);
        world.stop();
    });
}

/// Tests the list of which files for other servers are made.
#[test]
fn all_departures_of_a_site_are_listed_but_those_whose_rows_are_damaged() {
    simulated(async |sim| {
        let records = [moved("/a", "/b"), gone("/c"), post("/d", 1)];
        let world = World::with(&sim, Options::default(), &records).await;
        let listed = async || {
            let departures = world.reconciler().table.departures_of(SITE).await;
            let departures = departures.expect("read").into_iter();
            let mut listed: Vec<_> = departures.map(|one| (one.loc, one.record)).collect();
            listed.sort();
            listed
        };
        let a = (at("/a"), "post/a".to_owned());
        let c = (at("/c"), "post/c".to_owned());
        assert_eq!(listed().await, [a, c.clone()]);
        // A call has a key in the same partition, and is no departure.
        let table = &world.reconciler().table;
        table.call_departures(SITE, 7).await.expect("written");
        let key = keys::departed(SITE, &at("/a"));
        world.damage((&key.pk, &key.sk), "owner", None).await;
        assert_eq!(listed().await, [c]);
        world.stop();
    });
}
