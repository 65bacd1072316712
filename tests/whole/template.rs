//! The template and the code agree.

use std::collections::BTreeSet;

use serde_norway::Value;

/// The template.
pub(crate) fn tagged() -> Value {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../template.yaml")).unwrap();
    serde_norway::from_str(&text).unwrap()
}

/// The template, with CloudFormation's tags taken off.
fn template() -> Value {
    untagged(tagged())
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

#[test]
fn the_tables_are_the_local_stacks() {
    let template = template();
    for (table, keys) in [
        ("ContentTable", vec![("id", "HASH")]),
        ("SitemapTable", vec![("pk", "HASH"), ("sk", "RANGE")]),
    ] {
        let properties = &template["Resources"][table]["Properties"];
        assert_eq!(
            properties["StreamSpecification"]["StreamViewType"].as_str(),
            Some("KEYS_ONLY")
        );
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
}

/// Whether an event filter of Lambda's matches a stream record: the operators that the template uses.
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
        ("SERIES#a.example", "post"),
        ("FREE#a.example#post", "0000000001#00000"),
        ("INDEX#a.example", "post#0000000001"),
        ("TIMER#500000", "001800000000#post/1"),
        ("TIMER#cursor", "-"),
        ("SITE#a.example", "-"),
        ("JOB#scan", "-"),
        ("JOB#audit", "-"),
        ("TERM#a.example#tag#rust", "000000000000d#post/1"),
        ("TERM#a.example#tag#rust", "!tag/rust"),
        ("GROUP#about", "m#post/1"),
        ("GROUP#about", "w#post/1"),
        ("FEED#a.example#20833", "001800000000#post/1"),
        ("NOTICE#a.example#0", "00ff"),
        ("NOTICE#a.example#pause", "-"),
    ] {
        for name in ["INSERT", "MODIFY", "REMOVE"] {
            let event = serde_json::json!({"awsRegion": "local", "eventID": "1", "eventName": name, "dynamodb": {
                "ApproximateCreationDateTime": 0, "Keys": {"pk": {"S": pk}, "sk": {"S": sk}}, "SequenceNumber": "1", "SizeBytes": 1}});
            let by_template = patterns.iter().any(|pattern| matches(pattern, &event));
            let record = serde_json::from_value(event).unwrap();
            assert_eq!(
                by_template,
                regenerate::subject(&record).is_some(),
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

#[test]
fn batches_fail_in_part_and_nothing_is_retried_for_ever() {
    let template = template();
    for (function, source) in [
        ("IngestFunction", "ContentStream"),
        ("RegenerateFunction", "SitemapStream"),
    ] {
        let properties =
            &template["Resources"][function]["Properties"]["Events"][source]["Properties"];
        assert_eq!(
            texts(&properties["FunctionResponseTypes"]),
            ["ReportBatchItemFailures"]
        );
        assert_eq!(
            properties["StartingPosition"].as_str(),
            Some("TRIM_HORIZON")
        );
        for knob in [
            "BatchSize",
            "MaximumBatchingWindowInSeconds",
            "MaximumRetryAttempts",
            "MaximumRecordAgeInSeconds",
            "ParallelizationFactor",
        ] {
            assert!(
                properties[knob].as_u64().is_some(),
                "{function}: {knob} is stated"
            );
        }
        assert_eq!(
            properties["BisectBatchOnFunctionError"].as_bool(),
            Some(true)
        );
        assert!(!properties["DestinationConfig"]["OnFailure"]["Destination"].is_null());
    }
}
