//! The throughput of a table, per second: of each partition key and of the table as a whole.
//!
//! - A write costs a unit for each kilobyte of the item before or after it, whichever is larger. A read costs a unit for each 4
//!   KB, half of that if it need not be consistent, and twice in a transaction
//!   (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>).
//! - A call is accepted while any of the second's units are left, and may take more than those. Then the following calls wait
//!   longer.
//! - A table accepts twice the peak of an earlier half hour
//!   (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html>). AWS may let it grow
//!   sooner, and promises no bursts beyond a partition's limit.
//! - A maximum of a table's throughput bounds both kinds of calls
//!   (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode-max-throughput.html>).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cloudwatch::CloudWatch;
use crate::faults::Spell;
use crate::runtime::Sim;

/// The write and read units per second of one partition key.
const KEY_UNITS: [u64; 2] = [1_000, 3_000];
/// The write and read units per second of a new table.
const TABLE_UNITS: [u64; 2] = [4_000, 12_000];
/// The bytes of a unit.
const UNIT_BYTES: [usize; 2] = [1_024, 4_096];
/// Costs are counted in halves of a unit.
const HALVES: u64 = 2;
const MICROS: u64 = 1_000_000;
/// The names of a table's metrics, by the kind of call.
const THROTTLED: [&str; 2] = ["WriteThrottleEvents", "ReadThrottleEvents"];
const CONSUMED: [&str; 2] = ["ConsumedWriteCapacityUnits", "ConsumedReadCapacityUnits"];
/// The seconds whose mean is a peak. AWS does not document the period.
const PEAK_SECONDS: u64 = 60;
/// The seconds after which a peak counts as an earlier one.
const GROWTH_SECONDS: u64 = 1_800;
/// The most partition keys that are remembered. Beyond that, those with all of their units left are dropped.
const REMEMBERED: usize = 4_096;

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Write,
    Read,
}

/// The costs of a call: for each partition key, by its digest, in halves of a unit. A scan has none.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) kind: Kind,
    pub(crate) keys: Vec<(u64, u64)>,
}

/// Returns the cost of an item, in halves of a unit.
pub(crate) fn cost(kind: Kind, bytes: usize) -> u64 {
    bytes.div_ceil(UNIT_BYTES[kind as usize]).max(1) as u64 * HALVES
}

/// A table's throughput. Clones share it.
#[derive(Clone, Debug)]
pub struct Throughput {
    sim: Sim,
    /// The divisor of AWS's limits.
    divisor: u64,
    /// The time in which only a tenth is left.
    throttled: Spell,
    state: Arc<Mutex<State>>,
    /// The table's name in the template.
    name: &'static str,
    cloudwatch: CloudWatch,
}

#[derive(Debug, Default)]
struct State {
    table: [Used; 2],
    growth: [Growth; 2],
    keys: BTreeMap<u64, [Used; 2]>,
    throttled: u64,
    /// The consumed write and read units so far, in halves of a unit.
    taken: [u64; 2],
    /// The maximum of write units, and of read units, per second.
    most: Option<u64>,
}

/// The consumption that is not yet restored, in millionths of half a unit.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    level: u64,
    /// The world's time in microseconds.
    at: u64,
}

/// The growth of a table. Consumption is per minute, in halves of a unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Growth {
    /// The minute, and the consumption in it.
    minute: u64,
    taken: u64,
    /// The highest consumption in a minute of this half hour, and of the earlier ones.
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

    /// Returns the units per second of a table that had `new` when it was new.
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
    /// Returns the throughput of a new table, divided by `divisor`, because others use the rest.
    #[must_use]
    pub fn new(sim: Sim, divisor: u64) -> Self {
        Self {
            sim,
            divisor,
            throttled: Spell::never(),
            state: Arc::default(),
            name: "",
            cloudwatch: CloudWatch::default(),
        }
    }

    /// Returns the same throughput of the table with this name in the template, which is noted there.
    pub(crate) fn noted_in(self, cloudwatch: CloudWatch, name: &'static str) -> Self {
        Self {
            name,
            cloudwatch,
            ..self
        }
    }

    /// Sets the maximum of write units, and of read units, per second.
    pub(crate) fn set_most(&self, most: Option<u64>) {
        self.lock().most = most;
    }

    /// Returns the growth of the table.
    pub(crate) fn growth(&self) -> [Growth; 2] {
        self.lock().growth
    }

    /// Begins with a table with this growth.
    pub(crate) fn begin_with(&self, growth: [Growth; 2]) {
        self.lock().growth = growth;
    }

    /// Begins with a table that accepts this number of units per second, because it has consumed half of them before.
    pub(crate) fn grow_to(&self, kind: Kind, units: u64) {
        self.lock().growth[kind as usize].before = units / 2 * HALVES * PEAK_SECONDS;
    }

    /// Returns the same throughput, of which a tenth is left during this time.
    pub(crate) fn with_throttled(self, throttled: Spell) -> Self {
        Self { throttled, ..self }
    }

    /// Returns the rest of this number of units per second.
    fn left(&self, units: u64) -> u64 {
        match self.throttled.is_on(&self.sim) {
            true => units / 10,
            false => units,
        }
    }

    /// Returns the units per second of a partition key.
    fn of_key(&self, kind: usize) -> u64 {
        self.left(KEY_UNITS[kind] / self.divisor)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of throttled calls.
    #[must_use]
    pub fn throttled(&self) -> u64 {
        self.lock().throttled
    }

    /// Returns the consumed write and read units so far.
    #[must_use]
    pub fn taken(&self) -> [u64; 2] {
        self.lock().taken.map(|halves| halves / HALVES)
    }

    /// Returns whether a call is accepted: units are left of everything that it needs.
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
            self.cloudwatch.note(THROTTLED[kind], self.name, 1.0);
            self.sim.note_fault();
        }
        is_left
    }

    /// Consumes the cost of a call. `more` is an additional cost, which its keys share.
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
        drop(state);
        let units = total as f64 / HALVES as f64;
        self.cloudwatch.note(CONSUMED[kind], self.name, units);
    }

    fn left_of_table(&self, state: &mut State, kind: usize, now: u64) -> bool {
        let limit = state.growth[kind].limit(TABLE_UNITS[kind] / self.divisor);
        let limit = limit.min(state.most.unwrap_or(u64::MAX));
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
            // 98 units each. The last one takes units that are no longer left.
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
            // Units that are written in this number of seconds, each to a key of its own.
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
            // All of the first second's units at once, and then as they are restored.
            assert!((240_000..=244_200).contains(&new), "{new}");
            inner.sleep(Duration::from_secs(GROWTH_SECONDS)).await;
            written(1).await;
            let grown = written(PEAK_SECONDS).await;
            assert!(grown > 3 * new / 2, "{grown} after {new}");
        });
    }
}
