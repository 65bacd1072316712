//! The functions' metrics for CloudWatch: one line of its embedded metric format per invocation.
//!
//! - A line is a JSON object on standard output (<https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>).
//!   It does not go through `tracing`, whose JSON would put it inside a field, where CloudWatch does not look.
//! - Lambda's JSON log format leaves what is JSON already as it is
//!   (<https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-logformat.html>), and takes a line without a
//!   `level` for one of level INFO
//!   (<https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html>): a function whose
//!   `ApplicationLogLevel` is above that has no metrics.
//! - There is one dimension, the stack. Every further value of a dimension would make another set of metrics that costs money.
//!   Numbers of single sites are in the log.
//! - A metric is written only where an alarm or a dashboard reads it ([`Monitoring`]): each costs money for every hour in which
//!   it has a value.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};

/// The namespace of the metrics.
pub const NAMESPACE: &str = "Waymark";
/// Their dimension: the stack's name.
pub const DIMENSION: &str = "Stack";
/// The most metrics of one line (the format's specification).
pub const MAX_METRICS: usize = 100;

/// The unit of a metric, by CloudWatch's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Count,
    Bytes,
    Seconds,
}

/// How several values of one invocation are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeps {
    /// The sum is written, unless it is zero.
    Sum,
    /// The highest value is written, even if it is zero.
    Highest,
}

/// A metric. Its name is fixed, because alarms and the dashboard refer to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    name: Cow<'static, str>,
    unit: Unit,
    keeps: Keeps,
}

impl Metric {
    const fn count(name: &'static str) -> Self {
        Self::new(name, Unit::Count, Keeps::Sum)
    }

    const fn seconds(name: &'static str) -> Self {
        Self::new(name, Unit::Seconds, Keeps::Highest)
    }

    const fn new(name: &'static str, unit: Unit, keeps: Keeps) -> Self {
        let name = Cow::Borrowed(name);
        Self { name, unit, keeps }
    }

    /// Returns the metric's name in CloudWatch.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Entries inserted or rewritten in a slot. An entry that moves is written once and removed once.
pub const ENTRIES_WRITTEN: Metric = Metric::count("EntriesWritten");
/// Entries removed.
pub const ENTRIES_REMOVED: Metric = Metric::count("EntriesRemoved");
/// Entries written or removed of released sites only, because a first load publishes nothing until its end.
///
/// Each of these changes must be followed by [`INDEXES_PUBLISHED`] or [`INDEXES_SKIPPED`] within a minute.
pub const LISTING_CHANGES: Metric = Metric::count("ListingChanges");
/// Reconciles that changed something, by any function.
pub const RECORDS_CHANGED: Metric = Metric::count("RecordsChanged");
/// Reconciles that changed nothing.
pub const RECORDS_UNCHANGED: Metric = Metric::count("RecordsUnchanged");
/// Reconciles that failed with a permanent error. The record is acknowledged, and its listing stays as it is.
pub const RECORDS_IMPOSSIBLE: Metric = Metric::count("RecordsImpossible");
/// Reconciles that failed and are retried.
pub const RECORDS_FAILED: Metric = Metric::count("RecordsFailed");
/// Shards put.
pub const SHARDS_PUBLISHED: Metric = Metric::count("ShardsPublished");
/// Shards whose object was already up to date.
pub const SHARDS_SKIPPED: Metric = Metric::count("ShardsSkipped");
/// Segments deflated and spliced between others that were copied. A shard that is built whole has none.
pub const SEGMENTS_SPLICED: Metric = Metric::count("SegmentsSpliced");
/// Bytes of all objects put, as stored.
pub const BYTES_PUBLISHED: Metric = Metric::new("BytesPublished", Unit::Bytes, Keeps::Sum);
/// Indexes put.
pub const INDEXES_PUBLISHED: Metric = Metric::count("IndexesPublished");
/// Indexes whose object was already up to date.
pub const INDEXES_SKIPPED: Metric = Metric::count("IndexesSkipped");
/// Changed rows whose handling failed and is retried.
pub const CHANGES_FAILED: Metric = Metric::count("ChangesFailed");
/// Changed rows whose handling failed with a permanent error. They are acknowledged, and the published files stay as they are.
pub const CHANGES_IMPOSSIBLE: Metric = Metric::count("ChangesImpossible");
/// Seconds from a content record's change to the commit of its rows. The longest of an invocation.
pub const RECONCILE_SECONDS: Metric = Metric::seconds("ReconcileSeconds");
/// Seconds from the change of a shard's first row to its put. The longest of an invocation.
pub const PUBLISH_SECONDS: Metric = Metric::seconds("PublishSeconds");
/// Seconds from the change of a shard's summary to the index's put. The longest of an invocation.
pub const INDEX_SECONDS: Metric = Metric::seconds("IndexSeconds");
/// URLs that search engines were notified of.
pub const NOTICES_SENT: Metric = Metric::count("NoticesSent");
/// URLs that IndexNow refused permanently.
pub const NOTICES_REFUSED: Metric = Metric::count("NoticesRefused");
/// Findings of the audit, except harmless ones.
pub const FINDINGS_FOUND: Metric = Metric::count("FindingsFound");
/// Findings that the audit repaired itself or through `regenerate`.
pub const FINDINGS_REPAIRED: Metric = Metric::count("FindingsRepaired");
/// Bodies that failed after their status was sent.
pub const BODIES_BROKEN: Metric = Metric::count("BodiesBroken");
/// Batches that wait in the failure bucket. Each sweep writes this level. A missing value means that there was no sweep, or that
/// the bucket could not be listed.
pub const FAILURES_WAITING: Metric = Metric::new("FailuresWaiting", Unit::Count, Keeps::Highest);

/// All metrics except those of [`refused`].
pub const ALL: [&Metric; 24] = [
    &ENTRIES_WRITTEN,
    &ENTRIES_REMOVED,
    &LISTING_CHANGES,
    &RECORDS_CHANGED,
    &RECORDS_UNCHANGED,
    &RECORDS_IMPOSSIBLE,
    &RECORDS_FAILED,
    &SHARDS_PUBLISHED,
    &SHARDS_SKIPPED,
    &SEGMENTS_SPLICED,
    &BYTES_PUBLISHED,
    &INDEXES_PUBLISHED,
    &INDEXES_SKIPPED,
    &CHANGES_FAILED,
    &CHANGES_IMPOSSIBLE,
    &RECONCILE_SECONDS,
    &PUBLISH_SECONDS,
    &INDEX_SECONDS,
    &NOTICES_SENT,
    &NOTICES_REFUSED,
    &FINDINGS_FOUND,
    &FINDINGS_REPAIRED,
    &BODIES_BROKEN,
    &FAILURES_WAITING,
];

/// The metrics that the alarms of [`Monitoring::Basic`] read.
pub const BASIC: [&Metric; 4] = [
    &LISTING_CHANGES,
    &RECORDS_IMPOSSIBLE,
    &CHANGES_IMPOSSIBLE,
    &FAILURES_WAITING,
];

/// The template's parameter `Monitoring`: which alarms, dashboard and metrics a deployment has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Monitoring {
    /// Every alarm and the dashboard. All metrics are written.
    #[default]
    Full,
    /// Only alarms on lost changes and failed publishing. Only [`BASIC`] is written.
    Basic,
    /// No alarms and no dashboard. No metrics are written.
    None,
}

impl Monitoring {
    /// All levels.
    pub const ALL: [Self; 3] = [Self::Full, Self::Basic, Self::None];

    /// Returns the level's name as the template has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Basic => "basic",
            Self::None => "none",
        }
    }

    /// Returns whether an alarm or the dashboard of this level reads the metric.
    #[must_use]
    pub fn reads(self, metric: &Metric) -> bool {
        match self {
            Self::Full => true,
            Self::Basic => BASIC.contains(&metric),
            Self::None => false,
        }
    }
}

/// A name that is not a monitoring level.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not full, basic or none")]
pub struct UnknownMonitoring(String);

impl FromStr for Monitoring {
    type Err = UnknownMonitoring;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let level = Self::ALL.into_iter().find(|level| level.name() == name);
        level.ok_or_else(|| UnknownMonitoring(name.to_owned()))
    }
}

/// Returns the metric `Refused.<name of the refusal>`. It counts pages that became excluded for this reason. A page that was
/// already excluded is not counted again.
#[must_use]
pub fn refused(reason: &str) -> Metric {
    Metric {
        name: Cow::Owned(format!("Refused.{reason}")),
        ..Metric::count("")
    }
}

/// The output for lines.
type Sink = Box<dyn Fn(&str) + Send + Sync>;

/// The values noted since the last line. Clones share them.
///
/// The default drops every value.
#[derive(Clone, Default)]
pub struct Metrics(Option<Arc<Inner>>);

struct Inner {
    stack: String,
    monitoring: Monitoring,
    noted: Mutex<BTreeMap<Cow<'static, str>, (Metric, u64)>>,
    sink: Sink,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stack = self.0.as_ref().map(|inner| &inner.stack);
        f.debug_tuple("Metrics").field(&stack).finish()
    }
}

impl Metrics {
    /// Returns metrics of the stack with this name. `sink` gets their lines, which contain only the metrics of this level. A
    /// stack without a name gets no lines, because a dimension may not be empty.
    #[must_use]
    pub fn of(
        stack: &str,
        monitoring: Monitoring,
        sink: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        if stack.is_empty() {
            return Self::default();
        }
        Self(Some(Arc::new(Inner {
            stack: stack.to_owned(),
            monitoring,
            noted: Mutex::default(),
            sink: Box::new(sink),
        })))
    }

    /// Returns whether a value of this metric would be written. Callers ask because measuring a value may cost a call.
    #[must_use]
    pub fn writes(&self, metric: &Metric) -> bool {
        self.0
            .as_ref()
            .is_some_and(|inner| inner.monitoring.reads(metric))
    }

    /// Notes a value, if it will be written.
    pub fn note(&self, metric: &Metric, value: u64) {
        let Some(inner) = &self.0 else { return };
        if !inner.monitoring.reads(metric) || (value == 0 && metric.keeps == Keeps::Sum) {
            return;
        }
        let mut noted = inner.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, total) = noted
            .entry(metric.name.clone())
            .or_insert_with(|| (metric.clone(), 0));
        *total = match metric.keeps {
            Keeps::Sum => total.saturating_add(value),
            Keeps::Highest => value.max(*total),
        };
    }

    /// Notes the seconds from `since` to `now`, both in Unix seconds. Notes 0 if the clock of `since` was ahead.
    pub fn note_since(&self, metric: &Metric, since: Option<i64>, now: i64) {
        if let Some(since) = since {
            self.note(metric, u64::try_from(now - since).unwrap_or(0));
        }
    }

    /// Writes the noted values, and drops them. `now` is in Unix seconds.
    pub fn emit(&self, now: i64) {
        let Some(inner) = &self.0 else { return };
        let noted =
            std::mem::take(&mut *inner.noted.lock().unwrap_or_else(PoisonError::into_inner));
        let noted: Vec<(Metric, u64)> = noted.into_values().collect();
        for noted in noted.chunks(MAX_METRICS) {
            (inner.sink)(&line(&inner.stack, noted, now));
        }
    }
}

fn line(stack: &str, noted: &[(Metric, u64)], now: i64) -> String {
    let definition = |(metric, _): &(Metric, u64)| json!({"Name": metric.name, "Unit": format!("{:?}", metric.unit)});
    let definitions: Vec<Value> = noted.iter().map(definition).collect();
    let directive =
        json!({"Namespace": NAMESPACE, "Dimensions": [[DIMENSION]], "Metrics": definitions});
    let metadata = json!({"Timestamp": now * 1_000, "CloudWatchMetrics": [directive]});
    let mut root = Map::from_iter([
        ("_aws".to_owned(), metadata),
        (DIMENSION.to_owned(), stack.into()),
    ]);
    root.extend(
        noted
            .iter()
            .map(|(metric, value)| (metric.name.to_string(), (*value).into())),
    );
    Value::Object(root).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(monitoring: Monitoring) -> (Metrics, Arc<Mutex<Vec<Value>>>) {
        let lines: Arc<Mutex<Vec<Value>>> = Arc::default();
        let sink = lines.clone();
        let metrics = Metrics::of("test", monitoring, move |line| {
            let line = serde_json::from_str(line).expect("JSON");
            sink.lock().expect("whole").push(line);
        });
        (metrics, lines)
    }

    #[test]
    fn an_invocation_is_one_line_of_sums_and_maxima() {
        let (metrics, lines) = captured(Monitoring::Full);
        metrics.emit(1);
        for value in [3, 0, 4] {
            metrics.note(&ENTRIES_WRITTEN, value);
            metrics.note(&BYTES_PUBLISHED, value);
            metrics.clone().note(&PUBLISH_SECONDS, value);
        }
        metrics.note(&ENTRIES_REMOVED, 0);
        metrics.note(&FAILURES_WAITING, 0);
        metrics.note(&refused("noindex"), 1);
        metrics.note_since(&INDEX_SECONDS, Some(8), 7);
        metrics.note_since(&RECONCILE_SECONDS, None, 7);
        metrics.emit(7);
        metrics.emit(8);
        let unit = |name: &str, unit: &str| json!({"Name": name, "Unit": unit});
        let expected = json!({
            "_aws": {
                "Timestamp": 7_000,
                "CloudWatchMetrics": [{
                    "Namespace": "Waymark",
                    "Dimensions": [["Stack"]],
                    "Metrics": [unit("BytesPublished", "Bytes"), unit("EntriesWritten", "Count"),
                        unit("FailuresWaiting", "Count"), unit("IndexSeconds", "Seconds"),
                        unit("PublishSeconds", "Seconds"), unit("Refused.noindex", "Count")],
                }],
            },
            "Stack": "test", "BytesPublished": 7, "EntriesWritten": 7, "FailuresWaiting": 0, "IndexSeconds": 0,
            "PublishSeconds": 4, "Refused.noindex": 1,
        });
        assert_eq!(*lines.lock().expect("whole"), [expected]);
    }

    #[test]
    fn more_metrics_than_a_line_takes_are_several_lines() {
        let (metrics, lines) = captured(Monitoring::Full);
        for n in 0..=MAX_METRICS {
            metrics.note(&refused(&format!("{n:03}")), 1);
        }
        metrics.emit(1);
        let lines = lines.lock().expect("whole");
        let counts: Vec<usize> = lines
            .iter()
            .map(|line| line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array())
            .map(|metrics| metrics.map_or(0, Vec::len))
            .collect();
        assert_eq!(counts, [100, 1]);
    }

    #[test]
    fn a_stack_without_a_name_writes_nothing() {
        let metrics = Metrics::of("", Monitoring::Full, |line| panic!("{line}"));
        assert!(!metrics.writes(&ENTRIES_WRITTEN));
        metrics.note(&ENTRIES_WRITTEN, 1);
        metrics.emit(1);
    }

    #[test]
    fn a_level_writes_what_it_reads_and_no_line_without_it() {
        for (monitoring, expected) in [
            (Monitoring::Full, ALL.len() + 1),
            (Monitoring::Basic, BASIC.len()),
            (Monitoring::None, 0),
        ] {
            let (metrics, lines) = captured(monitoring);
            for metric in ALL.into_iter().chain([&refused("noindex")]) {
                metrics.note(metric, 1);
                let written = metrics.writes(metric);
                assert_eq!(written, monitoring.reads(metric), "{metric:?}");
            }
            metrics.emit(1);
            let lines = lines.lock().expect("whole");
            let written: usize = lines
                .iter()
                .filter_map(|line| line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array())
                .map(Vec::len)
                .sum();
            assert_eq!(written, expected, "{monitoring:?}: {lines:?}");
            assert_eq!(lines.is_empty(), expected == 0, "{monitoring:?}");
        }
    }

    #[test]
    fn a_level_has_a_name_and_nothing_else_is_a_level() {
        for level in Monitoring::ALL {
            assert_eq!(level.name().parse(), Ok(level));
        }
        for name in ["", "Full", "all"] {
            let unknown = name
                .parse::<Monitoring>()
                .map_err(|error| error.to_string());
            assert_eq!(unknown, Err(format!("{name:?} is not full, basic or none")));
        }
    }
}
