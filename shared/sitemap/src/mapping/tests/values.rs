//! Times, lists, objects, numbers and texts.

use serde_json::json;

use super::super::*;
use super::{check, mapping};

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
