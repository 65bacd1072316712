//! What goes wrong with a call, and how long it takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::runtime::Sim;

/// Microseconds of a call's way, one way: most calls, and one in a hundred and in a thousand.
const WAYS: [(u64, u64); 3] = [(1_000, 1_000), (10, 20_000), (1, 300_000)];
/// How long a client waits for an answer that does not come: the functions' limit of one try.
const PATIENCE: Duration = Duration::from_secs(5);
/// One of so many failures outlasts the client's tries.
const OUTLASTING: u64 = 8;
/// Seconds after which a request may still arrive.
const LATEST: u64 = 60;

/// Seconds within which an outage begins, and how many it lasts at most.
const LATEST_OUTAGE: u64 = 900;
const LONGEST_OUTAGE: u64 = 3_600;

/// When something is in trouble. Cloning shares it.
#[derive(Clone, Debug)]
pub(crate) struct Spell {
    /// Nanoseconds of the world's time at which it begins.
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

    /// Begins then, also if it has begun before.
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

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It is done, and answered.
    Done,
    /// It is not done: there are too many.
    Throttled,
    /// It is not done, and the answer is an error.
    FailedBefore,
    /// It is done, and the answer is an error.
    FailedAfter,
    /// It is done, and there is no answer.
    Unanswered,
    /// It is done long after its caller has given up waiting.
    Late,
}

/// How likely calls fail. Cloning shares the world.
#[derive(Clone, Debug)]
pub struct Faults {
    pub(crate) sim: Sim,
    rate: f64,
    /// When the service is out of order.
    outage: Spell,
    /// How often the service was replaced by another one.
    replaced: Arc<AtomicU64>,
}

impl Faults {
    /// Returns faults of the share `rate` of all calls, which fail each way as often as any other.
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

    /// Replaces the service: calls that are late reach the new one no more.
    pub(crate) fn replace(&self) {
        self.replaced.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how often the service was replaced.
    pub(crate) fn replaced(&self) -> u64 {
        self.replaced.load(Ordering::Relaxed)
    }

    /// Returns the same faults of a service that will be out of order for a time, which is drawn.
    #[must_use]
    pub fn with_outage(self) -> Self {
        let begin = Duration::from_secs(self.sim.below(LATEST_OUTAGE));
        let length = Duration::from_secs(self.sim.below(LONGEST_OUTAGE));
        let outage = Spell::of(length);
        outage.begin(begin);
        self.out_of_order(outage)
    }

    /// Returns the same faults of a service that is out of order during this time.
    pub(crate) fn out_of_order(self, outage: Spell) -> Self {
        Self { outage, ..self }
    }

    /// Returns whether a fault strikes that is as likely as a failing call.
    pub(crate) fn happens(&self) -> bool {
        self.strikes(self.rate)
    }

    /// Returns whether a transaction meets another of one of its items.
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

    /// Draws what becomes of a call, and whether the client tries it again, as it does with most calls that fail. Then what was done is
    /// done once more.
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

    /// Waits for the client's pause before it tries again.
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

    /// Waits as long as a caller does.
    pub(crate) async fn patience(&self) {
        self.sim.sleep(PATIENCE).await;
    }

    /// Waits for the way of a request that is late. It arrives before its caller gives up, or long after.
    pub(crate) async fn late(&self) {
        let seconds = 1 + self.sim.below(LATEST);
        self.sim.sleep(Duration::from_secs(seconds)).await;
    }
}
