//! `waymark mapping`: checks a field mapping and shows what becomes of an item by it, before anything is deployed.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use engine::content::SourceTable;
use serde::Serialize;
use serde_json::Value;
use sitemap::eligibility::eligible;
use sitemap::mapping::MappingError;
use sitemap::site::SiteSettings;

use crate::explain::Reason;
use crate::terminal::text::{Text, Tone};

pub mod archives;
pub(crate) mod command;
mod sample;
pub mod suggest;
pub mod survey;

/// An item, as the SDK has it.
pub type Item = HashMap<String, AttributeValue>;

/// What DynamoDB's own JSON calls the types of values.
const TYPES: [&str; 10] = ["S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"];

/// The reason of a record with a field that is not valid.
const BAD_FIELD: &str = "bad_field";

/// Why nothing can be said of an item.
#[derive(Debug, thiserror::Error)]
pub enum ItemError {
    /// It is not JSON.
    #[error("the item is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It is not an item.
    #[error("the item cannot be read: {0}")]
    Item(#[from] serde_dynamo::Error),
    /// It is something else.
    #[error("the item is not an object of attributes")]
    Shape,
}

/// Removes the white space of a mapping: the form for a parameter. Text that is not JSON stays as it is.
#[must_use]
pub fn compact(text: &str) -> String {
    let value: Result<Value, _> = serde_json::from_str(text);
    value.map_or_else(|_| text.to_owned(), |value| value.to_string())
}

/// Reads a mapping for a table.
///
/// # Errors
///
/// Everything that is wrong with it.
pub fn read(table: &str, text: &str) -> Result<SourceTable, MappingError> {
    SourceTable::new(table.to_owned(), &compact(text))
}

/// What becomes of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MappedItem {
    /// The id of its page; `null` if it is not an item of such a table.
    pub id: Option<String>,
    /// Why it is no page; `null` if it is one.
    pub no_page: Option<String>,
    /// The record that it becomes.
    pub fields: Option<Value>,
    /// What is wrong with the record's fields, a line each.
    pub problems: Vec<String>,
    /// The address that it is listed as, unless its site's settings or another page forbid.
    pub loc: Option<String>,
    /// Why it is left out.
    pub left_out: Option<Reason>,
}

/// Describes what becomes of items at `now`. They are one of DynamoDB's JSON, as `aws dynamodb get-item` prints it, or plain; or
/// several, as `aws dynamodb scan` and `query` print them.
///
/// # Errors
///
/// If one is no item.
pub fn map_items(
    source: &SourceTable,
    text: &str,
    now: i64,
) -> Result<(Vec<MappedItem>, Form), ItemError> {
    let value: Value = serde_json::from_str(text)?;
    let (items, form) = match value.get("Items") {
        Some(Value::Array(items)) => (items.as_slice(), Form::Several),
        _ => (std::slice::from_ref(&value), Form::One),
    };
    let mapped = items
        .iter()
        .map(|item| Ok(map_item(source, parse(item)?, now)));
    Ok((mapped.collect::<Result<_, ItemError>>()?, form))
}

/// Parses a sample of items: one of DynamoDB's JSON or plain, the output of `aws dynamodb scan`, a list, or JSON Lines.
///
/// # Errors
///
/// If one is no item.
pub fn items_of(text: &str) -> Result<Vec<Item>, ItemError> {
    let values: Vec<Value> = match serde_json::from_str(text) {
        Ok(Value::Array(items)) => items,
        Ok(Value::Object(mut object)) => match object.remove("Items") {
            Some(Value::Array(items)) => items,
            Some(other) => {
                object.insert("Items".to_owned(), other);
                vec![Value::Object(object)]
            }
            None => vec![Value::Object(object)],
        },
        Ok(_) => return Err(ItemError::Shape),
        Err(whole) => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let lines = lines.map(serde_json::from_str).collect::<Result<_, _>>();
            // Of a text that is no JSON in either form, what is wrong with the whole says more.
            lines.map_err(|_| whole)?
        }
    };
    values.iter().map(parse).collect()
}

/// How many items a text may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One.
    One,
    /// Any number: those of a scan or a query.
    Several,
}

/// Returns what becomes of an item at `now`.
#[must_use]
pub fn map_item(source: &SourceTable, item: Item, now: i64) -> MappedItem {
    let (id, item) = source.read(aws::item(item));
    let mapping = source.mapping();
    let mut mapped = MappedItem {
        id: None,
        no_page: None,
        fields: None,
        problems: Vec::new(),
        loc: None,
        left_out: None,
    };
    let Some(id) = id else {
        let key = mapping.key().iter();
        let key = key.map(|key| format!("{} ({})", key.name, key.key_type.name()));
        let key: Vec<String> = key.collect();
        mapped.no_page = Some(format!(
            "not an item of this table: its key is {}",
            key.join(", ")
        ));
        return mapped;
    };
    mapped.id = Some(id.to_string());
    let Some(record) = mapping.record(&id, &item) else {
        mapped.no_page = Some(mapping.mismatch(&item).unwrap_or_default());
        return mapped;
    };
    mapped.fields = Some(mapping.content(&item).0);
    mapped.problems = record.problems.iter().map(ToString::to_string).collect();
    // Whatever the site's settings are: those by default say nothing against a page.
    let site = SiteSettings::default_for(&record.site).ok();
    match eligible(&record, 1, site.as_ref(), now) {
        Ok((_, loc)) => mapped.loc = Some(loc.to_string()),
        Err(refusal) => {
            mapped.left_out = Some(Reason {
                name: refusal.name().to_owned(),
                reason: refusal.to_string(),
            });
        }
    }
    mapped
}

impl MappedItem {
    /// Returns whether the mapping makes no whole record of it, so that it is left out.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        let reason = self.left_out.as_ref();
        reason.is_some_and(|reason| reason.name == BAD_FIELD)
    }

    /// Formats the answer as lines for people.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        match (&self.id, &self.no_page) {
            (Some(id), Some(reason)) => {
                text.toned(Tone::Notable, format!("{id}: not a page: {reason}"));
            }
            (_, Some(reason)) => text.toned(Tone::Bad, reason),
            (Some(id), None) => text.line(id),
            (None, None) => {}
        }
        if let Some(fields) = &self.fields {
            text.lines(format!("{fields:#}"));
        }
        for problem in &self.problems {
            text.toned(Tone::Bad, problem);
        }
        if let Some(loc) = &self.loc {
            let line =
                format!("listed as {loc}, unless its site's settings or another page prevent it");
            text.toned(Tone::Good, line);
        }
        if let Some(Reason { name, reason }) = &self.left_out {
            text.toned(Tone::Notable, format!("left out, {name}: {reason}"));
        }
        text
    }
}

fn parse(value: &Value) -> Result<Item, ItemError> {
    let item = match value.get("Item") {
        Some(item) if value.as_object().is_some_and(|object| object.len() == 1) => item,
        _ => value,
    };
    let attributes = item.as_object().ok_or(ItemError::Shape)?;
    let typed = |value: &Value| {
        let pair = value.as_object().filter(|pair| pair.len() == 1);
        pair.is_some_and(|pair| pair.keys().all(|name| TYPES.contains(&name.as_str())))
    };
    Ok(if attributes.values().all(typed) {
        let item: serde_dynamo::Item = serde_json::from_value(item.clone())?;
        item.into()
    } else {
        serde_dynamo::to_item(item)?
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sitemap::time::When;

    use super::*;

    const MAPPING: &str = r#"{
        "key": [{"pk": "S"}, {"sk": "N"}],
        "only": {"entity": "POST"},
        "fields": {
            "type": {"constant": "post"},
            "url": {"template": "https://www.example.com/{slug}/"},
            "status": {"path": "state", "values": {"live": "published", "*": "draft"}, "missing": "draft"},
            "priority": "weight"
        }
    }"#;

    fn one(source: &SourceTable, item: &str) -> MappedItem {
        let (mapped, form) = map_items(source, item, 1_800_000_000).unwrap();
        assert_eq!((mapped.len(), form), (1, Form::One));
        mapped.into_iter().next().unwrap()
    }

    #[track_caller]
    fn check(item: &str, expected: &[&str]) {
        let source = read("posts", MAPPING).unwrap();
        let mapped = one(&source, item).text();
        for part in expected {
            assert!(mapped.contains(part), "{part:?} in {mapped}");
        }
    }

    #[test]
    fn the_items_of_a_scan_are_mapped_one_by_one() {
        let source = read("posts", MAPPING).unwrap();
        let item = |slug: &str| json!({"pk": {"S": "a"}, "sk": {"N": "7"}, "entity": {"S": "POST"}, "slug": {"S": slug}, "state": {"S": "live"}});
        let mut without = item("y");
        without.as_object_mut().unwrap().remove("slug");
        let scan = json!({"Items": [item("x"), without, {"pk": {"S": "a"}}], "Count": 3, "ScannedCount": 3});
        let (mapped, form) = map_items(&source, &scan.to_string(), 1_800_000_000).unwrap();
        assert_eq!(form, Form::Several);
        assert_eq!(
            mapped.iter().map(MappedItem::is_bad).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert_eq!(mapped[0].loc.as_deref(), Some("https://www.example.com/x/"));
        assert_eq!(mapped[2].id, None);
    }

    #[test]
    fn an_item_is_told_as_the_aws_cli_prints_it_and_in_plain_json() {
        let listed = [
            "@a/7\n",
            "\"status\": \"published\"",
            "listed as https://www.example.com/x/,",
        ];
        check(
            r#"{"Item": {"pk": {"S": "a"}, "sk": {"N": "7"}, "entity": {"S": "POST"}, "slug": {"S": "x"}, "state": {"S": "live"}}}"#,
            &listed,
        );
        check(
            r#"{"pk": "a", "sk": 7, "entity": "POST", "slug": "x", "state": "live"}"#,
            &listed,
        );
    }

    #[test]
    fn the_json_has_the_documented_shape() {
        let source = read("posts", MAPPING).unwrap();
        let item = r#"{"pk": "a", "sk": 7, "entity": "POST", "slug": "x"}"#;
        let mapped = serde_json::to_value(one(&source, item)).unwrap();
        let expected = serde_json::json!({
            "id": "@a/7",
            "no_page": null,
            "fields": mapped["fields"],
            "problems": [],
            "loc": null,
            "left_out": {"name": "not_published", "reason": mapped["left_out"]["reason"]},
        });
        assert_eq!(mapped, expected);
        assert_eq!(mapped["fields"]["url"], "https://www.example.com/x/");
    }

    #[test]
    fn why_it_is_left_out_is_told() {
        for (item, expected) in [
            (
                r#"{"pk": "a", "sk": 7, "entity": "USER"}"#,
                "@a/7: not a page: its entity is \"USER\"\n",
            ),
            (
                r#"{"pk": "a", "sk": 7, "entity": "POST", "slug": "x"}"#,
                "left out, not_published: ",
            ),
            (
                r#"{"pk": "a", "sk": 7, "entity": "POST", "state": "live"}"#,
                "left out, bad_field: url: missing, since the item has no slug",
            ),
            (
                r#"{"pk": "a", "sk": 7, "entity": "POST", "slug": "x", "state": "live", "weight": 7}"#,
                "priority: 7 is not a number from 0.0 to 1.0\n",
            ),
            (
                r#"{"pk": "a", "sk": "7"}"#,
                "not an item of this table: its key is pk (S), sk (N)\n",
            ),
        ] {
            check(item, &[expected]);
        }
        let source = read("posts", MAPPING).unwrap();
        for item in ["", "[]", r#"{"pk": {"S": 7}}"#] {
            assert!(map_items(&source, item, 0).is_err(), "{item}");
        }
    }

    /// Tests rows with the forms in which an object mapper writes a page by default.
    #[test]
    fn rows_of_object_mappers_are_pages() {
        let url = json!({"template": "https://www.example.com/{slug}/"});
        let state = json!({"live": "published", "*": "draft"});
        let post = json!({"constant": "post"});
        let time = "2026-03-01T10:20:30+00:00";
        let rows = [
            // pynamodb: an offset without a colon, a JSONAttribute.
            (
                json!({"key": [{"id": "S"}], "fields": {"type": post, "url": url, "modified_at": "updated",
                    "status": {"path": "meta.state", "json": true, "values": state}}}),
                json!({"id": {"S": "7"}, "slug": {"S": "x"}, "updated": {"S": "2026-03-01T10:20:30.500000+0000"},
                    "meta": {"S": "{\"state\": \"live\"}"}}),
            ),
            // dynamoose: milliseconds.
            (
                json!({"key": [{"id": "S"}], "fields": {"type": post, "url": url, "status": {"path": "state", "values": state},
                    "modified_at": {"path": "updatedAt", "time": "milliseconds"}}}),
                json!({"id": {"S": "7"}, "slug": {"S": "x"}, "state": {"S": "live"}, "updatedAt": {"N": "1772360430500"}}),
            ),
            // electrodb: composite keys, the entity's name.
            (
                json!({"key": [{"pk": "S"}, {"sk": "S"}], "only": {"__edb_e__": "article", "sk": {"contains": "article"}},
                    "fields": {"type": "__edb_e__", "url": {"template": "https://www.example.com/{pk}/", "cut": {"pk": "$magazine#id_"}},
                    "modified_at": {"path": "at", "time": "seconds"}}}),
                json!({"pk": {"S": "$magazine#id_x"}, "sk": {"S": "$article_1"}, "__edb_e__": {"S": "article"},
                    "__edb_v__": {"S": "1"}, "at": {"N": "1772360430"}}),
            ),
            // dynamode: a prefix in the key, texts in UTC, a soft delete.
            (
                json!({"key": [{"pk": "S"}], "only": {"dynamodeEntity": "Article", "deletedAt": [null, ""]},
                    "fields": {"type": post, "url": {"template": "https://www.example.com/{pk}/", "cut": {"pk": "ARTICLE#"}},
                    "modified_at": "updatedAt"}}),
                json!({"pk": {"S": "ARTICLE#x"}, "dynamodeEntity": {"S": "Article"}, "deletedAt": {"NULL": true},
                    "updatedAt": {"S": "2026-03-01T10:20:30.500Z"}}),
            ),
            // dynamo-pandas: booleans are numbers, a blank before the time.
            (
                json!({"key": [{"id": "N"}], "fields": {"type": post, "url": url, "noindex": {"path": "hidden", "values": {"1": true, "0": false}},
                    "modified_at": "updated", "terms": {"object": {"tag": "tags"}}, "priority": "weight"}}),
                json!({"id": {"N": "7"}, "slug": {"S": "x"}, "hidden": {"N": "0"}, "tags": {"NS": ["3", "4"]}, "weight": {"S": "0.8"},
                    "updated": {"S": "2026-03-01 10:20:30.500000+00:00"}}),
            ),
            // serde_dynamo with jiff's Zoned; an id of 38 digits.
            (
                json!({"key": [{"id": "S"}], "fields": {"type": post, "modified_at": "updated",
                    "url": {"template": "https://www.example.com/{number}/"}}}),
                json!({"id": {"S": "7"}, "number": {"N": "12345678901234567890123456789012345678"},
                    "updated": {"S": "2026-03-01T11:20:30.5+01:00[Europe/Berlin]"}}),
            ),
        ];
        for (mapping, item) in rows {
            let source = read("posts", &mapping.to_string()).unwrap();
            let mapped = one(&source, &item.to_string());
            assert_eq!(mapped.problems, [""; 0], "{mapping}");
            let slug = item
                .get("number")
                .map_or("x", |number| number["N"].as_str().unwrap());
            let loc = format!("https://www.example.com/{slug}/");
            assert_eq!(mapped.loc, Some(loc), "{mapped:?}");
            let fields = mapped.fields.unwrap();
            let modified = When::parse_relaxed(fields["modified_at"].as_str().unwrap(), None);
            assert_eq!(modified.unwrap().to_string(), time, "{mapping}");
        }
    }

    #[test]
    fn white_space_costs_nothing() {
        let spaced = MAPPING.replace('\n', &"\n".repeat(1_000));
        assert!(read("posts", &spaced).is_ok());
        assert!(read("posts", "{").is_err());
    }
}
