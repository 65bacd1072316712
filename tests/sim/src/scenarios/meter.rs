//! The functions' metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use engine::metrics::{Metrics, Monitoring};
use serde_json::Value;

/// Collects the lines that the functions write.
#[derive(Clone, Default)]
pub(super) struct Meter(Arc<Mutex<Vec<Value>>>);

impl Meter {
    /// Returns metrics that write to this meter.
    pub(super) fn metrics(&self) -> Metrics {
        let lines = self.0.clone();
        Metrics::of("production", Monitoring::Full, move |line| {
            lines
                .lock()
                .unwrap()
                .push(serde_json::from_str(line).unwrap());
        })
    }

    /// Returns the values since the last call: sums, and for seconds and levels the highest.
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
