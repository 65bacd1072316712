//! The costs of watching a deployment, at each level of the template's parameter `Monitoring`. The resources of a level are read
//! from the templates. A test compares `docs/COSTS.md` with these costs.

use engine::metrics::{self, Monitoring};
use serde_norway::{Mapping, Value};

/// <https://aws.amazon.com/cloudwatch/pricing/>: a custom metric with values in every hour of a month. AWS's own metrics are
/// free.
const METRIC: f64 = 0.30;
/// A metric of an alarm, for a month.
const ALARM_METRIC: f64 = 0.10;
/// A dashboard for a month.
const DASHBOARD: f64 = 3.0;
/// A rule of Contributor Insights for a month, without its events: throttled requests alone are some, at $0.03 a million.
const RULE: f64 = 0.50;
/// The number of reasons to exclude a page that occur in a month, as an assumption. Each is a metric ([`metrics::refused`]).
const REASONS: usize = 6;

const MAIN: &str = include_str!("../../template.yaml");
const NESTED: &str = include_str!("../../infra/monitoring.yaml");

/// The resources of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watching {
    alarms: usize,
    /// The metrics of all alarms, each counted for its own alarm.
    alarm_metrics: usize,
    dashboards: usize,
    /// The rules that DynamoDB makes for a table's throttled keys: one for its partition keys, and one with its sort keys, if it
    /// has any. <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/contributorinsights_HowItWorks.html>
    rules: usize,
    /// The custom metrics that the functions write, as if each had values in every hour.
    metrics: usize,
}

impl Watching {
    /// Counts the resources of this level.
    pub fn at(monitoring: Monitoring) -> Self {
        let metrics = metrics::ALL
            .iter()
            .filter(|metric| monitoring.reads(metric));
        let refused = monitoring.reads(&metrics::refused("any"));
        let mut watching = Self {
            metrics: metrics.count() + if refused { REASONS } else { 0 },
            ..Self::default()
        };
        for resource in resources(monitoring).values() {
            match resource["Type"].as_str() {
                Some("AWS::CloudWatch::Alarm") => {
                    let read = resource["Properties"]["Metrics"]
                        .as_sequence()
                        .map_or(1, |all| {
                            let read = all
                                .iter()
                                .filter(|metric| metric.get("MetricStat").is_some());
                            read.count()
                        });
                    watching.alarms += 1;
                    watching.alarm_metrics += read;
                }
                Some("AWS::CloudWatch::Dashboard") => watching.dashboards += 1,
                other => panic!("{other:?}: nobody knows what it costs"),
            }
        }
        watching.rules = rules(monitoring);
        watching
    }

    /// Returns the price in dollars a month.
    pub fn dollars(&self) -> f64 {
        let count = |number: usize| f64::from(u32::try_from(number).expect("a small number"));
        count(self.metrics) * METRIC
            + count(self.alarm_metrics) * ALARM_METRIC
            + count(self.dashboards) * DASHBOARD
            + count(self.rules) * RULE
    }
}

/// Returns the rows of `docs/COSTS.md`.
pub fn table() -> String {
    let mut table = "| `Monitoring` | alarms | metrics that they look at | metrics of Waymark's own | dashboards | rules on throttled keys | all |\n|---|---|---|---|---|---|---|\n".to_owned();
    for monitoring in Monitoring::ALL {
        let watching = Watching::at(monitoring);
        let Watching {
            alarms,
            alarm_metrics,
            dashboards,
            rules,
            metrics,
        } = watching;
        let (name, dollars) = (monitoring.name(), watching.dollars());
        table += &format!(
            "| `{name}` | {alarms} | {alarm_metrics} | {metrics} | {dashboards} | {rules} | {dollars:.2} |\n"
        );
    }
    table
}

/// Returns the number of rules on throttled keys at a level.
fn rules(monitoring: Monitoring) -> usize {
    let main: Value = serde_norway::from_str(MAIN).expect("a template");
    let resources = main["Resources"].as_mapping().expect("resources").values();
    let tables = resources.filter(|resource| resource["Type"] == "AWS::DynamoDB::Table");
    let rules = tables.map(|table| {
        let properties = &table["Properties"];
        let insights = &properties["ContributorInsightsSpecification"];
        assert_eq!(insights["Mode"], "THROTTLED_KEYS");
        let Value::Tagged(enabled) = &insights["Enabled"] else {
            panic!("not a condition: {insights:?}");
        };
        let [condition, Value::Bool(true), Value::Bool(false)] =
            enabled.value.as_sequence().expect("operands").as_slice()
        else {
            panic!("not enabled by a condition: {insights:?}");
        };
        let keys = properties["KeySchema"].as_sequence().expect("keys").len();
        let name = condition.as_str().expect("a condition's name");
        if is_met(&main, name, monitoring) {
            keys
        } else {
            0
        }
    });
    rules.sum()
}

/// Returns the resources of the nested template that are created at a level, by name.
pub fn resources(monitoring: Monitoring) -> Mapping {
    let [main, nested]: [Value; 2] =
        [MAIN, NESTED].map(|text| serde_norway::from_str(text).expect("a template"));
    if !is_made(&main, &main["Resources"]["MonitoringStack"], monitoring) {
        return Mapping::new();
    }
    let resources = nested["Resources"].as_mapping().expect("resources");
    let made = resources.iter();
    made.filter(|(_, resource)| is_made(&nested, resource, monitoring))
        .map(|(name, resource)| (name.clone(), resource.clone()))
        .collect()
}

/// Returns whether a resource or an output of a template exists at a level, if there is no address for alarms.
pub fn is_made(template: &Value, resource: &Value, monitoring: Monitoring) -> bool {
    let condition = &resource["Condition"];
    assert!(!resource["Type"].is_null() || !resource["Value"].is_null());
    condition.is_null()
        || condition
            .as_str()
            .is_some_and(|name| is_met(template, name, monitoring))
}

/// Returns whether the condition with this name holds.
fn is_met(template: &Value, name: &str, monitoring: Monitoring) -> bool {
    let condition = &template["Conditions"][name];
    assert!(!condition.is_null(), "{name} is a condition");
    holds(template, condition, monitoring)
}

/// Returns whether a condition on the level holds. No paths of the site are Waymark's (`MovedPaths`), and no redirects
/// are at the edge, as by default.
fn holds(template: &Value, condition: &Value, monitoring: Monitoring) -> bool {
    let text = |value: &Value| match value {
        Value::Tagged(reference) if reference.tag == "!Ref" => match reference.value.as_str() {
            Some("Monitoring") => monitoring.name().to_owned(),
            // The defaults. A topic costs nothing, and the mails of alarms are few.
            Some("MovedPaths" | "RedirectsFunction" | "AlarmEmail") => String::new(),
            other => panic!("{other:?}: not a parameter of what is watched"),
        },
        value => value.as_str().expect("a text").to_owned(),
    };
    let Value::Tagged(function) = condition else {
        panic!("not a condition: {condition:?}");
    };
    if function.tag == "!Condition" {
        let name = function.value.as_str().expect("a name");
        return is_met(template, name, monitoring);
    }
    let operands = function.value.as_sequence().expect("operands");
    let holds = |condition: &Value| holds(template, condition, monitoring);
    match (function.tag.to_string().as_str(), operands.as_slice()) {
        ("!Equals", [one, other]) => text(one) == text(other),
        ("!Not", [condition]) => !holds(condition),
        ("!And", conditions) => conditions.iter().all(holds),
        other => panic!("a condition that this does not know: {other:?}"),
    }
}
