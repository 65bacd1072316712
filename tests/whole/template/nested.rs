//! The nested templates: the distribution, the alarms and the dashboard.

use std::collections::BTreeSet;

use engine::metrics;
use serde_norway::Value;

use super::{file, read, texts};

/// Whether a path pattern of CloudFront's takes a path: `*` is any text, slashes too.
fn takes(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((before, after)) => path.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len())
                .filter(|at| rest.is_char_boundary(*at))
                .any(|at| takes(after, &rest[at..]))
        }),
    }
}

#[test]
fn the_distribution_brings_the_function_its_paths_and_no_others() {
    let cdn = read("infra/cdn.yaml");
    let distribution = &cdn["Resources"]["Distribution"]["Properties"]["DistributionConfig"];
    let patterns: Vec<String> = distribution["CacheBehaviors"][1]
        .as_sequence()
        .unwrap()
        .iter()
        .map(|behaviour| {
            let behaviour = if behaviour.is_sequence() {
                &behaviour[1]
            } else {
                behaviour
            };
            behaviour["PathPattern"]
                .as_str()
                .unwrap()
                .replace("${IndexNowKey}", "0123abcd")
        })
        .collect();
    let taken = |path: &str| patterns.iter().any(|pattern| takes(pattern, path));
    let key_file = "/0123abcd.txt".to_owned();
    for path in front::example_paths().iter().chain([&key_file]) {
        assert!(front::is_routed(path), "{path} is answered");
        assert!(taken(path), "{path} is taken");
    }
    for path in [
        "/",
        "/sitemap",
        "/sitemap/",
        "/about.xml",
        "/llms.txt",
        "/app.js",
        "/style.css",
        "/feed",
        "/a.xml.gz",
        "/robots.txt.gz",
    ] {
        assert_eq!(taken(path), front::is_routed(path), "{path} is the site's");
    }
    for pattern in &patterns {
        let pattern = pattern.replace("0123abcd", "<key>");
        assert!(
            file("docs/CDN.md").contains(&pattern),
            "CDN.md tells of {pattern}"
        );
    }
}

#[test]
fn the_distribution_keys_by_what_answers_depend_on_and_may_call_the_function() {
    let cdn = read("infra/cdn.yaml");
    let resources = &cdn["Resources"];
    let key = &resources["CachePolicy"]["Properties"]["CachePolicyConfig"]["ParametersInCacheKeyAndForwardedToOrigin"];
    assert_eq!(
        texts(&key["HeadersConfig"]["Headers"]),
        [front::SITE_HOST_HEADER, "sec-fetch-dest"]
    );
    assert_eq!(key["EnableAcceptEncodingGzip"].as_bool(), Some(true));
    for (kind, behaviour) in [
        ("CookiesConfig", "CookieBehavior"),
        ("QueryStringsConfig", "QueryStringBehavior"),
    ] {
        assert_eq!(key[kind][behaviour].as_str(), Some("none"));
    }
    let permissions: BTreeSet<_> = ["UrlPermission", "FunctionPermission"]
        .map(|permission| {
            resources[permission]["Properties"]["Action"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .into();
    assert_eq!(
        permissions,
        ["lambda:InvokeFunction", "lambda:InvokeFunctionUrl"]
            .map(str::to_owned)
            .into()
    );
    // https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/cloudfront-limits.html
    let (origin_seconds, function_bytes) = (60, 10_240);
    let origin = &resources["Distribution"]["Properties"]["DistributionConfig"]["Origins"][0];
    assert!(
        origin["CustomOriginConfig"]["OriginReadTimeout"]
            .as_u64()
            .unwrap()
            <= origin_seconds
    );
    let code = resources["ViewerRequest"]["Properties"]["FunctionCode"]
        .as_str()
        .unwrap();
    assert_eq!(
        code,
        file("infra/cdn/viewer-request.js"),
        "infra/cdn/viewer-request.js, as it stands"
    );
    assert!(code.len() <= function_bytes);
}

#[test]
fn alarms_and_the_dashboard_name_the_metrics_that_the_code_has() {
    let monitoring = read("infra/monitoring.yaml");
    let (mut named, mut dimensions) = (BTreeSet::new(), BTreeSet::new());
    let mut collect = |metric: &Value| {
        if metric["Namespace"].as_str() == Some(metrics::NAMESPACE) {
            named.insert(metric["MetricName"].as_str().unwrap().to_owned());
            dimensions.insert(metric["Dimensions"][0]["Name"].as_str().unwrap().to_owned());
        }
    };
    for resource in monitoring["Resources"].as_mapping().unwrap().values() {
        let properties = &resource["Properties"];
        if resource["Type"].as_str() == Some("AWS::CloudWatch::Alarm") {
            assert!(
                properties["AlarmDescription"].as_str().unwrap().len() > 40,
                "it says what to do"
            );
            assert!(!properties["TreatMissingData"].is_null());
            collect(properties);
            for metric in properties["Metrics"].as_sequence().into_iter().flatten() {
                collect(&metric["MetricStat"]["Metric"]);
            }
        }
    }
    let body = monitoring["Resources"]["Dashboard"]["Properties"]["DashboardBody"]
        .as_str()
        .unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let mut shown = BTreeSet::new();
    for widget in body["widgets"].as_array().unwrap() {
        for metric in widget["properties"]["metrics"].as_array().unwrap() {
            if metric[0] == metrics::NAMESPACE {
                shown.insert(metric[1].as_str().unwrap().to_owned());
                dimensions.insert(metric[2].as_str().unwrap().to_owned());
            }
        }
    }
    let all: BTreeSet<_> = metrics::ALL
        .iter()
        .map(|metric| metric.name().to_owned())
        .collect();
    assert!(named.is_subset(&all), "{named:?}");
    assert_eq!(shown.union(&named).cloned().collect::<BTreeSet<_>>(), all);
    assert_eq!(dimensions, [metrics::DIMENSION.to_owned()].into());
}
