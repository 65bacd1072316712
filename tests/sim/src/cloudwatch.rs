//! The metrics that AWS's services and the functions would have in CloudWatch.
//!
//! - A metric belongs to a resource, by its name in the template, or to the stack. Each has a sum and a maximum for each period
//!   of five minutes; the periods of all alarms are multiples of that.
//! - Lambda notes the age of the last record of a batch when it calls the function
//!   (<https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html>). So nothing tells it while nothing is called.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::metrics::{DIMENSION, Metrics, Monitoring};
use serde_json::{Map, Value};

use crate::runtime::Sim;

/// The shortest period.
pub const PERIOD: Duration = Duration::from_secs(300);

/// The metrics of a world. Clones share them. The default notes nothing.
#[derive(Clone, Debug, Default)]
pub struct CloudWatch(Arc<Mutex<Option<Noted>>>);

#[derive(Debug)]
struct Noted {
    sim: Sim,
    metrics: BTreeMap<(String, String), BTreeMap<u64, Values>>,
}

/// The values of a period.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    /// Their sum.
    pub sum: f64,
    /// The highest of them.
    pub maximum: f64,
}

impl Values {
    /// Returns the values of both periods.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            maximum: self.maximum.max(other.maximum),
        }
    }
}

impl CloudWatch {
    /// Notes metrics from now on.
    pub fn begin(&self, sim: &Sim) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Noted {
            sim: sim.clone(),
            metrics: BTreeMap::new(),
        });
    }

    /// Notes a value of a resource's metric.
    pub fn note(&self, metric: &str, resource: &str, value: f64) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Noted { sim, metrics }) = &mut *noted else {
            return;
        };
        let period = sim.elapsed().as_secs() / PERIOD.as_secs();
        let new = Values {
            sum: value,
            maximum: value,
        };
        let name = (metric.to_owned(), resource.to_owned());
        let periods = metrics.entry(name).or_default();
        let values = periods.entry(period);
        values
            .and_modify(|values| *values = values.and(new))
            .or_insert(new);
    }

    /// Returns a metric's values in the periods of five minutes from `first` up to `end`. `None` if there are none.
    #[must_use]
    pub fn values(&self, metric: &str, resource: &str, first: u64, end: u64) -> Option<Values> {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (metric.to_owned(), resource.to_owned());
        let periods = noted.as_ref()?.metrics.get(&name)?;
        let values = periods.range(first..end).map(|(_, values)| *values);
        values.reduce(Values::and)
    }

    /// Returns the functions' own metrics, which are noted here.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let cloudwatch = self.clone();
        Metrics::of("simulated", Monitoring::Full, move |line| {
            let line: Map<String, Value> = serde_json::from_str(line).expect("a line of JSON");
            for (name, value) in line {
                if let Some(value) = value.as_f64() {
                    cloudwatch.note(&name, DIMENSION, value);
                }
            }
        })
    }
}
