//! Tests what the template refuses, what it makes wait, its ceilings, and its size.

use std::collections::BTreeSet;

use serde_norway::Value;

use super::functions::{Values, holds, text};
use super::{file, names, tagged, template, texts};

/// The most bytes of a template that CloudFormation takes in a request, without a bucket:
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html>.
const MAX_TEMPLATE_BYTES: usize = 51_200;
/// More than the template of a bundle has beyond this one: which processor it is for, and why no other is taken.
const BUNDLE_BYTES: usize = 150;

#[test]
fn the_template_fits_into_a_request() {
    for path in [
        "template.yaml",
        "infra/cdn.yaml",
        "infra/monitoring.yaml",
        "infra/redirects.yaml",
        "infra/us-east-1.yaml",
    ] {
        let bytes = file(path).len();
        assert!(
            bytes + BUNDLE_BYTES <= MAX_TEMPLATE_BYTES,
            "{path}: {bytes}"
        );
    }
}

/// Returns the defaults of the parameters, in a region and an account of the partition `aws`, with changes.
fn values<'v>(template: &'v Value, changes: &[(&'v str, &'v str)]) -> Vec<(&'v str, String)> {
    let parameters = template["Parameters"].as_mapping().unwrap().iter();
    let defaults = parameters.map(|(name, parameter)| {
        let default = text(&parameter["Default"], &Values::new());
        (name.as_str().unwrap(), default)
    });
    let somewhere = [
        ("AWS::Partition", "aws"),
        ("AWS::Region", "eu-west-1"),
        ("AWS::AccountId", "123456789012"),
    ];
    let set = somewhere.iter().chain(changes);
    defaults
        .chain(set.map(|(name, value)| (*name, (*value).to_owned())))
        .collect()
}

/// Returns the rules that refuse a deployment with these parameters, in this place.
fn refused_by(changes: &[(&str, &str)]) -> Vec<String> {
    let template = tagged();
    let values = values(&template, changes);
    let values = values
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let mut refused = Vec::new();
    for (name, rule) in template["Rules"].as_mapping().unwrap() {
        let condition = &rule["RuleCondition"];
        if !condition.is_null() && !holds(condition, &values) {
            continue;
        }
        for assertion in rule["Assertions"].as_sequence().unwrap() {
            let says = assertion["AssertDescription"].as_str().unwrap();
            assert!(says.len() > 40, "{name:?} says what to do: {says}");
            if !holds(&assertion["Assert"], &values) {
                refused.push(name.as_str().unwrap().to_owned());
            }
        }
    }
    refused
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_created() {
    let china = [("AWS::Partition", "aws-cn"), ("AWS::Region", "cn-north-1")];
    let in_china = |more: (&'static str, &'static str)| refused_by(&[china[0], china[1], more]);
    assert_eq!(refused_by(&[]), Vec::<String>::new(), "the defaults");
    assert_eq!(refused_by(&china), ["DistributionIsOfThisPartition"]);
    assert!(in_china(("Distribution", "false")).is_empty());
    assert_eq!(
        refused_by(&[("AWS::Region", "eu-central-2")]),
        ["RegionHasFunctionUrls"]
    );
    // Signed requests are the only ones in an account of AWS's.
    assert_eq!(refused_by(&[("HttpAuth", "NONE")]), ["UrlIsSigned"]);
    let emulator = [("HttpAuth", "NONE"), ("AWS::AccountId", "000000000000")];
    assert!(refused_by(&emulator).is_empty());
    for level in ["WARN", "ERROR"] {
        assert_eq!(refused_by(&[("LogLevel", level)]), ["MetricsAreLogged"]);
        assert!(refused_by(&[("LogLevel", level), ("Monitoring", "none")]).is_empty());
    }
    let mail = ("AlarmEmail", "ops@example.com");
    assert!(refused_by(&[mail]).is_empty());
    assert_eq!(
        refused_by(&[mail, ("Monitoring", "none")]),
        ["MailIsOfAlarms"]
    );
    // Both are of a site behind the distribution.
    let site = ("SiteOrigin", "origin.example.com");
    for (asked, rule) in [
        (("MovedPaths", "/blog/*"), "MovedPathsAreOfASite"),
        (("RedirectStore", "own"), "RedirectStoreIsOfASite"),
    ] {
        assert!(refused_by(&[asked, site]).is_empty());
        assert_eq!(refused_by(&[asked]), [rule]);
        assert_eq!(
            refused_by(&[asked, site, ("Distribution", "false")]),
            [rule]
        );
    }
    let store = "arn:aws:cloudfront::123456789012:key-value-store/0-0";
    assert!(refused_by(&[("RedirectStore", store), ("Distribution", "false")]).is_empty());
    // What belongs together.
    let source = [
        ("SourceTable", "pages"),
        ("SourceStreamArn", "arn"),
        ("SourceMapping", "{}"),
    ];
    let names = [("Aliases", "a.example"), ("CertificateArn", "arn")];
    for (parts, rule) in [
        (&source[..], "SourceIsWhole"),
        (&names[..], "AliasesHaveACertificate"),
    ] {
        assert!(refused_by(parts).is_empty(), "{rule}: all of it");
        for left_out in 0..parts.len() {
            let mut some = parts.to_vec();
            let (name, _) = some.remove(left_out);
            assert_eq!(refused_by(&some), [rule], "without {name}");
        }
    }
}

/// Returns the resources that a resource waits for, at once or by way of another one.
fn waits_for(template: &Value, name: &str) -> BTreeSet<String> {
    let on = &template["Resources"][name]["DependsOn"];
    let on = if on.is_null() { Vec::new() } else { texts(on) };
    let of_others = on.iter().flat_map(|other| waits_for(template, other));
    of_others.chain(on.iter().cloned()).collect()
}

#[test]
fn a_table_is_checked_after_its_policies_and_read_after_the_check() {
    let template = template();
    let resources = template["Resources"].as_mapping().unwrap().iter();
    let policies: Vec<(&str, Vec<String>)> = resources
        .filter(|(_, resource)| resource["Type"] == "AWS::IAM::Policy")
        .map(|(name, policy)| {
            assert_eq!(policy["Condition"], "HasSource");
            (
                name.as_str().unwrap(),
                texts(&policy["Properties"]["Roles"]),
            )
        })
        .collect();
    let of = |role: &str| {
        let policies = policies.iter();
        let policies = policies.filter(|(_, roles)| roles.iter().any(|one| one == role));
        policies
            .map(|(name, _)| (*name).to_owned())
            .collect::<BTreeSet<_>>()
    };
    let [swept, read] = [of("SweepRole"), of("IngestRole")];
    assert_eq!((policies.len(), swept.len(), read.len()), (4, 3, 2));
    assert_eq!(waits_for(&template, "SourceCheck"), swept);
    let stream = waits_for(&template, "SourceStream");
    assert!(stream.is_superset(&read) && stream.contains("SourceCheck"));
}

#[test]
fn a_wildcards_outputs_have_a_host_to_fill_in() {
    let template = tagged();
    for (aliases, host) in [
        ("www.example.com", "www.example.com"),
        ("www.example.com,example.com", "www.example.com"),
        ("*.example.com", "<any>.example.com"),
        ("*.example.com,www.example.com", "<any>.example.com"),
    ] {
        for (output, expected) in [
            ("IndexUrl", format!("https://{host}/sitemap_index.xml")),
            (
                "RobotsTxtLines",
                format!("Sitemap: https://{host}/sitemap_index.xml"),
            ),
        ] {
            let Value::Tagged(value) = &template["Outputs"][output]["Value"] else {
                panic!("{output} has no condition");
            };
            assert_eq!(value.tag, "!If");
            assert_eq!(value.value[0], "HasAliases");
            let values = [("Aliases", aliases)].into();
            assert_eq!(text(&value.value[1], &values), expected);
        }
    }
}

#[test]
fn each_table_has_a_ceiling_of_its_own_and_none_by_default() {
    let template = tagged();
    for (table, parameter, condition) in [
        ("ContentTable", "ContentMaxUnits", "HasContentMax"),
        ("SitemapTable", "SitemapMaxUnits", "HasSitemapMax"),
    ] {
        let text = format!(
            "!If [{condition}, {{MaxReadRequestUnits: !Ref {parameter}, MaxWriteRequestUnits: !Ref {parameter}}}, \
             !Ref AWS::NoValue]"
        );
        let expected: Value = serde_norway::from_str(&text).unwrap();
        let properties = &template["Resources"][table]["Properties"];
        assert_eq!(properties["OnDemandThroughput"], expected, "{table}");
        let condition = &template["Conditions"][condition];
        for (units, has) in [("0", false), ("1", true)] {
            assert_eq!(holds(condition, &[(parameter, units)].into()), has);
        }
        assert_eq!(template["Parameters"][parameter]["Default"], 0);
    }
}

#[test]
fn the_second_stack_has_the_parameters_that_the_guide_gives_it() {
    let second = super::read("infra/us-east-1.yaml");
    let guide = file("docs/CDN.md");
    for name in names(&second["Parameters"]) {
        assert!(guide.contains(&name), "docs/CDN.md lacks {name}");
    }
}
