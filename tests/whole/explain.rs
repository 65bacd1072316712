//! Why is this address listed, or not? What the operator's commands say.

use cli::explain::explain;
use cli::left_out::LeftOut;
use cli::status::status;
use harness::{SITE, World, post, settings, with};
use local::stack::Options;
use serde_json::json;

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
    // Nobody has the address: the records that name it are looked for.
    let draft = said(&format!("https://{SITE}/draft")).await;
    assert!(
        draft.starts_with("post/draft: left out, not_published: status is draft\n"),
        "{draft}"
    );
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
        "no scan of all content\n"
    );
    world.put(&settings(json!({"byte_limit": 7}))).await;
    world.put(&post("/a", 1)).await;
    world.begin().await;
    world.settle().await;
    let told = status(&target).await.unwrap().text();
    let expected = format!("{SITE}: live\n  byte_limit: 7 is not a whole number");
    assert!(told.starts_with(&expected), "{told}");
    world.stop().await;
}
