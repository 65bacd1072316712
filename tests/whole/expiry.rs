//! Tests that the rows of the feed go by DynamoDB's time to live, late and as events, and that nothing else does.

use std::collections::BTreeSet;

use aws::Clock;
use engine::rows::feed::EXPIRES;
use harness::{World, post, settings, with};
use local::stack::Options;
use local::tables::SITEMAP_TABLE;
use serde_json::json;

/// Beyond the feed's two days, its spare hour, and the two days that a deletion takes.
const LONG_AFTER: i64 = (48 + 1 + 48) * 3_600 + 1;

/// Returns the keys of all rows, and the number of those that expire.
async fn rows(world: &World) -> (BTreeSet<String>, usize) {
    let scan = world.stack.aws.dynamodb().await.scan();
    let scan = scan.table_name(SITEMAP_TABLE).send().await.unwrap();
    let items = scan.items();
    let keys = items
        .iter()
        .map(|item| format!("{:?} {:?}", item["pk"], item["sk"]));
    let expire = items.iter().filter(|item| item.contains_key(EXPIRES));
    (keys.collect(), expire.count())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stood_in_the_feed_goes_late_and_nothing_else() {
    let now = 1_800_000_000;
    let options = Options {
        clock: Clock::stopped(now),
        sweeps: false, // they would write rows of their own
        ..Options::default()
    };
    let records = [settings(json!({"feed": true})), post("/a", 1)];
    let world = World::with(options, &records).await;
    world
        .put(&with(&post("/a", 2), json!({"title": "b"})))
        .await;
    world.put(&post("/b", 3)).await;
    world.settle().await;
    let (before, expiring) = rows(&world).await;
    assert!(expiring > 0, "{before:?}");

    world.clock.advance(48 * 3_600);
    world.stack.expire().await.unwrap();
    assert_eq!(rows(&world).await, (before.clone(), expiring));
    world.clock.advance(LONG_AFTER - 48 * 3_600);
    world.stack.expire().await.unwrap();
    world.settle().await;
    let (after, left) = rows(&world).await;
    assert_eq!(left, 0, "{after:?}");
    assert_eq!(before.len() - after.len(), expiring);
    assert!(after.is_subset(&before), "{after:?}");
    world.stop().await;
}
