//! The alarms of `infra/monitoring.yaml`, over the metrics of a world.
//!
//! A period without data is not bad, unless the template says otherwise. CloudWatch may look at more periods then, so it may
//! notify earlier than here, and not later. That metrics come late is not simulated.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::metrics::Monitoring;
use serde_norway::Value;

use crate::cloudwatch::{CloudWatch, PERIOD};

mod expression;

/// The alarms that rang, with the time at which each did so first.
pub type Rung = BTreeMap<String, Duration>;

/// The alarms of a level of monitoring.
#[derive(Clone, Debug)]
pub struct Alarms(BTreeMap<String, Alarm>);

#[derive(Clone, Debug)]
struct Alarm {
    /// The metrics by the names that the expression has for them.
    metrics: BTreeMap<String, Metric>,
    expression: String,
    /// The length of a period, in the shortest periods.
    period: u64,
    /// The number of periods that are looked at, and how many of them must be bad.
    periods: u64,
    bad: u64,
    threshold: f64,
    is_bad: fn(&f64, &f64) -> bool,
    /// Whether it notifies if all periods are without data.
    wants_data: bool,
}

#[derive(Clone, Debug)]
struct Metric {
    name: String,
    resource: String,
    is_maximum: bool,
}

impl Alarms {
    /// Returns the alarms that the stack has at this level. Panics if one cannot be read.
    #[must_use]
    pub fn of(level: Monitoring) -> Self {
        let template = include_str!("../../../infra/monitoring.yaml");
        let template: Value = serde_norway::from_str(template).expect("monitoring.yaml is YAML");
        let resources = template["Resources"].as_mapping().expect("resources");
        let alarms = resources.iter().filter_map(|(name, resource)| {
            if resource["Type"].as_str() != Some("AWS::CloudWatch::Alarm") {
                return None;
            }
            let is_there = match resource["Condition"].as_str() {
                None => true,
                Some("IsFull" | "WatchesRefusals") => level == Monitoring::Full,
                Some("IsBasic") => level == Monitoring::Basic,
                // No world has a store of redirects.
                Some("HasRedirects") => false,
                Some(other) => panic!("monitoring.yaml: the condition {other} is unknown"),
            };
            let name = name.as_str().unwrap_or_default();
            let alarm = || (name.to_owned(), Alarm::read(name, &resource["Properties"]));
            is_there.then(alarm)
        });
        Self(alarms.collect())
    }

    /// Returns the alarms that have rung until now.
    #[must_use]
    pub fn rung(&self, cloudwatch: &CloudWatch, now: Duration) -> Rung {
        let periods = now.as_secs() / PERIOD.as_secs();
        let rung = self.0.iter().filter_map(|(name, alarm)| {
            let mut ends = (1..=periods).filter(|end| end.is_multiple_of(alarm.period));
            let end = ends.find(|end| alarm.rings(cloudwatch, *end))?;
            Some((name.clone(), Duration::from_secs(end * PERIOD.as_secs())))
        });
        rung.collect()
    }
}

impl Alarm {
    fn read(name: &str, properties: &Value) -> Self {
        let missing = |what: &str| format!("monitoring.yaml: {name} has no {what}");
        let text = |value: &Value, what: &str| {
            let text = value[what].as_str();
            text.unwrap_or_else(|| panic!("{}", missing(what)))
                .to_owned()
        };
        let number = |value: &Value, what: &str| {
            let number = value[what].as_u64();
            number.unwrap_or_else(|| panic!("{}", missing(what)))
        };
        // `stat` has the statistic and the period, `metric` the rest.
        let metric = |stat: &Value, metric: &Value, statistic: &str| {
            let [dimension] = &metric["Dimensions"].as_sequence().expect("a list")[..] else {
                panic!("monitoring.yaml: {name} has not one dimension");
            };
            let Value::Tagged(reference) = &dimension["Value"] else {
                panic!("{}", missing("reference to a resource"));
            };
            let resource = reference.value.as_str().unwrap_or_default();
            Metric {
                name: text(metric, "MetricName"),
                resource: resource.to_owned(),
                is_maximum: match &*text(stat, statistic) {
                    "Sum" => false,
                    "Maximum" => true,
                    other => panic!("monitoring.yaml: {name}: {other} is unknown"),
                },
            }
        };
        let (mut metrics, mut expression) = (BTreeMap::new(), "metric".to_owned());
        let seconds = match properties["Metrics"].as_sequence() {
            None => {
                let metric = metric(properties, properties, "Statistic");
                metrics.insert(expression.clone(), metric);
                number(properties, "Period")
            }
            Some(list) => {
                let mut seconds = 0;
                for one in list {
                    let stat = &one["MetricStat"];
                    if stat.is_null() {
                        expression = text(one, "Expression");
                    } else {
                        metrics.insert(text(one, "Id"), metric(stat, &stat["Metric"], "Stat"));
                        seconds = number(stat, "Period");
                    }
                }
                seconds
            }
        };
        let periods = number(properties, "EvaluationPeriods");
        let bad = properties["DatapointsToAlarm"].as_u64();
        Self {
            metrics,
            expression,
            period: seconds / PERIOD.as_secs(),
            periods,
            bad: bad.unwrap_or(periods),
            threshold: properties["Threshold"].as_f64().expect("a threshold"),
            is_bad: match &*text(properties, "ComparisonOperator") {
                "GreaterThanThreshold" => f64::gt,
                "GreaterThanOrEqualToThreshold" => f64::ge,
                "LessThanThreshold" => f64::lt,
                other => panic!("monitoring.yaml: {name}: {other} is unknown"),
            },
            wants_data: !properties["InsufficientDataActions"].is_null(),
        }
    }

    /// Returns the alarm's value in the period that ends there. `None` without data.
    fn value(&self, cloudwatch: &CloudWatch, end: u64) -> Option<f64> {
        let first = end.checked_sub(self.period)?;
        let metrics = self.metrics.iter().map(|(id, metric)| {
            let values = cloudwatch.values(&metric.name, &metric.resource, first, end);
            let value = values.map(|values| match metric.is_maximum {
                true => values.maximum,
                false => values.sum,
            });
            (id.as_str(), value)
        });
        let value = expression::value(&self.expression, &metrics.collect());
        value.unwrap_or_else(|error| panic!("monitoring.yaml: {}: {error}", self.expression))
    }

    /// Returns whether the alarm rings at the end of this period.
    fn rings(&self, cloudwatch: &CloudWatch, end: u64) -> bool {
        let ends = (0..self.periods).map(|ago| end.saturating_sub(ago * self.period));
        let values: Vec<f64> = ends.filter_map(|end| self.value(cloudwatch, end)).collect();
        let bad = values
            .iter()
            .filter(|value| (self.is_bad)(value, &self.threshold));
        let is_silent = values.is_empty() && self.wants_data && end > self.periods * self.period;
        is_silent || bad.count() as u64 >= self.bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Sim;

    /// Returns the alarms that ring if these metrics have these values in each period of five minutes of two hours.
    fn rung(level: Monitoring, metrics: &[(&str, &str, f64)]) -> Vec<String> {
        let sim = Sim::new(1);
        let cloudwatch = CloudWatch::default();
        cloudwatch.begin(&sim);
        let world = sim.clone();
        sim.run(async {
            for _ in 0..24 {
                for (metric, resource, value) in metrics {
                    cloudwatch.note(metric, resource, *value);
                }
                world.sleep(PERIOD).await;
            }
        });
        let rung = Alarms::of(level).rung(&cloudwatch, sim.elapsed());
        rung.into_keys().collect()
    }

    #[test]
    fn an_alarm_rings_for_its_metric_and_its_level() {
        let alive = [
            ("Invocations", "SweepFunction", 5.0),
            ("FailuresWaiting", "Stack", 0.0),
        ];
        let with = |level, more: &[(&str, &str, f64)]| rung(level, &[&alive, more].concat());
        let silent = ["FailuresWaiting", "SweepSilent"];
        for level in [Monitoring::Full, Monitoring::Basic] {
            assert_eq!(rung(level, &[]), silent, "{level:?}");
            assert_eq!(with(level, &[]), [""; 0], "{level:?}");
            let old = ("IteratorAge", "IngestFunction", 900_001.0);
            assert_eq!(with(level, &[old]), ["ContentIteratorAge"], "{level:?}");
            let old = ("IteratorAge", "IngestFunction", 900_000.0);
            assert_eq!(with(level, &[old]), [""; 0], "{level:?}");
        }
        let throttled = ("Throttles", "RegenerateFunction", 1.0);
        assert_eq!(with(Monitoring::Full, &[throttled]), ["StreamThrottles"]);
        assert_eq!(with(Monitoring::Basic, &[throttled]), [""; 0]);
        let written = ("ConsumedWriteCapacityUnits", "ContentTable", 1.0);
        assert_eq!(with(Monitoring::Basic, &[written]), ["ContentUnread"]);
        let called = ("Invocations", "IngestFunction", 1.0);
        assert_eq!(with(Monitoring::Basic, &[written, called]), [""; 0]);
    }
}
