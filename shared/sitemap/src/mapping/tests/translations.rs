//! Values that a mapping translates, and those that close a page.

use serde_json::json;

use super::super::*;
use super::{check, mapping};

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
