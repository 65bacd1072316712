//! The functions and their triggers in `template.yaml`, so that the simulated world cannot differ from it.

use std::sync::LazyLock;
use std::time::Duration;

use serde_norway::Value;

/// The values of the project's template.
pub static TEMPLATE: LazyLock<Template> =
    LazyLock::new(|| Template::read(include_str!("../../../template.yaml")));

/// The mapping of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    /// The most records of a batch.
    pub batch: usize,
    /// The time for which a batch waits to fill.
    pub window: Duration,
    /// The number of lanes of a stream shard.
    pub factor: usize,
    /// The age at which records are given up.
    pub record_age: Duration,
    /// Whether a batch whose function ended without an answer is halved.
    pub bisects: bool,
    /// The function's time limit.
    pub timeout: Duration,
}

/// The values of a template.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// The content's stream, which `ingest` reads.
    pub content: Mapping,
    /// The stream of a user's table, which `ingest` reads.
    pub source: Mapping,
    /// The sitemap table's stream, which `regenerate` reads.
    pub sitemap: Mapping,
    /// The period of `sweep`.
    pub sweep_period: Duration,
    /// The time limit of `sweep`.
    pub sweep_timeout: Duration,
    /// The time for which a throttled call of `sweep` is retried.
    pub sweep_event_age: Duration,
}

impl Template {
    /// Reads a template. Panics if a value is missing.
    fn read(template: &str) -> Self {
        let template: Value = serde_norway::from_str(template).expect("template.yaml is YAML");
        let template = &template;
        let function = |name: &str| &template["Resources"][name]["Properties"];
        let stream = |name: &str, event: &str| &function(name)["Events"][event]["Properties"];
        let seconds = |properties, name| seconds(template, properties, name);
        let mapping = |properties, timeout| mapping(template, properties, timeout);
        let ingest = seconds(function("IngestFunction"), "Timeout");
        let sweep = function("SweepFunction");
        // Each minute if the parameter is 1, and otherwise each so many minutes. A test of the template checks that.
        let minutes = &template["Parameters"]["SweepMinutes"];
        Self {
            content: mapping(stream("IngestFunction", "ContentStream"), ingest),
            source: mapping(function("SourceStream"), ingest),
            sitemap: mapping(
                stream("RegenerateFunction", "SitemapStream"),
                seconds(function("RegenerateFunction"), "Timeout"),
            ),
            sweep_period: 60 * seconds(minutes, "Default"),
            sweep_timeout: seconds(sweep, "Timeout"),
            sweep_event_age: seconds(&sweep["EventInvokeConfig"], "MaximumEventAgeInSeconds"),
        }
    }
}

/// Returns a value by default: for a reference to a parameter, the parameter's default.
#[must_use]
pub fn by_default<'t>(template: &'t Value, value: &'t Value) -> &'t Value {
    match value {
        Value::Tagged(reference) if reference.tag == "!Ref" => {
            let name = reference.value.as_str().unwrap_or_default();
            &template["Parameters"][name]["Default"]
        }
        value => value,
    }
}

/// Returns the mapping of a stream whose function has this time limit.
fn mapping(template: &Value, properties: &Value, timeout: Duration) -> Mapping {
    assert_eq!(
        properties["MaximumRetryAttempts"].as_i64(),
        Some(-1),
        "a batch is tried until its records are too old"
    );
    Mapping {
        batch: count(template, properties, "BatchSize"),
        window: seconds(template, properties, "MaximumBatchingWindowInSeconds"),
        factor: count(template, properties, "ParallelizationFactor"),
        record_age: seconds(template, properties, "MaximumRecordAgeInSeconds"),
        bisects: properties["BisectBatchOnFunctionError"] == Value::Bool(true),
        timeout,
    }
}

fn count(template: &Value, properties: &Value, name: &str) -> usize {
    let count = by_default(template, &properties[name])
        .as_u64()
        .and_then(|count| usize::try_from(count).ok());
    count.unwrap_or_else(|| panic!("template.yaml: {name} is not a count"))
}

fn seconds(template: &Value, properties: &Value, name: &str) -> Duration {
    Duration::from_secs(count(template, properties, name) as u64)
}

#[test]
fn a_reference_is_its_parameters_default() {
    let read = |text: &str| serde_norway::from_str::<Value>(text).expect("YAML");
    let template = read(
        "{Parameters: {Size: {Default: 7}}, Some: {One: !Ref Size, Two: 8, Three: !Ref Other, Four: !Sub Size}}",
    );
    let some = &template["Some"];
    assert_eq!(by_default(&template, &some["One"]), &Value::from(7));
    assert_eq!(by_default(&template, &some["Two"]), &Value::from(8));
    assert_eq!(by_default(&template, &some["Three"]), &Value::Null);
    assert_eq!(by_default(&template, &some["Four"]), &some["Four"]);
}
