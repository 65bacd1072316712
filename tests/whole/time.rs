//! What time alone changes: the clock is moved, nobody sleeps until then.

use aws::Aws;
use engine::keys::{self, Key};
use engine::sweep::sweep;
use harness::{Poison, SITE, World, post, until, with};
use local::stack::{AUDIT_TIMES, Options, Stack};
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

#[tokio::test(flavor = "multi_thread")]
async fn regression_a_passing_failure_behind_a_permanent_one_is_not_forgotten() {
    let world = World::idle(Options::default()).await;
    let at = |seconds: i64| When::at(world.clock.now() + seconds).to_string();
    let expires = json!({"expires_at": at(100)});
    let pages = ["/impossible", "/slow"];
    for path in pages {
        world.put(&with(&post(path, 1), expires.clone())).await;
    }
    let Stack {
        aws,
        reconciler,
        objects,
        dynamodb_endpoint,
        s3_endpoint,
        ..
    } = &world.stack;
    let ids = pages.map(|path| format!("post{path}"));
    for outcome in reconciler.reconcile(&ids, None).await {
        outcome.unwrap();
    }
    // So late that the cursor has an hour to leave.
    world.clock.advance(3 * 3_600);
    let Key { pk, sk } = keys::ledger(&ids[0]);
    world.damage((&pk, &sk), "body", Some("{")).await;
    let slow = Poison::passing_in("TransactWriteItems", &ids[1]);
    let interceptors = vec![slow.interceptor()];
    let failing = Aws::on_loopback(dynamodb_endpoint, s3_endpoint, interceptors);
    let swept = async |aws: &Aws| {
        let reconciler = harness::functions(aws, &world.clock).reconciler;
        // Boxed: it is large for a thread's stack.
        Box::pin(sweep(&reconciler, &**objects, AUDIT_TIMES, None)).await
    };
    let error = swept(&failing).await.unwrap_err();
    assert!(!error.is_permanent(), "{error}");
    assert!(swept(aws).await.unwrap());
    let ledger = reconciler.table.ledger(&ids[1]).await.unwrap().unwrap();
    let refused = ledger.refused.map(|(name, _)| name);
    assert_eq!(refused.as_deref(), Some("expired"));
    world.stop().await;
}
