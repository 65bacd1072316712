//! Tests the nested template of the distribution.

use std::collections::BTreeSet;

use super::{file, names, read};

/// Returns whether a path matches a CloudFront path pattern: `*` is any text, including slashes, and `?` one character.
fn takes(pattern: &[u8], path: &[u8]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        ([b'*', after @ ..], _) => (0..=path.len()).any(|at| takes(after, &path[at..])),
        ([b'?', after @ ..], [_, rest @ ..]) => takes(after, rest),
        ([first, after @ ..], [byte, rest @ ..]) => first == byte && takes(after, rest),
        _ => false,
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
    let taken = |path: &str| {
        let mut patterns = patterns.iter();
        patterns.any(|pattern| takes(pattern.as_bytes(), path.as_bytes()))
    };
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
    assert_eq!(key["EnableAcceptEncodingGzip"].as_bool(), Some(true));
    for (kind, behaviour) in [
        ("HeadersConfig", "HeaderBehavior"),
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
    let code = &resources["ViewerRequest"]["Properties"]["FunctionCode"][0];
    let code = code.as_str().unwrap();
    assert_eq!(code.matches("${").count(), 1);
    let code = code.replace("${HasView}", "true");
    assert_eq!(
        code,
        file("infra/cdn/viewer-request.js"),
        "infra/cdn/viewer-request.js, but for one value"
    );
    let moved = &resources["MovedRequest"]["Properties"]["FunctionCode"];
    assert_eq!(moved.as_str().unwrap(), file("infra/cdn/moved-request.js"));
    let redirects = &resources["RedirectRequest"]["Properties"]["FunctionCode"];
    assert_eq!(
        redirects.as_str().unwrap(),
        file("infra/cdn/redirect-request.js")
    );
    assert!(file("infra/cdn/moved-request.js").contains(front::SITE_HOST_HEADER));
    assert!(code.contains(&format!("const PREFIX = '{}';", front::EDGE_PREFIX)));
    assert!(code.contains(&format!("headers['{}']", front::SITE_HOST_HEADER)));
    assert!(code.len() <= function_bytes);
}

/// Headers that CloudFront refuses to remove, or removes itself:
/// <https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/understanding-response-headers-policies.html>
const NOT_REMOVABLE: [&str; 6] = [
    "content-length",
    "transfer-encoding",
    "via",
    "x-amzn-errortype",
    "x-amzn-requestid",
    "x-cache",
];

/// From the page of the limits, as above.
const MAX_REMOVED_HEADERS: usize = 10;

#[test]
fn the_headers_policy_is_one_that_cloudfront_takes() {
    let cdn = read("infra/cdn.yaml");
    let policy = &cdn["Resources"]["HeadersPolicy"]["Properties"]["ResponseHeadersPolicyConfig"];
    let removed = policy["RemoveHeadersConfig"]["Items"]
        .as_sequence()
        .unwrap();
    let removed: BTreeSet<&str> = removed
        .iter()
        .map(|item| item["Header"].as_str().unwrap())
        .collect();
    assert!(removed.len() <= MAX_REMOVED_HEADERS);
    for name in &removed {
        assert!(!NOT_REMOVABLE.contains(name), "{name}");
        let is_cloudfronts = name.starts_with("x-amz-cf-") || name.starts_with("x-edge-");
        assert!(!is_cloudfronts, "{name}");
    }
    let tags =
        &cdn["Resources"]["Distribution"]["Properties"]["DistributionConfig"]["CacheTagConfig"];
    for name in [
        "x-amzn-remapped-content-length",
        tags["HeaderName"].as_str().unwrap(),
    ] {
        assert!(removed.contains(name), "{name}");
    }
    let added = &policy["CustomHeadersConfig"]["Items"][0];
    assert_eq!(added["Header"].as_str(), Some("x-robots-tag"));
    assert_eq!(
        added["Override"].as_bool(),
        Some(false),
        "http knows better"
    );
}

#[test]
fn the_stack_passes_every_parameter_of_the_redirects() {
    let (redirects, template) = (read("infra/redirects.yaml"), read("template.yaml"));
    let stack = &template["Resources"]["Redirects"];
    assert_eq!(stack["Condition"], "HasRedirects");
    let passed = &stack["Properties"]["Parameters"];
    assert_eq!(names(passed), names(&redirects["Parameters"]));
    let output = redirects["Outputs"]["FunctionName"]["Value"].as_str();
    assert_eq!(output, Some("RedirectsFunction"));
}

#[test]
fn the_stack_passes_every_parameter_of_the_distribution() {
    let (cdn, template) = (read("infra/cdn.yaml"), read("template.yaml"));
    let passed = &template["Resources"]["Cdn"]["Properties"]["Parameters"];
    assert_eq!(names(passed), names(&cdn["Parameters"]));
    for name in names(passed) {
        let source = passed[name.as_str()].as_str().unwrap();
        let is_function = name.starts_with("HttpFunction");
        assert!(is_function || source == name, "{name}: {source}");
        assert!(
            is_function || !template["Parameters"][source].is_null(),
            "{name}"
        );
    }
}
