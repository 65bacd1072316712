//! What the functions count.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use engine::metrics::{Metrics, Monitoring};
use serde_json::Value;

/// Reads what the functions write.
#[derive(Clone, Default)]
pub(super) struct Meter(Arc<Mutex<Vec<Value>>>);

impl Meter {
    /// What writes to it.
    pub(super) fn metrics(&self) -> Metrics {
        let lines = self.0.clone();
        Metrics::of("production", Monitoring::Full, move |line| {
            lines
                .lock()
                .unwrap()
                .push(serde_json::from_str(line).unwrap());
        })
    }

    /// What was written since the last time: sums, and of seconds and levels the highest.
    pub(super) fn take(&self) -> BTreeMap<String, u64> {
        let mut totals: BTreeMap<String, u64> = BTreeMap::new();
        for line in self.0.lock().unwrap().drain(..) {
            for (name, value) in line.as_object().unwrap() {
                let Some(value) = value.as_u64() else {
                    continue;
                };
                let total = totals.entry(name.clone()).or_default();
                *total = if name.ends_with("Seconds") || name == "FailuresWaiting" {
                    value.max(*total)
                } else {
                    *total + value
                };
            }
        }
        totals
    }
}
