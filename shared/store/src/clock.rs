//! The clock, as an argument: tests move it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time in Unix seconds. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Clock {
    /// What is added to the system's time.
    ahead: Arc<AtomicI64>,
}

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self { ahead: Arc::new(AtomicI64::new(0)) }
    }

    /// Unix seconds.
    #[must_use]
    pub fn now(&self) -> i64 {
        let system = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        i64::try_from(system).unwrap_or(i64::MAX) + self.ahead.load(Ordering::SeqCst)
    }

    /// Moves this clock and all its clones forward.
    pub fn advance(&self, seconds: i64) {
        self.ahead.fetch_add(seconds, Ordering::SeqCst);
    }
}
