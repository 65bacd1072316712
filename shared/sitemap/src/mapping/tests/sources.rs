//! The values that sources take from an item.

use serde_json::json;

use super::super::*;
use super::check;

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
