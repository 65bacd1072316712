//! Records as items of the engine's tables, and whether a table takes them.

use futures::FutureExt as _;
use serde_json::Value as Json;
use sitemap::record::schema::FIELDS;
use table::{Item, MAX_ITEM_BYTES, MemoryTable, Schema, Table as _, TableError, Value};

/// Numbers between these have no more digits, and no larger exponent, than DynamoDB takes: it takes up to 10^125.
const USUAL_NUMBERS: std::ops::Range<f64> = 1e-100..1e100;

/// Returns why no table takes a record that was read from so many bytes, or `None` if it is taken.
pub(crate) fn refusal(record: &Json, bytes: usize) -> Option<String> {
    // An item is no larger than its JSON, but for what lists and maps add.
    if bytes < MAX_ITEM_BYTES / 2 && has_usual_numbers(record) {
        return None;
    }
    let table = MemoryTable::new(Schema::of_texts(&["id"]));
    // Whatever is in memory answers at once.
    match table.put(item(record), None).now_or_never()? {
        Ok(()) => None,
        Err(TableError::Refused { message, .. }) => Some(message),
        Err(error) => Some(error.to_string()),
    }
}

fn has_usual_numbers(json: &Json) -> bool {
    match json {
        Json::Number(number) if number.is_f64() => {
            let size = number.as_f64().map(f64::abs);
            size.is_some_and(|size| size == 0.0 || USUAL_NUMBERS.contains(&size))
        }
        Json::Array(values) => values.iter().all(has_usual_numbers),
        Json::Object(fields) => fields.values().all(has_usual_numbers),
        _ => true,
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
