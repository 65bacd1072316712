//! Tests the messages of the operator's commands about why an address is listed or not.

use cli::explain::{Explanation, explain, explain_all};
use cli::status::exclusions::LeftOut;
use cli::status::{Look, look, status};
use harness::{SITE, World, post, settings, with};
use local::stack::Options;
use serde_json::json;
use sitemap::time::When;

#[tokio::test(flavor = "multi_thread")]
async fn every_address_and_every_record_is_explained() {
    let link =
        |code: &str, path: &str| json!({"hreflang": code, "url": format!("https://{SITE}{path}")});
    let alternates = json!({"alternates": [link("en", "/long/"), link("de", "/a"), link("fr", "/draft")],
        "pages": 2, "terms": {"tag": ["t"]}});
    let records = [
        with(&post("/long/", 1), alternates),
        post("/a", 2),
        with(&post("/a", 3), json!({"id": "twin"})),
        with(&post("/draft", 4), json!({"status": "draft"})),
        with(
            &post("/later", 5),
            json!({"published_at": "2999-01-01T00:00:00Z"}),
        ),
        with(&post("/caf%c3%a9/", 6), json!({"id": "listed"})),
        with(&post("/café/", 7), json!({"id": "again"})),
        with(
            &post("/%C3%A9t%C3%A9/", 8),
            json!({"id": "summer", "status": "draft"}),
        ),
    ];
    let world = World::with(Options::default(), &records).await;
    world.settle().await;
    let target = world.target();
    let said = async |what: &str| explain(&target, what).await.unwrap();

    let long = said(&format!("https://{SITE}/long/")).await;
    for line in [
        "post/long/: listed\n",
        "  in post-sitemap.xml at position ",
        "  in the archive tag t with 2026-01-01T12:00:00+00:00\n",
        "/a does not link back, so search engines ignore it\n",
    ] {
        assert!(long.contains(line), "{line:?} in {long}");
    }
    assert!(!long.contains("/draft does not link back"), "{long}");
    assert!(
        said("post/long/")
            .await
            .contains("post/long/, part 2: listed")
    );
    let twins = said(&format!("https://{SITE}/a")).await;
    assert!(twins.contains(": listed") && twins.contains(": left out, duplicate: "));
    let later = said("post/later").await;
    let next = "  next check at 2999-01-01T00:00:00+00:00\n";
    assert!(later.contains(next), "{later}");
    // The address has no owner, so the records that name it are searched.
    let draft = said(&format!("https://{SITE}/draft")).await;
    assert!(
        draft.starts_with("post/draft: left out, not_published: status is draft\n"),
        "{draft}"
    );
    for spelling in ["/café/", "/caf%C3%A9/", "/caf%c3%a9/", "/./caf%c3%A9/"] {
        let listed = said(&format!("https://{SITE}{spelling}")).await;
        assert!(listed.contains(": listed") && listed.contains(": left out, duplicate: "));
    }
    for spelling in ["/été/", "/%c3%a9t%c3%a9/"] {
        let draft = said(&format!("https://{SITE}{spelling}")).await;
        assert!(
            draft.starts_with("summer: left out, not_published"),
            "{draft}"
        );
    }
    let nobody = "no record has this address or this id\n";
    assert_eq!(&*said(&format!("https://{SITE}/nowhere")).await, nobody);
    assert_eq!(&*said("post/nowhere").await, nobody);
    assert!(!said("post/nowhere").await.known && twins.known);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_page_can_be_made_of_is_explained() {
    let records = [
        settings(json!({"news_name": "N", "language": "en", "types": {"post": {"news": true}}})),
        with(&post("/a", 1), json!({"title": "A"})),
        with(
            &post("/", 1),
            json!({"id": "@mine", "url": format!("https://{SITE}/at")}),
        ),
        json!({"id": "bad", "type": "post", "url": "javascript:alert(1)"}),
        with(&post("/c", 1), json!({"canonical_url": "/c#top"})),
    ];
    let mut world = World::idle(Options::default()).await;
    for record in &records {
        world.put(record).await;
    }
    world.begin().await;
    world.settle().await;
    let target = world.target();
    let said = async |what: &str| explain(&target, what).await.unwrap();
    let reserved = "@mine: left out, bad_field: id: begins with @, ";
    for what in ["@mine", &format!("https://{SITE}/at")] {
        let said = said(what).await;
        assert!(said.starts_with(reserved), "{said}");
    }
    let left_out = LeftOut::of(&target.reconciler, 5).await.unwrap();
    let listed = left_out.text();
    assert!(
        listed.contains("    @mine: id: begins with @, "),
        "{listed}"
    );
    assert_eq!(left_out.total(), 3);
    let nobody = "no record has this address or this id\n";
    assert_eq!(said("@nobody").await.to_string(), nobody);
    let bad = said("bad").await;
    let expected = "bad: left out, bad_url: url: the scheme javascript is neither http nor https\n";
    assert_eq!(bad.to_string(), expected);
    let canonical = said("post/c").await;
    let expected = "post/c: left out, bad_field: canonical_url: has a fragment\n";
    assert_eq!(canonical.to_string(), expected);
    let old = said("post/a").await;
    let expected = "  news: left out, it was published or modified more than 48 hours ago\n";
    assert!(old.contains(expected), "{old}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_tells_how_far_each_site_and_the_scan_are() {
    let mut world = World::idle(Options::default()).await;
    let target = world.target();
    assert_eq!(
        &*status(&target).await.unwrap().text(),
        "background: idle\n"
    );
    world.put(&settings(json!({"byte_limit": 7}))).await;
    world.put(&post("/a", 1)).await;
    world.begin().await;
    world.settle().await;
    let told = status(&target).await.unwrap().text();
    let expected = format!("{SITE}: live\n  byte_limit: 7 is not a whole number");
    assert!(told.starts_with(&expected), "{told}");
    let listed = "\n  1 sitemap with 1 URL, last published at ";
    assert!(told.contains(listed), "{told}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_has_what_changes_next_by_the_clock() {
    let mut world = World::idle(Options::default()).await;
    let now = When::at(world.stack.reconciler.env.now());
    let at = |hours: i64| When::at(now.seconds() + hours * 3_600).to_string();
    let later = |path: &str, hours| with(&post(path, 1), json!({"published_at": at(hours)}));
    for record in [
        settings(json!({})),
        post("/a", 1),
        later("/soon", 2),
        later("/too", 2),
        later("/then", 3),
        later("/never", 9_000),
    ] {
        world.put(&record).await;
    }
    world.begin().await;
    world.settle().await;
    let what = Look {
        site: Some(SITE.to_owned()),
        clock: true,
    };
    let mut status = look(&world.target(), &what).await.unwrap();
    let site = &status.sites[0];
    let due = site.next_by_clock.clone().unwrap();
    assert_eq!((due.at.to_string(), due.pages, due.more), (at(2), 2, false));
    assert_eq!((site.sitemaps, site.urls), (1, 1));
    assert!(status.idle && site.last_published.is_some(), "{status:?}");
    // A look without the clock takes that part over from an earlier look that had it.
    let quick = Look {
        clock: false,
        ..what
    };
    let mut without = look(&world.target(), &quick).await.unwrap();
    assert_eq!(without.sites[0].next_by_clock, None);
    without.remember_clock(&status);
    assert_eq!(without.sites[0].next_by_clock, Some(due));
    status.at = When::at(now.seconds() + 7_200);
    let before = status.clone();
    status.remember_clock(&before);
    assert_eq!(status.sites[0].next_by_clock, None);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_explained_in_its_order_with_one_search() {
    let records = [
        post("/a", 1),
        with(&post("/draft", 2), json!({"status": "draft"})),
        with(&post("/twin", 3), json!({"id": "twin", "status": "draft"})),
    ];
    let world = World::with(Options::default(), &records).await;
    world.settle().await;
    let loc = |path: &str| format!("https://{SITE}{path}");
    let asked = [
        loc("/draft"),
        loc("/a"),
        loc("/no"),
        "twin".to_owned(),
        loc("/twin"),
    ];
    let mut found = Vec::new();
    let target = world.target();
    let explaining = explain_all(&target, &asked, |explanation| found.push(explanation));
    explaining.await.unwrap();
    let ids = |explanation: &Explanation| {
        let pages = explanation.pages.iter();
        pages.map(|page| page.id.clone()).collect::<Vec<_>>()
    };
    let told: Vec<_> = found.iter().map(|one| (one.known, ids(one))).collect();
    let expected = [
        (true, vec!["post/draft".to_owned()]),
        (true, vec!["post/a".to_owned()]),
        (false, Vec::new()),
        (true, vec!["twin".to_owned()]),
        (true, vec!["twin".to_owned()]),
    ];
    assert_eq!(told, expected);
    for (asked, explained) in asked.iter().zip(&found) {
        let alone = explain(&world.target(), asked).await.unwrap();
        assert_eq!(alone, *explained, "{asked}");
    }
    world.stop().await;
}
