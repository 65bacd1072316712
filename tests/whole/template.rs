//! Tests that the template and the code agree.

mod functions;
mod guards;
mod monitoring;
mod nested;
mod parameters;
mod runbooks;

use std::collections::BTreeSet;
use std::time::Duration;

use aws::Timeouts;
use aws::environment;
use engine::metrics::Monitoring;
use local::stack::{Options, Stack};
use local::tables::{CONTENT_TABLE, SITEMAP_TABLE};
use serde_norway::Value;
use sitemap::mapping::MAX_MAPPING_BYTES;

/// The logical ids of the functions.
const FUNCTIONS: [&str; 4] = [
    "IngestFunction",
    "RegenerateFunction",
    "HttpFunction",
    "SweepFunction",
];

/// Returns the text of a file of the project.
pub(crate) fn file(path: &str) -> String {
    std::fs::read_to_string(format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Returns the template with its tags.
pub(crate) fn tagged() -> Value {
    serde_norway::from_str(&file("template.yaml")).unwrap()
}

/// Returns a template without CloudFormation's tags.
fn read(path: &str) -> Value {
    untagged(serde_norway::from_str(&file(path)).unwrap())
}

fn template() -> Value {
    read("template.yaml")
}

fn untagged(value: Value) -> Value {
    match value {
        Value::Tagged(tagged) => untagged(tagged.value),
        Value::Sequence(values) => Value::Sequence(values.into_iter().map(untagged).collect()),
        Value::Mapping(fields) => Value::Mapping(
            fields
                .into_iter()
                .map(|(name, value)| (name, untagged(value)))
                .collect(),
        ),
        value => value,
    }
}

fn names(value: &Value) -> BTreeSet<String> {
    value
        .as_mapping()
        .unwrap()
        .keys()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

fn texts(value: &Value) -> Vec<String> {
    value
        .as_sequence()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

/// Returns a number, or the default of the parameter in its place.
fn number(template: &Value, value: &Value) -> Option<u64> {
    let parameter = |name| template["Parameters"][name]["Default"].as_u64();
    value
        .as_u64()
        .or_else(|| value.as_str().and_then(parameter))
}

#[test]
fn each_function_gets_the_variables_that_it_reads_and_is_built_from_its_folder() {
    let template = template();
    for (function, folder, variables) in [
        (
            "IngestFunction",
            "functions/ingest",
            ingest::ENVIRONMENT.as_slice(),
        ),
        (
            "RegenerateFunction",
            "functions/regenerate",
            regenerate::ENVIRONMENT.as_slice(),
        ),
        (
            "HttpFunction",
            "functions/http",
            http_function::ENVIRONMENT.as_slice(),
        ),
        (
            "SweepFunction",
            "functions/sweep",
            sweep::ENVIRONMENT.as_slice(),
        ),
    ] {
        let resource = &template["Resources"][function];
        let properties = &resource["Properties"];
        assert_eq!(
            names(&properties["Environment"]["Variables"]),
            variables.iter().map(|name| (*name).to_owned()).collect(),
            "{function}"
        );
        assert_eq!(properties["CodeUri"].as_str(), Some(folder));
        assert_eq!(
            resource["Metadata"]["BuildMethod"].as_str(),
            Some("rust-cargolambda")
        );
        let manifest = format!("{}/../{folder}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
        assert!(std::fs::exists(manifest).unwrap(), "{folder}");
    }
    assert_eq!(
        template["Globals"]["Function"]["Handler"].as_str(),
        Some("bootstrap")
    );
}

#[tokio::test]
async fn the_tables_are_the_local_stacks() {
    let template = template();
    let stack = Stack::start(Options::default()).await.unwrap();
    for (table, keys) in [
        ("ContentTable", vec![("id", "HASH")]),
        ("SitemapTable", vec![("pk", "HASH"), ("sk", "RANGE")]),
    ] {
        let properties = &template["Resources"][table]["Properties"];
        assert_eq!(
            properties["StreamSpecification"]["StreamViewType"].as_str(),
            Some("KEYS_ONLY")
        );
        let expires = properties["TimeToLiveSpecification"]["AttributeName"].as_str();
        let may_expire = table == "SitemapTable";
        assert_eq!(expires, may_expire.then_some(engine::rows::feed::EXPIRES));
        let of_the_stack = match table {
            "ContentTable" => CONTENT_TABLE,
            _ => SITEMAP_TABLE,
        };
        let request = stack.aws.dynamodb().await.describe_time_to_live();
        let described = request.table_name(of_the_stack).send().await.unwrap();
        let described = described.time_to_live_description().unwrap();
        assert_eq!(described.attribute_name(), expires);
        let schema = properties["KeySchema"].as_sequence().unwrap();
        let schema: Vec<_> = schema
            .iter()
            .map(|key| {
                (
                    key["AttributeName"].as_str().unwrap(),
                    key["KeyType"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(schema, keys);
    }
    stack.stop().await.unwrap();
}

/// Returns whether a Lambda event filter matches a stream record. It supports the operators that the template uses.
fn matches(pattern: &serde_json::Value, event: &serde_json::Value) -> bool {
    match pattern {
        serde_json::Value::Object(fields) => fields
            .iter()
            .all(|(name, pattern)| matches(pattern, &event[name])),
        serde_json::Value::Array(any) => any.iter().any(|rule| match rule {
            serde_json::Value::Object(rule) => {
                assert_eq!(
                    rule.keys().collect::<Vec<_>>(),
                    ["prefix"],
                    "an operator this test does not know"
                );
                event
                    .as_str()
                    .is_some_and(|text| text.starts_with(rule["prefix"].as_str().unwrap()))
            }
            rule => rule == event,
        }),
        other => panic!("not a filter: {other}"),
    }
}

#[test]
fn the_streams_filter_lets_through_what_the_code_follows() {
    let template = template();
    let properties = &template["Resources"]["RegenerateFunction"]["Properties"]["Events"]["SitemapStream"]
        ["Properties"];
    let filters = properties["FilterCriteria"]["Filters"]
        .as_sequence()
        .unwrap();
    let patterns: Vec<serde_json::Value> = filters
        .iter()
        .map(|filter| serde_json::from_str(filter["Pattern"].as_str().unwrap()).unwrap())
        .collect();
    let (mut passed, mut stopped) = (0, 0);
    for (pk, sk) in [
        ("LEDGER#post/1", "1"),
        ("SEGMENT#a.example#post#1#0", "00000"),
        ("LOC#a.example#00ff", "-"),
        ("LOC#a.example#00ff", "w#post/1"),
        ("LOC#a.example#00ff", "o#post/1"),
        ("MOVED#a.example#0", "00ff"),
        ("MOVED#a.example#0", "00f"),
        ("SERIES#a.example", "post"),
        ("FREE#a.example#post", "0000000001#00000"),
        ("INDEX#a.example", "post#0000000001"),
        ("TIMER#500000", "001800000000#post/1"),
        ("TIMER#cursor", "-"),
        ("SITE#a.example", "-"),
        ("JOB#scan", "-"),
        ("JOB#timers", "-"),
        ("JOB#audit", "-"),
        ("TERM#a.example#tag#rust", "000000000000d#post/1"),
        ("TERM#a.example#tag#rust", "!tag/rust"),
        ("GROUP#about", "m#post/1"),
        ("GROUP#about", "w#post/1"),
        ("GROUP#about", "-"),
        ("FEED#a.example#20833", "001800000000#post/1"),
        ("FEED#a.example#llms", "000000000000d#post/1"),
        ("JOB#feeds", "a.example"),
        ("JOB#feeds", "a.example#llms"),
        ("JOB#notices", "a.example"),
        ("NOTICE#a.example#0", "00ff"),
        ("NOTICE#a.example#pause", "-"),
    ] {
        for name in ["INSERT", "MODIFY", "REMOVE"] {
            let event = serde_json::json!({"awsRegion": "local", "eventID": "1", "eventName": name, "dynamodb": {
                "ApproximateCreationDateTime": 0, "Keys": {"pk": {"S": pk}, "sk": {"S": sk}}, "SequenceNumber": "1", "SizeBytes": 1}});
            let by_template = patterns.iter().any(|pattern| matches(pattern, &event));
            let record = aws::stream::record(&serde_json::from_value(event).unwrap());
            assert_eq!(
                by_template,
                engine::regenerate::subject(&record).is_some(),
                "{name} {pk} {sk}"
            );
            if by_template {
                passed += 1
            } else {
                stopped += 1
            }
        }
    }
    assert!(passed > 0 && stopped > 0);
}

/// The seconds for which a stream keeps a record.
const STREAM_SECONDS: i64 = 86_400;

#[test]
fn streams_outlast_an_outage_and_lose_nothing() {
    let template = template();
    let source = |function: &str, event: &str| {
        template["Resources"][function]["Properties"]["Events"][event]["Properties"].clone()
    };
    let content = source("IngestFunction", "ContentStream");
    let joined = &template["Resources"]["SourceStream"]["Properties"];
    for properties in [
        &content,
        joined,
        &source("RegenerateFunction", "SitemapStream"),
    ] {
        assert_eq!(
            texts(&properties["FunctionResponseTypes"]),
            ["ReportBatchItemFailures"]
        );
        assert_eq!(
            properties["StartingPosition"].as_str(),
            Some("TRIM_HORIZON")
        );
        let count = |knob: &str| number(&template, &properties[knob]).unwrap();
        // Lambda's bounds: https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html
        assert!((1..=10_000).contains(&count("BatchSize")));
        assert!((1..=300).contains(&count("MaximumBatchingWindowInSeconds")));
        assert!((1..=10).contains(&count("ParallelizationFactor")));
        // Records are retried until they are too old. Then they are put elsewhere while the stream still has them.
        assert_eq!(properties["MaximumRetryAttempts"].as_i64(), Some(-1));
        let age = properties["MaximumRecordAgeInSeconds"].as_i64().unwrap();
        assert!(STREAM_SECONDS / 2 < age && age < STREAM_SECONDS);
        assert_eq!(
            properties["BisectBatchOnFunctionError"].as_bool(),
            Some(true)
        );
        assert!(!properties["DestinationConfig"]["OnFailure"]["Destination"].is_null());
    }
    // Two batches of one shard's segments would race for its object.
    let rows = source("RegenerateFunction", "SitemapStream");
    assert_eq!(rows["ParallelizationFactor"].as_u64(), Some(1));
    for (knob, value) in joined.as_mapping().unwrap() {
        if knob != "FunctionName" && knob != "EventSourceArn" {
            assert_eq!(
                content.get(knob),
                Some(value),
                "{knob:?} is the content stream's"
            );
        }
    }
}

#[test]
fn what_is_asked_of_lambda_is_within_its_bounds() {
    // https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
    let (memory_mib, timeout_seconds, environment_bytes) = (128..=10_240, 1..=900, 4_096);
    // A stack's name has at most 128 bytes, and is a part of its tables' names. A bucket's name has at most 63, a table's 255.
    let (stack, table, bucket, any_table) = (128, 160, 63, 255);
    let levels = Monitoring::ALL;
    let template = template();
    for function in FUNCTIONS {
        let properties = &template["Resources"][function]["Properties"];
        let memory = &template["Parameters"][properties["MemorySize"].as_str().unwrap()];
        for value in ["MinValue", "Default", "MaxValue"] {
            assert!(memory_mib.contains(&memory[value].as_u64().unwrap()));
        }
        assert!(timeout_seconds.contains(&properties["Timeout"].as_u64().unwrap()));
        let names = names(&properties["Environment"]["Variables"]);
        let parameter = |name: &str| template["Parameters"][name]["MaxLength"].as_u64();
        let bytes = |name: &String| {
            let value = match name.as_str() {
                environment::SOURCE_MAPPING => parameter("SourceMapping"),
                environment::SITES => parameter("Sites"),
                sweep::INDEXNOW_ENDPOINT => parameter("IndexNowEndpoint"),
                sweep::AUDIT_HOURS => {
                    let most = &template["Parameters"]["AuditHours"]["MaxValue"];
                    most.as_u64().map(|most| most.to_string().len() as u64)
                }
                environment::CONTENT_TABLE | environment::SITEMAP_TABLE => Some(table),
                environment::SOURCE_TABLE => Some(any_table),
                environment::STACK_NAME => Some(stack),
                environment::MONITORING => {
                    levels.iter().map(|level| level.name().len() as u64).max()
                }
                http_function::GZIP => {
                    let values = texts(&template["Parameters"]["HttpGzip"]["AllowedValues"]);
                    values.iter().map(|value| value.len() as u64).max()
                }
                environment::BUCKET_NAME | environment::FAILURE_BUCKET => Some(bucket),
                other => panic!("a variable of unknown length: {other}"),
            };
            name.len() as u64 + value.expect("a parameter that is bounded")
        };
        let bytes: u64 = names.iter().map(bytes).sum();
        assert!(bytes <= environment_bytes, "{function}: {bytes}");
    }
    assert_eq!(
        template["Parameters"]["SourceMapping"]["MaxLength"].as_u64(),
        Some(MAX_MAPPING_BYTES as u64)
    );
}

#[test]
fn a_call_that_hangs_takes_a_third_of_a_functions_time_at_most() {
    let template = template();
    let seconds = Duration::from_secs;
    for (function, Timeouts { attempt, operation }) in [
        ("IngestFunction", ingest::TIMEOUTS),
        ("RegenerateFunction", regenerate::TIMEOUTS),
        ("HttpFunction", http_function::TIMEOUTS),
        ("SweepFunction", sweep::TIMEOUTS),
    ] {
        let limit = template["Resources"][function]["Properties"]["Timeout"].as_u64();
        assert!(operation * 3 <= seconds(limit.unwrap()), "{function}");
        assert!(attempt * 2 <= operation, "{function} tries again");
    }
    let http = http_function::TIMEOUTS;
    assert_eq!((http.attempt, http.operation), (seconds(3), seconds(8)));
    // The requests of `sweep` to search engines and CloudFormation have limits of their own.
    let limit = template["Resources"]["SweepFunction"]["Properties"]["Timeout"].as_u64();
    assert_eq!(
        limit.map(|limit| limit.cast_signed()),
        Some(engine::sweep::TURN_SECONDS),
        "a sweep that has died gives its turn back"
    );
    for alone in [engine::sweep::notices::TIMEOUT, sweep::setup::TIMEOUT] {
        assert!(alone * 3 <= seconds(limit.unwrap()));
    }
}

#[test]
fn nothing_is_open_to_the_public_and_no_grant_is_for_everything() {
    let template = template();
    let resources = template["Resources"].as_mapping().unwrap();
    let (mut buckets, mut statements) = (0, 0);
    for (name, resource) in resources {
        let properties = &resource["Properties"];
        match resource["Type"].as_str().unwrap() {
            "AWS::S3::Bucket" => {
                buckets += 1;
                let access = properties["PublicAccessBlockConfiguration"]
                    .as_mapping()
                    .unwrap();
                assert!(
                    access.len() == 4 && access.values().all(|value| value.as_bool() == Some(true)),
                    "{name:?}"
                );
                assert!(!properties["BucketEncryption"].is_null(), "{name:?}");
            }
            "AWS::IAM::Role" | "AWS::IAM::Policy" | "AWS::IAM::ManagedPolicy" => {
                let own = &properties["PolicyDocument"];
                let inline = properties["Policies"].as_sequence().into_iter().flatten();
                for document in inline.map(|policy| &policy["PolicyDocument"]).chain([own]) {
                    for statement in document["Statement"].as_sequence().into_iter().flatten() {
                        statements += 1;
                        let list = |value: &Value| {
                            if value.is_sequence() {
                                texts(value)
                            } else {
                                vec![value.as_str().unwrap().to_owned()]
                            }
                        };
                        let actions = list(&statement["Action"]);
                        // X-Ray has no resources.
                        let of_traces = actions.iter().all(|action| action.starts_with("xray:Put"));
                        let on = list(&statement["Resource"]);
                        let on = on.iter().filter(|on| !(of_traces && *on == "*"));
                        for grant in actions.iter().chain(on) {
                            assert!(grant != "*" && !grant.ends_with(":*"), "{name:?}: {grant}");
                        }
                    }
                }
            }
            "AWS::Logs::LogGroup" => assert!(!properties["RetentionInDays"].is_null()),
            _ => {}
        }
    }
    assert!(buckets == 2 && statements > 10);
    assert_eq!(
        template["Parameters"]["HttpAuth"]["Default"].as_str(),
        Some("AWS_IAM")
    );
}
