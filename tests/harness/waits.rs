//! Waiting, with a limit: no test may hang, and one that waits in vain says for what.

use std::time::{Duration, Instant};

/// How long a test waits for one thing: far longer than it takes on a machine that has much else to do.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// The pause between two looks.
const GLANCE: Duration = Duration::from_millis(5);

/// Waits until this is so.
///
/// # Panics
///
/// If it is not so after [`PATIENCE`].
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

/// Waits for what a future gives.
///
/// # Panics
///
/// If it gives nothing within [`PATIENCE`].
#[track_caller]
pub fn within<T>(what: &str, waiting: impl Future<Output = T>) -> impl Future<Output = T> {
    let caller = std::panic::Location::caller();
    async move {
        let given = tokio::time::timeout(PATIENCE, waiting).await;
        given.unwrap_or_else(|_| panic!("{caller}: waited {PATIENCE:?} in vain for {what}"))
    }
}
