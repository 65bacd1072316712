use serde_json::json;

use super::fields::MAX_PROBLEMS;
use super::*;

/// Returns the problems of an otherwise valid record with these fields. `!` marks those that close it.
fn problems(fields: Value) -> Vec<String> {
    let mut item = json!({"type": "post", "url": "https://www.example.com/a"});
    item.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    let record = ContentRecord::parse("post/1", &item);
    let mark =
        |problem: &Problem| format!("{}{}", if problem.closes { "!" } else { "" }, problem.field);
    record.problems.iter().map(mark).collect()
}

#[test]
fn every_field_is_read() {
    let item = json!({
        "id": "post/42", "site": "www.example.com", "type": "post", "url": "https://www.example.com/blog/hello/",
        "title": "Hello", "description": "World", "canonical_url": "https://www.example.com/blog/hello/",
        "status": "published", "visibility": "public", "noindex": false, "kind": "content",
        "published_at": "2026-01-02T03:04:05Z", "modified_at": "2026-01-03", "expires_at": "2027-01-02T03:04:05+02:00",
        "changefreq": "weekly", "priority": 0.8, "images": [{"url": "https://cdn.example.net/1.png"}],
        "videos": [{"title": "v", "thumbnail_url": "https://i.example/1.jpg", "player_url": "https://v.example/1"}], "news": {"title": "n"}, "language": "en",
        "alternates": [{"hreflang": "de", "url": "https://www.example.de/"}], "translation_group": "g",
        "terms": {"author": ["jane"], "category": ["news"]}, "pages": 1,
        "archive_of": {"taxonomy": "category", "term": "news"}, "unknown": {"is": "ignored"}, "nothing": null,
    });
    let record = ContentRecord::parse("post/42", &item);
    assert_eq!(record.problems, []);
    assert_eq!(
        record.expires_at.unwrap().to_string(),
        "2027-01-02T01:04:05+00:00"
    );
    assert_eq!(record.modified_at.unwrap().to_string(), "2026-01-03");
    assert_eq!(record.images[0].as_str(), "https://cdn.example.net/1.png");
    assert_eq!(record.terms["author"], ["jane"]);
    assert_eq!(
        (record.pages, record.videos.len(), record.alternates.len()),
        (1, 1, 1)
    );
    assert_eq!(record.archive_of.unwrap().term, "news");
}

#[test]
fn what_decides_listing_fails_closed() {
    for (fields, problem) in [
        (json!({"url": 3}), "!url"),
        (json!({"type": null}), "!type"),
        (json!({"type": "../x"}), "!type"),
        (json!({"status": "live"}), "!status"),
        (json!({"visibility": 1}), "!visibility"),
        (json!({"noindex": "yes"}), "!noindex"),
        (json!({"kind": "page"}), "!kind"),
        (json!({"modified_at": "2020-02-30"}), "!modified_at"),
        (json!({"published_at": 1_700_000_000}), "!published_at"),
        (json!({"expires_at": "soon"}), "!expires_at"),
        (json!({"archive_of": {"taxonomy": "tag"}}), "!archive_of"),
        (json!({"archive_of": "news"}), "!archive_of"),
        (json!({"canonical_url": 7}), "!canonical_url"),
        (
            json!({"canonical_url": "https://a.example/#b"}),
            "!canonical_url",
        ),
        (json!({"type": "site"}), "!id"),
    ] {
        assert_eq!(problems(fields), [problem]);
    }
    assert!(
        ContentRecord::parse("x", &json!("not an object"))
            .closing_problem()
            .is_some()
    );
    let long = "x".repeat(MAX_ID_BYTES + 1);
    assert_eq!(
        ContentRecord::parse(&long, &json!({"type": "t", "url": "https://a.example/"})).problems[0]
            .field,
        "id"
    );
}

#[test]
fn a_bad_optional_field_costs_that_field_alone() {
    for (fields, problem) in [
        (json!({"priority": 1.7}), "priority"),
        (json!({"changefreq": "often"}), "changefreq"),
        (json!({"news": 1}), "news"),
        (
            json!({"images": [{"url": "https://a.example/1"}, {"src": "x"}]}),
            "images[1].url",
        ),
        (
            json!({"alternates": [{"hreflang": "en_US", "url": "https://a.example/"}]}),
            "alternates[0].hreflang",
        ),
        (
            json!({"images": [{"url": "https://a.example/1", "caption": null},
                {"url": "https://a.example/2", "license": "https://a.example/l", "caption": "A"}]}),
            "images[1].caption",
        ),
        (
            json!({"alternates": [{"hreflang": "en-UK", "url": "https://a.example/"}]}),
            "alternates[0].hreflang",
        ),
        (json!({"language": "en_US"}), "language"),
        (json!({"language": "sr-SP"}), "language"),
        (json!({"pages": 0}), "pages"),
        (json!({"pages": 100_000}), "pages"),
        (json!({"terms": {"tag": "rust"}}), "terms.tag"),
        (json!({"title": 7}), "title"),
        (json!({"videos": [1]}), "videos[0]"),
    ] {
        assert_eq!(problems(fields), [problem]);
    }
}

#[test]
fn alternates_without_the_page_itself_are_left_out_if_it_was_given() {
    let link = |code: &str, url: &str| json!({"hreflang": code, "url": url});
    let (own, other) = ("https://www.example.com/日/", "https://www.example.com/en/");
    let respelled = "https://www.example.com/%e6%97%a5/";
    for (alternates, kept, wrong) in [
        (vec![link("ja", own), link("en", other)], 2, ""),
        (vec![link("ja", respelled), link("en", other)], 2, ""),
        // Never omitted: the record's alternates are written as before, and a note says so.
        (vec![link("en", other)], 1, ""),
        (vec![link("jp_JP", own), link("en", other)], 0, "alternates"),
        (
            vec![link("jp_JP", respelled), link("en", other)],
            0,
            "alternates",
        ),
        (vec![link("en", other), link("en", own)], 0, "alternates"),
        (
            vec![
                link("jp_JP", own),
                link("en", other),
                link("x-default", own),
            ],
            2,
            "",
        ),
    ] {
        let item = json!({"type": "t", "url": own, "alternates": alternates});
        let record = ContentRecord::parse("p", &item);
        assert_eq!(record.alternates.len(), kept, "{item}");
        let mut places = record.problems.iter().map(|problem| problem.field.as_str());
        assert_eq!(
            places.any(|place| place == "alternates"),
            !wrong.is_empty(),
            "{item}"
        );
    }
}

#[test]
fn a_page_whose_region_is_unknown_keeps_its_language_for_news_and_is_in_no_group() {
    let item = json!({"type": "t", "url": "https://a.example/", "language": "en-UK", "translation_group": "g"});
    let record = ContentRecord::parse("p", &item);
    assert_eq!(record.language.as_deref(), Some("en-UK"));
    assert_eq!(record.translation_group, None);
    let problems: Vec<_> = record.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "language: \"en-UK\" has the region UK, which is not in ISO 3166-1: the United Kingdom is GB",
            "translation_group: the page has no valid language",
        ]
    );
}

#[test]
fn only_the_first_page_of_an_archive_is_listed() {
    let archive = json!({"taxonomy": "tag", "term": "rust"});
    let fields = |pages: u32| json!({"archive_of": archive, "pages": pages});
    assert_eq!(problems(fields(3)), ["pages"]);
    assert_eq!(problems(fields(1)), [""; 0]);
    let item =
        json!({"type": "tag", "url": "https://a.example/", "pages": 3, "archive_of": archive});
    assert_eq!(ContentRecord::parse("p", &item).pages, 1);
}

#[test]
fn the_same_image_or_video_is_listed_once() {
    let image = |path: &str| json!({"url": format!("https://i.example/{path}")});
    let video = |title: &str| json!({"title": title, "thumbnail_url": "https://i.example/1.jpg", "content_url": "https://v.example/1"});
    let item = json!({"type": "t", "url": "https://a.example/",
        "images": [image("ü"), image("b"), image("%C3%BC"), image("b")],
        "videos": [video("v"), video("w"), video("v")]});
    let record = ContentRecord::parse("p", &item);
    let images: Vec<&str> = record.images.iter().map(Loc::as_str).collect();
    assert_eq!(images, ["https://i.example/%C3%BC", "https://i.example/b"]);
    let titles: Vec<&str> = record
        .videos
        .iter()
        .map(|video| video.title.as_str())
        .collect();
    assert_eq!(titles, ["v", "w"]);
    assert_eq!(record.problems, []);
}

#[test]
fn what_has_the_id_of_settings_and_no_url_is_settings() {
    let parse = |id: &str, item: Value| ContentRecord::parse(id, &item);
    let private = json!({"public": false});
    let settings = parse("site/www.example.com", private.clone());
    assert_eq!(
        (settings.type_name.as_str(), settings.problems),
        ("site", vec![])
    );
    let misspelt = parse("site/www.example.com", json!({"type": "Site"}));
    assert_eq!(
        (misspelt.type_name.as_str(), misspelt.problems),
        ("site", vec![])
    );
    let nobodys = parse("site/WWW.example.com", private.clone());
    assert_eq!(nobodys.problems[0].field, "id");
    let page = parse(
        "site/about",
        json!({"type": "page", "url": "https://a.example/about"}),
    );
    assert_eq!((page.type_name.as_str(), page.problems), ("page", vec![]));
    let page = parse("site/about", json!({"url": "https://a.example/about"}));
    assert_eq!(page.problems[0].to_string(), "type: missing");
    assert_eq!(parse("about", private).problems[0].field, "url");
}

#[test]
fn of_1001_images_1000_are_kept() {
    let images: Vec<Value> = (0..1_001)
        .map(|i| json!({"url": format!("https://a.example/{i}.png")}))
        .collect();
    let item = json!({"type": "post", "url": "https://a.example/", "images": images});
    let record = ContentRecord::parse("p", &item);
    assert_eq!(record.images.len(), MAX_IMAGES);
    assert_eq!(
        record.problems[0].to_string(),
        "images: 1001 are given; the first 1000 are kept"
    );
}

#[test]
fn many_problems_are_counted_and_none_that_closes_is_lost() {
    let images: Vec<Value> = (0..100).map(|_| json!({"url": ""})).collect();
    let record = ContentRecord::parse(
        "p",
        &json!({"url": "https://a.example/", "type": "t", "images": images, "archive_of": {}}),
    );
    assert_eq!(record.problems.len(), MAX_PROBLEMS + 2);
    assert!(record.closing_problem().is_some());
}

#[test]
fn what_is_remembered_of_a_record_is_small_whatever_it_holds() {
    let huge = "\u{1}".repeat(100_000);
    let mut terms = serde_json::Map::new();
    terms.insert(huge.clone(), json!(1));
    let alternates = json!([{"hreflang": huge, "url": huge}]);
    let item = json!({"url": huge, "type": huge, "status": huge, "site": huge, "terms": terms, "alternates": alternates});
    let record = ContentRecord::parse("p", &item);
    assert!(
        record
            .problems
            .iter()
            .all(|problem| problem.to_string().chars().count() < 700),
        "{:?}",
        record.problems
    );
    assert_eq!((record.site.as_str(), record.type_name.as_str()), ("", ""));
}
