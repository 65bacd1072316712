//! Tests the alarms and the dashboard, at each level of the parameter `Monitoring`.

use std::collections::{BTreeMap, BTreeSet};

use engine::metrics::{self, Monitoring};
use harness::watching::{self, Watching, is_made, resources};
use serde_norway::Value;

use super::{FUNCTIONS, file, names, tagged, template, texts, untagged};

/// AWS's own metrics that alarms may use. They are written by default and cost nothing.
/// <https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html>,
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html>
const FREE: [(&str, &[&str]); 2] = [
    (
        "AWS/Lambda",
        &[
            "DestinationDeliveryFailures",
            "Errors",
            "Invocations",
            "IteratorAge",
            "Throttles",
            "Url4xxCount",
            "Url5xxCount",
            "UrlRequestCount",
        ],
    ),
    (
        "AWS/DynamoDB",
        &[
            "ConsumedWriteCapacityUnits",
            "ReadThrottleEvents",
            "WriteThrottleEvents",
        ],
    ),
];

/// Groups of metrics that some alarm must use together, to detect lost changes or stopped publishing, at each level that has
/// alarms.
const WAKES: [&[&str]; 13] = [
    // Functions that crash, and errors for crawlers.
    &["IngestFunction Errors"],
    &["RegenerateFunction Errors"],
    &["SweepFunction Errors"],
    &["HttpFunction Url5xxCount"],
    // Throttling is not an error. That of the other functions makes their streams late.
    &["HttpFunction Throttles"],
    // Streams that are read late, and one that is not read at all. The other one is covered by the test.
    &["IngestFunction IteratorAge"],
    &["RegenerateFunction IteratorAge"],
    &[
        "ContentTable ConsumedWriteCapacityUnits",
        "IngestFunction Invocations",
    ],
    // A schedule that does not call.
    &["SweepFunction Invocations"],
    // Batches that were given up.
    &["Stack FailuresWaiting"],
    &[
        "IngestFunction DestinationDeliveryFailures",
        "RegenerateFunction DestinationDeliveryFailures",
    ],
    &["Stack RecordsImpossible"],
    &["Stack ChangesImpossible"],
];

/// An alarm: its properties, and its metrics, each with its subject: `HttpFunction Errors`.
struct Alarm {
    properties: Value,
    looks_at: BTreeSet<String>,
}

/// Returns the alarms of a level, by name.
fn alarms(monitoring: Monitoring) -> BTreeMap<String, Alarm> {
    let mut alarms = BTreeMap::new();
    for (name, resource) in resources(monitoring) {
        if resource["Type"].as_str() != Some("AWS::CloudWatch::Alarm") {
            continue;
        }
        let properties = untagged(resource["Properties"].clone());
        let several = properties["Metrics"].as_sequence().into_iter().flatten();
        let several = several
            .filter(|metric| metric.get("MetricStat").is_some())
            .map(|metric| &metric["MetricStat"]["Metric"]);
        let single = properties.get("MetricName").map(|_| &properties);
        let looks_at = single.into_iter().chain(several).map(subject).collect();
        let alarm = Alarm {
            looks_at,
            properties,
        };
        alarms.insert(name.as_str().unwrap().to_owned(), alarm);
    }
    alarms
}

/// Returns a metric's subject and name. Checks that the metric exists.
fn subject(metric: &Value) -> String {
    let name = metric["MetricName"].as_str().unwrap();
    let namespace = metric["Namespace"].as_str().unwrap();
    let [dimension] = metric["Dimensions"].as_sequence().unwrap().as_slice() else {
        panic!("{name} has one dimension");
    };
    let (kind, about) = (
        dimension["Name"].as_str().unwrap(),
        dimension["Value"].as_str().unwrap(),
    );
    match namespace {
        metrics::NAMESPACE => {
            let known = metrics::ALL.iter().any(|metric| metric.name() == name);
            assert!(known, "{name} is a metric of the code");
            assert_eq!((kind, about), (metrics::DIMENSION, "Stack"), "{name}");
        }
        "AWS/Lambda" => {
            assert_eq!(kind, "FunctionName", "{name}");
            assert!(FUNCTIONS.contains(&about), "{name} of {about}");
        }
        "AWS/DynamoDB" => {
            assert_eq!(kind, "TableName", "{name}");
            assert!(["ContentTable", "SitemapTable"].contains(&about), "{about}");
        }
        other => panic!("{other}: a namespace that this test does not know"),
    }
    if namespace != metrics::NAMESPACE {
        let free = FREE.iter().find(|(of, _)| *of == namespace).unwrap().1;
        assert!(
            free.contains(&name),
            "{name} is a free metric of {namespace}"
        );
    }
    format!("{about} {name}")
}

/// Returns the names of Waymark's own metrics among these.
fn own(looks_at: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    let own = looks_at.into_iter();
    own.filter_map(|subject| subject.strip_prefix("Stack ").map(str::to_owned))
        .collect()
}

fn dashboard() -> serde_json::Value {
    let body = &resources(Monitoring::Full)["Dashboard"]["Properties"]["DashboardBody"];
    serde_json::from_str(untagged(body.clone()).as_str().unwrap()).unwrap()
}

#[test]
fn the_parameter_has_the_levels_of_the_code_and_each_function_gets_it() {
    let template = template();
    let parameter = &template["Parameters"]["Monitoring"];
    let levels = Monitoring::ALL.map(Monitoring::name);
    assert_eq!(texts(&parameter["AllowedValues"]), levels);
    let default = parameter["Default"].as_str().unwrap();
    assert_eq!(default.parse(), Ok(Monitoring::default()));
    for function in FUNCTIONS {
        let variables = &template["Resources"][function]["Properties"]["Environment"]["Variables"];
        assert_eq!(variables["MONITORING"].as_str(), Some("Monitoring"));
    }
    let nested: Value = serde_norway::from_str(&file("infra/monitoring.yaml")).unwrap();
    let given = &template["Resources"]["MonitoringStack"]["Properties"]["Parameters"];
    assert_eq!(names(given), names(&nested["Parameters"]));
    for name in names(given) {
        let made = ["Stack", "RedirectsFunction", "AlarmEmail", "AlarmTopicArn"]
            .contains(&name.as_str())
            || given[name.as_str()].as_str() == Some(name.as_str());
        assert!(made, "{name} is what it is called");
    }
    let url = "DashboardUrl";
    for monitoring in Monitoring::ALL {
        let is_full = monitoring == Monitoring::Full;
        for template in [&tagged(), &nested] {
            let output = &template["Outputs"][url];
            assert_eq!(
                is_made(template, output, monitoring),
                is_full,
                "{monitoring:?}"
            );
        }
    }
}

#[test]
fn each_level_writes_the_metrics_that_its_alarms_and_its_dashboard_read() {
    let mut shown = BTreeSet::new();
    for widget in dashboard()["widgets"].as_array().unwrap() {
        for metric in widget["properties"]["metrics"].as_array().unwrap() {
            if metric[0] == metrics::NAMESPACE {
                assert_eq!(metric[2], metrics::DIMENSION);
                shown.insert(metric[1].as_str().unwrap().to_owned());
            }
        }
    }
    for monitoring in Monitoring::ALL {
        let alarms = alarms(monitoring).into_values();
        let mut read = own(alarms.flat_map(|alarm| alarm.looks_at));
        let has_dashboard = resources(monitoring).contains_key("Dashboard");
        assert_eq!(has_dashboard, monitoring == Monitoring::Full);
        if has_dashboard {
            read.extend(shown.iter().cloned());
        }
        let written = metrics::ALL
            .iter()
            .filter(|metric| monitoring.reads(metric));
        let written = written.map(|metric| metric.name().to_owned()).collect();
        assert_eq!(read, written, "{monitoring:?}");
        // The dashboard selects them by their prefix.
        let refused = monitoring.reads(&metrics::refused("noindex"));
        assert_eq!(refused, has_dashboard, "{monitoring:?}");
    }
    assert!(resources(Monitoring::None).is_empty());
}

#[test]
fn each_level_with_alarms_wakes_somebody_for_what_loses_changes_or_stops_publishing() {
    for monitoring in [Monitoring::Full, Monitoring::Basic] {
        let alarms = alarms(monitoring);
        let looks_at = |wanted: &[&str]| {
            let wanted: BTreeSet<String> = wanted.iter().map(|&name| name.to_owned()).collect();
            alarms.values().any(|alarm| alarm.looks_at == wanted)
        };
        for wanted in WAKES {
            assert!(looks_at(wanted), "{monitoring:?}: {wanted:?}");
        }
        // The alarm on a sitemap table's stream that is not read.
        let read: &[&str] = match monitoring {
            Monitoring::Full => &["Stack IndexesPublished", "Stack IndexesSkipped"],
            _ => &["RegenerateFunction Invocations"],
        };
        assert!(
            looks_at(&[&["Stack ListingChanges"], read].concat()),
            "{monitoring:?}"
        );
    }
    let [full, basic] = [Monitoring::Full, Monitoring::Basic].map(alarms);
    let only = basic.keys().filter(|name| !full.contains_key(*name));
    assert_eq!(only.collect::<Vec<_>>(), ["RowsUnread"]);
}

/// Tests that missing data alarms where it means silence, but not on a new stack. A new alarm begins in the state
/// `INSUFFICIENT_DATA` without a notification.
#[test]
fn silence_is_heard_where_it_means_something_and_not_on_a_new_stack() {
    for monitoring in [Monitoring::Full, Monitoring::Basic] {
        for (name, Alarm { properties, .. }) in alarms(monitoring) {
            let listens = ["FailuresWaiting", "SweepSilent"].contains(&name.as_str());
            let missing = if listens { "missing" } else { "notBreaching" };
            assert_eq!(properties["TreatMissingData"], *missing, "{name}");
            let has = |actions: &str| !properties[actions].is_null();
            assert_eq!(has("InsufficientDataActions"), listens, "{name}");
            // A metric that only counts calls has no bad value: it exists or it is missing.
            assert_eq!(has("AlarmActions"), name != "SweepSilent", "{name}");
            assert!(has("OKActions"), "{name}");
        }
    }
}

#[test]
fn an_alarm_allows_for_metrics_that_come_late() {
    for monitoring in [Monitoring::Full, Monitoring::Basic] {
        for (name, Alarm { properties, .. }) in alarms(monitoring) {
            let looked_at = properties["EvaluationPeriods"].as_u64().unwrap();
            let bad = properties["DatapointsToAlarm"].as_u64();
            // If only one metric is late, the other looks like silence. The whole of the second quarter of an hour is not late.
            if ["ContentUnread", "RowsUnread", "Staleness"].contains(&name.as_str()) {
                assert_eq!((looked_at, bad), (2, Some(2)), "{name}");
                let of_quarters = properties["Metrics"].as_sequence().unwrap().iter();
                let mut of_quarters = of_quarters.filter_map(|one| one.get("MetricStat"));
                assert!(of_quarters.all(|one| one["Period"].as_u64() == Some(900)));
            } else if name != "SweepSilent" {
                assert!(bad.unwrap() < looked_at, "{name}");
            }
        }
    }
}

#[test]
fn an_alarm_says_what_to_do_at_its_level_and_so_does_the_guide() {
    let guide = file("docs/OPERATIONS.md");
    let levels = [Monitoring::Full, Monitoring::Basic].map(|level| (level.name(), alarms(level)));
    let every: BTreeSet<&String> = levels
        .iter()
        .flat_map(|(_, alarms)| alarms.keys())
        .collect();
    for name in &every {
        let at = levels
            .iter()
            .filter(|(_, alarms)| alarms.contains_key(*name));
        let at: Vec<&str> = at.map(|(level, _)| *level).collect();
        let row = format!(
            "\n| [`{name}`](RUNBOOKS.md#{}) | {} | ",
            name.to_lowercase(),
            at.join(", ")
        );
        assert!(guide.contains(&row), "{row}");
    }
    for (level, alarms) in &levels {
        for (name, Alarm { properties, .. }) in alarms {
            let description = properties["AlarmDescription"].as_str().unwrap();
            assert!(description.len() > 40, "{name} says what to do");
            assert!(!properties["TreatMissingData"].is_null(), "{name}");
            let says = |word: &str| description.contains(word);
            for other in every.iter().filter(|other| says(other)) {
                let there = alarms.contains_key(*other);
                assert!(there, "{name} names {other}, which {level} does not have");
            }
            assert!(*level == "full" || !says("dashboard"), "{name} at {level}");
        }
    }
}

#[test]
fn the_costs_are_those_of_the_templates() {
    let costs = file("docs/COSTS.md");
    let table = watching::table();
    assert!(costs.contains(&table), "docs/COSTS.md lacks:\n{table}");
    let [full, basic, none] = Monitoring::ALL.map(|level| Watching::at(level).dollars());
    let row = format!(
        "| metrics, alarms, a dashboard (`Monitoring=full`) | 0.0000 | 0.0000 | 0.0000 | 0.0000 | {full:.2} | {full:.2} |"
    );
    assert!(costs.contains(&row), "{row}");
    assert!(basic < 3.0, "basic is what a small site can pay");
    assert!(none == 0.0 && basic < full);
}
