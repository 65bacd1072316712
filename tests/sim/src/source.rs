//! A user's table with a composite key. Every other record is an item of it.

use engine::content::SourceTable;
use serde_json::{Map, Value, json};
use sitemap::mapping::{KeyAttribute, KeyType};
use table::Schema;

/// The table's name.
pub const TABLE: &str = "magazine";
/// The type of its items that are pages.
const PAGE: &str = "POST";
/// The type of its other items.
const OTHER: &str = "NOTE";

/// Fields whose attributes have other names.
const RENAMED: [(&str, &str); 2] = [("type", "section"), ("url", "address")];
/// Fields that are attributes of the same name.
const SAME: [&str; 13] = [
    "moved_to",
    "gone",
    "pages",
    "x_default",
    "noindex",
    "videos",
    "alternates",
    "canonical_url",
    "published_at",
    "expires_at",
    "title",
    "archive_of",
    "news",
];
/// Fields in a map.
const NESTED: [&str; 4] = ["modified_at", "terms", "language", "translation_group"];

/// Returns the table with its mapping. If `pictured` is false, the mapping has no images.
///
/// # Panics
///
/// If the mapping is not valid.
#[must_use]
pub fn source(pictured: bool) -> SourceTable {
    let mut fields = Map::new();
    for (field, attribute) in RENAMED {
        fields.insert(field.to_owned(), attribute.into());
    }
    for field in SAME {
        fields.insert(field.to_owned(), field.into());
    }
    for field in NESTED {
        fields.insert(field.to_owned(), format!("about.{field}").into());
    }
    let status = json!({"path": "state", "values": {"live": "published", "*": "draft"}});
    fields.insert("status".to_owned(), status);
    let images = json!({"path": "media", "each": {"object": {"url": "src"}}});
    if pictured {
        fields.insert("images".to_owned(), images);
    }
    let mapping = json!({
        "key": [{"pk": "S"}, {"sk": "N"}], "only": {"entity": PAGE}, "fields": fields,
    });
    SourceTable::new(TABLE.to_owned(), &mapping.to_string()).expect("a mapping")
}

/// Returns the table's primary key.
#[must_use]
pub fn schema() -> Schema {
    let attribute = |name: &str, key_type| KeyAttribute {
        name: name.to_owned(),
        key_type,
    };
    Schema::of(&[
        attribute("pk", KeyType::Text),
        attribute("sk", KeyType::Number),
    ])
}

/// Returns the id of the record with this name. Returns `None` if it is not an item of the table. Those with odd numbers are.
#[must_use]
pub fn id(name: &str) -> Option<String> {
    let number: u32 = name.get(1..)?.parse().ok()?;
    (number % 2 == 1).then(|| format!("@{name}/{number}"))
}

/// Returns the primary key of an id's item. Returns `None` if it is not an item of the table.
#[must_use]
pub fn key(id: &str) -> Option<Value> {
    let (name, number) = id.strip_prefix('@')?.split_once('/')?;
    let number: u32 = number.parse().ok()?;
    Some(json!({"pk": name, "sk": number}))
}

/// Returns a record as an item. A record that is not published becomes an item that is not a page.
#[must_use]
pub fn item(key: &Value, record: &Value) -> Value {
    let mut item = key.clone();
    let is_page = record["status"] == "published";
    item["entity"] = if is_page { PAGE } else { OTHER }.into();
    item["state"] = "live".into();
    item["body"] = "What readers read. ".repeat(20).into();
    for (field, attribute) in RENAMED {
        item[attribute] = record[field].clone();
    }
    let set = |at: &mut Value, field: &str| {
        if let Some(value) = record.get(field) {
            at[field] = value.clone();
        }
    };
    for field in SAME {
        set(&mut item, field);
    }
    item["about"] = json!({});
    for field in NESTED {
        set(&mut item["about"], field);
    }
    let images = record["images"].as_array().into_iter().flatten();
    item["media"] = images.map(|image| json!({"src": image["url"]})).collect();
    item
}
