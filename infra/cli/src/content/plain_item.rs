//! Records as items of the engine's tables, and whether a table takes them.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use futures::FutureExt as _;
use serde_json::Value as Json;
use sitemap::mapping::Number;
use sitemap::record::schema::FIELDS;
use table::{
    Item, MAX_ITEM_BYTES, MAX_NESTING, MemoryTable, Schema, Table as _, TableError, Value,
};

use super::lines::RecordLine;

/// Numbers between these have no more digits, and no larger exponent, than DynamoDB takes: it takes up to 10^125.
const USUAL_NUMBERS: std::ops::Range<f64> = 1e-100..1e100;

/// Returns why no table takes a record that was read from so many bytes, or `None` if it is taken.
pub(crate) fn refusal(read: &RecordLine, bytes: usize) -> Option<String> {
    // An item is no larger than its JSON, but for what lists and maps add.
    if read.typed.is_none() && bytes < MAX_ITEM_BYTES / 2 && is_usual(&read.value, 0) {
        return None;
    }
    if let Some(repeated) = read
        .typed
        .iter()
        .flat_map(HashMap::values)
        .find_map(repeated)
    {
        return Some(refused(
            &read.record.id,
            &format!("{repeated:?} is in a set twice"),
        ));
    }
    let table = MemoryTable::new(Schema::of_texts(&["id"]));
    // Whatever is in memory answers at once.
    match table.put(item_of(read), None).now_or_never()? {
        Ok(()) => None,
        Err(TableError::Refused { message, .. }) => Some(refused(&read.record.id, &message)),
        Err(error) => Some(refused(&read.record.id, &error.to_string())),
    }
}

/// Formats why DynamoDB does not take a record.
pub(crate) fn refused(id: &str, message: &str) -> String {
    if message.contains("Item size has exceeded") {
        return format!("record {id:?} is larger than DynamoDB's 400 KB");
    }
    format!("record {id:?} is refused by DynamoDB: {message}")
}

/// Returns whether a value inside so many lists and maps is clearly one that tables take.
fn is_usual(json: &Json, depth: usize) -> bool {
    match json {
        Json::Number(number) if number.is_f64() => {
            let size = number.as_f64().map(f64::abs);
            size.is_some_and(|size| size == 0.0 || USUAL_NUMBERS.contains(&size))
        }
        Json::Array(_) | Json::Object(_) if depth == MAX_NESTING => false,
        Json::Array(values) => values.iter().all(|value| is_usual(value, depth + 1)),
        Json::Object(fields) => fields
            .iter()
            .all(|(name, value)| !name.is_empty() && is_usual(value, depth + 1)),
        _ => true,
    }
}

/// Returns a member that a set has twice. A table's item cannot say so.
fn repeated(value: &AttributeValue) -> Option<String> {
    fn twice<T: Ord>(members: impl IntoIterator<Item = T>) -> Option<T> {
        let mut seen = BTreeSet::new();
        members.into_iter().find_map(|member| seen.replace(member))
    }
    match value {
        AttributeValue::Ss(members) => twice(members).cloned(),
        // Numbers are equal in any spelling.
        AttributeValue::Ns(members) => {
            let number = |member: &String| Number::parse(member).map(|number| number.text());
            twice(members.iter().filter_map(number))
        }
        AttributeValue::Bs(members) => {
            let members = members.iter().map(|member| member.as_ref());
            twice(members).map(|member| format!("{member:02x?}"))
        }
        AttributeValue::L(values) => values.iter().find_map(repeated),
        AttributeValue::M(fields) => fields.values().find_map(repeated),
        _ => None,
    }
}

/// Returns the item that a table takes of a record.
pub(crate) fn item_of(read: &RecordLine) -> Item {
    match &read.typed {
        Some(typed) => aws::item(typed.clone()),
        None => item(&read.value),
    }
}

/// Converts a record to an item. A known field name takes no memory.
pub(crate) fn item(record: &Json) -> Item {
    let fields = record.as_object().into_iter().flatten();
    let field = |(name, field): (&String, &Json)| {
        let known = FIELDS.iter().find(|known| known.name == name);
        let name = known.map_or_else(|| name.clone().into(), |known| known.name.into());
        (name, value(field))
    };
    fields.map(field).collect()
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::number(number),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(values) => Value::List(values.iter().map(value).collect()),
        Json::Object(fields) => {
            let field = |(name, field): (&String, &Json)| (name.clone(), value(field));
            Value::Map(fields.iter().map(field).collect())
        }
    }
}
