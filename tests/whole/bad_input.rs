//! Tests that bad input affects no other record, is reported, and loses nothing.

use std::io::Write;

use cli::content::Source;
use cli::load::load;
use harness::{SITE, World, post, settings, with};
use local::stack::Options;
use local::tables::CONTENT_TABLE;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn each_bad_record_is_left_out_for_its_reason_and_its_neighbours_are_not() {
    let bad = |id: &str, fields: Value| with(&with(&post("/x", 1), json!({"id": id})), fields);
    let url = |path: &str| json!({"url": format!("https://{SITE}{path}")});
    let cases = [
        (
            bad(
                "long",
                url(&format!("/{}", "x".repeat(2_048 - SITE.len() - 9))),
            ),
            Some("bad_url"),
        ),
        (
            bad("foreign", json!({"url": "https://other.example/"})),
            Some("unknown_or_foreign"),
        ),
        (
            bad("evil", json!({"url": format!("https://{SITE}.evil/")})),
            Some("unknown_or_foreign"),
        ),
        (
            bad(
                "evil2",
                json!({"url": format!("https://{SITE}.evil/"), "site": SITE}),
            ),
            Some("foreign_url"),
        ),
        (bad("control", url("/\u{1}")), Some("bad_url")),
        (bad("fragment", url("/a#b")), Some("bad_url")),
        (
            bad("date", json!({"modified_at": "2020-02-30"})),
            Some("bad_field"),
        ),
        (bad("untyped", json!({"type": null})), Some("bad_field")),
        (bad("traversal", json!({"type": "../x"})), Some("bad_field")),
        (bad("no-url", json!({"url": null})), Some("bad_field")),
        (
            bad(
                "priority",
                with(&url("/priority"), json!({"priority": 1.7})),
            ),
            None,
        ),
        (
            bad(
                "title",
                with(&url("/title"), json!({"title": "a\u{0}b\u{1f}]]>"})),
            ),
            None,
        ),
        (
            bad(
                "longest",
                url(&format!("/{}", "x".repeat(2_047 - SITE.len() - 9))),
            ),
            None,
        ),
    ];
    let known = engine::reconcile::KnownSites::Only(vec![SITE.to_owned()]);
    let records: Vec<Value> = cases
        .iter()
        .map(|(record, _)| record.clone())
        .chain([post("/good", 1)])
        .collect();
    let world = World::with(
        Options {
            known,
            ..Options::default()
        },
        &records,
    )
    .await;
    assert!(world.paths().await.contains(&"/good".to_owned()));
    for (record, expected) in &cases {
        let id = record["id"].as_str().unwrap();
        let refusal = world.refusal(id).await;
        match expected {
            Some("unknown_or_foreign") => {
                assert_eq!(refusal.as_deref(), Some("unknown_site"), "{id}")
            }
            _ => assert_eq!(refusal.as_deref(), *expected, "{id}"),
        }
    }
    assert_eq!(world.paths().await.len(), 4);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_of_400_kb_and_1001_images_is_listed_without_what_does_not_fit() {
    let world = World::start().await;
    let images = |count: usize, bytes: usize| -> Vec<Value> {
        (0..count)
            .map(|n| json!({"url": format!("https://cdn.example.net/{n:0>bytes$}")}))
            .collect()
    };
    world
        .put(&with(
            &post("/many", 1),
            json!({"images": images(1_001, 5)}),
        ))
        .await;
    world
        .put(&with(
            &post("/large", 1),
            json!({"images": images(1_000, 360)}),
        ))
        .await;
    let listed = world.listed().await;
    assert_eq!(listed[&format!("https://{SITE}/many")].images.len(), 1_000);
    let kept = listed[&format!("https://{SITE}/large")].images.len();
    assert!((600..1_000).contains(&kept), "{kept}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_no_key_can_hold_stops_neither_a_first_load_nor_the_clock_nor_its_stream() {
    let long = json!({"id": "x".repeat(2_040), "type": "post", "url": format!("https://{SITE}/long"),
        "published_at": "2099-01-01T00:00:00Z"});
    let world = World::with(Options::default(), &[long.clone(), post("/a", 1)]).await;
    assert_eq!(world.paths().await, ["/a"]);
    assert_eq!(
        world.refusal(long["id"].as_str().unwrap()).await.as_deref(),
        Some("bad_field")
    );
    world.put(&with(&long, json!({"title": "edited"}))).await;
    world.put(&post("/b", 1)).await;
    assert_eq!(world.paths().await, ["/a", "/b"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_nobody_can_find_say_so_and_bad_ones_close_what_they_are_about() {
    let lost = json!({"id": "site/WWW.example.com", "type": "site", "public": false});
    let bad = json!({"types": {"aaa": {"priority": 7}, "page": {"public": "no"}, "zzz": {"public": false}},
        "robots": ["User-agent: *", "Disallow: /x\u{1}"], "entries_per_sitemap": 0});
    let page = |name: &str| with(&post(&format!("/{name}"), 1), json!({"type": name}));
    let records = [lost, settings(bad), page("aaa"), page("page"), page("zzz")];
    let world = World::with(Options::default(), &records).await;
    assert_eq!(world.paths().await, ["/aaa"]);
    assert_eq!(
        world.refusal("site/WWW.example.com").await.as_deref(),
        Some("bad_field")
    );
    let robots = String::from_utf8(world.crawler.get("/robots.txt").await.body).unwrap();
    let closed =
        format!("User-agent: *\nDisallow: /\n\nSitemap: https://{SITE}/sitemap_index.xml\n");
    assert!(robots.starts_with(&closed), "{robots}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_without_their_type_are_obeyed() {
    let untyped = json!({"id": format!("site/{SITE}"), "public": false});
    let world = World::with(Options::default(), &[untyped.clone(), post("/a", 1)]).await;
    assert!(world.paths().await.is_empty());
    assert_eq!(
        world.refusal("post/a").await.as_deref(),
        Some("site_private")
    );
    world
        .put(&with(&untyped, json!({"type": "site", "public": true})))
        .await;
    assert_eq!(world.paths().await, ["/a"]);
    // An edit loses the type, but the record is still treated as settings.
    world.put(&with(&untyped, json!({"type": "Site"}))).await;
    assert!(world.paths().await.is_empty());
    world.stop().await;
}

async fn loaded(bytes: &[u8]) -> (cli::content::Loaded, Vec<String>) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let mut stack = local::stack::Stack::start(Options::default())
        .await
        .unwrap();
    let source = Source::File(file.path().to_owned());
    let loaded = load(stack.aws.dynamodb().await, CONTENT_TABLE, &source)
        .await
        .unwrap();
    let settled = async {
        stack.run().await.unwrap();
        stack.settled().await.unwrap();
    };
    harness::within("what was loaded to be published", settled).await;
    let paths = if stack.hosts().is_empty() {
        Vec::new()
    } else {
        harness::Http::at(&stack.site_endpoint)
            .crawler(SITE)
            .entries()
            .await
            .into_keys()
            .collect()
    };
    stack.stop().await.unwrap();
    (loaded, paths)
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_lines_are_reported_with_number_field_and_reason_and_the_rest_is_loaded() {
    let lines = [
        format!("\u{feff}{}", post("/a", 1)),
        "not json".to_owned(),
        "[1]".to_owned(),
        String::new(),
        json!({"type": "post"}).to_string(),
        json!({"id": 7}).to_string(),
        with(&post("/b", 1), json!({"modified_at": "2020-02-30"})).to_string(),
        with(&post("/c", 1), json!({"priority": 1.7})).to_string(),
        with(
            &post("/huge", 1),
            json!({"description": "x".repeat(500_000)}),
        )
        .to_string(),
        post("/d", 1).to_string(),
    ];
    let (loaded, paths) = loaded(lines.join("\r\n").as_bytes()).await;
    let found: Vec<_> = loaded
        .problems
        .iter()
        .map(|p| (p.line, p.field.as_str(), p.closes))
        .collect();
    let expected = [
        (2, "-", true),
        (3, "-", true),
        (5, "id", true),
        (6, "id", true),
        (7, "modified_at", true),
        (8, "priority", false),
        (9, "-", true),
    ];
    assert_eq!(found, expected, "{:#?}", loaded.problems);
    assert_eq!(loaded.records, 4);
    assert_eq!(
        paths,
        ["/a", "/c", "/d"].map(|path| format!("https://{SITE}{path}"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_decides_about_pages_and_cannot_be_read_is_told_at_load() {
    let lines = [
        with(&post("/a", 1), json!({"id": "@a"})).to_string(),
        with(&post("/b", 1), json!({"canonical_url": ["/b"]})).to_string(),
        json!({"id": format!("site/{SITE}"), "pubilc": true}).to_string(),
        post("/c", 1).to_string(),
    ];
    let (loaded, paths) = loaded(lines.join("\n").as_bytes()).await;
    let told: Vec<String> = loaded
        .problems
        .iter()
        .map(|problem| format!("{} {}", problem.line, problem.field))
        .collect();
    assert_eq!(told, ["1 id", "2 canonical_url", "3 type", "3 pubilc"]);
    assert_eq!(loaded.records, 3);
    assert_eq!(paths, [format!("https://{SITE}/c")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_file_loads_nothing_and_a_missing_one_is_an_error() {
    let (loaded, paths) = loaded(b"").await;
    assert_eq!(
        (loaded.records, loaded.problems.len(), paths.len()),
        (0, 0, 0)
    );
    let stack = local::stack::Stack::start(Options::default())
        .await
        .unwrap();
    let missing = Source::File("/no/such/file.jsonl".into());
    let error = load(stack.aws.dynamodb().await, CONTENT_TABLE, &missing)
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("failed to read /no/such/file.jsonl: "),
        "{error}"
    );
    stack.stop().await.unwrap();
}
