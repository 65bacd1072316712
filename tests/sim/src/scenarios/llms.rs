//! Tests llms.txt, from the settings that ask for it to those that no longer want it.

use engine::keys;
use engine::regenerate::feed::FEED_PERIOD;
use objects::ObjectKey;
use serde_json::{Value, json};

use super::harness::{Options, World, simulated};
use crate::records::{SITE, post, settings, with};
use crate::runtime::Sim;

const PATH: &str = "/llms.txt";

fn asking() -> Value {
    settings(json!({"name": "Larch", "llms": {"summary": "A bakery.", "types": ["post", "page"]}}))
}

fn titled(path: &str, day: u32, title: &str) -> Value {
    with(&post(path, day), json!({ "title": title }))
}

async fn world(sim: &Sim, records: &[Value]) -> World {
    sim.stop_clock();
    World::with(sim, Options::default(), records).await
}

/// Returns the served file, once it may be published again. Returns `None` for a 404.
async fn served(world: &World) -> Option<String> {
    world.settle().await;
    world.clock.leap(FEED_PERIOD);
    world.sweep().await;
    world.settle().await;
    let answer = world.crawler.get(PATH).await;
    if answer.status == 404 {
        return None;
    }
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    Some(String::from_utf8(answer.body).unwrap())
}

/// Returns the stored file. Returns `None` if the object does not exist.
async fn stored(world: &World) -> Option<String> {
    let site = SITE.to_owned();
    let found = world.objects().get(&ObjectKey::Llms { site }).await;
    let (meta, bytes) = found.unwrap()?;
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(meta.document.unwrap().digest, keys::sha256_hex(&text));
    Some(text)
}

/// Runs audits until they have repaired everything.
async fn repair(world: &World) {
    let left = world.audit(true, |_| ()).await;
    assert_eq!(left, Some(Vec::new()));
    world.settle().await;
}

async fn rows(world: &World) -> usize {
    world.rows(&keys::llms_partition(SITE)).await.len()
}

#[test]
fn a_site_that_asks_for_it_has_it_and_loses_it_when_it_asks_no_more() {
    simulated(async |sim| {
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
        let world = world(&sim, &records).await;
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

        // The old text is not left in the bucket either.
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
        world.stop();
    });
}

#[test]
fn what_a_dropped_table_has_left_is_emptied() {
    simulated(async |sim| {
        let world = world(&sim, &[asking(), titled("/a", 1, "A")]).await;
        assert!(served(&world).await.is_some());
        world.drop_sitemap_table().await;
        world.put(&settings(json!({}))).await;
        assert_eq!(served(&world).await, None);
        assert_eq!(stored(&world).await.as_deref(), Some(""));
        world.stop();
    });
}

#[test]
fn a_row_that_says_something_else_is_found_and_made_good() {
    simulated(async |sim| {
        let world = world(&sim, &[asking(), titled("/a", 1, "A")]).await;
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
            let site = SITE.to_owned();
            world.lose_object(&ObjectKey::Llms { site }, how).await;
            repair(&world).await;
            assert_eq!(served(&world).await.unwrap(), before);
        }
        world.stop();
    });
}
