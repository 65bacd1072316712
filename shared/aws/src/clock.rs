//! The clock, and the engine's environment in a process.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use engine::{Env, Environment};
use futures::future::BoxFuture;

/// Tells the time in Unix seconds. It is an argument, so that tests can move it. Clones share their offset.
#[derive(Clone, Debug)]
pub struct Clock {
    /// The fixed time of this clock, in Unix seconds. `None` if it follows the system's clock.
    stopped: Option<i64>,
    /// Seconds that are added to the time.
    ahead: Arc<AtomicI64>,
}

impl Clock {
    /// Returns the system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self {
            stopped: None,
            ahead: Arc::default(),
        }
    }

    /// Returns a clock that is fixed at a time in Unix seconds, and moves only by [`Clock::advance`].
    #[must_use]
    pub fn stopped(at: i64) -> Self {
        Self {
            stopped: Some(at),
            ahead: Arc::default(),
        }
    }

    /// Returns the time in Unix seconds.
    #[must_use]
    pub fn now(&self) -> i64 {
        let system = || {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs())
        };
        let now = self
            .stopped
            .unwrap_or_else(|| i64::try_from(system()).unwrap_or(i64::MAX));
        now + self.ahead.load(Ordering::SeqCst)
    }

    /// Moves this clock and all its clones forward.
    pub fn advance(&self, seconds: i64) {
        self.ahead.fetch_add(seconds, Ordering::SeqCst);
    }

    /// Returns the engine's environment for this process, with the time of this clock. Its pauses last their full time, whatever
    /// this clock says.
    #[must_use]
    pub fn env(&self) -> Env {
        Env::new(Process {
            clock: self.clone(),
            began: Instant::now(),
        })
    }
}

#[derive(Debug)]
struct Process {
    clock: Clock,
    began: Instant,
}

impl Environment for Process {
    fn now(&self) -> i64 {
        self.clock.now()
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn sleep(&self, pause: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(pause))
    }

    fn random(&self) -> u64 {
        fastrand::u64(..)
    }
}
