use proptest::prelude::*;
use serde_json::json;

use super::*;

fn mapping(fields: Value) -> Mapping {
    let mut all = json!({"type": {"constant": "post"}, "url": "url"});
    all.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    let text = json!({"key": [{"pk": "S"}], "fields": all}).to_string();
    Mapping::parse(&text).unwrap()
}

/// Checks the value that a field gets from an item, or the problem of the record, with `!` if the problem excludes the page.
#[track_caller]
fn check(source: Value, field: &str, item: Value, expected: Result<Value, &str>) {
    let (content, problems) = mapping(json!({field: source})).content(&item);
    let problem = problems.iter().find(|problem| problem.field == field);
    match expected {
        Ok(value) => {
            assert_eq!(problem, None);
            assert_eq!(content.get(field).unwrap_or(&Value::Null), &value);
        }
        Err(expected) => {
            let problem = problem.expect("a problem");
            let mark = if problem.closes { "!" } else { "" };
            assert_eq!(format!("{mark}{}", problem.reason), expected);
        }
    }
}

#[test]
fn a_value_comes_from_where_the_mapping_says() {
    let item = json!({"a": {"b": "deep", "n": 3}, "a.b": "flat", "tags": ["x", "y"], "none": null});
    for (source, expected) in [
        (json!("a.b"), json!("deep")),
        (json!({"path": ["a.b"]}), json!("flat")),
        (json!("tags.1"), json!("y")),
        (json!("tags.2"), Value::Null),
        (json!("none"), Value::Null),
        (json!("a.c"), Value::Null),
        (json!("none.c.d"), Value::Null),
        (json!({"constant": "always"}), json!("always")),
        (json!({"template": "{a.b} and {a.n}"}), json!("deep and 3")),
        (json!({"template": "{nowhere}!"}), Value::Null),
        (json!({"first": ["nowhere", "a.b"]}), json!("deep")),
        (json!({"first": ["nowhere", "none"]}), Value::Null),
        (
            json!({"first": ["nowhere", {"constant": "else"}]}),
            json!("else"),
        ),
    ] {
        check(source, "title", item.clone(), Ok(expected));
    }
}

#[test]
fn a_path_into_what_has_no_steps_is_bad_and_closes_what_decides() {
    let item = json!({
        "url": "https://www.example.com/a/",
        "text": r#"{"state": "draft"}"#,
        "number": 7,
        "yes": true,
        "bytes": binary(),
        "list": [{"state": "draft"}],
        "null": null,
        "map": {"state": "draft"},
    });
    for (path, expected) in [
        (
            "text.state",
            r#"text is "{\"state\": \"draft\"}", which has no state"#,
        ),
        ("number.state", "number is 7, which has no state"),
        ("yes.state", "yes is true, which has no state"),
        (
            "bytes.state",
            r#"bytes is {"binary":true}, which has no state"#,
        ),
        (
            "list.state",
            r#"list is [{"state":"draft"}], which has no state"#,
        ),
        (
            "map.state.more",
            r#"map.state is "draft", which has no more"#,
        ),
    ] {
        for field in [
            "status",
            "visibility",
            "noindex",
            "kind",
            "published_at",
            "expires_at",
            "canonical_url",
        ] {
            for source in [
                json!(path),
                json!({"path": path, "values": {"x": "published", "*": "published"}}),
                json!({"first": [path, {"constant": "published"}]}),
                json!({"template": format!("{{{path}}}")}),
            ] {
                // Not every field accepts each of these words, and a mapping with a refused word is invalid.
                let text = json!({"key": [{"pk": "S"}], "fields": {"type": {"constant": "post"}, "url": "url", field: source}});
                let Ok(mapping) = Mapping::parse(&text.to_string()) else {
                    continue;
                };
                let record = mapping.record("@1", &item).unwrap();
                let closing = record
                    .problems
                    .iter()
                    .find(|problem| problem.closes)
                    .expect("it closes");
                assert_eq!(
                    (closing.field.as_str(), closing.reason.as_str()),
                    (field, expected)
                );
            }
        }
        check(json!(path), "title", item.clone(), Err(expected));
        // It is not known either whether the item is a page.
        for wanted in [json!(null), json!("draft"), json!([null, "draft"])] {
            let text = json!({"key": [{"pk": "S"}], "only": {path: wanted},
                "fields": {"type": {"constant": "post"}, "url": "url"}});
            let mapping = Mapping::parse(&text.to_string()).unwrap();
            assert_eq!(mapping.mismatch(&item), Some(format!("its {expected}")));
        }
    }
    for path in [
        "null.state",
        "map.other",
        "list.0.other",
        "list.1.state",
        "nowhere.state",
    ] {
        check(json!(path), "title", item.clone(), Ok(Value::Null));
    }
}

#[test]
fn an_empty_text_is_missing_unless_it_decides_whether_a_page_is_listed() {
    let item = json!({"url": "https://www.example.com/a/", "empty": "", "full": "full", "list": ["", "x"]});
    for (source, field, expected) in [
        (json!("empty"), "title", Ok(Value::Null)),
        (json!("empty"), "published_at", Ok(Value::Null)),
        (json!("empty"), "expires_at", Ok(Value::Null)),
        (json!("empty"), "canonical_url", Ok(Value::Null)),
        (
            json!({"path": "empty", "time": "seconds"}),
            "modified_at",
            Ok(Value::Null),
        ),
        (
            json!({"first": ["empty", "full"]}),
            "title",
            Ok(json!("full")),
        ),
        (
            json!({"first": ["empty", {"template": "{empty}!"}]}),
            "title",
            Ok(Value::Null),
        ),
        (
            json!({"template": "{full} {empty}"}),
            "title",
            Ok(Value::Null),
        ),
        (
            json!({"object": {"tag": {"path": "list", "each": "."}}}),
            "terms",
            Ok(json!({"tag": ["x"]})),
        ),
        (
            json!({"path": "empty", "values": {"*": "other"}, "missing": "none"}),
            "title",
            Ok(json!("none")),
        ),
        (
            json!({"path": "empty", "values": {"": "none", "*": "other"}}),
            "title",
            Ok(json!("none")),
        ),
        (json!("empty"), "status", Err("!empty is empty")),
        (json!("empty"), "visibility", Err("!empty is empty")),
        (json!("empty"), "noindex", Err("!empty is empty")),
        (json!("empty"), "kind", Err("!empty is empty")),
        (json!("empty"), "url", Err("!empty is empty")),
        (json!("empty"), "type", Err("!empty is empty")),
        (
            json!({"first": ["empty", {"constant": "published"}]}),
            "status",
            Err("!empty is empty"),
        ),
        (
            json!({"path": "empty", "values": {"*": "published"}}),
            "status",
            Err("!empty is empty"),
        ),
        (
            json!({"path": "empty", "values": {"": "draft", "live": "published"}}),
            "status",
            Ok(json!("draft")),
        ),
        (
            json!({"template": "https://www.example.com/{empty}/"}),
            "url",
            Err("!empty is empty"),
        ),
    ] {
        check(source, field, item.clone(), expected);
    }
    // A path of another field is not affected by the previous field.
    let both = mapping(
        json!({"status": "full", "title": "empty", "visibility": "full", "description": "empty"}),
    );
    let (_, problems) = both.content(&item);
    assert_eq!(problems, []);
}

#[test]
fn a_text_of_json_is_parsed_where_the_mapping_says_so() {
    let item = json!({
        "meta": r#"{"state": "draft", "tags": ["a", "b"], "slug": "x y", "updated": 1767323045, "inner": "{\"n\": 1}"}"#,
        "map": {"meta": r#"{"state": "live"}"#},
        "broken": "{\"state\"",
        "word": "draft",
    });
    let json = |path: &str| json!({"path": path, "json": true});
    for (source, expected) in [
        (json("meta.state"), Ok(json!("draft"))),
        (json("map.meta.state"), Ok(json!("live"))),
        (json("meta.nowhere"), Ok(Value::Null)),
        (json("nowhere.state"), Ok(Value::Null)),
        // Only the first text is parsed.
        (json("meta.inner"), Ok(json!(r#"{"n": 1}"#))),
        (
            json("meta.inner.n"),
            Err(r#"meta.inner is "{\"n\": 1}", which has no n"#),
        ),
        (
            json!({"template": "{meta.slug}!", "json": true}),
            Ok(json!("x y!")),
        ),
        (
            json("word"),
            Err(r#"word is "draft", which is not JSON: expected value at line 1 column 1"#),
        ),
        (
            json("broken.state"),
            Err(
                r#"broken is "{\"state\"", which is not JSON: EOF while parsing an object at line 1 column 8"#,
            ),
        ),
    ] {
        check(source, "title", item.clone(), expected);
    }
    let values = json!({"path": "meta.state", "json": true, "values": {"live": "published", "draft": "draft"}});
    check(values, "status", item.clone(), Ok(json!("draft")));
    check(
        json("broken.state"),
        "status",
        item.clone(),
        Err(
            r#"!broken is "{\"state\"", which is not JSON: EOF while parsing an object at line 1 column 8"#,
        ),
    );
    let time = json!({"path": "meta.updated", "json": true, "time": "seconds"});
    check(
        time,
        "modified_at",
        item.clone(),
        Ok(json!("2026-01-02T03:04:05+00:00")),
    );
    let tags = json!({"object": {"tag": {"path": "meta.tags", "json": true, "each": "."}}});
    check(tags, "terms", item, Ok(json!({"tag": ["a", "b"]})));
}

#[test]
fn a_word_without_a_translation_closes_wherever_it_stands_among_others() {
    let state = json!({"path": "state", "values": {"live": "published"}});
    for first in [json!([state, "legacy"]), json!(["legacy", state])] {
        let (_, problems) =
            mapping(json!({"status": {"first": first}})).content(&json!({"url": "x"}));
        let closing = problems.iter().filter(|problem| problem.closes);
        assert_eq!(closing.count(), 1, "{problems:?}");
    }
}

#[test]
fn a_canonical_address_that_cannot_be_mapped_leaves_the_page_out() {
    let source = json!({"path": "main", "values": {"own": "/a/"}});
    let item = |main: Value| json!({"url": "https://www.example.com/b/", "main": main});
    for (source, main) in [
        (json!({"template": "/{main}/"}), json!(["a"])),
        (json!({"template": "/{main}/"}), json!(1.5)),
        (json!({"template": "/{main}/"}), json!({"slug": "a"})),
        (source.clone(), json!("other")),
        (source, Value::Null),
    ] {
        let (_, problems) = mapping(json!({"canonical_url": source})).content(&item(main));
        let closing = problems.iter().filter(|problem| problem.closes);
        let fields: Vec<&str> = closing.map(|problem| problem.field.as_str()).collect();
        assert_eq!(fields, ["canonical_url"], "{problems:?}");
    }
    // A missing canonical URL has no effect.
    let (content, problems) = mapping(json!({"canonical_url": "main"})).content(&item(Value::Null));
    assert_eq!((content.get("canonical_url"), problems), (None, vec![]));
}

#[test]
fn a_template_of_a_url_encodes_what_it_takes() {
    let item =
        json!({"slug": "käse & brot/1", "path": "/a/b%20c/?x=1", "n": 1.5, "up": "..", "no": ""});
    for (template, expected) in [
        ("/{slug}/", Ok("/k%C3%A4se%20%26%20brot%2F1/")),
        ("/{+path}", Ok("/a/b%20c/?x=1")),
        ("/x?id={slug}", Ok("/x?id=k%C3%A4se%20%26%20brot%2F1")),
        ("/{n}", Err("!n is 1.5, neither a text nor a whole number")),
        ("/{up}/", Err("!up is \"..\", not a step of a path")),
        ("/{no}/", Err("!no is empty")),
        ("/{nowhere}", Err("!missing, since the item has no nowhere")),
    ] {
        let full = |path: &str| format!("https://www.example.com{path}");
        let expected = expected.map(|path| json!(full(path)));
        check(
            json!({"template": full(template)}),
            "url",
            item.clone(),
            expected,
        );
    }
    // The result is never another host's URL, whatever the values are.
    let evil =
        json!({"path": "//evil.example/", "slug": "@evil.example", "host": "a@evil.example"});
    for template in [
        "https://www.example.com/{+path}",
        "https://www.example.com/{slug}",
    ] {
        let mapping = mapping(json!({"url": {"template": template}}));
        assert_eq!(mapping.record("@x", &evil).unwrap().site, "www.example.com");
    }
    let hosts = mapping(json!({"url": {"template": "https://{host}/"}}));
    assert_eq!(hosts.record("@x", &evil).unwrap().site, "");
}

#[test]
fn what_is_not_translated_is_closed() {
    let status = json!({"path": "state", "values": {"live": "published", "1": "published", "true": "published"}});
    for (state, expected) in [
        (json!("live"), Ok(json!("published"))),
        (json!(1), Ok(json!("published"))),
        (json!(true), Ok(json!("published"))),
        (
            json!("new"),
            Err("!state is \"new\", not one of 1, live, true"),
        ),
        (
            json!(["live"]),
            Err("!state is [\"live\"], not one of 1, live, true"),
        ),
        (
            Value::Null,
            Err("!the item has no state, and \"missing\" does not say what that means"),
        ),
    ] {
        check(status.clone(), "status", json!({"state": state}), expected);
    }
    let other = json!({"path": "state", "values": {"live": "published", "*": "draft"}});
    let said =
        json!({"path": "state", "values": {"live": "published", "*": "draft"}, "missing": "trash"});
    let unknown = "!the item has no state, and \"missing\" does not say what that means";
    for (item, of_other, of_said) in [
        (json!({"state": "new"}), Ok("draft"), "draft"),
        (json!({"state": {}}), Ok("draft"), "draft"),
        // A missing value is not one of the other values.
        (json!({"state": null}), Err(unknown), "trash"),
        (json!({}), Err(unknown), "trash"),
    ] {
        check(
            other.clone(),
            "status",
            item.clone(),
            of_other.map(Value::from),
        );
        check(said.clone(), "status", item, Ok(json!(of_said)));
    }
    // An optional field of the page is omitted.
    let language = json!({"path": "lang", "values": {"1": "en"}});
    check(language.clone(), "language", json!({}), Ok(Value::Null));
    check(
        language,
        "language",
        json!({"lang": 2}),
        Err("lang is 2, not one of 1"),
    );
}

#[test]
fn times_are_texts_or_counted_from_1970() {
    let of = |time: &str| json!({"path": "at", "time": time});
    let (seconds, milliseconds) = (of("seconds"), of("milliseconds"));
    let (microseconds, text) = (of("microseconds"), of("text"));
    let berlin = json!({"path": "at", "time": "seconds", "zone": "Europe/Berlin"});
    let second = Ok(json!("2026-01-02T03:04:05+00:00"));
    for (source, at, expected) in [
        (&seconds, json!(1_767_323_045), second.clone()),
        (&seconds, json!("1767323045"), second.clone()),
        (&seconds, json!(1_767_323_045.9), second.clone()),
        (&milliseconds, json!(1_767_323_045_999_i64), second.clone()),
        (&microseconds, json!("1767323045999999"), second.clone()),
        (
            &microseconds,
            json!(1_767_323_045_999_999_i64),
            second.clone(),
        ),
        // Texts of the same column, because some mappers write both.
        (&seconds, json!("2026-01-02T03:04:05+0000"), second.clone()),
        (&seconds, json!("2026-01-02"), Ok(json!("2026-01-02"))),
        (&seconds, json!("1923-05-01"), Ok(json!("1923-05-01"))),
        (
            &text,
            json!("2026-01-02 03:04:05.5+00:00:00"),
            second.clone(),
        ),
        (&berlin, json!("2026-01-02T04:04:05"), second.clone()),
        (&berlin, json!("1767323045"), second),
        (&seconds, Value::Null, Ok(Value::Null)),
        (
            &seconds,
            json!("2026-01-02T03:04:05"),
            Err(
                "!at is \"2026-01-02T03:04:05\", a date and time without a zone: add Z or an offset such as +01:00",
            ),
        ),
        (
            &seconds,
            json!(1_767_323_045_999_i64),
            Err(
                "!at is 1767323045999, in seconds 9999-12-31T23:59:59+00:00, which is not within the years 1990 to 2199; \
                 in milliseconds it is 2026-01-02T03:04:05+00:00",
            ),
        ),
        (
            &milliseconds,
            json!(1_767_323_045),
            Err(
                "!at is 1767323045, in milliseconds 1970-01-21T10:55:23+00:00, which is not within the years 1990 to 2199; \
                 in seconds it is 2026-01-02T03:04:05+00:00",
            ),
        ),
        (
            &seconds,
            json!(0),
            Err(
                "!at is 0, in seconds 1970-01-01T00:00:00+00:00, which is not within the years 1990 to 2199",
            ),
        ),
        (
            &text,
            json!(1_767_323_045),
            Err("!at is 1767323045, a number, and time does not say what it counts"),
        ),
        (
            &seconds,
            json!(true),
            Err("!at is true, neither a text nor a number"),
        ),
        (
            &seconds,
            json!("soon"),
            Err("!at is \"soon\", neither YYYY-MM-DD nor an RFC 3339 date and time"),
        ),
    ] {
        check(source.clone(), "modified_at", json!({"at": at}), expected);
    }
}

#[test]
fn lists_and_objects_are_made_of_what_is_there() {
    let item = json!({"hero": "https://i.example/h", "tags": [{"name": "x"}, {}, {"name": "y"}], "section": "news",
        "media": [{"src": "1.png"}, {"src": 7.5}, "no object", {"src": "2.png"}], "files": ["a", "b"]});
    let image = |path: &str| json!({"url": format!("https://i.example/{path}")});
    let template =
        |of: &str| json!({"object": {"url": {"template": format!("https://i.example/{{{of}}}")}}});
    check(
        json!({"path": "files", "each": template(".")}),
        "images",
        item.clone(),
        Ok(json!([image("a"), image("b")])),
    );
    check(
        json!({"list": [{"object": {"url": "hero"}}, {"object": {"url": "nowhere"}}]}),
        "images",
        item.clone(),
        Ok(json!([image("h")])),
    );
    check(
        json!({"object": {"category": {"list": ["section"]}, "tag": {"path": "tags", "each": "name"}, "x": "nowhere"}}),
        "terms",
        item.clone(),
        Ok(json!({"category": ["news"], "tag": ["x", "y"]})),
    );
    // Constants alone make no object.
    let link = json!({"list": [{"object": {"hreflang": {"constant": "de"}, "url": "german"}}]});
    check(link, "alternates", item.clone(), Ok(Value::Null));
    check(
        json!({"path": "hero", "each": {"object": {"url": "."}}}),
        "images",
        item.clone(),
        Err("hero is \"https://i.example/h\", not a list"),
    );
    // Nothing is left of the list, and the reason is reported.
    check(
        json!({"object": {"tag": {"path": "hero", "each": "."}}}),
        "terms",
        item.clone(),
        Err("tag: hero is \"https://i.example/h\", not a list"),
    );
    // An invalid element is omitted alone.
    let each = json!({"path": "media", "each": template("src")});
    let (content, problems) = mapping(json!({"images": each})).content(&item);
    assert_eq!(content["images"], json!([image("1.png"), image("2.png")]));
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems[0],
        "images: media[1].url: src is 7.5, neither a text nor a whole number"
    );
    // Only the first problem of a field is reported, although media[2] is not an object either.
    assert_eq!(problems[1..], ["url: missing, since the item has no url"]);
}

#[test]
fn values_of_a_field_of_any_shape_are_translated() {
    let news =
        json!({"path": "section", "values": {"news": {"title": "Now"}, "flash": true, "*": null}});
    let terms = json!({"path": "section", "values": {"news": {"topic": ["a", "b"]}}});
    let images =
        json!({"path": "section", "values": {"news": [{"url": "https://i.example/1.png"}]}});
    for (source, field, section, expected) in [
        (&news, "news", json!("news"), Ok(json!({"title": "Now"}))),
        (&news, "news", json!("flash"), Ok(json!(true))),
        (&news, "news", json!("sport"), Ok(Value::Null)),
        (&news, "news", Value::Null, Ok(Value::Null)),
        (
            &terms,
            "terms",
            json!("news"),
            Ok(json!({"topic": ["a", "b"]})),
        ),
        (
            &images,
            "images",
            json!("news"),
            Ok(json!([{"url": "https://i.example/1.png"}])),
        ),
        (
            &images,
            "images",
            json!("sport"),
            Err("section is \"sport\", not one of news"),
        ),
    ] {
        check(source.clone(), field, json!({"section": section}), expected);
    }
    // A value that is translated to null leaves the choice to the next source.
    let first =
        json!({"first": [{"path": "section", "values": {"*": null}}, {"constant": "else"}]});
    check(first, "title", json!({"section": "x"}), Ok(json!("else")));
    // The mapping's own values are tried out.
    let text = json!({"key": [{"pk": "S"}], "fields": {"type": "t", "url": "u",
        "news": {"path": "s", "values": {"a": {"title": 7}}, "missing": "x"},
        "title": {"path": "s", "values": {"a": {}}},
        "kind": {"path": "s", "missing": "x"},
        "terms": {"object": {"tag": {"list": [{"path": "s", "values": {"a": []}}]}}}}});
    let error = Mapping::parse(&text.to_string()).unwrap_err();
    let places = error
        .problems()
        .iter()
        .map(|problem| problem.place.as_str());
    assert_eq!(
        places.collect::<Vec<_>>(),
        [
            "fields.kind.missing",
            "fields.news.values.a",
            "fields.news.missing",
            "fields.terms.object.tag.list[0].values.a",
            "fields.title.values.a",
            "fields.title.values.a",
        ],
        "{error}"
    );
}

#[test]
fn numbers_and_texts_become_what_the_field_is() {
    let item = json!({"ids": [7, "x", 2.5], "n": 7, "half": "0.5", "many": " 12 ", "word": "much", "year": 1984,
        "big": "12345678901234567890123456789012345678", "video": {"seconds": "90", "tags": [3]}});
    for (source, field, expected) in [
        (
            json!({"object": {"tag": "ids"}}),
            "terms",
            Ok(json!({"tag": ["7", "x", "2.5"]})),
        ),
        (
            json!({"object": {"tag": {"list": ["n"]}}}),
            "terms",
            Ok(json!({"tag": ["7"]})),
        ),
        (json!("year"), "title", Ok(json!("1984"))),
        (
            json!({"object": {"title": "year"}}),
            "news",
            Ok(json!({"title": "1984"})),
        ),
        (
            json!({"object": {"taxonomy": {"constant": "tag"}, "term": "n"}}),
            "archive_of",
            Ok(json!({"taxonomy": "tag", "term": "7"})),
        ),
        (json!("half"), "priority", Ok(json!(0.5))),
        (
            json!("word"),
            "priority",
            Err("\"much\" is not a number from 0.0 to 1.0"),
        ),
        (json!("many"), "pages", Ok(json!(12))),
        (
            json!({"list": [{"object": {"duration": "video.seconds", "tags": "video.tags"}}]}),
            "videos",
            Ok(json!([{"duration": 90, "tags": ["3"]}])),
        ),
        (
            json!({"template": "No. {big}"}),
            "title",
            Ok(json!("No. 12345678901234567890123456789012345678")),
        ),
        // An address, a status or a type is never a number.
        (
            json!("n"),
            "status",
            Err("!7 is not one of published, draft, pending, scheduled, private, trash, error"),
        ),
        (json!("n"), "canonical_url", Err("!7 is not text")),
    ] {
        let (content, _) = mapping(json!({field: source})).content(&item);
        let item = {
            let mut item = item.clone();
            item["url"] = json!("https://www.example.com/a/");
            item
        };
        match expected {
            Ok(value) => assert_eq!(content[field], value, "{field}"),
            Err(expected) => {
                let record = mapping(json!({field: source})).record("@1", &item).unwrap();
                let problem = record
                    .problems
                    .iter()
                    .find(|problem| problem.field == field);
                let problem = problem.expect("a problem");
                let mark = if problem.closes { "!" } else { "" };
                assert_eq!(format!("{mark}{}", problem.reason), expected, "{field}");
            }
        }
    }
}

#[test]
fn a_prefix_is_cut_from_a_text() {
    let item = json!({"pk": "ARTICLE#7", "sk": "DATE#2026-01-02", "n": 7, "only": "ARTICLE#", "tags": ["TAG#a", "b"]});
    let url = |cut: Value| json!({"template": "https://www.example.com/{pk}/{n}/", "cut": cut});
    for (source, field, expected) in [
        (
            json!({"path": "pk", "cut": "ARTICLE#"}),
            "title",
            Ok(json!("7")),
        ),
        (
            json!({"path": "pk", "cut": ["POST#", "ARTICLE#"]}),
            "title",
            Ok(json!("7")),
        ),
        (
            json!({"path": "pk", "cut": ["POST#", "PAGE#"]}),
            "status",
            Err("!pk is \"ARTICLE#7\", which does not begin with POST# or PAGE#"),
        ),
        (
            json!({"path": "gone", "cut": "ARTICLE#"}),
            "title",
            Ok(Value::Null),
        ),
        (
            json!({"path": "only", "cut": "ARTICLE#"}),
            "title",
            Ok(Value::Null),
        ),
        (
            json!({"path": "only", "cut": "ARTICLE#"}),
            "status",
            Err("!only is empty"),
        ),
        (
            json!({"path": "n", "cut": "7"}),
            "title",
            Err("n is 7, which does not begin with 7"),
        ),
        (
            json!({"path": "sk", "cut": "DATE#", "time": "text"}),
            "modified_at",
            Ok(json!("2026-01-02")),
        ),
        (
            json!({"path": "sk", "cut": "DATE#", "values": {"2026-01-02": "draft"}}),
            "status",
            Ok(json!("draft")),
        ),
        (
            json!({"object": {"tag": {"path": "tags", "each": {"path": ".", "cut": "TAG#"}}}}),
            "terms",
            Err("tags[1]: . is \"b\", which does not begin with TAG#"),
        ),
        (
            url(json!({"pk": "ARTICLE#"})),
            "canonical_url",
            Ok(json!("https://www.example.com/7/7/")),
        ),
        (
            url(json!({"n": "A"})),
            "canonical_url",
            Err("!n is 7, which does not begin with A"),
        ),
    ] {
        check(source, field, item.clone(), expected);
    }
    let text = json!({"key": [{"pk": "S"}], "fields": {"type": "t", "url": url(json!({"pk": "", "sk": "x"})),
        "title": {"path": "t", "cut": []}, "kind": {"path": "t", "cut": 7},
        "site": {"template": "{t}", "cut": "x"}, "status": {"constant": "draft", "cut": "x"}}});
    let error = Mapping::parse(&text.to_string()).unwrap_err();
    let places = error
        .problems()
        .iter()
        .map(|problem| problem.place.as_str());
    assert_eq!(
        places.collect::<Vec<_>>(),
        [
            "fields.kind.cut",
            "fields.site.cut",
            "fields.status.cut",
            "fields.title.cut",
            "fields.url.cut.pk",
            "fields.url.cut.sk",
        ],
        "{error}"
    );
}

#[test]
fn only_what_matches_is_a_page() {
    let with = |only: Value| {
        let fields = json!({"type": {"constant": "post"}, "url": "url"});
        Mapping::parse(&json!({"key": [{"pk": "S"}], "only": only, "fields": fields}).to_string())
            .unwrap()
    };
    let item = json!({"entity": "POST", "sk": "POST#1", "n": 1.0, "on": true, "none": null, "tags": ["a", 7]});
    for (only, reason) in [
        (json!({"sk": {"contains": "ST#"}}), None),
        (json!({"tags": {"contains": "a"}}), None),
        (
            json!({"tags": [{"contains": "x"}, {"contains": 7.0}]}),
            None,
        ),
        (
            json!({"tags": {"contains": "x"}}),
            Some("its tags is [\"a\",7]"),
        ),
        // Elements are compared whole.
        (
            json!({"tags": {"contains": ""}}),
            Some("its tags is [\"a\",7]"),
        ),
        (json!({"n": {"contains": 1}}), Some("its n is 1.0")),
        (json!({"gone": {"contains": "x"}}), Some("it has no gone")),
        (json!({}), None),
        (json!({"entity": "POST"}), None),
        (json!({"entity": ["PAGE", "POST"]}), None),
        (json!({"sk": {"prefix": "POST#"}, "on": true, "n": 1}), None),
        (json!({"none": null, "gone": null}), None),
        (json!({"entity": "USER"}), Some("its entity is \"POST\"")),
        (
            json!({"sk": {"prefix": "USER#"}}),
            Some("its sk is \"POST#1\""),
        ),
        (json!({"entity": null}), Some("its entity is \"POST\"")),
        (json!({"gone": "x"}), Some("it has no gone")),
        (json!({"n": {"prefix": "1"}}), Some("its n is 1.0")),
    ] {
        let mapping = with(only);
        assert_eq!(mapping.mismatch(&item).as_deref(), reason);
        assert_eq!(mapping.record("@1", &item).is_none(), reason.is_some());
        assert_eq!(mapping.outline(&item).is_none(), reason.is_some());
    }
}

#[test]
fn every_problem_of_a_mapping_is_told_with_its_place() {
    let text = r#"{
        "key": [{"pk": "S"}, {"sk": "X"}], "onyl": {}, "only": {"a": [], "b": {"suffix": "x"}, "": 1},
        "fields": {
            "type": {"constant": "no type!"}, "urls": "x", "title": 7,
            "status": {"path": "state", "values": {"live": "public", "*": ["draft"]}},
            "modified_at": {"path": "at", "time": "minutes"}, "published_at": {"path": "a..b"},
            "images": {"path": "media", "each": {"object": {"src": "src"}}},
            "news": {"list": ["x"]}, "site": {"template": "{a"}, "noindex": {"constant": true, "path": "x"},
            "description": {"path": "x", "each": "y"}, "kind": {}, "pages": {"path": "x", "values": {"a": 1}, "time": "seconds"},
            "canonical_url": {"template": "https://www.example.com{+path}"}, "language": {"first": [{"constant": "en_US"}]},
            "terms": {"object": {"tag": {"template": "x"}}}
        }
    }"#;
    let error = Mapping::parse(text).unwrap_err();
    let mut places: Vec<&str> = error.problems().iter().map(|p| p.place.as_str()).collect();
    places.sort_unstable();
    assert_eq!(
        places,
        [
            "fields.canonical_url.template",
            "fields.description.each",
            "fields.images.each.object.src",
            "fields.kind",
            "fields.language.first[0].constant",
            "fields.modified_at.time",
            "fields.news.list",
            "fields.noindex",
            "fields.pages",
            "fields.published_at.path",
            "fields.site.template",
            "fields.status.values.*",
            "fields.status.values.*",
            "fields.status.values.live",
            "fields.terms.object.tag.template",
            "fields.title",
            "fields.type.constant",
            "fields.url",
            "fields.urls",
            "key[1]",
            "only.",
            "only.a",
            "only.b",
            "only.b.suffix",
            "onyl",
        ],
        "{error}"
    );
    for text in [
        "",
        "[]",
        "{",
        "7",
        r#"{"key": [], "fields": {}}"#,
        r#"{"key": [{"a": "S"}, {"a": "S"}], "fields": {"url": "u", "type": "t"}}"#,
        r#"{"key": [{"a": "S"}], "fields": {"url": "u", "type": {"constant": "site"}}}"#,
        r#"{"key": [{"a": "S"}], "fields": []}"#,
    ] {
        assert!(Mapping::parse(text).is_err(), "{text}");
    }
    let long = format!(
        r#"{{"key": [{{"a": "S"}}], "fields": {{"url": "u", "type": "t"}}}}{}"#,
        " ".repeat(MAX_MAPPING_BYTES)
    );
    assert!(
        Mapping::parse(&long)
            .unwrap_err()
            .to_string()
            .contains("leave out white space")
    );
}

#[test]
fn the_attributes_are_those_that_it_takes() {
    let text = json!({"key": [{"pk": "S"}, {"sk": "S"}], "only": {"entity.kind": "x"}, "fields": {
        "type": {"constant": "post"}, "url": {"template": "https://a.example/{slug}/{meta.n}"},
        "title": {"first": ["seo.title", "title"]}, "images": {"path": "media", "each": {"object": {"url": "src"}}}}});
    let mapping = Mapping::parse(&text.to_string()).unwrap();
    let names = |names: &[&'static str]| Some(names.iter().copied().collect::<BTreeSet<_>>());
    let all = [
        "entity", "media", "meta", "pk", "seo", "sk", "slug", "title",
    ];
    assert_eq!(mapping.attributes(), names(&all));
    let outline = ["entity", "meta", "pk", "sk", "slug"];
    assert_eq!(mapping.outline_attributes(), names(&outline));
    let whole =
        json!({"key": [{"pk": "S"}], "fields": {"type": "type", "url": "url", "news": "."}});
    assert_eq!(
        Mapping::parse(&whole.to_string()).unwrap().attributes(),
        None
    );
}

#[test]
fn an_item_of_any_shape_has_a_record() {
    let mapping = mapping(json!({"images": {"path": "media", "each": {"object": {"url": "src"}}}}));
    for item in [
        json!(null),
        json!([]),
        json!("x"),
        json!({"url": {}, "media": {}}),
        json!({"url": [1], "media": [[], null]}),
    ] {
        let record = mapping.record("@1", &item).unwrap();
        assert!(record.closing_problem().is_some(), "{item}");
    }
}

fn keyed(types: &[KeyType]) -> Vec<KeyAttribute> {
    let names = ["pk", "sk"].into_iter();
    let attributes = names.zip(types).map(|(name, key_type)| KeyAttribute {
        name: name.to_owned(),
        key_type: *key_type,
    });
    attributes.collect()
}

#[test]
fn what_no_key_can_be_is_no_id() {
    let one = keyed(&[KeyType::Text]);
    let two = keyed(&[KeyType::Text, KeyType::Number]);
    for id in ["", "x", "@", "@a/b", "@a%2fb", "@a%41", "@%ff", "@a%"] {
        assert_eq!(key::parse(id, &one), None, "{id}");
    }
    assert!(key::parse(&format!("@{}", "x".repeat(2_048)), &one).is_some());
    assert!(key::parse(&format!("@{}", "x".repeat(2_049)), &one).is_none());
    for number in [
        "", "-", ".", "1.", "+1", "1e", "1e126", "1e-200", "0x1", " 1", "1_0",
    ] {
        assert_eq!(key::parse(&format!("@a/{number}"), &two), None, "{number}");
    }
    let digits = "9".repeat(38);
    for number in ["0", "-1.5", "1E+20", "1767323045", digits.as_str()] {
        assert!(
            key::parse(&format!("@a/{number}"), &two).is_some(),
            "{number}"
        );
    }
    assert!(key::parse(&format!("@a/{digits}9"), &two).is_none());
}

#[test]
fn the_spellings_of_a_number_are_one_value() {
    let canonical = |text: &str| KeyValue::Number(text.to_owned()).canonical();
    for [a, b] in [
        ["7", "7.0"],
        ["7", "007"],
        ["-7", "-70e-1"],
        ["100", "1E+2"],
        ["0.05", "5E-2"],
        ["0", "-0.00"],
    ] {
        assert_eq!(canonical(a), canonical(b), "{a} {b}");
    }
    for [a, b] in [["7", "-7"], ["7", "70"], ["0.5", "0.05"], ["1", "0"]] {
        assert_ne!(canonical(a), canonical(b), "{a} {b}");
    }
    let text = KeyValue::Text("7.0".to_owned());
    assert_eq!(text.clone().canonical(), text);
}

fn values() -> impl Strategy<Value = KeyValue> {
    prop_oneof![
        prop_oneof![".{1,40}", "[/%@~#a]{1,6}"].prop_map(KeyValue::Text),
        (any::<i64>(), 0_u32..9).prop_map(|(whole, fraction)| KeyValue::Number(match fraction {
            0 => whole.to_string(),
            _ => format!("{whole}.{fraction}"),
        })),
        prop::collection::vec(any::<u8>(), 1..40).prop_map(KeyValue::Binary),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let names = prop_oneof![
        prop::sample::select(vec![
            "path", "constant", "template", "list", "object", "first", "values", "each", "time",
            "url", "a", "*", "prefix",
        ])
        .prop_map(str::to_owned),
        ".{0,3}"
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "a",
            "a.url",
            ".",
            "https://a.example/{a}/{+url}",
            "{.}",
            "seconds"
        ])
        .prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names.clone(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_mapping_and_no_item_is_too_strange(field in prop::sample::select(vec!["title", "status", "images", "terms", "videos", "news"]),
        source in any_json(), only in any_json(), item in any_json())
    {
        let fields = json!({"type": {"constant": "post"}, "url": "url", field: source});
        for only in [json!({}), only] {
            let text = json!({"key": [{"a": "S"}], "only": only, "fields": fields}).to_string();
            match Mapping::parse(&text) {
                Ok(mapping) => {
                    let (_, problems) = mapping.content(&item);
                    prop_assert!(problems.len() <= 3);
                    prop_assert!(mapping.record("@1", &item).is_none_or(|record| record.problems.len() < 50));
                }
                Err(error) => prop_assert!(!error.problems().is_empty()),
            }
        }
    }

    #[test]
    fn a_key_is_found_again_in_its_id(key in prop::collection::vec(values(), 1..3)) {
        let types: Vec<KeyType> = key.iter().map(KeyValue::key_type).collect();
        let id = key::id(&key);
        prop_assert!(id.starts_with(SOURCE_MARK));
        prop_assert_eq!(key::parse(&id, &keyed(&types)), Some(key));
    }

    #[test]
    fn a_text_that_is_an_id_is_the_id_of_its_key(text in "@[a%/2F~#0-9é-]{0,12}") {
        for types in [vec![KeyType::Text], vec![KeyType::Text; 2], vec![KeyType::Binary, KeyType::Number]] {
            if let Some(key) = key::parse(&text, &keyed(&types)) {
                prop_assert_eq!(key::id(&key), text.clone());
            }
        }
    }
}

#[test]
fn a_text_in_the_place_of_a_path_says_what_to_write() {
    for (source, only, expected) in [
        (
            "https://www.example.com/{slug}",
            json!("POST"),
            r#"fields.url: "https://www.example.com/{slug}" would be the path to an attribute of this name: write {"template": "https://www.example.com/{slug}"}"#,
        ),
        (
            "https://www.example.com/",
            json!("POST"),
            r#"write {"constant": "https://www.example.com/"}"#,
        ),
        (
            "url",
            json!(["PAGE", "POST#*"]),
            r##"only.pk: "POST#*" means this text, * included: for all that begin so write {"prefix": "POST#"}"##,
        ),
    ] {
        let mapping = json!({"key": [{"pk": "S"}], "only": {"pk": only},
            "fields": {"type": {"constant": "post"}, "url": source}});
        let error = Mapping::parse(&mapping.to_string())
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
    // A name with such characters is possible as a list of steps.
    let steps = json!({"key": [{"pk": "S"}], "fields": {"type": {"constant": "post"}, "url": {"path": ["a{b"]}}});
    assert!(Mapping::parse(&steps.to_string()).is_ok());
}

#[test]
fn a_name_that_ends_in_a_star_is_for_all_texts_that_begin_so() {
    let source = json!({"path": "pk", "values": {"POST#*": "post", "POST#NEWS#*": "news", "POST#*1": "page", "*": "other"}});
    for (pk, expected) in [
        (json!("POST#7"), "post"),
        (json!("POST#"), "post"),
        (json!("POST#NEWS#7"), "news"),
        // A whole text goes before every prefix.
        (json!("POST#*1"), "page"),
        (json!("USER#7"), "other"),
        (json!("post#7"), "other"),
        (json!(7), "other"),
    ] {
        check(
            source.clone(),
            "type",
            json!({"pk": pk}),
            Ok(json!(expected)),
        );
    }
    let closed =
        json!({"path": "pk", "values": {"PRODUCT#*": "product", "POST#*": "post", "7*": "seven"}});
    for (item, reason) in [
        (
            json!({"pk": "USER#7"}),
            "!pk is \"USER#7\", not one of 7*, POST#*, PRODUCT#*",
        ),
        // Only a text begins with anything.
        (
            json!({"pk": 77}),
            "!pk is 77, not one of 7*, POST#*, PRODUCT#*",
        ),
        (json!({"pk": ""}), "!pk is empty"),
        (json!({}), "!missing, since the item has no pk"),
    ] {
        check(closed.clone(), "type", item, Err(reason));
    }
    let cut = json!({"path": "pk", "cut": "A#", "values": {"POST#*": "post"}});
    check(cut, "type", json!({"pk": "A#POST#7"}), Ok(json!("post")));
}

#[test]
fn an_address_is_resolved_against_its_base() {
    let at = |base: &str| json!({"path": "a", "base": base});
    let root = "https://img.example.com/";
    for (base, value, expected) in [
        (
            root,
            json!("/x/y.jpg"),
            Ok(json!("https://img.example.com/x/y.jpg")),
        ),
        (
            root,
            json!("y z.jpg"),
            Ok(json!("https://img.example.com/y%20z.jpg")),
        ),
        (
            "https://img.example.com/a/b",
            json!("y.jpg"),
            Ok(json!("https://img.example.com/a/y.jpg")),
        ),
        (
            root,
            json!("http://other.example/%c3%a4.jpg"),
            Ok(json!("http://other.example/%c3%a4.jpg")),
        ),
        (
            root,
            json!("//cdn.example/y.jpg"),
            Ok(json!("https://cdn.example/y.jpg")),
        ),
        (root, json!(7), Err("!a is 7, not a text")),
        (root, json!(""), Ok(Value::Null)),
        (root, Value::Null, Ok(Value::Null)),
        (
            root,
            json!("ftp://other.example/y"),
            Err(
                "!a is \"ftp://other.example/y\", as an address: the scheme ftp is neither http nor https",
            ),
        ),
    ] {
        check(at(base), "canonical_url", json!({"a": value}), expected);
    }
    let text = json!({"key": [{"pk": "S"}], "fields": {"type": "t", "url": at("img.example.com"), "canonical_url": at("/x"),
        "title": at(root), "terms": at(root), "kind": {"path": "a", "base": root, "time": "text"}}});
    let error = Mapping::parse(&text.to_string()).unwrap_err();
    let places = error
        .problems()
        .iter()
        .map(|problem| problem.place.as_str());
    assert_eq!(
        places.collect::<Vec<_>>(),
        [
            "fields.canonical_url.base",
            "fields.kind",
            "fields.terms.base",
            "fields.title.base",
            "fields.url.base"
        ],
        "{error}"
    );
}
