//! Faults of calls, and their durations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::runtime::Sim;

/// The durations of a call's way in one direction, in microseconds: for most calls, for one in a hundred and for one in a
/// thousand.
const WAYS: [(u64, u64); 3] = [(1_000, 1_000), (10, 20_000), (1, 300_000)];
/// The time for which a client waits for a missing answer: the functions' limit of one try.
const PATIENCE: Duration = Duration::from_secs(5);
/// One of this number of failures outlasts the client's tries.
const OUTLASTING: u64 = 8;
/// The most seconds after which a request may still arrive.
const LATEST: u64 = 60;

/// The most seconds until an outage begins, and for which it lasts.
const LATEST_OUTAGE: u64 = 900;
const LONGEST_OUTAGE: u64 = 3_600;

/// A time of trouble. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Spell {
    /// The beginning, in nanoseconds of the world's time.
    begin: Arc<AtomicU64>,
    length: Duration,
}

impl Spell {
    /// Returns a spell that has not begun.
    pub(crate) fn of(length: Duration) -> Self {
        let begin = Arc::new(AtomicU64::new(u64::MAX));
        Self { begin, length }
    }

    pub(crate) fn never() -> Self {
        Self::of(Duration::ZERO)
    }

    /// Begins at this time, even if it has begun before.
    pub(crate) fn begin(&self, at: Duration) {
        self.begin.store(nanos(at), Ordering::Relaxed);
    }

    pub(crate) fn is_on(&self, sim: &Sim) -> bool {
        let begun = nanos(sim.elapsed()).checked_sub(self.begin.load(Ordering::Relaxed));
        begun.is_some_and(|begun| begun < nanos(self.length))
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It is executed and answered.
    Done,
    /// It is not executed, because of throttling.
    Throttled,
    /// It is not executed, and the answer is an error.
    FailedBefore,
    /// It is executed, and the answer is an error.
    FailedAfter,
    /// It is executed, and there is no answer.
    Unanswered,
    /// It is executed long after its caller has stopped waiting.
    Late,
}

/// The probability of failing calls. Clones share the world.
#[derive(Clone, Debug)]
pub struct Faults {
    pub(crate) sim: Sim,
    rate: f64,
    /// The time in which the service fails.
    outage: Spell,
    /// How often the service was replaced by another one.
    replaced: Arc<AtomicU64>,
}

impl Faults {
    /// Returns faults of the share `rate` of all calls. All kinds of failures are equally likely.
    #[must_use]
    pub fn new(sim: Sim, rate: f64) -> Self {
        Self {
            sim,
            rate,
            outage: Spell::never(),
            replaced: Arc::default(),
        }
    }

    /// Returns the same faults of a service that is replaced at other times.
    #[must_use]
    pub(crate) fn of_another(self) -> Self {
        let replaced = Arc::default();
        Self { replaced, ..self }
    }

    /// Replaces the service. Late calls do not reach the new one.
    pub(crate) fn replace(&self) {
        self.replaced.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how often the service was replaced.
    pub(crate) fn replaced(&self) -> u64 {
        self.replaced.load(Ordering::Relaxed)
    }

    /// Returns the same faults, of a service with a random time of outage.
    #[must_use]
    pub fn with_outage(self) -> Self {
        let begin = Duration::from_secs(self.sim.below(LATEST_OUTAGE));
        let length = Duration::from_secs(self.sim.below(LONGEST_OUTAGE));
        let outage = Spell::of(length);
        outage.begin(begin);
        self.out_of_order(outage)
    }

    /// Returns the same faults, of a service that fails during this time.
    pub(crate) fn out_of_order(self, outage: Spell) -> Self {
        Self { outage, ..self }
    }

    /// Returns whether a fault with the probability of a failing call happens.
    pub(crate) fn happens(&self) -> bool {
        self.strikes(self.rate)
    }

    /// Returns whether a transaction conflicts with another one.
    pub(crate) fn conflicts(&self) -> bool {
        self.strikes(self.rate / 4.0)
    }

    fn strikes(&self, rate: f64) -> bool {
        let happens = self.sim.happens(rate);
        if happens {
            self.sim.note_fault();
        }
        happens
    }

    /// Draws the outcome of a call, and whether the client retries it, as it does with most failed calls. A retry executes the
    /// call once more.
    pub(crate) fn draw(&self) -> (Fate, bool) {
        if self.outage.is_on(&self.sim) {
            self.sim.note_fault();
            return (Fate::FailedBefore, false);
        }
        if !self.happens() {
            return (Fate::Done, false);
        }
        let fate = match self.sim.below(5) {
            0 => Fate::Throttled,
            1 => Fate::FailedBefore,
            2 => Fate::FailedAfter,
            3 => Fate::Unanswered,
            _ => Fate::Late,
        };
        (fate, self.sim.below(OUTLASTING) != 0)
    }

    /// Waits for the client's pause before a retry.
    pub(crate) async fn pause(&self) {
        let millis = self.sim.below(1_000);
        self.sim.sleep(Duration::from_millis(millis)).await;
    }

    /// Waits for a call's way to the service, or back.
    pub(crate) async fn way(&self) {
        let micros = self.micros();
        self.sim.sleep(Duration::from_micros(micros)).await;
    }

    fn micros(&self) -> u64 {
        let drawn = self.sim.below(1_000);
        let (_, least) = match drawn {
            0 => WAYS[2],
            1..=10 => WAYS[1],
            _ => WAYS[0],
        };
        least + self.sim.below(least)
    }

    /// Waits for as long as a caller does.
    pub(crate) async fn patience(&self) {
        self.sim.sleep(PATIENCE).await;
    }

    /// Waits for the way of a late request. It arrives before its caller stops waiting, or long after.
    pub(crate) async fn late(&self) {
        let seconds = 1 + self.sim.below(LATEST);
        self.sim.sleep(Duration::from_secs(seconds)).await;
    }
}
