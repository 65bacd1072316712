//! What `template.yaml` says of the functions and of what calls them, so that the simulated world cannot differ from it.

use std::sync::LazyLock;
use std::time::Duration;

use serde_norway::Value;

/// What the project's template says.
pub static TEMPLATE: LazyLock<Template> =
    LazyLock::new(|| Template::read(include_str!("../../../template.yaml")));

/// How a stream is read.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    /// Records of a batch at most.
    pub batch: usize,
    /// How long a batch waits to fill.
    pub window: Duration,
    /// Lanes of a stream shard.
    pub factor: usize,
    /// Records that are older go to the failures.
    pub record_age: Duration,
    /// Whether a batch whose function ended without an answer is halved.
    pub bisects: bool,
    /// The function's time limit.
    pub timeout: Duration,
}

/// What the template says.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// The content's stream, which `ingest` reads.
    pub content: Mapping,
    /// The stream of a table of the user's own, which `ingest` reads.
    pub source: Mapping,
    /// The sitemap table's stream, which `regenerate` reads.
    pub sitemap: Mapping,
    /// How often `sweep` runs.
    pub sweep_period: Duration,
    /// The time limit of `sweep`.
    pub sweep_timeout: Duration,
    /// For how long a call of `sweep` that is too many is tried again.
    pub sweep_event_age: Duration,
}

impl Template {
    /// Reads a template; panics if it says nothing of something.
    fn read(template: &str) -> Self {
        let template: Value = serde_norway::from_str(template).expect("template.yaml is YAML");
        let function = |name: &str| &template["Resources"][name]["Properties"];
        let stream = |name: &str, event: &str| &function(name)["Events"][event]["Properties"];
        let ingest = seconds(function("IngestFunction"), "Timeout");
        let sweep = function("SweepFunction");
        let clock = &sweep["Events"]["Clock"]["Properties"];
        assert_eq!(clock["Schedule"], "rate(1 minute)", "sweep's period");
        Self {
            content: mapping(stream("IngestFunction", "ContentStream"), ingest),
            source: mapping(function("SourceStream"), ingest),
            sitemap: mapping(
                stream("RegenerateFunction", "SitemapStream"),
                seconds(function("RegenerateFunction"), "Timeout"),
            ),
            sweep_period: Duration::from_secs(60),
            sweep_timeout: seconds(sweep, "Timeout"),
            sweep_event_age: seconds(&sweep["EventInvokeConfig"], "MaximumEventAgeInSeconds"),
        }
    }
}

/// How a stream is read whose function has this time limit.
fn mapping(properties: &Value, timeout: Duration) -> Mapping {
    assert_eq!(
        properties["MaximumRetryAttempts"].as_i64(),
        Some(-1),
        "a batch is tried until its records are too old"
    );
    Mapping {
        batch: count(properties, "BatchSize"),
        window: seconds(properties, "MaximumBatchingWindowInSeconds"),
        factor: count(properties, "ParallelizationFactor"),
        record_age: seconds(properties, "MaximumRecordAgeInSeconds"),
        bisects: properties["BisectBatchOnFunctionError"] == Value::Bool(true),
        timeout,
    }
}

fn count(properties: &Value, name: &str) -> usize {
    let count = properties[name]
        .as_u64()
        .and_then(|count| usize::try_from(count).ok());
    count.unwrap_or_else(|| panic!("template.yaml: {name} is not a count"))
}

fn seconds(properties: &Value, name: &str) -> Duration {
    Duration::from_secs(count(properties, name) as u64)
}
