//! The template of the function, and the code.

use std::collections::BTreeSet;

use edge::{REPAIR_TIME, SLICE};
use engine::stream::StreamRecord;
use redirects::{ENVIRONMENT, TIMEOUTS};
use serde_norway::Value;

fn template() -> Value {
    let path = format!("{}/../../infra/redirects.yaml", env!("CARGO_MANIFEST_DIR"));
    serde_norway::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn properties(logical: &str) -> Value {
    template()["Resources"][logical]["Properties"].clone()
}

fn texts(value: &Value) -> BTreeSet<String> {
    let list = value.as_sequence().map(Vec::as_slice);
    let list = list.unwrap_or(std::slice::from_ref(value)).iter();
    list.map(|text| text.as_str().expect("a text").to_owned())
        .collect()
}

#[test]
fn the_function_gets_its_variables_and_its_time() {
    let function = properties("RedirectsFunction");
    let variables = function["Environment"]["Variables"].as_mapping().unwrap();
    let variables: BTreeSet<&str> = variables
        .keys()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(variables, ENVIRONMENT.into());
    assert_eq!(function["Code"].as_str(), Some("../functions/redirects"));
    let limit = function["Timeout"].as_u64().unwrap();
    for slice in [SLICE, REPAIR_TIME] {
        // The last update: a state, rows, and the update itself, each of which may take all of its tries.
        assert!(
            (slice + 3 * TIMEOUTS.operation).as_secs() <= limit,
            "{slice:?}"
        );
    }
    assert!(TIMEOUTS.attempt * 2 <= TIMEOUTS.operation);
}

#[test]
fn the_streams_filter_lets_through_what_the_code_follows() {
    let stream = properties("RedirectsStream");
    let filters = stream["FilterCriteria"]["Filters"].as_sequence().unwrap();
    let [filter] = filters.as_slice() else {
        panic!("one filter: {filters:?}")
    };
    let pattern = filter["Pattern"].as_str().unwrap();
    let pattern: serde_json::Value = serde_json::from_str(pattern).unwrap();
    let prefixes = pattern["dynamodb"]["Keys"]["pk"]["S"].as_array().unwrap();
    let passes = |pk: &str| {
        let mut prefixes = prefixes.iter();
        prefixes.any(|one| pk.starts_with(one["prefix"].as_str().unwrap()))
    };
    let hash = "0f".repeat(32);
    for (pk, sk, is_followed) in [
        ("MOVED#a.example#0", hash.as_str(), true),
        ("SITE#a.example", "-", true),
        ("LEDGER#post/1", "1", false),
        ("LOC#a.example#00ff", "-", false),
        ("SEGMENT#a.example#post#1#0", "00000", false),
        ("INDEX#a.example", "post#0000000001", false),
    ] {
        let key = table::Item::new().with("pk", pk).with("sk", sk);
        let record = StreamRecord {
            key,
            ..StreamRecord::default()
        };
        assert_eq!(passes(pk), is_followed, "{pk}");
        assert_eq!(
            edge::entry::Place::of(&record).is_some(),
            is_followed,
            "{pk} {sk}"
        );
    }
    assert_eq!(stream["StartingPosition"].as_str(), Some("TRIM_HORIZON"));
    assert_eq!(stream["MaximumRetryAttempts"].as_i64(), Some(-1));
    assert_eq!(
        texts(&stream["FunctionResponseTypes"]),
        ["ReportBatchItemFailures".to_owned()].into()
    );
}

/// The calls of the code, each with the keys of the table that it reads.
#[test]
fn the_role_may_do_what_the_function_does_and_nothing_else() {
    let role = properties("RedirectsRole");
    let boundary = "!If [HasBoundary, !Ref PermissionsBoundaryArn, !Ref AWS::NoValue]";
    let boundary: Value = serde_norway::from_str(boundary).unwrap();
    assert_eq!(role["PermissionsBoundary"], boundary);
    let statements = role["Policies"][0]["PolicyDocument"]["Statement"]
        .as_sequence()
        .unwrap();
    let mut granted = BTreeSet::new();
    for statement in statements {
        let keys = &statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"];
        let keys = if keys.is_null() {
            String::new()
        } else {
            format!(" {}", keys[0].as_str().unwrap())
        };
        for action in texts(&statement["Action"]) {
            assert!(!action.contains('*'), "{action}");
            granted.insert(format!("{action}{keys}"));
        }
        assert_ne!(statement["Resource"], "*");
    }
    let needed = [
        // Lambda's own: the log, and the stream.
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "dynamodb:DescribeStream",
        "dynamodb:GetRecords",
        "dynamodb:GetShardIterator",
        "dynamodb:ListStreams",
        // SitemapTable::site, and SitemapTable::departure and departures_under.
        "dynamodb:GetItem SITE#*",
        "dynamodb:Query MOVED#*",
        // Objects::sites.
        "s3:ListBucket",
        // CloudFrontStore.
        "cloudfront-keyvaluestore:DescribeKeyValueStore",
        "cloudfront-keyvaluestore:ListKeys",
        "cloudfront-keyvaluestore:UpdateKeys",
    ];
    assert_eq!(granted, needed.map(str::to_owned).into());
}
