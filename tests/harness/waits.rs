//! Waits with time limits. No test may hang, and a failed wait reports its condition.

use std::time::{Duration, Instant};

/// The time limit of a wait: far longer than necessary on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// The pause between two checks.
const GLANCE: Duration = Duration::from_millis(5);

/// Waits until a condition is met.
///
/// # Panics
///
/// If it is not met after [`PATIENCE`].
#[track_caller]
pub fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let deadline = Instant::now() + PATIENCE;
        while !is_so().await {
            assert!(
                Instant::now() < deadline,
                "{caller}: waited {PATIENCE:?} in vain until {what}"
            );
            tokio::time::sleep(GLANCE).await;
        }
    }
}

/// Waits for the result of a future.
///
/// # Panics
///
/// If it is not complete within [`PATIENCE`].
#[track_caller]
pub fn within<T>(what: &str, waiting: impl Future<Output = T>) -> impl Future<Output = T> {
    let caller = std::panic::Location::caller();
    async move {
        let given = tokio::time::timeout(PATIENCE, waiting).await;
        given.unwrap_or_else(|_| panic!("{caller}: waited {PATIENCE:?} in vain for {what}"))
    }
}
