//! Tests a user's table, whose items are content of any shape.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use cli::audit::{Ended, audit};
use cli::explain::explain;
use engine::content::SourceTable;
use engine::keys::{self, prefix};
use harness::{Poison, SITE, World, post, until, with};
use local::event_source::Faults;
use local::stack::{Options, Stack};
use serde_json::{Value, json};

mod deployments;
mod misread;
mod setup;

const TABLE: &str = "magazine";
/// Longer than a change takes here.
const PAUSE: Duration = Duration::from_millis(150);

/// Returns the mapping of a single table with posts and users, whose key is a text and a number.
fn mapping() -> Value {
    json!({
        "key": [{"pk": "S"}, {"sk": "N"}],
        "only": {"entity": "POST"},
        "fields": {
            "type": {"first": ["section", {"constant": "post"}]},
            "url": {"template": format!("https://{SITE}/{{slug}}/")},
            "status": {"path": "state", "values": {"live": "published", "*": "draft"}},
            "modified_at": {"path": "meta.updated", "time": "milliseconds"},
            "images": {"path": "media", "each": {"object": {"url": {"template": "https://i.example/{src}"}}}},
            "terms": {"object": {"tag": {"path": "tags", "each": "name"}}},
            "archive_of": "archive",
        },
    })
}

fn source() -> SourceTable {
    SourceTable::new(TABLE.to_owned(), &mapping().to_string()).unwrap()
}

fn options() -> Options {
    Options {
        source: Some(source()),
        ..Options::default()
    }
}

/// Returns a live post: partition key `POST#<slug>`, sort key `n`, changed on a day of January 2026.
fn item(slug: &str, n: i64, day: i64) -> Value {
    let updated = 1_767_225_600_000_i64 + (day - 1) * 86_400_000;
    json!({"pk": format!("POST#{slug}"), "sk": n, "entity": "POST", "slug": slug, "state": "live",
        "meta": {"updated": updated}, "body": "x".repeat(10_000)})
}

fn id(slug: &str, n: i64) -> String {
    format!("@POST#{slug}/{n}")
}

async fn put(stack: &Stack, item: &Value) {
    let client = stack.aws.dynamodb().await.clone();
    let item = serde_dynamo::to_item(item).unwrap();
    let put = client.put_item().table_name(TABLE).set_item(Some(item));
    put.send().await.unwrap();
}

async fn delete(world: &World, slug: &str, n: i64) {
    let client = world.stack.aws.dynamodb().await.clone();
    let delete = client.delete_item().table_name(TABLE);
    let delete = delete.key("pk", AttributeValue::S(format!("POST#{slug}")));
    let delete = delete.key("sk", AttributeValue::N(n.to_string()));
    delete.send().await.unwrap();
}

/// Checks that an audit finds nothing, not even harmless problems.
async fn is_sound(world: &World) {
    world.settle().await;
    let ended = audit(&world.target(), false, PAUSE, |_| ()).await;
    // A commit that lost a race leaks its slot until the next repair, which is harmless.
    let Ended::Whole(mut found) = ended.unwrap() else {
        panic!("not audited");
    };
    found.retain(|finding| !finding.problem.is_harmless());
    assert_eq!(found, []);
}

/// Waits until these paths are listed. Changes without an event come with the sweep.
async fn becomes(world: &World, expected: &[&str]) {
    let mut listed = world.paths().await;
    for _ in 0..100 {
        if listed == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        listed = world.paths().await;
    }
    assert_eq!(listed, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_users_items_are_listed_as_the_mapping_says() {
    let mut world = World::idle(options()).await;
    put(&world.stack, &item("first", 1, 1)).await;
    put(
        &world.stack,
        &with(&item("draft", 2, 1), json!({"state": "new"})),
    )
    .await;
    let user = json!({"pk": "USER#jane", "sk": 1, "entity": "USER", "slug": "jane"});
    put(&world.stack, &user).await;
    world.put(&post("/own/", 1)).await;
    world.begin().await;
    assert_eq!(world.paths().await, ["/first/", "/own/"]);
    is_sound(&world).await;

    // Every part of an item affects the page: its time, its images, its tags, its status, its address.
    let archive = json!({"slug": "tag/rust", "section": "tag", "archive": {"taxonomy": "tag", "term": "rust"}});
    put(&world.stack, &with(&item("rust", 1, 1), archive)).await;
    let edited = json!({"media": [{"src": "a b.png"}, {"no": 1}, {"src": "2.png"}], "tags": [{"name": "rust"}, {}]});
    put(&world.stack, &with(&item("first", 1, 9), edited)).await;
    put(&world.stack, &item("draft", 2, 2)).await;
    let listed = world.listed().await;
    let path = |path: &str| format!("https://{SITE}{path}");
    let first = &listed[&path("/first/")];
    assert_eq!(first.lastmod.as_deref(), Some("2026-01-09T00:00:00+00:00"));
    assert_eq!(
        first.images,
        ["https://i.example/a%20b.png", "https://i.example/2.png"]
    );
    let archive = &listed[&path("/tag%2Frust/")];
    assert_eq!(
        archive.lastmod, first.lastmod,
        "an archive's is its newest page's"
    );
    assert!(archive.sitemap.ends_with("tag-sitemap.xml"), "{archive:?}");
    assert!(listed.contains_key(&path("/draft/")));
    put(
        &world.stack,
        &with(&item("draft", 2, 3), json!({"slug": "moved"})),
    )
    .await;
    let expected = ["/first/", "/moved/", "/own/", "/tag%2Frust/"];
    assert_eq!(world.paths().await, expected);
    // If an item and a record want the same address, it is listed once.
    world
        .put(&with(&post("/moved/", 1), json!({"id": "twin"})))
        .await;
    assert_eq!(world.paths().await, expected);
    assert_eq!(world.refusal("twin").await.as_deref(), Some("duplicate"));
    world.delete("twin").await;

    // It is removed when it stops matching, when it is withdrawn, and when it is deleted.
    put(
        &world.stack,
        &with(&item("draft", 2, 3), json!({"entity": "NOTE"})),
    )
    .await;
    assert_eq!(world.paths().await, ["/first/", "/own/", "/tag%2Frust/"]);
    put(
        &world.stack,
        &with(&item("first", 1, 9), json!({"state": Value::Null})),
    )
    .await;
    assert_eq!(world.paths().await, ["/own/"]);
    put(&world.stack, &item("first", 1, 9)).await;
    assert_eq!(world.paths().await, ["/first/", "/own/"]);
    delete(&world, "first", 1).await;
    assert_eq!(world.paths().await, ["/own/"]);
    is_sound(&world).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_sitemap_table_is_rebuilt_from_both_tables() {
    let mut world = World::idle(options()).await;
    for n in 0..30 {
        put(&world.stack, &item(&format!("p{n:02}"), n - 15, 1 + n % 28)).await;
    }
    world.put(&post("/own/", 1)).await;
    world.begin().await;
    let before = world.listed().await;
    assert_eq!(before.len(), 31);
    world.drop_sitemap_table().await;
    until("the site has a row", async || {
        !world.rows("SITE#").await.is_empty()
    })
    .await;
    let after = world.listed().await;
    let lastmods = |listed: &BTreeMap<String, harness::Entry>| {
        let lastmod =
            |(loc, entry): (&String, &harness::Entry)| (loc.clone(), entry.lastmod.clone());
        listed.iter().map(lastmod).collect::<Vec<_>>()
    };
    assert_eq!(lastmods(&after), lastmods(&before));
    is_sound(&world).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_item_is_explained() {
    let mut world = World::idle(options()).await;
    put(&world.stack, &item("a", 1, 1)).await;
    put(
        &world.stack,
        &with(&item("b", -2, 1), json!({"state": "new"})),
    )
    .await;
    put(&world.stack, &with(&item("c", 3, 1), json!({"slug": 1.5}))).await;
    put(
        &world.stack,
        &with(&item("d", 4, 1), json!({"entity": "USER"})),
    )
    .await;
    world.begin().await;
    world.settle().await;
    let target = world.target();
    let said = async |what: &str| explain(&target, what).await.unwrap();
    let nobody = "no record has this address or this id\n";
    for (what, expected) in [
        (id("a", 1), "@POST#a/1: listed\n"),
        (format!("https://{SITE}/a/"), "@POST#a/1: listed\n"),
        (
            format!("https://{SITE}/b/"),
            "@POST#b/-2: left out, not_published: ",
        ),
        (
            id("c", 3),
            "@POST#c/3: left out, bad_field: url: slug is 1.5, neither a text nor a whole number\n",
        ),
        (
            id("d", 4),
            "@POST#d/4: the mapping excludes this item: its entity is \"USER\"\n",
        ),
        (id("e", 5), nobody),
        ("@POST#a/x".to_owned(), nobody),
        ("@POST#a".to_owned(), nobody),
    ] {
        let told = said(&what).await;
        assert!(told.starts_with(expected), "{what}: {told}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisonous_item_holds_up_none_beside_it() {
    let mut world = World::idle(options()).await;
    world.begin().await;
    let long = "l".repeat(1_000);
    let poison = [
        with(&item("no-slug", 1, 1), json!({"slug": Value::Null})),
        with(&item("map", 1, 1), json!({"slug": {"a": 1}})),
        with(
            &item("time", 1, 1),
            json!({"meta": {"updated": "yesterday"}}),
        ),
        with(
            &item("meta", 1, 1),
            json!({"media": 7, "tags": {"name": "x"}}),
        ),
        with(&item("list", 1, 1), json!({"meta": ["x"]})),
        with(&item("huge", 1, 1), json!({"slug": "x".repeat(3_000)})),
        with(&item("settings", 1, 1), json!({"section": "site"})),
        with(&item("section", 1, 1), json!({"section": "../x"})),
        with(&item(&long, 1, 1), json!({"slug": "long"})),
    ];
    for (n, poison) in poison.iter().enumerate() {
        put(&world.stack, poison).await;
        put(&world.stack, &item(&format!("good{n}"), 1, 1)).await;
    }
    let bytes = AttributeValue::B(Blob::new([0xff]));
    let mut binary: std::collections::HashMap<String, AttributeValue> =
        serde_dynamo::to_item(item("binary", 1, 1)).unwrap();
    binary.extend([
        ("slug".to_owned(), bytes.clone()),
        ("media".to_owned(), bytes),
    ]);
    let client = world.stack.aws.dynamodb().await.clone();
    let put_binary = client.put_item().table_name(TABLE).set_item(Some(binary));
    put_binary.send().await.unwrap();
    // Its problems do not decide whether it is listed.
    let mut expected: Vec<String> = (0..poison.len()).map(|n| format!("/good{n}/")).collect();
    expected.push("/meta/".to_owned());
    assert_eq!(world.paths().await, expected);
    for (slug, reason) in [
        ("no-slug", "bad_field"),
        ("map", "bad_field"),
        ("time", "bad_field"),
        ("list", "bad_field"),
        ("huge", "bad_url"),
        ("settings", "bad_field"),
        ("section", "bad_field"),
        ("binary", "bad_field"),
    ] {
        let refused = world.refusal(&id(slug, 1)).await;
        assert_eq!(refused.as_deref(), Some(reason), "{slug}");
    }
    let target = world.target();
    let told = explain(&target, &id(&long, 1)).await.unwrap();
    let reason = "left out, bad_field: id: 1008 bytes, at most 900\n";
    assert!(told.contains(reason), "{told}");
    let told = explain(&target, &id("meta", 1)).await.unwrap();
    for note in [
        "images: media is 7, not a list",
        "terms: tag: tags is {\"name\":\"x\"}, not a list",
    ] {
        assert!(told.contains(note), "{note} in {told}");
    }
    is_sound(&world).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_page_and_never_was_costs_no_write() {
    let poison = Poison::for_good_in("UpdateItem", "@USER#");
    let options = Options {
        interceptor: Some(poison.interceptor()),
        ..options()
    };
    let mut world = World::idle(options).await;
    world.begin().await;
    put(&world.stack, &item("a", 1, 1)).await;
    world.settle().await;
    for n in 0..5 {
        let user = json!({"pk": "USER#jane", "sk": n, "entity": "USER", "visits": n});
        put(&world.stack, &user).await;
    }
    assert_eq!(world.paths().await, ["/a/"]);
    assert_eq!(poison.failed(), 0);
    // The same item as a page is fenced.
    let page =
        json!({"pk": "USER#jane", "sk": 1, "entity": "POST", "slug": "jane", "state": "live"});
    put(&world.stack, &page).await;
    assert_eq!(world.paths().await, ["/a/"]);
    assert!(poison.failed() > 0);
    poison.lift();
    put(&world.stack, &page).await;
    put(&world.stack, &with(&page, json!({"visits": 9}))).await;
    assert_eq!(world.paths().await, ["/a/", "/jane/"]);
    put(&world.stack, &with(&page, json!({"entity": "USER"}))).await;
    assert_eq!(world.paths().await, ["/a/"]);
    is_sound(&world).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_bytes_is_one_too() {
    let mapping =
        json!({"key": [{"pk": "B"}], "fields": {"type": {"constant": "post"}, "url": "url"}});
    let source = SourceTable::new(TABLE.to_owned(), &mapping.to_string()).unwrap();
    let options = Options {
        source: Some(source),
        ..Options::default()
    };
    let mut world = World::idle(options).await;
    let client = world.stack.aws.dynamodb().await.clone();
    let put_bytes = async |path: &str| {
        let bytes = AttributeValue::B(Blob::new([0x00, 0x2f, 0xff]));
        let url = AttributeValue::S(format!("https://{SITE}{path}"));
        let put = client.put_item().table_name(TABLE);
        let put = put.item("pk", bytes).item("url", url);
        put.send().await.unwrap();
    };
    put_bytes("/a").await;
    world.begin().await;
    assert_eq!(world.paths().await, ["/a"]);
    put_bytes("/b").await;
    assert_eq!(world.paths().await, ["/b"]);
    let told = explain(&world.target(), "@%00%2F%FF").await.unwrap();
    assert!(told.starts_with("@%00%2F%FF: listed\n"), "{told}");
    is_sound(&world).await;
    world.stop().await;
}

#[test]
fn the_documentations_example_is_a_mapping() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/MAPPING.md");
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().skip_while(|line| *line != "    {");
    let mut example: Vec<&str> = lines.take_while(|line| *line != "    }").collect();
    example.push("}");
    cli::mapping::read(TABLE, &example.join("\n")).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_record_that_begins_with_the_mark_is_ignored_and_holds_up_nothing() {
    for options in [Options::default(), options()] {
        let mapped = options.source.is_some();
        let mut world = World::idle(options).await;
        for id in ["@x", "@POST#a/1", "=y"] {
            let path = format!("/{}/", id.len());
            world.put(&with(&post(&path, 1), json!({"id": id}))).await;
        }
        if mapped {
            put(&world.stack, &item("a", 1, 1)).await;
        }
        world.begin().await;
        world.put(&post("/b/", 1)).await;
        world.put(&with(&post("/c/", 1), json!({"id": "@c"}))).await;
        let expected: &[&str] = if mapped {
            &["/2/", "/a/", "/b/"]
        } else {
            &["/2/", "/b/"]
        };
        assert_eq!(world.paths().await, expected);
        assert_eq!(world.refusal("@x").await, None);
        is_sound(&world).await;

        // Pages of one record. The scan goes through both tables and past foreign items, to its end.
        let content = &world.stack.reconciler.content;
        let (mut ids, mut after, mut pages) = (Vec::new(), None::<String>, 0);
        loop {
            let page = content.scan(after.as_deref(), 1).await.unwrap();
            let records = page.records.into_iter();
            ids.extend(records.map(|(id, outline)| (id, outline.site)));
            pages += 1;
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        ids.sort();
        let mut expected = vec![("=y", SITE), ("post/b/", SITE)];
        if mapped {
            expected.insert(1, ("@POST#a/1", SITE));
        }
        let ids: Vec<(&str, &str)> = ids
            .iter()
            .map(|(id, site)| (id.as_str(), site.as_str()))
            .collect();
        assert_eq!(ids, expected);
        assert!(pages >= 5, "{pages}");
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_event_sources_do_the_items_that_are_there_are_listed() {
    for seed in 1..=3 {
        let options = Options {
            faults: Faults::seeded(seed, 0.15),
            stream_shards: 2,
            parallel: 2,
            ..options()
        };
        let mut world = World::idle(options).await;
        let mut random = fastrand::Rng::with_seed(seed);
        let mut there: BTreeMap<String, bool> = BTreeMap::new();
        for step in 0..120 {
            if step == 40 {
                world.begin().await;
            }
            let slug = format!("s{}", random.u8(..12));
            let day = random.i64(1..=28);
            match random.u8(..5) {
                0 => {
                    delete(&world, &slug, 1).await;
                    there.remove(&slug);
                }
                1 => {
                    let state = json!({"state": "new"});
                    put(&world.stack, &with(&item(&slug, 1, day), state)).await;
                    there.insert(slug, false);
                }
                2 => {
                    let entity = json!({"entity": "NOTE"});
                    put(&world.stack, &with(&item(&slug, 1, day), entity)).await;
                    there.insert(slug, false);
                }
                _ => {
                    put(&world.stack, &item(&slug, 1, day)).await;
                    there.insert(slug, true);
                }
            }
        }
        let listed = there.iter().filter(|(_, live)| **live);
        let expected: Vec<String> = listed.map(|(slug, _)| format!("/{slug}/")).collect();
        assert_eq!(world.paths().await, expected, "seed {seed}");
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn regression_an_item_that_is_withdrawn_while_another_run_has_its_fence_is_reconciled() {
    let world = World::with(options(), &[]).await;
    let id = "@POST#first/1";
    // A run that has read the item as a page, and has not placed it yet.
    let table = &world.stack.reconciler.table;
    let fenced = table.fence(&keys::page(id, 1)).await.unwrap();
    let note = with(&item("first", 1, 1), json!({"entity": "NOTE"}));
    put(&world.stack, &note).await;
    world.settle().await;
    let rows = world.rows(prefix::LEDGER).await;
    let tokens: Vec<_> = rows.values().map(|row| &row["token"]).collect();
    assert!(
        !tokens.contains(&&fenced.token),
        "what it is about to place would stay: {rows:?}"
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_a_table_with_another_key_waits_for_a_mapping_that_fits() {
    let world = World::with(options(), &[]).await;
    let record = json!({
        "awsRegion": "local", "eventID": "1", "eventName": "MODIFY",
        "eventSourceARN": format!("arn:aws:dynamodb:local:0:table/{TABLE}/stream/1"),
        "dynamodb": {"ApproximateCreationDateTime": 0, "Keys": {"pk": {"S": "POST#first"}}, "SequenceNumber": "7", "SizeBytes": 1},
    });
    let event = serde_json::from_value(json!({"Records": [record]})).unwrap();
    let answer = ingest::ingest(&world.stack.reconciler, &event).await;
    let failed = answer.batch_item_failures.iter();
    let failed: Vec<_> = failed.map(|one| one.item_identifier.as_deref()).collect();
    assert_eq!(failed, [Some("7")]);
    world.stop().await;
}
