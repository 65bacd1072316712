//! Tests `waymark status --until`: its goal is reached when it ends, and otherwise the missing parts are named.

use std::collections::BTreeMap;
use std::time::Duration;

use cli::deployment::target::Sizes;
use cli::status::wait::{Goal, Waited, until};
use engine::sweep::audit::{Audit, beginning, sifting};
use harness::{SITE, World, post, settings, with};
use local::stack::Options;
use serde_json::json;

/// Longer than anything takes here on a loaded machine.
const LONG: Duration = Duration::from_secs(120);
/// The times of waits for something that never comes. The first is long enough for one check, unless the machine is loaded.
const TIMEOUTS: [Duration; 3] = [
    Duration::from_secs(6),
    Duration::from_secs(30),
    Duration::from_secs(120),
];

/// Checks what a wait names that does not reach its goal.
async fn is_left(world: &World, site: Option<&str>, expected: &str) {
    let mut seen = Vec::new();
    for timeout in TIMEOUTS {
        let waited = until(&world.target(), Goal::Published, site, timeout).await;
        let waited = waited.unwrap();
        assert!(!waited.reached && waited.left_count > 0, "{waited:?}");
        if waited.left == [expected] {
            return;
        }
        seen.push(waited);
    }
    panic!("{expected} is not what is left: {seen:?}");
}

async fn wait(world: &World, goal: Goal, timeout: Duration) -> Waited {
    until(&world.target(), goal, Some(SITE), timeout)
        .await
        .unwrap()
}

async fn published(world: &World) {
    let waited = wait(world, Goal::Published, LONG).await;
    assert!(waited.reached, "{waited:?}");
}

/// Returns whether a page is in the public files, without waiting.
async fn is_listed(world: &World, path: &str) -> bool {
    let loc = format!("https://{SITE}{path}");
    world.crawler.entries().await.contains_key(&loc)
}

#[tokio::test(flavor = "multi_thread")]
async fn published_is_when_all_that_was_written_before_is_in_the_files() {
    let mut world = World::idle(Options::default()).await;
    world.put(&post("/a", 1)).await;
    // No function runs yet.
    let unknown = format!("{SITE}: it is not known as a site");
    is_left(&world, Some(SITE), &unknown).await;
    is_left(&world, None, "post/a: record_unseen").await;

    world.begin().await;
    published(&world).await;
    assert!(is_listed(&world, "/a").await);
    for round in 0..5 {
        let path = format!("/{round}");
        // The page has a new type, so there is a new sitemap, which the index has to list, too.
        let kind = with(&post(&path, 2), json!({"type": format!("kind{round}")}));
        world.put(&kind).await;
        published(&world).await;
        assert!(is_listed(&world, &path).await, "{round}");
        world.delete(kind["id"].as_str().unwrap()).await;
        world.put(&with(&post("/a", round + 3), json!({}))).await;
        published(&world).await;
        assert!(!is_listed(&world, &path).await, "{round}");
        let loc = format!("https://{SITE}/a");
        let entry = &world.crawler.entries().await[&loc];
        let day = format!("2026-01-{:02}", round + 3);
        assert!(format!("{entry:?}").contains(&day), "{round}: {entry:?}");
    }
    world.put(&settings(json!({"public": false}))).await;
    published(&world).await;
    assert!(!is_listed(&world, "/a").await);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_what_its_rows_say_is_waited_for_and_named() {
    for (file, problem) in [
        ("post-sitemap.xml", "object_lost"),
        ("sitemap_index.xml", "object_lost"),
        ("robots.txt", "object_lost"),
    ] {
        let world = World::with(Options::default(), &[post("/a", 1)]).await;
        published(&world).await;
        let key = format!("published/{SITE}/{file}");
        world.lose_object(&key, 0).await;
        is_left(&world, Some(SITE), &format!("{key}: {problem}")).await;
        // This starts nothing.
        assert!(wait(&world, Goal::Idle, LONG).await.reached);
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_estimate_knows_what_there_is_to_read() {
    let pages: Vec<_> = (1..=3).map(|day| post(&format!("/{day}"), day)).collect();
    let world = World::with(Options::default(), &pages).await;
    published(&world).await;
    let target = world.target();
    let sizes = Sizes::of(&world.stack.aws, &target).await;
    let audit = Audit {
        reconciler: &target.reconciler,
        objects: &*target.objects,
        repair: false,
        second_look: Duration::ZERO,
    };
    let env = &target.reconciler.env;
    for mut at in [beginning(env.now()), sifting(env.now(), env.token())] {
        let mut read = BTreeMap::<String, u64>::new();
        while let Some(reading) = at.reading() {
            let before = at.read;
            audit.page(&mut at).await.unwrap();
            *read.entry(format!("{reading:?}")).or_default() += at.read - before;
        }
        assert_eq!(read["Sitemaps"], 1);
        // The clock writes rows of its own meanwhile.
        let rows = sizes.rows.unwrap();
        assert!(
            rows > 9 && rows.abs_diff(read["Rows"]) < 5,
            "{rows} {read:?}"
        );
        assert_eq!((sizes.records, read["Records"]), (Some(3), 3));
    }
    world.stop().await;
}
