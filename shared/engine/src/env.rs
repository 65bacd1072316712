//! What the engine takes from outside beside tables and bucket: the time, pauses and randomness.
//!
//! All of it comes through [`Env`], so a simulated world can give it: then a history repeats from its seed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

/// Where the time, pauses and randomness come from.
pub trait Environment: fmt::Debug + Send + Sync {
    /// Returns the time in Unix seconds. It may go back.
    fn now(&self) -> i64;

    /// Returns the time since some moment in the past. It never goes back.
    fn elapsed(&self) -> Duration;

    /// Ends after this time.
    fn sleep(&self, pause: Duration) -> BoxFuture<'static, ()>;

    /// Returns any number.
    fn random(&self) -> u64;
}

/// An [`Environment`]. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Env(Arc<dyn Environment>);

/// A moment up to which new work is begun.
#[derive(Clone, Debug)]
pub struct Deadline {
    env: Env,
    until: Duration,
}

impl Env {
    /// Returns what the engine takes from this environment.
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

    /// Returns any number.
    #[must_use]
    pub fn random(&self) -> u64 {
        self.0.random()
    }

    /// Returns a number below `limit`; 0 if that is 0.
    #[must_use]
    pub fn below(&self, limit: u64) -> u64 {
        // The upper half of the product: each number about as often as any other.
        let product = u128::from(self.random()) * u128::from(limit);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// Returns a token that no other run has: 128 random bits.
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
    /// Returns whether it has passed.
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
