//! Tests changes that come only from the passing of time. The clock is moved instead of waiting.

use std::sync::Arc;

use engine::keys::{self, Key};
use engine::reconcile::Reconciler;
use engine::sweep::sweep;
use serde_json::json;
use sitemap::time::When;

use super::calls::Poison;
use super::harness::{Options, World, simulated};
use crate::deployment::PLAIN;
use crate::records::{SITE, post, with};

/// Moves the clock forward and waits for a sweep.
pub(super) async fn pass(world: &World, seconds: i64) {
    world.clock.leap(seconds);
    let is_due = |sk: &str| due(sk).is_some_and(|due| due <= world.clock.now());
    let rung = async || !world.rows("TIMER#").await.keys().any(|(_, sk)| is_due(sk));
    world.until("the sweep has rung the timers", rung).await;
}

fn due(sk: &str) -> Option<i64> {
    sk.split_once('#')?.0.parse().ok()
}

#[test]
fn a_scheduled_page_appears_and_an_expiring_one_goes_without_an_edit() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
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
        world.stop();
    });
}

#[test]
fn a_lastmod_of_the_future_is_written_when_its_time_has_come() {
    simulated(async |sim| {
        let world = World::start(&sim).await;
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
        world.stop();
    });
}

#[test]
fn regression_a_passing_failure_behind_a_permanent_one_is_not_forgotten() {
    simulated(async |sim| {
        let world = World::idle(&sim, Options::default());
        let at = |seconds: i64| When::at(world.clock.now() + seconds).to_string();
        let expires = json!({"expires_at": at(100)});
        let pages = ["/impossible", "/slow"];
        for path in pages {
            world.put(&with(&post(path, 1), expires.clone())).await;
        }
        let reconciler = world.reconciler();
        let ids = pages.map(|path| format!("post{path}"));
        for outcome in reconciler.reconcile(&ids, None).await {
            outcome.unwrap();
        }
        // So late that the cursor can leave an hour.
        world.clock.leap(3 * 3_600);
        let Key { pk, sk } = keys::ledger(&ids[0]);
        world.damage((&pk, &sk), "body", Some("{")).await;
        let slow = Poison {
            operation: "TransactWriteItems",
            names: ids[1].clone(),
        };
        let failing = world.functions(Some(Arc::new(slow))).reconciler;
        let swept = async |reconciler: &Reconciler| {
            sweep(reconciler, world.objects(), PLAIN.audit_times(), None).await
        };
        let error = swept(&failing).await.unwrap_err();
        assert!(!error.is_permanent(), "{error}");
        assert!(swept(reconciler).await.unwrap());
        let ledger = reconciler.table.ledger(&ids[1]).await.unwrap().unwrap();
        let refused = ledger.refused.map(|(name, _)| name);
        assert_eq!(refused.as_deref(), Some("expired"));
        world.stop();
    });
}
