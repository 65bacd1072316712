//! How much a table takes, by the second: each partition key and the table as a whole.
//!
//! - A write costs a unit a kilobyte of the item before or after it, whichever is larger; a read one a 4 KB; half of that if
//!   it need not be consistent; twice that in a transaction
//!   (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>).
//! - A call is taken while there is anything left of the second's units, and may take more than that: then those that follow
//!   wait for longer.
//! - A table takes twice what it took at most in an earlier half hour
//!   (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html>). AWS may let it grow
//!   sooner, and promises no bursts beyond a partition's limit.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::faults::Spell;
use crate::runtime::Sim;

/// Units a second of one partition key: written and read.
const KEY_UNITS: [u64; 2] = [1_000, 3_000];
/// Units a second of a table that is new.
const TABLE_UNITS: [u64; 2] = [4_000, 12_000];
/// Bytes of a unit.
const UNIT_BYTES: [usize; 2] = [1_024, 4_096];
/// Costs are counted in halves of a unit.
const HALVES: u64 = 2;
const MICROS: u64 = 1_000_000;
/// Seconds of which the mean is a peak: AWS does not say over how long it measures.
const PEAK_SECONDS: u64 = 60;
/// Seconds after which a peak is one of before.
const GROWTH_SECONDS: u64 = 1_800;
/// Partition keys that are remembered; beyond, those that have all of their units left are forgotten.
const REMEMBERED: usize = 4_096;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Write,
    Read,
}

/// What a call costs: for each partition key, by its digest, in halves of a unit. A scan has none.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) kind: Kind,
    pub(crate) keys: Vec<(u64, u64)>,
}

/// Returns the halves of units of an item.
pub(crate) fn cost(kind: Kind, bytes: usize) -> u64 {
    bytes.div_ceil(UNIT_BYTES[kind as usize]).max(1) as u64 * HALVES
}

/// A table's throughput. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Throughput {
    sim: Sim,
    /// Of AWS's limits that part.
    divisor: u64,
    /// When a tenth of that is left.
    throttled: Spell,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    table: [Used; 2],
    growth: [Growth; 2],
    keys: BTreeMap<u64, [Used; 2]>,
    throttled: u64,
    /// All that was taken: written and read, in halves of a unit.
    taken: [u64; 2],
}

/// What was used and is not given back yet, in millionths of half a unit.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    level: u64,
    /// Microseconds of the world's time.
    at: u64,
}

/// What a table takes in a minute, in halves of a unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Growth {
    /// The minute, and what it has taken in it.
    minute: u64,
    taken: u64,
    /// The most in a minute of this half hour, and of those before.
    peak: u64,
    before: u64,
}

impl Growth {
    fn take(&mut self, now: u64, cost: u64) {
        let minute = now / MICROS / PEAK_SECONDS;
        let of_half_hour = |minute: u64| minute * PEAK_SECONDS / GROWTH_SECONDS;
        if of_half_hour(minute) > of_half_hour(self.minute) {
            self.before = self.before.max(self.peak);
            self.peak = 0;
        }
        if minute > self.minute {
            (self.minute, self.taken) = (minute, 0);
        }
        self.taken += cost;
        self.peak = self.peak.max(self.taken);
    }

    /// Returns the units a second of a table that took `new` when it was new.
    fn limit(self, new: u64) -> u64 {
        new.max(2 * self.before / HALVES / PEAK_SECONDS)
    }
}

impl Used {
    fn left(&mut self, now: u64, units: u64) -> bool {
        let given = (now - self.at).saturating_mul(units * HALVES);
        *self = Self {
            level: self.level.saturating_sub(given),
            at: now,
        };
        self.level < units * HALVES * MICROS
    }
}

impl Throughput {
    /// Returns the throughput of a new table, of which others use all but one part in `divisor`.
    #[must_use]
    pub fn new(sim: Sim, divisor: u64) -> Self {
        Self {
            sim,
            divisor,
            throttled: Spell::never(),
            state: Arc::default(),
        }
    }

    /// Returns how far the table has grown.
    pub(crate) fn growth(&self) -> [Growth; 2] {
        self.lock().growth
    }

    /// Begins with a table that has grown so far.
    pub(crate) fn begin_with(&self, growth: [Growth; 2]) {
        self.lock().growth = growth;
    }

    /// Begins with a table that takes so many units a second, since it has taken half of them before.
    pub(crate) fn grow_to(&self, kind: Kind, units: u64) {
        self.lock().growth[kind as usize].before = units / 2 * HALVES * PEAK_SECONDS;
    }

    /// Returns the same throughput, of which a tenth is left during this time.
    pub(crate) fn with_throttled(self, throttled: Spell) -> Self {
        Self { throttled, ..self }
    }

    /// Returns what is left of this many units a second.
    fn left(&self, units: u64) -> u64 {
        match self.throttled.is_on(&self.sim) {
            true => units / 10,
            false => units,
        }
    }

    /// Returns the units a second of a partition key.
    fn of_key(&self, kind: usize) -> u64 {
        self.left(KEY_UNITS[kind] / self.divisor)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of calls that were too many.
    #[must_use]
    pub fn throttled(&self) -> u64 {
        self.lock().throttled
    }

    /// Returns the units taken so far: written and read.
    #[must_use]
    pub fn taken(&self) -> [u64; 2] {
        self.lock().taken.map(|halves| halves / HALVES)
    }

    /// Returns whether a call is taken: nothing is used up that it needs.
    pub(crate) fn admits(&self, load: &Load) -> bool {
        let now = self.now();
        let kind = load.kind as usize;
        let mut state = self.lock();
        let mut is_left = self.left_of_table(&mut state, kind, now);
        for (key, _) in &load.keys {
            if let Some(used) = state.keys.get_mut(key) {
                is_left &= used[kind].left(now, self.of_key(kind));
            }
        }
        if !is_left {
            state.throttled += 1;
            drop(state);
            self.sim.note_fault();
        }
        is_left
    }

    /// Takes what a call has cost; `more` beside what is known of its keys, which share it.
    pub(crate) fn take(&self, load: &Load, more: u64) {
        let now = self.now();
        let kind = load.kind as usize;
        let share = more.div_ceil(load.keys.len().max(1) as u64);
        let mut state = self.lock();
        if state.keys.len() > REMEMBERED {
            for kind in [Kind::Write as usize, Kind::Read as usize] {
                for used in state.keys.values_mut() {
                    used[kind].left(now, self.of_key(kind));
                }
            }
            state
                .keys
                .retain(|_, used| used.iter().any(|used| used.level > 0));
        }
        let mut total = if load.keys.is_empty() { more } else { 0 };
        for (key, cost) in &load.keys {
            let cost = cost + share;
            let used = state
                .keys
                .entry(*key)
                .or_insert([Used { level: 0, at: now }; 2]);
            used[kind].left(now, self.of_key(kind));
            used[kind].level += cost * MICROS;
            total += cost;
        }
        self.left_of_table(&mut state, kind, now);
        state.table[kind].level += total * MICROS;
        state.growth[kind].take(now, total);
        state.taken[kind] += total;
    }

    fn left_of_table(&self, state: &mut State, kind: usize, now: u64) -> bool {
        let limit = state.growth[kind].limit(TABLE_UNITS[kind] / self.divisor);
        state.table[kind].left(now, self.left(limit))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.sim.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_key_takes_a_thousand_kilobytes_a_second() {
        let sim = Sim::new(1);
        let inner = sim.clone();
        sim.run(async move {
            let throughput = Throughput::new(inner.clone(), 1);
            let write = |key, bytes| Load {
                kind: Kind::Write,
                keys: vec![(key, cost(Kind::Write, bytes))],
            };
            let mut taken = 0;
            while throughput.admits(&write(1, 100_000)) {
                throughput.take(&write(1, 100_000), 0);
                taken += 1;
            }
            // 98 units each: the last takes what is not there any more.
            assert_eq!(taken, 11);
            assert!(throughput.admits(&write(2, 1)), "another key");
            inner.sleep(Duration::from_millis(50)).await;
            assert!(!throughput.admits(&write(1, 1)));
            inner.sleep(Duration::from_millis(50)).await;
            assert!(throughput.admits(&write(1, 1)));
            assert_eq!(throughput.throttled(), 2);
        });
    }

    #[test]
    fn a_table_takes_twice_what_it_took_half_an_hour_ago() {
        let sim = Sim::new(1);
        let inner = sim.clone();
        sim.run(async move {
            let throughput = Throughput::new(inner.clone(), 1);
            let mut key = 0;
            // Units written in so many seconds, each to a key of its own.
            let mut written = async |seconds| {
                let (mut units, end) = (0, inner.elapsed() + Duration::from_secs(seconds));
                while inner.elapsed() < end {
                    key += 1;
                    let load = Load {
                        kind: Kind::Write,
                        keys: vec![(key, cost(Kind::Write, 100 * 1_024))],
                    };
                    if throughput.admits(&load) {
                        throughput.take(&load, 0);
                        units += 100;
                    } else {
                        inner.sleep(Duration::from_millis(1)).await;
                    }
                }
                units
            };
            let new = written(PEAK_SECONDS).await;
            // All of the first second's at once, and then as they come.
            assert!((240_000..=244_200).contains(&new), "{new}");
            inner.sleep(Duration::from_secs(GROWTH_SECONDS)).await;
            written(1).await;
            let grown = written(PEAK_SECONDS).await;
            assert!(grown > 3 * new / 2, "{grown} after {new}");
        });
    }
}
