//! Tests translation groups: every member lists itself and all others, across sites.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sitemap::plan::MAX_GROUP;

use super::harness::{World, simulated};
use crate::crawler::Entry;
use crate::records::{SITE, post, settings, with};

const OTHER: &str = "de.example.net";

fn page(path: &str, language: &str) -> Value {
    let fields = json!({"language": language, "translation_group": "about"});
    with(&post(path, 1), fields)
}

fn elsewhere(path: &str, language: &str) -> Value {
    let url = format!("https://{OTHER}{path}");
    with(&page(path, language), json!({"url": url}))
}

async fn links(world: &World, path: &str) -> Vec<String> {
    world.listed().await[&format!("https://{SITE}{path}")]
        .links
        .clone()
}

fn link(code: &str, site: &str, path: &str) -> String {
    format!("{code} https://{site}{path}")
}

#[test]
fn a_members_coming_moving_and_going_updates_all_others_on_every_site() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        world.put(&page("/about", "en")).await;
        assert_eq!(links(&world, "/about").await, Vec::<String>::new());
        world.put(&elsewhere("/ueber", "de")).await;
        let fr = with(&page("/fr", "fr"), json!({"x_default": true}));
        world.put(&fr).await;
        let expected = [
            link("de", OTHER, "/ueber"),
            link("en", SITE, "/about"),
            link("fr", SITE, "/fr"),
            link("x-default", SITE, "/fr"),
        ];
        assert_eq!(links(&world, "/about").await, expected);
        assert_eq!(links(&world, "/fr").await, expected);
        let other = world.crawler.of(OTHER).entries().await;
        assert_eq!(other[&format!("https://{OTHER}/ueber")].links, expected);

        let moved = json!({"url": format!("https://{OTHER}/neu")});
        world.put(&with(&elsewhere("/ueber", "de"), moved)).await;
        assert_eq!(links(&world, "/fr").await[0], link("de", OTHER, "/neu"));
        world.put(&with(&fr, json!({"noindex": true}))).await;
        let expected = [link("de", OTHER, "/neu"), link("en", SITE, "/about")];
        assert_eq!(links(&world, "/about").await, expected);
        world.delete("post/ueber").await;
        assert_eq!(links(&world, "/about").await, Vec::<String>::new());
        world.delete("post/about").await;
        world.delete("post/fr").await;
        world.settle().await;
        assert!(world.rows("GROUP#").await.is_empty());
        world.stop();
    });
}

#[test]
fn of_two_pages_in_one_language_one_is_in_the_set_and_the_other_says_why_not() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        for (path, language) in [("/b", "de"), ("/en", "en"), ("/a", "de")] {
            world.put(&page(path, language)).await;
        }
        let expected = [link("de", SITE, "/a"), link("en", SITE, "/en")];
        assert_eq!(links(&world, "/a").await, expected);
        assert_eq!(links(&world, "/en").await, expected);
        assert_eq!(links(&world, "/b").await, Vec::<String>::new());
        assert!(notes(&world, "post/b").await[0].contains("post/a is its page in de"));
        world.delete("post/a").await;
        assert_eq!(links(&world, "/en").await[0], link("de", SITE, "/b"));
        assert_eq!(links(&world, "/b").await.len(), 2);
        assert!(notes(&world, "post/b").await.is_empty());
        world.stop();
    });
}

#[test]
fn bad_codes_one_sided_sets_and_a_missing_self_reference_are_reported() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        let of = |code: &str, path: &str| json!({"hreflang": code, "url": format!("https://{SITE}{path}")});
        let own = json!({"alternates": [of("en_US", "/a"), of("de", "/b")]});
        world.put(&with(&post("/a", 1), own)).await;
        let one_sided = json!({"alternates": [of("de", "/b")]});
        world.put(&with(&post("/c", 1), one_sided)).await;
        world.put(&page("/fr", "fr_FR")).await;
        assert_eq!(links(&world, "/a").await, [""; 0]);
        assert_eq!(links(&world, "/c").await, [link("de", SITE, "/b")]);
        let notes_of = |id| notes(&world, id);
        let a = notes_of("post/a").await;
        assert!(
            a[0].starts_with("alternates[0].hreflang: \"en_US\""),
            "{a:?}"
        );
        assert!(
            a[1].starts_with("alternates: left out: the page itself"),
            "{a:?}"
        );
        let c = notes_of("post/c").await;
        assert!(c[0].contains("the page itself is missing"), "{c:?}");
        let fr = notes_of("post/fr").await;
        assert!(fr[0].starts_with("language: \"fr_FR\""), "{fr:?}");
        assert!(fr[1].starts_with("translation_group"), "{fr:?}");
        world.stop();
    });
}

#[test]
fn a_full_group_admits_who_waits_when_somebody_leaves() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
        // Real codes of three letters, which sort before all others.
        let code = |n: usize| {
            let letter = |n: usize| char::from(b'a' + u8::try_from(n % 26).unwrap());
            format!("a{}{}", letter(n / 26), letter(n))
        };
        world
            .put(&settings(json!({"entries_per_sitemap": 1_000})))
            .await;
        let path = |n: usize| format!("/{n:03}");
        for n in 0..MAX_GROUP + 2 {
            world.put(&page(&path(n), &code(n))).await;
        }
        let listed = world.listed().await;
        let counts = |listed: &BTreeMap<String, Entry>| {
            let mut counts: Vec<usize> = listed.values().map(|entry| entry.links.len()).collect();
            counts.sort_unstable();
            counts
        };
        let mut expected = vec![0, 0];
        expected.extend([MAX_GROUP; MAX_GROUP]);
        assert_eq!(counts(&listed), expected);
        let member = |entry: &&Entry| entry.links.len() == MAX_GROUP;
        let first = listed.iter().find(|(_, entry)| member(entry)).unwrap().0;
        let gone = first.strip_prefix(&format!("https://{SITE}")).unwrap();
        world.delete(&format!("post{gone}")).await;
        assert_eq!(counts(&world.listed().await), expected[1..]);
        world.stop();
    });
}

async fn notes(world: &World, id: &str) -> Vec<String> {
    world.settle().await;
    let ledger = world.reconciler().table.ledger(id).await.unwrap();
    ledger.unwrap().notes
}
