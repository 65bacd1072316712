//! How much a table takes, by the second: each partition key and the table as a whole.
//!
//! - A write costs a unit a kilobyte of the item before or after it, whichever is larger; a read one a 4 KB; half of that if
//!   it need not be consistent; twice that in a transaction
//!   (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>).
//! - A call is taken while there is anything left of the second's units, and may take more than that: then those that follow
//!   wait for longer. Bursts and the growth of a table's own limit are left out, so that there is less than in AWS.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

/// The halves of units of an item.
pub(crate) fn cost(kind: Kind, bytes: usize) -> u64 {
    bytes.div_ceil(UNIT_BYTES[kind as usize]).max(1) as u64 * HALVES
}

/// A table's throughput. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Throughput {
    sim: Sim,
    /// Of AWS's limits that part.
    divisor: u64,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    table: [Used; 2],
    keys: BTreeMap<u64, [Used; 2]>,
    throttled: u64,
}

/// What was used and is not given back yet, in millionths of half a unit.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    level: u64,
    /// Microseconds of the world's time.
    at: u64,
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
    /// The throughput of a new table, of which others use all but one part of so many.
    #[must_use]
    pub fn new(sim: Sim, divisor: u64) -> Self {
        Self {
            sim,
            divisor,
            state: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls that were too many.
    #[must_use]
    pub fn throttled(&self) -> u64 {
        self.lock().throttled
    }

    /// Whether a call is taken: nothing is used up that it needs.
    pub(crate) fn admits(&self, load: &Load) -> bool {
        let now = self.now();
        let kind = load.kind as usize;
        let mut state = self.lock();
        let mut is_left = state.table[kind].left(now, TABLE_UNITS[kind] / self.divisor);
        for (key, _) in &load.keys {
            if let Some(used) = state.keys.get_mut(key) {
                is_left &= used[kind].left(now, KEY_UNITS[kind] / self.divisor);
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
                    used[kind].left(now, KEY_UNITS[kind] / self.divisor);
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
            used[kind].left(now, KEY_UNITS[kind] / self.divisor);
            used[kind].level += cost * MICROS;
            total += cost;
        }
        state.table[kind].left(now, TABLE_UNITS[kind] / self.divisor);
        state.table[kind].level += total * MICROS;
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
}
