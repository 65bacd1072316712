//! Tests of valid and invalid settings.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::parse::MAX_PROBLEMS;
use super::*;

#[test]
fn a_record_overrides_the_defaults() {
    let item = json!({"base_url": "http://www.example.com/", "entries_per_sitemap": 50_000, "byte_limit": 10_000_000,
        "types": {"post": {"priority": 0.8}, "draft": {"public": false}}, "robots": ["User-agent: *", "Disallow: /x"]});
    let settings = SiteSettings::parse("www.example.com", &item).unwrap();
    assert_eq!(settings.problems, []);
    assert_eq!(settings.origin.as_str(), "http://www.example.com");
    assert_eq!(
        (settings.entries_per_sitemap, settings.byte_limit),
        (50_000, 10_000_000)
    );
    assert!(!settings.type_settings("draft").public);
    assert!(settings.type_settings("page").public);
    let stored = serde_json::to_string(&settings).unwrap();
    assert_eq!(
        serde_json::from_str::<SiteSettings>(&stored).unwrap(),
        settings
    );
}

#[test]
fn the_publication_has_the_sites_name_unless_it_has_its_own() {
    for (item, name, is_sites) in [
        (json!({}), None, false),
        (json!({"news_name": "N"}), Some("N"), false),
        (json!({"name": "S"}), Some("S"), true),
        (json!({"name": "S", "news_name": "N"}), Some("N"), false),
        (json!({"name": "S", "news_name": "S"}), Some("S"), false),
        (json!({"name": "S", "news_name": ""}), Some("S"), true),
        (json!({"name": 7}), None, false),
    ] {
        let settings = SiteSettings::parse("www.example.com", &item).unwrap();
        assert_eq!(settings.news_name.as_deref(), name, "{item}");
        assert_eq!(settings.news_name_is_sites, is_sites, "{item}");
        let stored = serde_json::to_string(&settings).unwrap();
        let read: SiteSettings = serde_json::from_str(&stored).unwrap();
        assert_eq!(read, settings, "{item}");
    }
}

#[test]
fn a_feed_that_robots_txt_names_and_the_site_does_not_have_is_told() {
    for (item, is_told) in [
        (json!({"feed_in_robots": true}), false),
        (json!({"feed_in_robots": false, "feed": false}), false),
        (json!({"feed_in_robots": true, "feed": false}), true),
    ] {
        let settings = SiteSettings::parse("www.example.com", &item).unwrap();
        let told = settings.problems.iter();
        let told = told.map(|problem| problem.field.as_str());
        let expected = is_told.then_some("feed_in_robots");
        assert_eq!(Vec::from_iter(told), Vec::from_iter(expected), "{item}");
    }
}

#[test]
fn a_bad_field_keeps_its_default() {
    let default = SiteSettings::default_for("www.example.com").unwrap();
    for item in [
        json!({"entries_per_sitemap": 0}),
        json!({"entries_per_sitemap": 60_000}),
        json!({"byte_limit": 5}),
        json!({"base_url": "https://www.example.com/blog"}),
        json!({"base_url": "https://www.example.com:8443"}),
        json!({"base_url": "https://www.example.com.evil"}),
        json!({"types": {"../x": {}}}),
        json!({"indexnow_key": "abcdefg/"}),
        json!({"indexnow_key": "post-sitemap2"}),
        json!({"pubic": false}),
        json!({"unknown": [1, 2]}),
        json!({"indexnow_key": "abcdefg"}),
        json!({"stylesheet": "less"}),
        json!({"also": "https://a.example/s.xml"}),
        json!({"also": ["/s.xml"]}),
        json!({"index_lastmod": "now"}),
        json!({"index_lastmod": true}),
        json!({"news_series": "a/b"}),
        json!({"news_series": "x".repeat(65)}),
        json!({"news_series": "video"}),
        json!({"feed": "yes"}),
        json!({"feed_in_robots": "yes"}),
        json!({"language": "en_US"}),
        json!({"llms": true}),
        json!({"llms": {"title": "A"}}),
        json!({"llms": {"types": "post"}}),
        json!({"llms": {"types": []}}),
        json!({"name": ""}),
    ] {
        let settings = SiteSettings::parse("www.example.com", &item).unwrap();
        assert_eq!(settings.problems.len(), 1, "{item}");
        assert_eq!(
            SiteSettings {
                problems: Vec::new(),
                ..settings
            },
            default,
            "{item}"
        );
    }
    assert!(
        !SiteSettings::parse("www.example.com", &json!({"public": "no"}))
            .unwrap()
            .public
    );
}

#[test]
fn what_is_wrong_with_llms_costs_its_own_field_alone() {
    let parse = |llms: Value| {
        let settings = SiteSettings::parse("www.example.com", &json!({ "llms": llms })).unwrap();
        let problems = settings.problems.iter();
        let fields: Vec<String> = problems.map(|problem| problem.field.clone()).collect();
        (settings.llms.unwrap(), fields)
    };
    let whole = json!({"title": " A ", "summary": "B", "types": ["post", "page", "post"]});
    let llms = Llms {
        title: Some("A".to_owned()),
        summary: Some("B".to_owned()),
        types: vec!["post".to_owned(), "page".to_owned()],
    };
    assert_eq!(parse(whole), (llms.clone(), Vec::new()));
    let (read, fields) =
        parse(json!({"title": "A\nB", "summery": "B", "types": ["post", "a/b", 7, "page"]}));
    assert_eq!(
        fields,
        [
            "llms.summery",
            "llms.title",
            "llms.types[1]",
            "llms.types[2]"
        ]
    );
    let (title, summary) = (None, None);
    assert_eq!(
        read,
        Llms {
            title,
            summary,
            ..llms
        }
    );
    let many: Vec<String> = (0..MAX_LLMS_TYPES + 5).map(|n| format!("t{n}")).collect();
    let (read, fields) = parse(json!({ "types": many }));
    assert_eq!(
        (read.types.len(), fields),
        (MAX_LLMS_TYPES, vec!["llms.types".to_owned()])
    );
    let private = json!({"public": false, "llms": {"types": ["post"]}});
    let private = SiteSettings::parse("www.example.com", &private).unwrap();
    assert!(private.llms.is_some() && private.public_llms().is_none());
}

#[test]
fn pages_never_mix_with_the_video_and_news_sitemaps() {
    let parse = |item| SiteSettings::parse("www.example.com", &item).unwrap();
    let names = |settings: &SiteSettings| {
        ["post", "news", "video", "wp"].map(|name| settings.series_of(name).name)
    };
    let default = parse(json!({"news_series": "wp"}));
    assert_eq!(default.problems[0].field, "news_series");
    assert_eq!(
        names(&default),
        ["post", "news-pages", "video-pages", "wp-pages"]
    );
    let renamed = parse(
        json!({"news_series": "google-news", "video_series": "clips",
        "types": {"news": {"public": false}}, "entries_per_sitemap": 5000}),
    );
    assert_eq!(names(&renamed), ["post", "news", "video", "wp-pages"]);
    assert_eq!(renamed.hidden_series(), ["news"]);
    assert_eq!(renamed.kind_of("google-news"), SeriesKind::News);
    assert_eq!(renamed.kind_of("clips"), SeriesKind::Video);
    assert_eq!(renamed.kind_of("news"), SeriesKind::Pages);
    assert_eq!(
        ["google-news", "news"].map(|name| renamed.capacity(name)),
        [1_000, 5_000]
    );
}

#[test]
fn a_bad_line_of_robots_never_opens_the_site() {
    let parse =
        |robots: Value| SiteSettings::parse("www.example.com", &json!({"robots": robots})).unwrap();
    let closed = ["User-agent: *", "Disallow: /"];
    for robots in [
        json!(["User-agent: *", "Disallow: /admin/", "Disallow: /x\u{1}"]),
        json!(["User-agent: *\nDisallow: /admin/"]),
        json!([
            "User-agent: *",
            format!("Disallow: /{}", "x".repeat(MAX_ROBOTS_BYTES))
        ]),
        json!("User-agent: *\nDisallow: /"),
        json!({"User-agent": "*"}),
        json!(false),
    ] {
        let settings = parse(robots.clone());
        assert_eq!(settings.robots, closed, "{robots}");
        assert!(settings.public && settings.problems[0].closes, "{robots}");
    }
    let long = format!("Disallow: /{}", "x".repeat(49_988));
    for lines in [
        ["User-agent: *", "Disallow: /admin/", "Disallow: /x\t"],
        ["User-agent:\t*", "Disallow:\t/admin/", &long],
    ] {
        let settings = parse(json!(lines));
        assert_eq!(
            (settings.problems, settings.robots),
            (vec![], lines.map(str::to_owned).to_vec())
        );
    }
    let settings = parse(json!(["User-agent: *", "# note\u{7}", "Disallow: /x"]));
    assert_eq!(settings.robots, ["User-agent: *", "Disallow: /x"]);
    assert_eq!(
        settings.problems[0].to_string(),
        "robots[1]: \"# note\\u{7}\" has the control character U+0007: the line is left out"
    );
    assert!(!settings.problems[0].closes);
    // Some readers split lines there, and the second part may open what the first one closes.
    for separator in ["\u{2028}", "\u{2029}", "\u{85}"] {
        let line = format!("Disallow: /x{separator}Allow: /");
        let settings = parse(json!(["User-agent: *", line]));
        assert_eq!(
            settings.robots,
            ["User-agent: *", "Disallow: /"],
            "{separator:?}"
        );
    }
}

#[test]
fn unknown_settings_are_told_with_the_name_that_may_be_meant() {
    let told = |item: Value| {
        let settings = SiteSettings::parse("www.example.com", &item).unwrap();
        let told: Vec<String> = settings.problems.iter().map(ToString::to_string).collect();
        told.join("\n")
    };
    let meant = |name: &str| format!("no such setting, it is ignored: is {name} meant?");
    assert_eq!(
        told(json!({"Public": true})),
        format!("Public: {}", meant("public"))
    );
    assert_eq!(
        told(json!({"pubilc": 1})),
        format!("pubilc: {}", meant("public"))
    );
    assert_eq!(
        told(json!({"robot": []})),
        format!("robot: {}", meant("robots"))
    );
    assert_eq!(
        told(json!({"types": {"post": {"prioritty": 1}}})),
        format!("types.post.prioritty: {}", meant("priority"))
    );
    let unknown = told(json!({"sitemap_size": 7}));
    assert!(
        unknown.contains("there are base_url, public, "),
        "{unknown}"
    );
    assert!(unknown.ends_with("not_found_page, also"), "{unknown}");
    assert_eq!(
        told(json!({"id": "site/www.example.com", "type": "site", "x": null})),
        ""
    );
    for known in SETTINGS {
        let told = told(json!({known: {"": 1}}));
        assert!(!told.contains(&format!("{known}: no such")), "{told}");
    }
}

#[test]
fn settings_without_their_type_are_obeyed_and_say_so() {
    let item = json!({"id": "site/www.example.com", "public": false});
    assert!(is_settings("site/www.example.com", &item));
    let settings = SiteSettings::parse("www.example.com", &item).unwrap();
    assert!(!settings.public);
    assert_eq!(
        settings.problems[0].to_string(),
        "type: not \"site\"; read as the settings of www.example.com, since the record has no url: missing"
    );
    let page = json!({"type": "page", "url": "https://www.example.com/"});
    assert!(!is_settings("site/about", &page));
    assert!(!is_settings("post/1", &item));
}

#[test]
fn problems_are_counted_beyond_a_limit_and_those_that_close_come_first() {
    let mut item: Map<String, Value> = (0..100).map(|n| (format!("a{n}"), json!(1))).collect();
    item.insert("public".to_owned(), json!("no"));
    let settings = SiteSettings::parse("www.example.com", &Value::Object(item)).unwrap();
    assert_eq!(settings.problems.len(), MAX_PROBLEMS + 1);
    assert_eq!(settings.problems[0].field, "public");
    assert_eq!(
        settings.problems[MAX_PROBLEMS].to_string(),
        "…: 81 more problems"
    );
}

#[test]
fn what_decides_listing_fails_closed() {
    let types =
        |value: Value| SiteSettings::parse("www.example.com", &json!({"types": value})).unwrap();
    let settings = types(
        json!({"aaa": {"priority": 7}, "b": {"public": "no"}, "c": 1, "zzz": {"public": false}}),
    );
    assert!(settings.public && settings.type_settings("aaa").public);
    assert!(
        ["b", "c", "zzz"]
            .iter()
            .all(|name| !settings.type_settings(name).public)
    );
    let fields: Vec<&str> = settings
        .problems
        .iter()
        .map(|problem| problem.field.as_str())
        .collect();
    assert_eq!(fields, ["types.aaa.priority", "types.b.public", "types.c"]);
    assert!(!types(json!(["post"])).public);
    let many: Map<_, _> = (0..=MAX_TYPES)
        .map(|n| (format!("t{n}"), json!({})))
        .collect();
    assert!(!types(Value::Object(many)).public);
}

#[test]
fn stored_settings_fit_into_an_item_whatever_the_record_holds() {
    let names = (0..MAX_TYPES).map(|n| {
        (
            format!("{n:0>64}"),
            json!({"priority": 0.5, "changefreq": "monthly"}),
        )
    });
    let lines: Vec<String> = (0..MAX_ROBOTS_BYTES / 2).map(|_| "\"".to_owned()).collect();
    let item = json!({"types": names.collect::<Map<_, _>>(), "robots": lines, "name": "\"".repeat(MAX_TEXT_BYTES), "byte_limit": "\u{1}".repeat(100_000)});
    let stored =
        serde_json::to_string(&SiteSettings::parse("www.example.com", &item).unwrap()).unwrap();
    assert!(stored.len() < 400_000, "{} bytes", stored.len());
}

#[test]
fn the_names_that_types_have_without_a_conflict_stay() {
    let settings = SiteSettings::default_for("www.example.com").unwrap();
    let name = |of: &str| settings.series_of(of).name;
    for (of, expected) in [
        ("post", "post"),
        ("page", "page"),
        ("post-pages", "post-pages"),
        ("video", "video-pages"),
        ("news", "news-pages"),
        ("wp", "wp-pages"),
        ("news-pages", "news-pages-pages"),
        ("wp-pages-pages", "wp-pages-pages-pages"),
        ("news-pagespages", "news-pagespages"),
    ] {
        assert_eq!(name(of), expected);
    }
    let longest = format!("{}{}", "x".repeat(52), "-pages".repeat(2));
    let reserved = json!({"video_series": longest, "news_series": "x".repeat(52)});
    let settings = SiteSettings::parse("www.example.com", &reserved).unwrap();
    assert_eq!(settings.problems, []);
    assert_eq!(settings.series_of(&longest).name, longest + "-pages-pages");
}

#[test]
fn a_private_type_closes_its_own_series_alone() {
    let item = json!({"types": {"news": {"public": false}}});
    let settings = SiteSettings::parse("www.example.com", &item).unwrap();
    assert_eq!(settings.hidden_series(), ["news-pages"]);
    assert_ne!(settings.series_of("news-pages").name, "news-pages");
}

/// Returns names that are likely to collide: a few roots, with suffixes.
fn names() -> impl Strategy<Value = String> {
    let root = prop_oneof![
        3 => prop::sample::select(vec!["news", "video", "wp", "a"]).prop_map(str::to_owned),
        1 => "[A-Za-z0-9_-]{1,34}",
    ];
    let suffix = prop::sample::select(vec!["-pages", "-pages", "pages", "-page"]);
    let suffixes = prop::collection::vec(suffix, 0..5);
    (root, suffixes).prop_map(|(root, suffixes)| root + &suffixes.concat())
}

proptest! {
    #[test]
    fn no_two_types_share_a_series_whatever_the_settings_call_the_others(
        video in names(), news in names(), types in prop::collection::btree_set(names(), 2..40),
    ) {
        let item = json!({"video_series": video, "news_series": news});
        let settings = SiteSettings::parse("www.example.com", &item).unwrap();
        let mut series = std::collections::BTreeMap::new();
        for name in [&settings.video_series, &settings.news_series, FOREIGN_INDEX_SERIES] {
            prop_assert_eq!(series.insert(name.to_owned(), "reserved".to_owned()), None);
        }
        for of in types {
            let name = settings.series_of(&of).name;
            prop_assert!(name.len() <= MAX_SERIES_BYTES, "{}", name);
            prop_assert!(name.starts_with(&of));
            let other = series.insert(name.clone(), of.clone());
            prop_assert_eq!(other, None, "{} has the series {}", of, name);
        }
    }
}

#[test]
fn hosts() {
    for good in [
        "www.example.com",
        "a",
        "xn--bcher-kva.example",
        "localhost:8080",
    ] {
        assert!(is_site_host(good), "{good}");
    }
    for bad in [
        "",
        ".",
        "..",
        "a..b",
        "a.",
        "A.example",
        "my_site.example",
        "[::1]",
        "a/b",
        "a:",
        "a:99999",
        "a:b",
    ] {
        assert!(!is_site_host(bad), "{bad}");
    }
}
