//! Faults of the event source: what Lambda may do to a function. They come on demand and from a seed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The longest delay, and the longest time limit that a fault sets.
const LONGEST: Duration = Duration::from_millis(30);

/// The probability of each fault, from 0 to 1, for each delivery of a batch.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The batch is delivered twice.
    pub duplicate: f64,
    /// The batch is delivered late.
    pub delay: f64,
    /// Records of different keys are reordered.
    pub reorder: f64,
    /// The function is stopped after a short random time, at whatever point it has reached.
    pub time_out: f64,
    /// The function succeeds, but its answer is lost, so that the batch is delivered again.
    pub lose_answer: f64,
    /// The batch is delivered in two parts.
    pub split: f64,
    /// The batch is delivered again while the first invocation is still running. Both continue.
    pub overlap: f64,
    random: Arc<Mutex<fastrand::Rng>>,
}

impl Default for Faults {
    /// Returns no faults: each has the probability zero.
    fn default() -> Self {
        Self::seeded(0, 0.0)
    }
}

impl Faults {
    /// Returns faults that all have the same probability, drawn from a seed.
    #[must_use]
    pub fn seeded(seed: u64, probability: f64) -> Self {
        let p = probability;
        let random = Arc::new(Mutex::new(fastrand::Rng::with_seed(seed)));
        Self {
            duplicate: p,
            delay: p,
            reorder: p,
            time_out: p,
            lose_answer: p,
            split: p,
            overlap: p,
            random,
        }
    }

    /// Returns whether a fault of this probability happens now.
    pub(super) fn happens(&self, probability: f64) -> bool {
        probability > 0.0 && self.random(|random| random.f64()) < probability
    }

    /// Returns a short random time.
    pub(super) fn moment(&self) -> Duration {
        self.random(|random| LONGEST.mul_f64(random.f64()))
    }

    pub(super) fn random<T>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        draw(&mut self.random.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
