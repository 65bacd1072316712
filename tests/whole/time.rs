//! What time alone changes: the clock is moved, nobody sleeps until then.

use harness::{SITE, World, post, until, with};
use serde_json::json;
use sitemap::time::When;

/// Moves the clock on and waits for a sweep.
pub(crate) async fn pass(world: &World, seconds: i64) {
    world.clock.advance(seconds);
    let is_due = |sk: &str| due(sk).is_some_and(|due| due <= world.clock.now());
    let rung = async || !world.rows("TIMER#").await.keys().any(|(_, sk)| is_due(sk));
    until("the sweep has rung the timers", rung).await;
}

fn due(sk: &str) -> Option<i64> {
    sk.split_once('#')?.0.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_page_appears_and_an_expiring_one_goes_without_an_edit() {
    let world = World::start().await;
    let at = |seconds: i64| When::at(world.clock.now() + seconds).to_string();
    let scheduled = with(
        &post("/scheduled", 1),
        json!({"published_at": at(4_000), "expires_at": at(90_000)}),
    );
    world.put(&scheduled).await;
    world.put(&post("/always", 1)).await;
    assert_eq!(world.paths().await, ["/always"]);
    assert_eq!(
        world.refusal("post/scheduled").await.as_deref(),
        Some("not_yet")
    );
    pass(&world, 4_001).await;
    assert_eq!(world.paths().await, ["/always", "/scheduled"]);
    pass(&world, 86_000).await;
    assert_eq!(world.paths().await, ["/always"]);
    assert_eq!(
        world.refusal("post/scheduled").await.as_deref(),
        Some("expired")
    );
    assert_eq!(
        world
            .rows("TIMER#")
            .await
            .keys()
            .filter(|(_, sk)| due(sk).is_some())
            .count(),
        0
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lastmod_of_the_future_is_written_when_its_time_has_come() {
    let world = World::start().await;
    let at = When::at(world.clock.now() + 5_000).to_string();
    world
        .put(&with(&post("/a", 1), json!({"modified_at": at})))
        .await;
    let loc = format!("https://{SITE}/a");
    assert_eq!(world.listed().await[&loc].lastmod, None);
    pass(&world, 5_001).await;
    assert_eq!(
        world.listed().await[&loc].lastmod.as_deref(),
        Some(at.as_str())
    );
    world.stop().await;
}
