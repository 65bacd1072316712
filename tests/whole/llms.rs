//! llms.txt, from the settings that ask for it to those that want it no more.

use std::time::Duration;

use aws::Clock;
use cli::audit::{Ended, audit};
use engine::keys;
use engine::regenerate::feed::FEED_PERIOD;
use engine::sweep::sweep;
use harness::{SITE, World, post, settings, until, with};
use local::stack::{AUDIT_TIMES, Options};
use objects::ObjectKey;
use serde_json::{Value, json};

/// Where the clock stands, in Unix seconds.
const NOW: i64 = 1_800_000_000;
const PATH: &str = "/llms.txt";
/// Between the looks of an audit.
const PAUSE: Duration = Duration::from_millis(100);

fn asking() -> Value {
    settings(json!({"name": "Larch", "llms": {"summary": "A bakery.", "types": ["post", "page"]}}))
}

fn titled(path: &str, day: u32, title: &str) -> Value {
    with(&post(path, day), json!({ "title": title }))
}

async fn world(records: &[Value]) -> World {
    let options = Options {
        clock: Clock::stopped(NOW),
        ..Options::default()
    };
    World::with(options, records).await
}

/// What is served once it may be published again: nothing for a 404.
async fn served(world: &World) -> Option<String> {
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
    let answer = world.crawler.get(PATH).await;
    if answer.status == 404 {
        return None;
    }
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    Some(String::from_utf8(answer.body).unwrap())
}

/// What is stored: nothing if there is no object.
async fn stored(world: &World) -> Option<String> {
    let site = SITE.to_owned();
    let found = world.stack.objects.get(&ObjectKey::Llms { site }).await;
    let (meta, bytes) = found.unwrap()?;
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(meta.document.unwrap().digest, keys::sha256_hex(&text));
    Some(text)
}

/// Has an audit find and repair what is wrong.
async fn repair(world: &World) {
    let ended = audit(&world.target(), true, PAUSE, |_| ()).await;
    assert_eq!(ended.unwrap(), Ended::Whole(Vec::new()));
    world.settle().await;
}

async fn rows(world: &World) -> usize {
    world.rows(&keys::llms_partition(SITE)).await.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_asks_for_it_has_it_and_loses_it_when_it_asks_no_more() {
    let draft = with(&titled("/d", 4, "Draft"), json!({"status": "draft"}));
    let page = with(
        &titled("/p", 1, "Us"),
        json!({"type": "page", "description": "Who\nwe are"}),
    );
    let other = with(&titled("/o", 1, "Other"), json!({"type": "other"}));
    let records = [
        titled("/a", 1, "A [b]"),
        titled("/c", 3, "C"),
        draft,
        page,
        other,
    ];
    let world = world(&records).await;
    assert_eq!((served(&world).await, stored(&world).await), (None, None));
    assert_eq!(rows(&world).await, 0);

    world.put(&asking()).await;
    let expected = |first: &str| {
        format!(
            "# Larch\n\n> A bakery.\n\n## post\n\n{first}- [C](https://{SITE}/c)\n- [A &#91;b&#93;](https://{SITE}/a)\n\n\
             ## page\n\n- [Us](https://{SITE}/p): Who we are\n"
        )
    };
    assert_eq!(served(&world).await.unwrap(), expected(""));
    assert_eq!(rows(&world).await, 3);
    world.put(&titled("/new", 5, "New")).await;
    let first = format!("- [New](https://{SITE}/new)\n");
    assert_eq!(served(&world).await.unwrap(), expected(&first));
    world.put(&titled("/new", 5, "Newer")).await;
    let first = first.replace("New]", "Newer]");
    assert_eq!(served(&world).await.unwrap(), expected(&first));
    world.delete("post/new").await;
    assert_eq!(served(&world).await.unwrap(), expected(""));

    // Nothing of what was said is left in the bucket, either.
    for closed in [
        settings(json!({"name": "Larch"})),
        with(&asking(), json!({"public": false})),
    ] {
        world.put(&closed).await;
        assert_eq!(served(&world).await, None);
        assert_eq!(stored(&world).await.as_deref(), Some(""));
        assert_eq!(rows(&world).await, 0);
        world.put(&asking()).await;
        assert_eq!(served(&world).await.unwrap(), expected(""));
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dropped_table_has_left_is_emptied() {
    let world = world(&[asking(), titled("/a", 1, "A")]).await;
    assert!(served(&world).await.is_some());
    world.drop_sitemap_table().await;
    world.put(&settings(json!({}))).await;
    assert_eq!(served(&world).await, None);
    assert_eq!(stored(&world).await.as_deref(), Some(""));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_says_something_else_is_found_and_made_good() {
    let world = world(&[asking(), titled("/a", 1, "A")]).await;
    let before = served(&world).await.unwrap();
    let (pk, sk) = world
        .rows(&keys::llms_partition(SITE))
        .await
        .into_keys()
        .next()
        .unwrap();
    world.damage((&pk, &sk), "title", Some("B")).await;
    assert!(!served(&world).await.unwrap().contains("https://"));
    repair(&world).await;
    assert_eq!(served(&world).await.unwrap(), before);
    world.delete_row(&pk, &sk).await;
    assert!(!served(&world).await.unwrap().contains("https://"));
    repair(&world).await;
    assert_eq!(served(&world).await.unwrap(), before);
    for how in 0..3 {
        let object = format!("published/{SITE}/llms.txt");
        world.lose_object(&object, how).await;
        repair(&world).await;
        assert_eq!(served(&world).await.unwrap(), before);
    }
    world.stop().await;
}
