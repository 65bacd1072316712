//! Messages about content: excluded pages, records, settings and mappings.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sitemap::eligibility::Refusal;
use sitemap::loc::{Loc, LocError, MAX_LOC_BYTES};
use sitemap::mapping::{KeyValue, Mapping};
use sitemap::record::schema::FIELDS;
use sitemap::record::{ContentRecord, Kind, Problem, Status, Visibility};
use sitemap::site::{SETTINGS, SiteSettings};
use sitemap::time::{TimeError, When};

use super::{HOST, URL, code};

/// Returns why a page is excluded, and what to do about it.
pub(super) fn refusals() -> Vec<(Refusal, &'static str)> {
    let loc = Loc::parse_any("https://www.example.com/b").unwrap();
    let at = When::parse("2030-01-02T03:04:05Z").unwrap();
    every!(Refusal {
        Refusal::BadField(_) => (
            Refusal::BadField(Problem::new("status", "\"live\" is not one of published, draft", true)),
            "Correct the field; its messages are below",
        ),
        Refusal::BadUrl(_) => (Refusal::BadUrl(LocError::Fragment), "Correct `url`; the messages of addresses are below"),
        Refusal::UnknownSite(_) => (
            Refusal::UnknownSite(HOST.to_owned()),
            "Write the record `site/HOST`, or add the host to the parameter `Sites`",
        ),
        Refusal::SitePrivate => (Refusal::SitePrivate, "If the site should be listed, remove `public` from its settings"),
        Refusal::Moved(_) => (
            Refusal::Moved("https://www.example.com/b".to_owned()),
            "Nothing; remove `moved_to` if the page is at its address again",
        ),
        Refusal::Gone => (Refusal::Gone, "Nothing; remove `gone` if the page is there again"),
        Refusal::TypeNotPublic(_) => (
            Refusal::TypeNotPublic("post".to_owned()),
            "If the type should be listed, remove its `public` from the site's settings",
        ),
        Refusal::NotPublished(_) => (Refusal::NotPublished(Status::Draft), "Publish the page: `status` is then `published`"),
        Refusal::NotVisible(_) => (Refusal::NotVisible(Visibility::Password), "Make the page public"),
        Refusal::Noindex => (Refusal::Noindex, "Remove `noindex` if search engines may index the page"),
        Refusal::NotContent(_) => (Refusal::NotContent(Kind::SearchResults), "Remove `kind` if it is a page of content"),
        Refusal::EmptyArchive => (Refusal::EmptyArchive, "Nothing: it is listed with its first page"),
        Refusal::NoPartUrl(_) => (Refusal::NoPartUrl("post".to_owned()), "Set `part_url` for the type"),
        Refusal::CanonicalElsewhere(_) => (
            Refusal::CanonicalElsewhere(loc),
            "Remove `canonical_url` if the page itself should be listed",
        ),
        Refusal::NotYet(_) => (Refusal::NotYet(at), "Nothing: it is listed at that time"),
        Refusal::Expired(_) => (Refusal::Expired(at), "Change `expires_at` if the page is still there"),
        Refusal::Duplicate => (Refusal::Duplicate, "Nothing, if one of them is enough; else give each an address of its own"),
    })
}

pub(super) fn loc_errors() -> Vec<LocError> {
    every!(LocError {
        LocError::NotAbsolute => LocError::NotAbsolute,
        LocError::Scheme { .. } => LocError::Scheme { scheme: "ftp".to_owned() },
        LocError::ForeignOrigin { .. } => LocError::ForeignOrigin {
            origin: "http://www.example.com".to_owned(),
            expected: "https://www.example.com".to_owned(),
        },
        LocError::Fragment => LocError::Fragment,
        LocError::UserInfo => LocError::UserInfo,
        LocError::Whitespace => LocError::Whitespace,
        LocError::Control { .. } => LocError::Control { code: 9 },
        LocError::TooLong { .. } => LocError::TooLong { bytes: 2_100, limit: MAX_LOC_BYTES },
        LocError::NotAnOrigin => LocError::NotAnOrigin,
        LocError::Invalid { .. } => LocError::Invalid { reason: "invalid port number".to_owned() },
    })
}

pub(super) fn time_errors() -> Vec<TimeError> {
    every!(TimeError {
        TimeError::Form => TimeError::Form,
        TimeError::NoZone => TimeError::NoZone,
        TimeError::NoSuchTime => TimeError::NoSuchTime,
        TimeError::Range => TimeError::Range,
    })
}

/// Returns bad values of each field of a record, in the order of the reference.
fn bad_fields() -> Vec<Value> {
    let long = "x".repeat(201);
    let many = |count: usize, value: Value| Value::from(vec![value; count]);
    let video = |fields: Value| {
        let mut video = json!({"thumbnail_url": "https://i.example/1.jpg", "content_url": "https://v.example/1.mp4", "title": "A"});
        video
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        json!({"videos": [video]})
    };
    vec![
        json!({"site": 7}),
        json!({"site": "x".repeat(300)}),
        json!({"type": null}),
        json!({"type": "my posts"}),
        json!({"url": null}),
        json!({"url": 7}),
        json!({"title": 7}),
        json!({"description": 7}),
        json!({"canonical_url": "https://www.example.com/a#top"}),
        json!({"status": "live"}),
        json!({"visibility": "all"}),
        json!({"noindex": "no"}),
        json!({"kind": "page"}),
        json!({"moved_to": 7}),
        json!({"moved_to": "javascript:alert(1)"}),
        json!({"moved_to": URL}),
        json!({"moved_to": "/b#\u{e4}"}),
        json!({"gone": "yes"}),
        json!({"gone": true, "moved_to": "/b"}),
        json!({"published_at": 1_700_000_000}),
        json!({"modified_at": "2026-02-30"}),
        json!({"expires_at": "2026-01-02T03:04:05"}),
        json!({"changefreq": "often"}),
        json!({"priority": 1.7}),
        json!({"images": "https://www.example.com/1.jpg"}),
        json!({"images": many(1_001, json!({"url": "https://www.example.com/1.jpg"}))}),
        json!({"images": [{}]}),
        json!({"images": [{"url": "/1.jpg"}]}),
        json!({"images": [{"url": "https://www.example.com/1.jpg", "caption": "Soup"}]}),
        json!({"videos": ["v"]}),
        json!({"videos": [{"content_url": "https://v.example/1.mp4", "title": "A"}]}),
        json!({"videos": [{"thumbnail_url": "https://i.example/1.jpg", "title": "A"}]}),
        json!({"videos": [{"thumbnail_url": "https://i.example/1.jpg", "content_url": "https://v.example/1.mp4"}]}),
        video(json!({"title": "x".repeat(101)})),
        video(json!({"duration": 0})),
        video(json!({"view_count": -1})),
        video(json!({"rating": 6})),
        video(json!({"expires_at": "soon"})),
        video(json!({"tags": "x"})),
        video(json!({"tags": [7]})),
        video(json!({"tags": many(33, json!("x"))})),
        video(json!({"live": "yes"})),
        video(json!({"restriction": {"allow": ["de"]}})),
        video(json!({"uploader": {}})),
        json!({"news": 7}),
        json!({"news": {"title": 7}}),
        json!({"language": "english"}),
        json!({"language": "en-UK"}),
        json!({"alternates": [{"hreflang": "xx", "url": URL}]}),
        json!({"alternates": [{"hreflang": "en-EU", "url": URL}]}),
        json!({"alternates": [{"hreflang": "de", "url": URL}, {"hreflang": "de", "url": URL}]}),
        json!({"translation_group": long}),
        json!({"translation_group": "home"}),
        json!({"x_default": "yes"}),
        json!({"terms": "news"}),
        json!({"terms": {"tag": "news"}}),
        json!({"terms": {"tag": [7]}}),
        json!({"terms": {"tag": [long]}}),
        json!({"terms": {"tag": (0..31).map(|n| n.to_string()).collect::<Vec<_>>()}}),
        json!({"pages": 0}),
        json!({"pages": 2, "archive_of": {"taxonomy": "tag", "term": "news"}}),
        json!({"archive_of": {"taxonomy": "tag"}}),
    ]
}

/// Returns a text cut to 160 characters: the texts of many values are long.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(160) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

pub(super) fn record_rows() -> Vec<[String; 2]> {
    let base = json!({"type": "post", "url": URL});
    let (mut rows, mut named) = (Vec::new(), BTreeSet::new());
    let mut row = |problem: &Problem| {
        let name = problem.field.split(['[', '.']).next().unwrap_or_default();
        named.insert(name.to_owned());
        let effect = if problem.closes { "excluded" } else { "listed" };
        let row = [code(shortened(&problem.to_string())), effect.to_owned()];
        if !rows.contains(&row) {
            rows.push(row);
        }
    };
    let long = ContentRecord::parse(&"x".repeat(901), &base);
    let settings = ContentRecord::parse("site/WWW", &json!({"type": "site"}));
    long.problems
        .iter()
        .chain(&settings.problems)
        .for_each(&mut row);
    for fields in bad_fields() {
        let mut item = base.clone();
        item.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let found = ContentRecord::parse("p", &item).problems;
        assert!(!found.is_empty(), "{fields} is not wrong");
        found.iter().for_each(&mut row);
    }
    let crowded = json!({"type": "post", "url": URL, "images": vec![json!({}); 25]});
    row(ContentRecord::parse("p", &crowded).problems.last().unwrap());
    for field in FIELDS {
        assert!(named.contains(field.name), "no message of {}", field.name);
    }
    rows
}

/// Returns what is wrong with each field of a site's settings.
pub(super) fn settings_rows() -> Vec<[String; 2]> {
    let bad = [
        json!({"id": "site/www.example.com", "types": {}}),
        json!({"base_url": "https://other.example"}),
        json!({"base_url": "www.example.com/blog"}),
        json!({"base_url": "https://www.example.com/blog"}),
        json!({"public": "yes"}),
        json!({"entries_per_sitemap": 0}),
        json!({"byte_limit": 1}),
        json!({"types": []}),
        json!({"types": {"my posts": {}}}),
        json!({"types": {"post": 7}}),
        json!({"types": {"post": {"public": "no"}}}),
        json!({"types": {"post": {"changefreq": "often"}}}),
        json!({"types": {"post": {"priority": 2}}}),
        json!({"types": {"post": {"news": "yes"}}}),
        json!({"types": {"post": {"part_url": "/{part}"}}}),
        json!({"types": {"post": {"part_urls": 1}}}),
        json!({"types": {"post": {"colour": 1}}}),
        json!({"robots": "Disallow:"}),
        json!({"robots": [7]}),
        json!({"robots": ["Disallow: /x\u{1}"]}),
        json!({"robots": ["Allow: /x\u{1}"]}),
        json!({"robots": ["x".repeat(100_000)]}),
        json!({"name": ""}),
        json!({"language": "english"}),
        json!({"news_name": 7}),
        json!({"news_published_only": "yes"}),
        json!({"video_series": "my videos"}),
        json!({"news_series": "wp"}),
        json!({"news_series": "a", "video_series": "a"}),
        json!({"stylesheet": "pdf"}),
        json!({"feed": "yes"}),
        json!({"feed_in_robots": "yes"}),
        json!({"feed": false, "feed_in_robots": true}),
        json!({"llms": "yes"}),
        json!({"llms": {"summary": "A bakery."}}),
        json!({"llms": {"types": []}}),
        json!({"llms": {"types": ["my posts"]}}),
        json!({"llms": {"types": ["post"], "title": 7}}),
        json!({"llms": {"types": ["post"], "colour": "red"}}),
        json!({"indexnow_key": "?"}),
        json!({"index_lastmod": "now"}),
        json!({"cascaded_index": "yes"}),
        json!({"moved_max_age": "a day"}),
        json!({"not_found_page": 404}),
        json!({"not_found_page": ""}),
        json!({"also": "https://a.example/"}),
        json!({"also": [7]}),
        json!({"also": ["/s.xml"]}),
        json!({"also": ["https://www.example.com/post-sitemap.xml"]}),
        json!({"also": ["https://a.example/", "https://a.example/"]}),
        json!({"also": [{"url": "https://a.example/", "lastmod": "now"}]}),
        json!({"also": [{"url": "https://a.example/", "colour": 1}]}),
        json!({"publik": true}),
        json!({"colour": "red"}),
    ];
    let (mut rows, mut named) = (Vec::new(), BTreeSet::new());
    for item in bad {
        let problems = SiteSettings::parse(HOST, &item).unwrap().problems;
        assert!(!problems.is_empty(), "{item} is not wrong");
        for problem in problems {
            let name = problem.field.split(['[', '.']).next().unwrap_or_default();
            named.insert(name.to_owned());
            let effect = if problem.closes { "closed" } else { "default" };
            let row = [code(shortened(&problem.to_string())), effect.to_owned()];
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    for field in SETTINGS {
        assert!(named.contains(field), "no message of {field}");
    }
    rows
}

/// Returns what is wrong with mappings, and with what mappings make of items.
pub(super) fn mapping_rows() -> Vec<[String; 2]> {
    let with = |fields: Value| {
        let mut all = json!({"type": {"constant": "post"}, "url": {"template": "https://www.example.com/{slug}"}});
        all.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        json!({"key": [{"pk": "S"}], "fields": all})
    };
    let bad = [
        json!("{"),
        json!([]),
        json!({"key": [], "columns": {}}),
        json!({"key": [{"pk": "X"}, {"pk": "S"}]}),
        json!({"key": [{"pk": "S"}, {"pk": "S"}], "fields": {"type": "t", "url": "u"}}),
        json!({"key": [{"pk": "S"}], "only": {"a": [], "b": [[]], "c": {"prefix": 7}}, "fields": {"type": "t", "url": "u"}}),
        with(json!({"headline": "title"})),
        with(json!({"title": 7})),
        with(json!({"title": {"paths": "a"}})),
        with(json!({"title": {"path": "a..b"}})),
        with(json!({"title": {"path": "a", "values": {}, "time": "seconds"}})),
        with(json!({"title": {"path": "a", "time": "days"}})),
        with(json!({"title": {"path": "a", "values": {}}})),
        with(json!({"title": {"path": "a", "values": {"x": []}}})),
        with(json!({"title": {"path": "a", "each": "b"}})),
        with(json!({"title": {"template": "{a"}})),
        with(json!({"title": {"list": ["a"]}})),
        with(json!({"images": {"list": "a"}})),
        with(json!({"url": {"template": "https://{+host}"}})),
        with(json!({"status": {"constant": "live"}})),
        with(json!({"type": {"constant": "site"}})),
        with(json!({"title": {"constant": "x".repeat(2_600)}})),
    ];
    let mut rows = Vec::new();
    let mut add = |kind: &str, text: String| {
        let row = [code(shortened(&text)), kind.to_owned()];
        if !rows.contains(&row) {
            rows.push(row);
        }
    };
    for mapping in bad {
        let text = mapping
            .as_str()
            .map_or_else(|| mapping.to_string(), str::to_owned);
        for problem in Mapping::parse(&text).unwrap_err().problems() {
            add("mapping", format!("{}: {}", problem.place, problem.reason));
        }
    }
    let mapping = with(json!({
        "status": {"path": "state", "values": {"live": "published"}},
        "modified_at": {"path": "changed", "time": "seconds"},
        "images": {"path": "media", "each": {"object": {"url": "src"}}},
    }));
    let mapping = Mapping::parse(&mapping.to_string()).unwrap();
    let id = mapping.id(&[KeyValue::Text("p".to_owned())]);
    for item in [
        json!({}),
        json!({"slug": [], "state": "gone", "changed": "today", "media": 7}),
        json!({"slug": "..", "state": "live", "media": [{}]}),
    ] {
        for problem in mapping.record(&id, &item).unwrap().problems {
            add("item", problem.to_string());
        }
    }
    rows
}
