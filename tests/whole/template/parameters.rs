//! Tests the parameters of a deployment, and its outputs.

use std::collections::{BTreeMap, BTreeSet};

use serde_norway::Value;

use super::{FUNCTIONS, file, names, tagged, template, texts};

/// Parameters that were fixed numbers in the template, or did not exist, in an earlier version. A stack that sets none of them is
/// unchanged. The factor was 4, which takes more executions than a new account has.
const AS_BEFORE: [(&str, &str); 13] = [
    ("HttpMemory", "512"),
    ("IngestBatchSize", "200"),
    ("IngestMemory", "1024"),
    ("KmsKeyArn", ""),
    ("LogLevel", "INFO"),
    ("ParallelizationFactor", "1"),
    ("PermissionsBoundaryArn", ""),
    ("RegenerateBatchSize", "1000"),
    ("RegenerateMemory", "640"),
    ("SweepMemory", "512"),
    ("SweepMinutes", "1"),
    ("SystemLogLevel", "WARN"),
    ("Tracing", "PassThrough"),
];

const ROLES: [&str; 4] = ["IngestRole", "RegenerateRole", "HttpRole", "SweepRole"];

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.as_u64().expect("a text or a number").to_string(),
    }
}

#[test]
fn a_stack_that_names_no_parameter_is_as_it_was() {
    let template = template();
    for (name, default) in AS_BEFORE {
        assert_eq!(
            text(&template["Parameters"][name]["Default"]),
            default,
            "{name}"
        );
    }
    // Each parameter is optional.
    for (name, parameter) in template["Parameters"].as_mapping().unwrap() {
        assert!(!parameter["Default"].is_null(), "{name:?}");
        assert!(!parameter["Description"].is_null(), "{name:?}");
    }
}

#[test]
fn each_parameter_is_in_one_group_and_has_a_label() {
    let template = template();
    let interface = &template["Metadata"]["AWS::CloudFormation::Interface"];
    let groups = interface["ParameterGroups"].as_sequence().unwrap();
    let mut asked = Vec::new();
    for group in groups {
        assert!(
            group["Label"]["default"]
                .as_str()
                .is_some_and(|label| !label.is_empty())
        );
        asked.extend(texts(&group["Parameters"]));
    }
    let all = names(&template["Parameters"]);
    let once: BTreeSet<String> = asked.iter().cloned().collect();
    assert_eq!(
        once.len(),
        asked.len(),
        "a parameter is in two groups: {asked:?}"
    );
    assert_eq!(once, all, "each is in a group");
    assert_eq!(
        names(&interface["ParameterLabels"]),
        all,
        "each has a label"
    );
    let labels = interface["ParameterLabels"].as_mapping().unwrap().values();
    let labels: BTreeSet<String> = labels.map(|label| text(&label["default"])).collect();
    assert_eq!(labels.len(), all.len(), "no two labels are the same");
}

#[test]
fn each_role_has_the_boundary_and_each_policy_of_a_parameter_its_condition() {
    let template = tagged();
    let resources = template["Resources"].as_mapping().unwrap();
    let of_type = |kind: &str| -> Vec<(&str, &Value)> {
        let resources = resources.iter();
        let resources = resources.filter(|(_, resource)| resource["Type"] == *kind);
        resources
            .map(|(name, resource)| (name.as_str().unwrap(), resource))
            .collect()
    };
    let roles = of_type("AWS::IAM::Role");
    let named: Vec<&str> = roles.iter().map(|(name, _)| *name).collect();
    assert_eq!(named, ROLES);
    let boundary: Value =
        serde_norway::from_str("!If [HasBoundary, !Ref PermissionsBoundaryArn, !Ref AWS::NoValue]")
            .unwrap();
    for (name, role) in roles {
        assert_eq!(
            role["Properties"]["PermissionsBoundary"], boundary,
            "{name}"
        );
    }
    // SAM creates no role of its own, which would lack the boundary.
    for function in FUNCTIONS {
        assert!(
            !template["Resources"][function]["Properties"]["Role"].is_null(),
            "{function}"
        );
    }
    for nested in ["infra/cdn.yaml", "infra/monitoring.yaml"] {
        assert!(!file(nested).contains("AWS::IAM::Role"), "{nested}");
    }
    let conditions: BTreeMap<&str, Option<&str>> = of_type("AWS::IAM::ManagedPolicy")
        .into_iter()
        .map(|(name, policy)| (name, policy["Condition"].as_str()))
        .collect();
    let expected = [
        ("KeyReadPolicy", Some("HasKey")),
        ("KeyWritePolicy", Some("HasKey")),
        ("ReconcilePolicy", None),
        ("TracePolicy", Some("IsTraced")),
    ];
    assert_eq!(conditions, expected.into());
}

#[test]
fn a_key_encrypts_both_tables_and_both_buckets() {
    let template = tagged();
    let table: Value = serde_norway::from_str(
        "!If [HasKey, {SSEEnabled: true, SSEType: KMS, KMSMasterKeyId: !Ref KmsKeyArn}, !Ref AWS::NoValue]",
    )
    .unwrap();
    let bucket: Value = serde_norway::from_str(
        "!If [HasKey, {ServerSideEncryptionByDefault: {SSEAlgorithm: 'aws:kms', KMSMasterKeyID: !Ref KmsKeyArn}, \
         BucketKeyEnabled: true}, {ServerSideEncryptionByDefault: {SSEAlgorithm: AES256}}]",
    )
    .unwrap();
    let (mut tables, mut buckets) = (0, 0);
    for (name, resource) in template["Resources"].as_mapping().unwrap() {
        let properties = &resource["Properties"];
        match resource["Type"].as_str().unwrap() {
            "AWS::DynamoDB::Table" => {
                tables += 1;
                assert_eq!(properties["SSESpecification"], table, "{name:?}");
            }
            "AWS::S3::Bucket" => {
                buckets += 1;
                let rules = &properties["BucketEncryption"]["ServerSideEncryptionConfiguration"];
                assert_eq!(rules[0], bucket, "{name:?}");
            }
            _ => {}
        }
    }
    assert_eq!((tables, buckets), (2, 2));
}

/// Returns the text from one line to the next blank one.
fn paragraph<'t>(text: &'t str, beginning: &str) -> &'t str {
    let (_, rest) = text.split_once(beginning).expect(beginning);
    rest.split("\n\n").next().unwrap()
}

/// Returns the words of a guide that look like names of regions.
fn regions(text: &str) -> Vec<String> {
    let words = text.split(|at: char| !at.is_ascii_alphanumeric() && at != '-');
    let is_region =
        |word: &&str| word.matches('-').count() == 2 && word.ends_with(char::is_numeric);
    words.filter(is_region).map(str::to_owned).collect()
}

#[test]
fn a_region_without_function_urls_is_refused_and_the_guide_lists_it() {
    let template = template();
    let [assertion] = template["Rules"]["RegionHasFunctionUrls"]["Assertions"]
        .as_sequence()
        .unwrap()
        .as_slice()
    else {
        panic!("one assertion");
    };
    // The assertion is a negation: the region is not among these.
    let contains = &assertion["Assert"][0];
    let refused = texts(&contains[0]);
    assert_eq!(contains[1].as_str(), Some("AWS::Region"));
    assert!(refused.len() > 10 && refused.is_sorted(), "{refused:?}");
    let guide = file("docs/OPERATIONS.md");
    assert_eq!(regions(paragraph(&guide, "no function URLs in")), refused);
    let message = assertion["AssertDescription"].as_str().unwrap();
    assert!(message.contains("deploy into another region"), "{message}");
}

#[test]
fn metrics_are_logged_where_alarms_need_them() {
    let template = template();
    let rule = &template["Rules"]["MetricsAreLogged"];
    let allowed = texts(&template["Parameters"]["LogLevel"]["AllowedValues"]);
    let [assertion] = rule["Assertions"].as_sequence().unwrap().as_slice() else {
        panic!("one assertion");
    };
    let with_metrics = texts(&assertion["Assert"][0]);
    // From the first level to INFO.
    assert!(allowed.starts_with(&with_metrics) && with_metrics.last().unwrap() == "INFO");
    // Not if the level is none.
    assert_eq!(texts(&rule["RuleCondition"][0]), ["Monitoring", "none"]);
    let logging = &template["Globals"]["Function"]["LoggingConfig"];
    assert_eq!(logging["ApplicationLogLevel"].as_str(), Some("LogLevel"));
    assert_eq!(logging["SystemLogLevel"].as_str(), Some("SystemLogLevel"));
    assert_eq!(
        template["Globals"]["Function"]["Tracing"].as_str(),
        Some("Tracing")
    );
}

#[test]
fn the_clock_calls_as_often_as_its_alarms_ask() {
    let template = tagged();
    let schedule: Value = serde_norway::from_str(
        r#"!If [IsSweptEachMinute, rate(1 minute), !Sub "rate(${SweepMinutes} minutes)"]"#,
    )
    .unwrap();
    let clock =
        &template["Resources"]["SweepFunction"]["Properties"]["Events"]["Clock"]["Properties"];
    assert_eq!(clock["Schedule"], schedule);
    let condition: Value = serde_norway::from_str("!Equals [!Ref SweepMinutes, 1]").unwrap();
    assert_eq!(template["Conditions"]["IsSweptEachMinute"], condition);
    let minutes = template["Parameters"]["SweepMinutes"]["AllowedValues"]
        .as_sequence()
        .unwrap();
    let longest = minutes
        .iter()
        .map(|minutes| 60 * minutes.as_u64().unwrap())
        .max()
        .unwrap();
    let nested: Value = serde_norway::from_str(&file("infra/monitoring.yaml")).unwrap();
    for alarm in ["SweepSilent", "FailuresWaiting"] {
        let period = &nested["Resources"][alarm]["Properties"]["Period"];
        assert!(
            longest <= period.as_u64().unwrap(),
            "{alarm}: a period without a sweep"
        );
    }
    // One sweep ends before the next begins.
    let limit = &template["Resources"]["SweepFunction"]["Properties"]["Timeout"];
    assert!(limit.as_u64().unwrap() <= 60);
}

#[test]
fn what_is_retained_goes_with_a_failed_first_deployment_if_it_can() {
    let template = template();
    let mut retained = BTreeMap::new();
    for (name, resource) in template["Resources"].as_mapping().unwrap() {
        let policy = resource["DeletionPolicy"].as_str();
        let replaced = resource["UpdateReplacePolicy"].as_str();
        let keeps = policy.is_some_and(|policy| policy.starts_with("Retain"));
        assert_eq!(keeps, replaced == Some("Retain"), "{name:?}");
        if keeps {
            retained.insert(name.as_str().unwrap(), policy.unwrap());
        }
    }
    let expected = [
        ("ContentTable", "Retain"),
        ("FailureBucket", "RetainExceptOnCreate"),
        ("SitemapBucket", "RetainExceptOnCreate"),
    ];
    assert_eq!(retained, expected.into());
    // CloudFormation cannot delete a table with deletion protection either.
    let content = &template["Resources"]["ContentTable"]["Properties"];
    assert_eq!(content["DeletionProtectionEnabled"].as_bool(), Some(true));
}

#[test]
fn the_outputs_name_what_others_need() {
    let template = tagged();
    let outputs = &template["Outputs"];
    let reads = |name: &str| match &outputs[name]["Value"] {
        Value::Tagged(tagged) => format!("{} {}", tagged.tag, tagged.value.as_str().unwrap()),
        value => text(value),
    };
    for name in FUNCTIONS.iter().chain(&ROLES) {
        assert_eq!(reads(&format!("{name}Arn")), format!("!GetAtt {name}.Arn"));
    }
    assert_eq!(reads("ContentStreamArn"), "!GetAtt ContentTable.StreamArn");
    assert_eq!(reads("SitemapStreamArn"), "!GetAtt SitemapTable.StreamArn");
    assert_eq!(
        reads("DistributionId"),
        "!GetAtt Cdn.Outputs.DistributionId"
    );
    assert_eq!(reads("Version"), env!("CARGO_PKG_VERSION"));
    for (name, output) in outputs.as_mapping().unwrap() {
        assert!(!output["Description"].is_null(), "{name:?}");
    }
}

#[test]
fn each_environment_may_make_roles_and_nested_stacks() {
    let samconfig = file("samconfig.toml");
    let capabilities: Vec<&str> = samconfig
        .lines()
        .filter_map(|line| line.strip_prefix("capabilities = "))
        .collect();
    assert_eq!(
        capabilities,
        [r#""CAPABILITY_IAM CAPABILITY_AUTO_EXPAND""#; 3]
    );
    assert!(file("docs/OPERATIONS.md").contains("CAPABILITY_IAM CAPABILITY_AUTO_EXPAND"));
}
