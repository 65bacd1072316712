//! Records for directed tests.

use serde_json::{Value, json};

/// The site of the tests.
pub const SITE: &str = "www.example.com";

/// Returns a published post at a path of the site, last changed on a day of January 2026.
#[must_use]
pub fn post(path: &str, day: u32) -> Value {
    json!({
        "id": format!("post{path}"), "type": "post", "url": format!("https://{SITE}{path}"),
        "status": "published", "modified_at": format!("2026-01-{day:02}T12:00:00Z"),
    })
}

/// Returns a record with some fields changed.
#[must_use]
pub fn with(record: &Value, fields: Value) -> Value {
    let mut record = record.clone();
    let (Value::Object(to), Value::Object(from)) = (&mut record, fields) else {
        panic!("records are objects")
    };
    to.extend(from);
    record
}

/// Returns the site's settings with these fields.
#[must_use]
pub fn settings(fields: Value) -> Value {
    with(
        &json!({"id": format!("site/{SITE}"), "type": "site"}),
        fields,
    )
}
