//! Tests poison: permanent and long failures do not affect other records, and batches that were given up can be replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use harness::{Chaos, PATIENCE, Poison, SITE, World, post, settings, until, with};
use local::event_source::FailedBatch;
use local::stack::Options;
use local::tables::CONTENT_TABLE;
use serde_json::{Value, json};

/// The retries of a batch here.
const RETRIES: u32 = 3;
/// Longer than a scan may stall before `sweep` wakes it.
const STALLED_SECONDS: i64 = 1_000;
/// The record that the poison affects. Its page has another name, so that no other record's calls name it.
const TOXIC: &str = "a-toxic-record";
const OTHER: &str = "other.example.org";

fn toxic(day: u32) -> Value {
    with(&post("/page", day), json!({"id": TOXIC}))
}

/// Returns a page of another site.
fn other(path: &str) -> Value {
    let url = format!("https://{OTHER}{path}");
    with(
        &post(path, 1),
        json!({"id": format!("other{path}"), "url": url}),
    )
}

fn options(poison: &Poison) -> Options {
    Options {
        interceptor: Some(poison.interceptor()),
        retries: Some(RETRIES),
        ..Options::default()
    }
}

/// Returns the key attribute of the first record of a batch that was given up.
fn first(batch: &FailedBatch, key: &str) -> String {
    let record = aws::stream::record(&batch.event.records[0]);
    record.key.text(key).unwrap().to_owned()
}

/// Waits until this number of batches were given up.
async fn given_up(world: &World, batches: usize) {
    until("a batch is given up", async || {
        world.stack.failed.len() >= batches
    })
    .await;
}

/// Checks that exactly these records have ledgers, except for fences alone, which a failed reconcile of a deleted record may
/// leave. Each entry must have its claim.
async fn audit(world: &World, ids: &[&str]) {
    let owners = |rows: Vec<BTreeMap<String, String>>| -> BTreeSet<String> {
        rows.iter()
            .filter_map(|row| row.get("owner").cloned())
            .collect()
    };
    let entries = world.rows("SEGMENT#").await.into_values().collect();
    let claims = world.rows("LOC#").await.into_values().collect();
    assert_eq!(owners(entries), owners(claims));
    let ledgers: BTreeSet<String> = world
        .rows("LEDGER#")
        .await
        .into_iter()
        .filter(|(_, row)| row.contains_key("body"))
        .map(|((pk, _), _)| pk["LEDGER#".len()..].to_owned())
        .collect();
    assert_eq!(ledgers, ids.iter().map(|id| (*id).to_owned()).collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_refused_for_good_is_acknowledged_and_its_neighbours_are_listed() {
    // All its calls, then only its transaction, when it has been fenced and read.
    for poison in [
        Poison::for_good(TOXIC),
        Poison::for_good_in("TransactWriteItems", TOXIC),
    ] {
        let world = World::with(options(&poison), &[toxic(1), post("/a", 1)]).await;
        assert_eq!(world.paths().await, ["/a"], "beside a first load");
        let before = poison.failed();
        world.put(&post("/b", 1)).await;
        world.put(&toxic(2)).await;
        world.put(&post("/c", 1)).await;
        assert_eq!(world.paths().await, ["/a", "/b", "/c"]);
        assert!(poison.failed() > before, "it was tried");
        assert_eq!(world.stack.failed.len(), 0);

        // It was acknowledged, so only its next event lists it.
        poison.lift();
        world.put(&toxic(3)).await;
        assert_eq!(world.paths().await, ["/a", "/b", "/c", "/page"]);
        audit(&world, &[TOXIC, "post/a", "post/b", "post/c"]).await;
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_fails_for_long_is_given_up_alone_and_listed_when_it_is_handed_over_again() {
    for poison in [
        Poison::passing(TOXIC),
        Poison::passing_in("TransactWriteItems", TOXIC),
    ] {
        let world = World::with(options(&poison), &[post("/a", 1)]).await;
        world.put(&post("/b", 1)).await;
        world.put(&toxic(1)).await;
        world.put(&post("/c", 1)).await;
        assert_eq!(world.paths().await, ["/a", "/b", "/c"]);

        // As in Lambda, the later records of its batch are given up with it, although they were handled.
        let batches = world.stack.failed.batches();
        assert_eq!(batches.len(), 1, "{batches:?}");
        assert_eq!(batches[0].function, "ingest");
        assert_eq!(first(&batches[0], "id"), TOXIC);

        assert_eq!(world.stack.redrive().await, 1);
        let batches = world.stack.failed.batches();
        assert_eq!(batches.len(), 1, "it fails as before: {batches:?}");
        assert_eq!(first(&batches[0], "id"), TOXIC);

        poison.lift();
        world.put(&post("/c", 2)).await;
        assert_eq!(world.stack.redrive().await, 1);
        assert_eq!(world.paths().await, ["/a", "/b", "/c", "/page"]);
        let c = &world.listed().await[&format!("https://{SITE}/c")];
        assert_eq!(c.lastmod.as_deref(), Some("2026-01-02T12:00:00+00:00"));
        audit(&world, &[TOXIC, "post/a", "post/b", "post/c"]).await;
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_up_and_has_changed_since_is_listed_as_it_is_now() {
    let poison = Poison::passing(TOXIC);
    let world = World::with(options(&poison), &[post("/a", 1)]).await;
    world.put(&toxic(1)).await;
    world.settle().await;
    poison.lift();
    world.put(&toxic(2)).await;
    world.settle().await;
    world.delete(TOXIC).await;
    world.settle().await;
    assert_eq!(world.stack.redrive().await, 1);
    assert_eq!(world.paths().await, ["/a"]);
    audit(&world, &["post/a"]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn regression_a_waiter_that_fails_for_long_keeps_the_address_from_no_other() {
    let twin = |id: &str, day| with(&post("/page", day), json!({"id": id}));
    // It can wait for the address, but cannot take it.
    let poison = Poison::passing_in("TransactWriteItems", &format!("owner\":{{\"S\":\"{TOXIC}"));
    let world = World::with(options(&poison), &[twin("the-owner", 1)]).await;
    world.put(&toxic(2)).await;
    world.put(&twin("the-third", 3)).await;
    world.settle().await;
    world.delete("the-owner").await;
    let listed = async || {
        let listed = world.listed().await;
        let page = listed.get(&format!("https://{SITE}/page"));
        page.and_then(|entry| entry.lastmod.clone())
    };
    let third = Some("2026-01-03T12:00:00+00:00".to_owned());
    assert_eq!(listed().await, third);
    assert!(poison.failed() > 0, "the other was tried before");

    // It still waits, for the present owner.
    poison.lift();
    world.delete("the-third").await;
    assert_eq!(listed().await.as_deref(), Some("2026-01-02T12:00:00+00:00"));
    audit(&world, &[TOXIC]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_cannot_be_put_is_given_up_and_other_shards_and_the_index_go_on() {
    let page = |path: &str| with(&post(path, 1), json!({"type": "page"}));
    let poison = Poison::passing_in("PUT", "/page-sitemap.xml");
    let world = World::with(options(&poison), &[post("/a", 1)]).await;
    world.put(&page("/p")).await;
    world.put(&post("/b", 1)).await;
    assert_eq!(world.paths().await, ["/a", "/b"]);
    world.put(&post("/c", 1)).await;
    assert_eq!(world.paths().await, ["/a", "/b", "/c"], "afterwards too");
    let batches = world.stack.failed.batches();
    assert_eq!(batches.len(), 1, "{batches:?}");
    assert_eq!(batches[0].function, "regenerate");
    assert_eq!(first(&batches[0], "pk"), format!("SEGMENT#{SITE}#page#1#0"));

    poison.lift();
    assert_eq!(world.stack.redrive().await, 1);
    assert_eq!(world.paths().await, ["/a", "/b", "/c", "/p"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_cannot_be_put_holds_up_neither_other_stream_shards_nor_their_indexes() {
    let poison = Poison::passing_in("PUT", &format!("/{SITE}/"));
    let options = Options {
        stream_shards: 8,
        parallel: 2,
        retries: None,
        ..options(&poison)
    };
    let world = World::with(options, &[]).await;
    let crawler = world.crawler.of(OTHER);
    world.put(&other("/a")).await;
    world.put(&other("/b")).await;
    world.settle().await;
    assert_eq!(crawler.entries().await.len(), 2);
    let published = async |entries: usize| {
        let is_published = async || crawler.entries().await.len() == entries;
        until("the other site's pages are published", is_published).await;
    };
    world.put(&post("/a", 1)).await;
    until("a call fails", async || poison.failed() > 0).await;
    world.put(&other("/c")).await;
    published(3).await;
    poison.lift();
    assert_eq!(world.paths().await, ["/a"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_that_was_given_up_goes_on_by_the_clock() {
    let poison = Poison::passing_in("Scan", CONTENT_TABLE);
    let world = World::with(options(&poison), &[]).await;
    world.put(&post("/a", 1)).await;
    given_up(&world, 1).await;
    let batches = world.stack.failed.batches();
    assert_eq!(first(&batches[0], "pk"), "JOB#scan");
    assert_eq!(world.crawler.get("/sitemap_index.xml").await.status, 404);

    poison.lift();
    world.clock.advance(STALLED_SECONDS);
    assert_eq!(world.paths().await, ["/a"]);
    // Everything that was given up is done by now, and the replay does no harm.
    assert_eq!(world.stack.redrive().await, 1);
    assert_eq!(world.paths().await, ["/a"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn regression_a_damaged_site_holds_up_no_other_site_s_first_load() {
    let poison = Poison::passing_in("Scan", CONTENT_TABLE);
    let world = World::with(options(&poison), &[]).await;
    world.put(&post("/a", 1)).await;
    world.put(&other("/a")).await;
    given_up(&world, 1).await;
    let row = format!("SITE#{OTHER}");
    world.damage((&row, "-"), "settings", Some("{")).await;
    poison.lift();
    world.clock.advance(STALLED_SECONDS);
    let paths = tokio::time::timeout(PATIENCE, world.paths()).await;
    assert_eq!(paths.expect("the scan comes to its end"), ["/a"]);
    world.stack.redrive().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_and_site_files_that_were_given_up_are_published_when_they_are_handed_over_again()
{
    let poison = Poison::passing_in("PUT", "/site.json");
    let index = Poison::passing_in("PUT", "/sitemap_index.xml");
    for poison in [poison, index] {
        let world = World::with(options(&poison), &[post("/a", 1)]).await;
        assert!(poison.failed() > 0, "it was tried");
        assert!(!world.stack.failed.is_empty());
        poison.lift();
        world.stack.redrive().await;
        assert_eq!(world.paths().await, ["/a"]);
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_given_up_is_made_good_by_handing_it_over_again() {
    let chaos = Chaos::seeded(1, 0.01);
    let options = Options {
        interceptor: Some(chaos.interceptor()),
        retries: Some(0),
        stream_shards: 2,
        ..Options::default()
    };
    let world = World::with(options, &[]).await;
    for n in 0..60 {
        world.put(&post(&format!("/{}", n % 12), n % 27 + 1)).await;
        if n % 5 == 0 {
            world.delete(&format!("post/{}", n % 7)).await;
        }
    }
    let (mut given_up, mut lifted) = (0, false);
    let until = Instant::now() + PATIENCE;
    loop {
        // Longer than a scan may stall whose event was given up.
        world.clock.advance(STALLED_SECONDS);
        let settled = tokio::time::timeout(Duration::from_secs(2), world.settle()).await;
        let batches = world.stack.redrive().await;
        given_up += batches;
        if settled.is_ok() && batches == 0 {
            if lifted {
                break;
            }
            // A sweep may come at any moment, and must not fail after the last comparison.
            chaos.lift();
            lifted = true;
        }
        assert!(Instant::now() < until, "it goes on failing");
    }
    assert!(given_up > 0, "nothing was given up");
    let listed: Vec<_> = world
        .listed()
        .await
        .into_iter()
        .map(|(loc, entry)| (loc, entry.lastmod.unwrap()))
        .collect();
    let mut expected: BTreeMap<String, String> = BTreeMap::new();
    for n in 0..60 {
        let loc = |n: u32| format!("https://{SITE}/{n}");
        let day = n % 27 + 1;
        expected.insert(loc(n % 12), format!("2026-01-{day:02}T12:00:00+00:00"));
        if n % 5 == 0 {
            expected.remove(&loc(n % 7));
        }
    }
    assert_eq!(listed, Vec::from_iter(expected.clone()));
    let ids: Vec<String> = expected
        .into_keys()
        .map(|loc| loc.replace(&format!("https://{SITE}"), "post"))
        .collect();
    audit(&world, &ids.iter().map(String::as_str).collect::<Vec<_>>()).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_ledger_harms_its_record_alone() {
    let world = World::with(Options::default(), &[post("/a", 1), post("/b", 1)]).await;
    world
        .damage(("LEDGER#post/a", "1"), "body", Some("{"))
        .await;
    world.put(&post("/a", 2)).await;
    world.put(&post("/c", 1)).await;
    let listed = world.listed().await;
    assert_eq!(world.paths().await, ["/a", "/b", "/c"]);
    let lastmod = listed[&format!("https://{SITE}/a")].lastmod.as_deref();
    assert_eq!(lastmod, Some("2026-01-01T12:00:00+00:00"), "as it was");
    // A pass over all records skips it.
    world
        .put(&settings(json!({"types": {"post": {"priority": 0.3}}})))
        .await;
    world.settle().await;
    let rows = world.rows("SEGMENT#").await;
    let rendered_anew = rows
        .values()
        .filter(|row| row["xml"].contains("<priority>0.3"));
    assert_eq!(rendered_anew.count(), 2);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_entry_harms_its_shard_alone() {
    let page = |path: &str| with(&post(path, 1), json!({"type": "page"}));
    let world = World::with(Options::default(), &[post("/a", 1), page("/p")]).await;
    let segment = format!("SEGMENT#{SITE}#post#1#0");
    world.damage((&segment, "00000"), "version", None).await;
    world.put(&page("/q")).await;
    world.put(&post("/b", 1)).await;
    assert_eq!(
        world.paths().await,
        ["/a", "/p", "/q"],
        "the shard is as it was"
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn regression_a_damaged_series_harms_no_other_series() {
    let page = |path: &str| with(&post(path, 1), json!({"type": "page"}));
    let options = Options {
        retries: Some(RETRIES),
        ..Options::default()
    };
    let world = World::with(options, &[post("/a", 1), page("/p")]).await;
    let series = format!("SERIES#{SITE}");
    world.damage((&series, "post"), "next_n", Some("{")).await;
    world.put(&post("/b", 1)).await;
    world.put(&post("/a", 2)).await;
    world.put(&page("/q")).await;
    assert_eq!(world.paths().await, ["/a", "/p", "/q"]);
    let a = &world.listed().await[&format!("https://{SITE}/a")];
    assert_eq!(
        a.lastmod.as_deref(),
        Some("2026-01-02T12:00:00+00:00"),
        "it has a slot"
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn regression_a_series_that_fails_for_long_holds_up_no_other_series() {
    let poison = Poison::passing_in("UpdateItem", &format!("SERIES#{OTHER}"));
    let other_settings = json!({"id": format!("site/{OTHER}"), "type": "site"});
    let world = World::with(options(&poison), &[other_settings, post("/a", 1)]).await;
    world.put(&post("/b", 1)).await;
    world.put(&other("/a")).await;
    world.put(&post("/c", 1)).await;
    assert_eq!(world.paths().await, ["/a", "/b", "/c"]);
    assert!(poison.failed() > 0, "it was tried");
    let batches = world.stack.failed.batches();
    assert_eq!(batches.len(), 1, "{batches:?}");
    assert_eq!(first(&batches[0], "id"), "other/a");
    poison.lift();
    assert_eq!(world.stack.redrive().await, 1);
    world.settle().await;
    assert_eq!(world.crawler.of(OTHER).entries().await.len(), 1);
    world.stop().await;
}
