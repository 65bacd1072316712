//! When further slices of timers follow, and how far the cursor moves meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use table::{Item, Table};

use super::{BATCH, UNTIL_NEXT_SWEEP};
use crate::reconcile::Reconciler;
use crate::rows::keys::{self, hash_digit};
use crate::testing::{NOW, Repeating, clocked, reconciler, records};

const DIGIT: char = '7';

/// Returns a world with `timers` timers of one digit, each at most a second after the previous one. No record exists any more, so
/// each timer is deleted when it is handled.
async fn world(timers: u32, first: i64) -> (Reconciler, Arc<AtomicI64>) {
    let rows = Repeating::default();
    let ids = (0..).map(|n| format!("r{n}"));
    let ids = ids.filter(|id| hash_digit(id) == DIGIT);
    let a_second = i64::from(timers / 50).max(1);
    for (n, id) in (0..i64::from(timers)).zip(ids) {
        let timer = keys::timer(first + n / a_second, &id);
        rows.table.put(Item::from(&timer), None).await.unwrap();
    }
    let clock = Arc::new(AtomicI64::new(0));
    let env = clocked(Arc::clone(&clock));
    let table = crate::rows::table::SitemapTable::new(Arc::new(rows), env.clone());
    table.begin_timers(NOW).await.unwrap();
    (reconciler(records(), table, env), clock)
}

async fn sweep(reconciler: &Reconciler) -> i64 {
    let cursor = reconciler.table.cursor().await.unwrap().unwrap();
    reconciler.begin_ringing(cursor).await.unwrap();
    reconciler.table.cursor().await.unwrap().unwrap()
}

/// Runs a slice as the row's event does. Returns whether another slice follows.
async fn slice(reconciler: &Reconciler) -> bool {
    let until = reconciler.env.deadline(super::SLICE);
    let outcomes = reconciler.go_on_ringing(&[DIGIT], until).await;
    for outcome in outcomes {
        outcome.unwrap();
    }
    reconciler.table.is_ringing().await.unwrap()
}

async fn left(reconciler: &Reconciler) -> usize {
    let this_hour = NOW.div_euclid(3_600);
    let mut left = 0;
    for hour in [this_hour, this_hour + 1] {
        let timers = reconciler.table.timers(hour, DIGIT, None, 10 * BATCH);
        left += timers.await.unwrap().len();
    }
    left
}

#[tokio::test]
async fn what_many_wait_for_before_the_next_sweep_is_rung_in_slices_when_its_time_comes() {
    // In the minute before an hour begins.
    let (reconciler, clock) = world(3 * BATCH, NOW).await;
    clock.store(-5, Ordering::Relaxed);
    sweep(&reconciler).await;
    assert_eq!(left(&reconciler).await, 300, "none is due");
    assert!(slice(&reconciler).await, "it goes on until they are");
    clock.store(0, Ordering::Relaxed);
    assert!(slice(&reconciler).await);
    assert_eq!(left(&reconciler).await, 294, "six a second");
    clock.store(9, Ordering::Relaxed);
    assert!(slice(&reconciler).await);
    assert_eq!(left(&reconciler).await, 240);
    clock.store(40, Ordering::Relaxed);
    assert!(slice(&reconciler).await);
    assert_eq!(left(&reconciler).await, 54);
    assert!(
        !slice(&reconciler).await,
        "what is left is the next sweep's"
    );
    assert_eq!(left(&reconciler).await, 54);
    clock.store(60, Ordering::Relaxed);
    sweep(&reconciler).await;
    assert_eq!(left(&reconciler).await, 0);
    assert!(!reconciler.table.is_ringing().await.unwrap());
}

#[tokio::test]
async fn few_timers_and_late_ones_wait_for_a_sweep() {
    for (timers, first) in [(BATCH - 1, NOW + 1), (BATCH, NOW + UNTIL_NEXT_SWEEP)] {
        let (reconciler, _) = world(timers, first).await;
        sweep(&reconciler).await;
        assert!(!reconciler.table.is_ringing().await.unwrap(), "{timers}");
    }
}

#[tokio::test]
async fn the_cursor_follows_slices_that_go_on() {
    let (reconciler, clock) = world(10 * BATCH, NOW + 3_590).await;
    let hour = NOW.div_euclid(3_600);
    assert_eq!(sweep(&reconciler).await, hour - 1);
    // A slice each second and a sweep each minute, from one hour into the next.
    for second in 3_540..3_650 {
        clock.store(second, Ordering::Relaxed);
        if second % 60 == 0 {
            assert_eq!(sweep(&reconciler).await, hour - 1 + second / 3_600);
            assert!(reconciler.table.is_ringing().await.unwrap(), "{second}");
        }
        slice(&reconciler).await;
    }
    clock.store(3_660, Ordering::Relaxed);
    sweep(&reconciler).await;
    assert_eq!(left(&reconciler).await, 0);
}
