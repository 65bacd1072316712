//! The nested template of the distribution.

use std::collections::BTreeSet;

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
