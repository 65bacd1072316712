//! The addresses that sources make.

use serde_json::json;

use super::super::*;
use super::{check, mapping};

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
