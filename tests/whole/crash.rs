//! Tests a crash between any two writes, after which the event is delivered again.

use std::time::Duration;

use harness::{Fuse, SITE, World, post, settings, until, with};
use local::stack::Options;
use serde_json::{Value, json};

/// Runs `change` with a crash before the first, second, … of the writes that follow from it, until it needs no more.
async fn crash_everywhere(
    records: &[Value],
    change: impl AsyncFn(&World),
    undo: impl AsyncFn(&World),
    expected: &[&str],
) {
    let fuse = Fuse::default();
    let options = Options {
        interceptor: Some(fuse.interceptor()),
        ..Options::default()
    };
    let world = World::with(options, records).await;
    let mut crashes = 0;
    loop {
        fuse.set(crashes);
        change(&world).await;
        // Either the process crashes, or everything was written with fewer writes than the limit.
        let settled = world.settle();
        let blown = async {
            until("the fuse blows", async || fuse.blown()).await;
            // The source delivers again and again while the process stays dead.
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        tokio::select! {
            () = settled => {}
            () = blown => {}
        }
        let crashed = fuse.lift();
        assert_eq!(
            world.paths().await,
            expected,
            "after a crash before write {}",
            crashes + 1
        );
        audit(&world).await;
        if !crashed {
            break;
        }
        crashes += 1;
        undo(&world).await;
        world.settle().await;
    }
    assert!(crashes >= 4, "only {crashes} writes were seen");
    world.stop().await;
}

/// Checks that claims and ledgers agree, and that no timer is left.
async fn audit(world: &World) {
    let claims = world
        .rows("LOC#")
        .await
        .into_keys()
        .filter(|(_, sk)| sk == "-")
        .count();
    let entries = world
        .rows("SEGMENT#")
        .await
        .into_values()
        .filter(|row| row.contains_key("xml"))
        .count();
    assert_eq!(
        claims, entries,
        "each entry has its claim, and no claim is without one"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_page_is_created() {
    let (a, b) = (post("/a", 1), post("/b", 1));
    crash_everywhere(
        &[a],
        async |world| world.put(&b).await,
        async |world| world.delete("post/b").await,
        &["/a", "/b"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_page_moves_to_another_address() {
    let a = post("/a", 1);
    let moved = with(
        &a,
        json!({"url": format!("https://{SITE}/moved"), "type": "page"}),
    );
    crash_everywhere(
        std::slice::from_ref(&a),
        async |world| world.put(&moved).await,
        async |world| world.put(&a).await,
        &["/moved"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_an_address_is_handed_over() {
    let twin = |id: &str| with(&post("/same", 1), json!({"id": id}));
    let records = [twin("first"), settings(json!({}))];
    let change = async |world: &World| {
        world.put(&twin("second")).await;
        world.delete("first").await;
    };
    let undo = async |world: &World| {
        world.delete("second").await;
        world.put(&twin("first")).await;
    };
    crash_everywhere(&records, change, undo, &["/same"]).await;
}
