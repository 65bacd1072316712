//! The inputs of the engine besides tables and bucket: time, pauses and randomness.
//!
//! All of them come through [`Env`], so that a simulated world can provide them and repeat a history from its seed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

/// The source of time, pauses and randomness.
pub trait Environment: fmt::Debug + Send + Sync {
    /// Returns the time in Unix seconds. It may go back.
    fn now(&self) -> i64;

    /// Returns the time since some moment in the past. It never goes back.
    fn elapsed(&self) -> Duration;

    /// Ends after this time.
    fn sleep(&self, pause: Duration) -> BoxFuture<'static, ()>;

    /// Returns a random number.
    fn random(&self) -> u64;
}

/// A shared [`Environment`]. Clones use the same one.
#[derive(Clone, Debug)]
pub struct Env(Arc<dyn Environment>);

/// The moment after which no new work is begun.
#[derive(Clone, Debug)]
pub struct Deadline {
    env: Env,
    until: Duration,
}

impl Env {
    /// Returns an `Env` that uses this environment.
    #[must_use]
    pub fn new(environment: impl Environment + 'static) -> Self {
        Self(Arc::new(environment))
    }

    /// Returns the time in Unix seconds.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.0.now()
    }

    /// Returns the time since some moment in the past. It never goes back.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// Returns the moment this long from now.
    #[must_use]
    pub fn deadline(&self, after: Duration) -> Deadline {
        let (env, until) = (self.clone(), self.elapsed() + after);
        Deadline { env, until }
    }

    /// Ends after this time.
    pub async fn sleep(&self, pause: Duration) {
        self.0.sleep(pause).await;
    }

    /// Waits a random time of up to 20 ms, doubled with each round but the first, which does not wait.
    pub async fn backoff(&self, round: u32) {
        if round > 0 {
            let most = 20 << round.min(8);
            self.sleep(Duration::from_millis(self.below(most))).await;
        }
    }

    /// Returns a random number.
    #[must_use]
    pub fn random(&self) -> u64 {
        self.0.random()
    }

    /// Returns a random number below `limit`, or 0 if `limit` is 0.
    #[must_use]
    pub fn below(&self, limit: u64) -> u64 {
        // The upper half of the product is almost uniformly distributed.
        let product = u128::from(self.random()) * u128::from(limit);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// Returns a token of 128 random bits, which no other run has.
    #[must_use]
    pub fn token(&self) -> String {
        format!("{:016x}{:016x}", self.random(), self.random())
    }

    /// Puts values into a random order.
    pub fn shuffle<T>(&self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            let at = usize::try_from(self.below(last as u64 + 1)).unwrap_or(0);
            values.swap(at, last);
        }
    }
}

impl Deadline {
    /// Returns whether the deadline has passed.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.env.elapsed() >= self.until
    }

    /// Returns this deadline, or the time this long from now if that is later.
    #[must_use]
    pub fn at_least(self, after: Duration) -> Self {
        let until = self.until.max(self.env.elapsed() + after);
        Self { until, ..self }
    }
}
