//! `waymark mapping`: is a field mapping right, and what becomes of an item by it? Before anything is deployed.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use engine::content::SourceTable;
use serde_json::Value;
use sitemap::eligibility::eligible;
use sitemap::mapping::MappingError;
use sitemap::site::SiteSettings;

use crate::text::Text;

/// What DynamoDB's own JSON calls the types of values.
const TYPES: [&str; 10] = ["S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"];

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

/// A mapping without white space: the form for a parameter. Text that is not JSON stays as it is.
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

/// What becomes of an item at `now`, in lines for people. The item is DynamoDB's JSON, as `aws dynamodb get-item` prints it,
/// or plain.
///
/// # Errors
///
/// If it is no item.
pub fn tell(source: &SourceTable, item: &str, now: i64) -> Result<Text, ItemError> {
    let (id, item) = source.read(aws::item(parse(item)?));
    let mapping = source.mapping();
    let mut text = Text::default();
    let Some(id) = id else {
        let key = mapping.key().iter();
        let key = key.map(|key| format!("{} ({})", key.name, key.key_type.name()));
        let key: Vec<String> = key.collect();
        text.line(format!(
            "not an item of such a table: its key is {}",
            key.join(", ")
        ));
        return Ok(text);
    };
    let Some(record) = mapping.record(&id, &item) else {
        let reason = mapping.mismatch(&item).unwrap_or_default();
        text.line(format!("{id}: not a page: {reason}"));
        return Ok(text);
    };
    let (fields, _) = mapping.content(&item);
    text.line(id);
    text.lines(format!("{fields:#}"));
    for problem in &record.problems {
        text.line(problem);
    }
    // Whatever the site's settings are: those by default say nothing against a page.
    let site = SiteSettings::default_for(&record.site).ok();
    match eligible(&record, 1, site.as_ref(), now) {
        Ok((_, loc)) => text.line(format!(
            "listed as {loc}, unless its site's settings or another page forbid"
        )),
        Err(refusal) => text.line(format!("left out, {}: {refusal}", refusal.name())),
    }
    Ok(text)
}

fn parse(text: &str) -> Result<HashMap<String, AttributeValue>, ItemError> {
    let value: Value = serde_json::from_str(text)?;
    let item = match value.get("Item") {
        Some(item) if value.as_object().is_some_and(|object| object.len() == 1) => item,
        _ => &value,
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
    use super::*;

    const MAPPING: &str = r#"{
        "key": [{"pk": "S"}, {"sk": "N"}],
        "only": {"entity": "POST"},
        "fields": {
            "type": {"constant": "post"},
            "url": {"template": "https://www.example.com/{slug}/"},
            "status": {"path": "state", "values": {"live": "published", "*": "draft"}},
            "priority": "weight"
        }
    }"#;

    #[track_caller]
    fn check(item: &str, expected: &[&str]) {
        let source = read("posts", MAPPING).unwrap();
        let told = tell(&source, item, 1_800_000_000).unwrap();
        for part in expected {
            assert!(told.contains(part), "{part:?} in {told}");
        }
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
                "not an item of such a table: its key is pk (S), sk (N)\n",
            ),
        ] {
            check(item, &[expected]);
        }
        let source = read("posts", MAPPING).unwrap();
        for item in ["", "[]", r#"{"pk": {"S": 7}}"#] {
            assert!(tell(&source, item, 0).is_err(), "{item}");
        }
    }

    #[test]
    fn white_space_costs_nothing() {
        let spaced = MAPPING.replace('\n', &"\n".repeat(1_000));
        assert!(read("posts", &spaced).is_ok());
        assert!(read("posts", "{").is_err());
    }
}
