mod addresses;
mod keys;
mod sources;
mod translations;
mod values;

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
}
