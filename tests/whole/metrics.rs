//! Tests the metrics: compares each line with the embedded metric format, and the numbers with the executed work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use aws::Aws;
use aws::failures::{FAILURE_PREFIX, FailureBucket};
use engine::metrics::{self, Metrics, Monitoring};
use harness::calls::Calls;
use harness::{Poison, SITE, World, post, settings, until, with};
use local::event_source::Faults;
use local::invocation::{Observer, SWEEP, invoke};
use local::stack::Options;
use objects::ObjectKey;
use serde_json::{Value, json};

/// The most bytes of a log event (CloudWatch Logs).
const MAX_LINE: usize = 256 * 1024;
/// The most values of one metric, and dimensions of one set (the format's specification).
const MAX_VALUES: usize = 100;
const MAX_DIMENSIONS: usize = 30;
/// CloudWatch's units (`MetricDatum`), except those per second.
const UNITS: [&str; 14] = [
    "Seconds",
    "Microseconds",
    "Milliseconds",
    "Bytes",
    "Kilobytes",
    "Megabytes",
    "Gigabytes",
    "Terabytes",
    "Bits",
    "Kilobits",
    "Megabits",
    "Percent",
    "Count",
    "None",
];
/// More than a day, after which an audit is due.
const DAY_SECONDS: i64 = 86_401;

/// Collects the lines that the functions write.
#[derive(Clone, Default)]
pub(crate) struct Meter(Arc<Mutex<Vec<Value>>>);

impl Meter {
    /// Returns metrics that write to this meter.
    pub(crate) fn metrics(&self) -> Metrics {
        self.metrics_of(Monitoring::Full)
    }

    fn metrics_of(&self, monitoring: Monitoring) -> Metrics {
        let lines = self.0.clone();
        Metrics::of("production", monitoring, move |line| {
            lines.lock().unwrap().push(read(line));
        })
    }

    /// Returns options of a stack whose functions write to this meter.
    pub(crate) fn options(&self) -> Options {
        Options {
            metrics: self.metrics(),
            ..Options::default()
        }
    }

    /// Returns the values since the last call: sums, and for seconds and levels the highest.
    pub(crate) fn take(&self) -> BTreeMap<String, u64> {
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

/// Parses a line as CloudWatch does.
fn read(line: &str) -> Value {
    assert!(line.len() <= MAX_LINE && !line.contains('\n'), "{line}");
    let root: Value = serde_json::from_str(line).unwrap();
    let members = |value: &Value| -> BTreeSet<String> {
        let members = value.as_object().expect("an object").keys();
        members.cloned().collect()
    };
    let texts = |value: &Value| -> Vec<String> {
        let texts = value.as_array().expect("an array").iter();
        texts
            .map(|text| text.as_str().expect("a text").to_owned())
            .collect()
    };
    assert_eq!(
        members(&root["_aws"]),
        ["CloudWatchMetrics", "Timestamp"].map(str::to_owned).into()
    );
    let at = root["_aws"]["Timestamp"].as_u64().expect("a number");
    assert!(
        (1_700_000_000_000..4_000_000_000_000).contains(&at),
        "{at} is in milliseconds"
    );
    let directives = root["_aws"]["CloudWatchMetrics"].as_array().unwrap();
    let mut named = BTreeSet::from(["_aws".to_owned()]);
    assert!(!directives.is_empty());
    for directive in directives {
        assert_eq!(
            members(directive),
            ["Dimensions", "Metrics", "Namespace"]
                .map(str::to_owned)
                .into()
        );
        assert_eq!(directive["Namespace"], "Waymark");
        let sets = directive["Dimensions"].as_array().unwrap();
        assert!(!sets.is_empty());
        for set in sets {
            let dimensions = texts(set);
            assert!(dimensions.len() <= MAX_DIMENSIONS);
            for dimension in dimensions {
                let value = root[&dimension].as_str().expect("a root member");
                assert!((1..=1024).contains(&value.len()));
                named.insert(dimension);
            }
        }
        let definitions = directive["Metrics"].as_array().unwrap();
        assert!((1..=metrics::MAX_METRICS).contains(&definitions.len()));
        for definition in definitions {
            assert_eq!(
                members(definition),
                ["Name", "Unit"].map(str::to_owned).into()
            );
            let name = definition["Name"].as_str().unwrap();
            let unit = definition["Unit"].as_str().unwrap();
            assert!(UNITS.contains(&unit), "{unit}");
            let is_number = |value: &Value| value.is_number();
            let held = match &root[name] {
                Value::Array(values) => values.len() <= MAX_VALUES && values.iter().all(is_number),
                value => is_number(value),
            };
            assert!(held, "{name} is a root member, a number or some");
            let known = metrics::ALL.iter().any(|metric| metric.name() == name);
            assert!(known || refusals().contains(name), "{name} is a fixed name");
            assert!(named.insert(name.to_owned()), "{name} is defined once");
        }
    }
    assert_eq!(members(&root), named, "nothing else is in a line");
    assert_eq!(root["Stack"], "production");
    root
}

/// Returns the names of the metrics of refusals, from the source of the closed enum.
fn refusals() -> BTreeSet<String> {
    let source = crate::template::file("shared/sitemap/src/eligibility.rs");
    let (_, body) = source.split_once("pub fn name(&self)").unwrap();
    let (body, _) = body.split_once("\n    }\n").unwrap();
    let names = body.split('"').skip(1).step_by(2);
    names
        .map(|name| metrics::refused(name).name().to_owned())
        .collect()
}

fn counts<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    counts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Removes bytes and seconds from the counts.
fn without_measures(mut counted: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    counted.retain(|name, _| name != "BytesPublished" && !name.ends_with("Seconds"));
    counted
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metrics_of_a_load_an_edit_a_deletion_and_a_refusal_are_true() {
    let meter = Meter::default();
    let draft = with(&post("/draft", 1), json!({"status": "draft"}));
    let unlisted = with(&post("/unlisted", 1), json!({"noindex": true}));
    let site = settings(json!({"feed": false}));
    let load = [
        site,
        post("/a", 1),
        post("/b", 1),
        post("/c", 1),
        draft,
        unlisted,
    ];
    let options = Options {
        sweeps: false, // once a day a sweep publishes all feeds, which would be counted
        ..meter.options()
    };
    let world = World::with(options, &load).await;
    let loaded = meter.take();
    for (name, value) in [
        ("EntriesWritten", 3),
        ("RecordsChanged", 5),
        ("ShardsPublished", 1),
        ("Refused.not_published", 1),
        ("Refused.noindex", 1),
    ] {
        assert_eq!(loaded.get(name), Some(&value), "{name}: {loaded:?}");
    }
    assert!(loaded["IndexesPublished"] > 0 && loaded["BytesPublished"] > 0);
    for name in [
        "ListingChanges",
        "EntriesRemoved",
        "SegmentsSpliced",
        "RecordsFailed",
    ] {
        assert_eq!(loaded.get(name), None, "{name} on a first load: {loaded:?}");
    }

    // Nothing has changed: not even the item, which then is in no stream, or only what is not listed.
    world.put(&post("/a", 1)).await;
    world.settle().await;
    assert_eq!(meter.take(), counts([]));
    let other = with(&post("/a", 1), json!({"of_another_system": true}));
    world.put(&other).await;
    world.settle().await;
    assert_eq!(meter.take(), counts([("RecordsUnchanged", 1)]));

    // If two clocks differ, the seconds include the difference.
    let ahead = 1_000;
    world.clock.advance(ahead);
    world.put(&post("/a", 2)).await;
    world.settle().await;
    let edited = meter.take();
    let mut stored = 0;
    for key in [
        ObjectKey::Shard {
            site: SITE.to_owned(),
            series: "post".to_owned(),
            n: 1,
        },
        ObjectKey::Index {
            site: SITE.to_owned(),
            n: 1,
        },
    ] {
        stored += world
            .stack
            .objects
            .head(&key)
            .await
            .unwrap()
            .unwrap()
            .length;
    }
    assert_eq!(edited["BytesPublished"], stored);
    let ahead = ahead.unsigned_abs();
    for name in ["ReconcileSeconds", "PublishSeconds", "IndexSeconds"] {
        assert!(
            (ahead..ahead + 60).contains(&edited[name]),
            "{name}: {edited:?}"
        );
    }
    let edit = counts([
        ("EntriesWritten", 1),
        ("ListingChanges", 1),
        ("RecordsChanged", 1),
        ("ShardsPublished", 1),
        ("SegmentsSpliced", 1),
        ("IndexesPublished", 1),
    ]);
    assert_eq!(without_measures(edited), edit);

    world.delete("post/b").await;
    world.settle().await;
    let mut deletion = edit.clone();
    deletion.remove("EntriesWritten");
    deletion.insert("EntriesRemoved".to_owned(), 1);
    assert_eq!(without_measures(meter.take()), deletion);

    world
        .put(&with(&post("/c", 1), json!({"visibility": "private"})))
        .await;
    world.settle().await;
    let mut refusal = deletion.clone();
    refusal.insert("Refused.not_visible".to_owned(), 1);
    assert_eq!(without_measures(meter.take()), refusal);

    // Refused as before, then for another reason. It has no entry.
    world
        .put(&with(&post("/c", 2), json!({"visibility": "private"})))
        .await;
    world.settle().await;
    assert_eq!(meter.take(), counts([("RecordsUnchanged", 1)]));
    world
        .put(&with(&post("/c", 2), json!({"status": "draft"})))
        .await;
    world.settle().await;
    assert_eq!(
        without_measures(meter.take()),
        counts([("RecordsChanged", 1), ("Refused.not_published", 1)])
    );

    // A page with a new type leaves one sitemap for another.
    world
        .put(&with(&post("/a", 2), json!({"type": "page"})))
        .await;
    world.settle().await;
    let moved = without_measures(meter.take());
    for (name, value) in [
        ("EntriesWritten", 1),
        ("EntriesRemoved", 1),
        ("ListingChanges", 2),
        ("ShardsPublished", 2),
    ] {
        assert_eq!(moved.get(name), Some(&value), "{name}: {moved:?}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_done_twice_is_counted_once_and_skipped_once() {
    let meter = Meter::default();
    let mut faults = Faults::default();
    faults.duplicate = 1.0;
    let options = Options {
        faults,
        ..meter.options()
    };
    let world = World::with(options, &[settings(json!({"feed": false})), post("/a", 1)]).await;
    meter.take();
    world.put(&post("/a", 2)).await;
    world.settle().await;
    let expected = counts([
        ("EntriesWritten", 1),
        ("ListingChanges", 1),
        ("RecordsChanged", 1),
        ("RecordsUnchanged", 1),
        ("ShardsPublished", 1),
        ("ShardsSkipped", 1),
        ("SegmentsSpliced", 1),
        ("IndexesPublished", 1),
        ("IndexesSkipped", 1),
    ]);
    assert_eq!(without_measures(meter.take()), expected);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_and_what_can_never_succeed_are_counted_apart() {
    const TOXIC: &str = "a-toxic-record";
    const RETRIES: u32 = 3;
    let toxic = with(&post("/toxic", 1), json!({"id": TOXIC, "type": "page"}));
    let segment = format!("SEGMENT#{SITE}#page");
    for (poison, name, times) in [
        (Poison::for_good(TOXIC), "RecordsImpossible", 1),
        (
            Poison::passing(TOXIC),
            "RecordsFailed",
            u64::from(RETRIES) + 1,
        ),
        (
            Poison::passing_in("PUT", "/page-sitemap.xml"),
            "ChangesFailed",
            u64::from(RETRIES) + 1,
        ),
        (
            Poison::for_good_in("Query", &segment),
            "ChangesImpossible",
            1,
        ),
    ] {
        let meter = Meter::default();
        let options = Options {
            interceptor: Some(poison.interceptor()),
            retries: Some(RETRIES),
            ..meter.options()
        };
        let world = World::with(options, &[post("/a", 1)]).await;
        meter.take();
        world.put(&toxic).await;
        world.settle().await;
        let counted = meter.take();
        assert_eq!(counted.get(name), Some(&times), "{counted:?}");
        for other in [
            "RecordsImpossible",
            "RecordsFailed",
            "ChangesFailed",
            "ChangesImpossible",
        ] {
            assert!(
                other == name || !counted.contains_key(other),
                "{other}: {counted:?}"
            );
        }
        assert_eq!(
            counted.contains_key("EntriesWritten"),
            name.starts_with("Changes")
        );
        let _given_up = world.stack.failed.drain();
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_audit_finds_and_repairs_is_counted() {
    let meter = Meter::default();
    let world = World::with(meter.options(), &[post("/a", 1), post("/b", 1)]).await;
    let table = &world.stack.reconciler.table;
    // The first sweep stores when audits begin.
    until("an audit is under way", async || {
        table.audit().await.unwrap().is_some()
    })
    .await;
    world
        .delete_row(&format!("SEGMENT#{SITE}#post#1#0"), "00000")
        .await;
    world.settle().await;
    meter.take();
    world.clock.advance(DAY_SECONDS);
    let mut counted = BTreeMap::new();
    until("the audit has ended", async || {
        counted.extend(meter.take());
        counted.contains_key("FindingsRepaired")
    })
    .await;
    assert!(counted["FindingsFound"] >= 1, "{counted:?}");
    assert_eq!(
        counted["FindingsFound"], counted["FindingsRepaired"],
        "{counted:?}"
    );
    assert_eq!(world.paths().await, ["/a", "/b"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_in_the_failure_bucket_is_a_level() {
    let meter = Meter::default();
    let world = World::start().await;
    let s3 = world.stack.aws.s3().await;
    s3.create_bucket().bucket("failures").send().await.unwrap();
    let failures = FailureBucket::new(world.stack.aws.clone(), "failures".to_owned());
    let metrics = meter.metrics();
    let level = async || {
        sweep::count_failures(&metrics, &failures).await;
        metrics.emit(world.clock.now());
        meter.take()
    };
    assert_eq!(level().await, counts([("FailuresWaiting", 0)]));
    let put = async |key: &str| {
        let request = s3.put_object().bucket("failures").key(key);
        request.body(b"{}".to_vec().into()).send().await.unwrap();
    };
    put("something/else").await;
    for n in 0..2 {
        put(&format!("{FAILURE_PREFIX}{n}")).await;
    }
    for _ in 0..2 {
        assert_eq!(level().await, counts([("FailuresWaiting", 2)]));
    }
    let none = FailureBucket::new(world.stack.aws.clone(), "no-such-bucket".to_owned());
    sweep::count_failures(&metrics, &none).await;
    metrics.emit(world.clock.now());
    assert_eq!(meter.take(), counts([]), "no level is no level of zero");

    // If the metric is not written, the call is not made either.
    let calls = Calls::default();
    let stack = &world.stack;
    let interceptors = vec![calls.interceptor()];
    let aws = Aws::on_loopback(&stack.dynamodb_endpoint, &stack.s3_endpoint, interceptors);
    let failures = FailureBucket::new(aws, "failures".to_owned());
    for (monitoring, level, called) in [
        (Monitoring::None, counts([]), false),
        (Monitoring::Basic, counts([("FailuresWaiting", 2)]), true),
    ] {
        let metrics = meter.metrics_of(monitoring);
        let running = async {
            sweep::count_failures(&metrics, &failures).await;
            metrics.emit(world.clock.now());
            true
        };
        assert!(invoke(SWEEP, Some(Arc::new(calls.clone())), running).await);
        assert_eq!(meter.take(), level, "{monitoring:?}");
        assert_eq!(!calls.uses().is_empty(), called, "{monitoring:?}");
    }
    world.stop().await;
}

#[test]
fn every_metric_is_documented_and_no_other() {
    let text = include_str!("../../docs/METRICS.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let documented: BTreeSet<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    let mut names = refusals();
    names.extend(metrics::ALL.map(|metric| metric.name().to_owned()));
    assert_eq!(documented, names.iter().map(String::as_str).collect());
}
