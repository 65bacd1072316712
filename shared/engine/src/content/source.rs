//! A table of the user's whose items are content. It is read through a field mapping, and never written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sitemap::mapping::{KeyAttribute, KeyType, KeyValue, Mapping, MappingError};
use sitemap::record::ContentRecord;
use table::{Item, Name, Scan, Table, Value as Attribute};

use super::json::value;
use super::reading::{Reading, ScanPage};
use crate::batch_get::batch_get;
use crate::env::Env;
use crate::error::EngineError;
use crate::rows::keys::sha256_hex;

/// Hex digits of a revision. With 64 bits, two mappings of one deployment do not collide.
const REVISION_DIGITS: usize = 16;

/// A table of the user's, with the mapping of its items.
#[derive(Clone, Debug)]
pub struct SourceTable {
    name: String,
    mapping: Arc<Mapping>,
    revision: String,
}

/// A table's key and stream, as DynamoDB describes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The names and types of the primary key, partition key first.
    pub key: Vec<(String, String)>,
    /// The ARN of its stream. `None` if the stream is off.
    pub stream: Option<String>,
}

/// The user's table: the port, and its description.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) table: Arc<dyn Table>,
    pub(super) mapped: SourceTable,
}

impl SourceTable {
    /// Returns the table of this name, with its field mapping in JSON.
    ///
    /// # Errors
    ///
    /// All problems of the mapping.
    pub fn new(name: String, mapping: &str) -> Result<Self, MappingError> {
        let parsed = Mapping::parse(mapping)?;
        // White space and the order of names do not affect the revision.
        let canonical = serde_json::from_str(mapping).unwrap_or(Value::Null);
        let mut revision = sha256_hex(&format!("{name}\n{canonical}"));
        revision.truncate(REVISION_DIGITS);
        Ok(Self {
            name,
            mapping: Arc::new(parsed),
            revision,
        })
    }

    /// Returns the table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the mapping of its items.
    #[must_use]
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    pub(super) fn revision(&self) -> &str {
        &self.revision
    }

    /// Returns the record id of an item or of its key. Returns `None` if the key attributes are missing.
    pub(super) fn id_of_item(&self, item: &Item) -> Option<String> {
        let value = |name: &str| match item.get(name)? {
            Attribute::Text(text) => Some(KeyValue::Text(text.clone())),
            Attribute::Number(number) => Some(KeyValue::Number(number.clone())),
            Attribute::Bytes(bytes) => Some(KeyValue::Binary(bytes.clone())),
            _ => None,
        };
        self.id(value)
    }

    /// Returns the record id of an item, and the item as JSON, as [`Content`](crate::content::Content) reads them. The id is
    /// `None` if the key attributes are missing.
    #[must_use]
    pub fn read(&self, item: Item) -> (Option<String>, Value) {
        (self.id_of_item(&item), value(item))
    }

    fn id(&self, value: impl Fn(&str) -> Option<KeyValue>) -> Option<String> {
        // A key of another type would fail the whole request, with the up to a hundred other keys in it.
        let typed = |attribute: &KeyAttribute| {
            value(&attribute.name).filter(|value| value.key_type() == attribute.key_type)
        };
        let key: Option<Vec<KeyValue>> = self.mapping.key().iter().map(typed).collect();
        Some(self.mapping.id(&key?))
    }

    /// Returns the primary key of a record, or `None` if no item of the table has this id.
    fn key_of(&self, id: &str) -> Option<Item> {
        Some(self.item_key(self.mapping.key_of(id)?))
    }

    fn item_key(&self, values: Vec<KeyValue>) -> Item {
        let names = self.mapping.key().iter();
        let names = names.map(|key| Name::from(key.name.clone()));
        let values = values.into_iter().map(|value| match value {
            KeyValue::Text(text) => Attribute::Text(text),
            KeyValue::Number(number) => Attribute::Number(number),
            KeyValue::Binary(bytes) => Attribute::Bytes(bytes),
        });
        names.zip(values).collect()
    }

    /// Returns the primary keys of these ids, without duplicates. DynamoDB refuses a request that names an item twice, and ids
    /// from an older mapping may spell the same number differently.
    fn keys_of(&self, ids: &[&String]) -> Vec<Item> {
        let mut asked = BTreeSet::new();
        let mut is_new = |values: &Vec<KeyValue>| {
            let canonical = values.iter().cloned().map(KeyValue::canonical);
            asked.insert(canonical.collect::<Vec<_>>())
        };
        let keys = ids.iter().filter_map(|id| self.mapping.key_of(id));
        let keys = keys.filter(|values| is_new(values));
        keys.map(|values| self.item_key(values)).collect()
    }
}

impl Source {
    pub(super) async fn item(&self, id: &str) -> Result<Option<Value>, EngineError> {
        let Some(key) = self.mapped.key_of(id) else {
            return Ok(None);
        };
        Ok(self.table.get(key).await?.map(value))
    }

    /// Returns the records with these ids that exist and are pages. Only the mapped attributes are requested, because the text of
    /// an article may have hundreds of kilobytes.
    pub(super) async fn records(
        &self,
        env: &Env,
        ids: &[&String],
    ) -> Result<BTreeMap<String, ContentRecord>, EngineError> {
        let mapping = self.mapped.mapping();
        let keys = self.mapped.keys_of(ids);
        let attributes = mapping.attributes().map(names);
        let items = batch_get(&*self.table, env, keys, attributes.as_deref()).await?;
        let record = |item: Item| {
            let id = self.mapped.id_of_item(&item)?;
            let record = mapping.record(&id, &value(item))?;
            Some((id, record))
        };
        Ok(items.into_iter().filter_map(record).collect())
    }

    /// Returns the pages after this id, or from the beginning if it is not an id.
    pub(super) async fn scan<T>(
        &self,
        after: &str,
        limit: u32,
        reading: &Reading<T>,
    ) -> Result<ScanPage<T>, EngineError> {
        let mapping = self.mapped.mapping();
        let attributes = if reading.whole {
            mapping.attributes()
        } else {
            mapping.outline_attributes()
        };
        let scan = Scan {
            after: self.mapped.key_of(after),
            limit: Some(limit),
            attributes: attributes.map(names),
            consistent: !reading.whole,
        };
        let page = self.table.scan(scan).await?;
        let next = page.next.as_ref();
        let next = next.and_then(|key| self.mapped.id_of_item(key));
        let record = |item: Item| {
            let id = self.mapped.id_of_item(&item)?;
            let taken = (reading.mapped)(mapping, &id, &value(item))?;
            Some((id, taken))
        };
        Ok(ScanPage {
            records: page.items.into_iter().filter_map(record).collect(),
            next,
        })
    }
}

impl Description {
    /// Returns the differences between the mapping and the table. `stream` is the ARN of the stream to read, if one was given.
    #[must_use]
    pub fn misfits(&self, mapping: &Mapping, stream: Option<&str>) -> Vec<String> {
        let mapped = mapping.key().iter();
        let mapped: Vec<(&str, &str)> = mapped
            .map(|key| (key.name.as_str(), KeyType::name(key.key_type)))
            .collect();
        let key = self
            .key
            .iter()
            .map(|(name, of)| (name.as_str(), of.as_str()));
        let key: Vec<(&str, &str)> = key.collect();
        let shown = |key: &[(&str, &str)]| {
            let parts = key.iter().map(|(name, of)| format!("{name} ({of})"));
            parts.collect::<Vec<_>>().join(", ")
        };
        let mut misfits = Vec::new();
        if mapped != key {
            misfits.push(format!(
                "key: the mapping has {}, the table has {}",
                shown(&mapped),
                shown(&key)
            ));
        }
        match (&self.stream, stream) {
            (None, _) => misfits.push(
                "the table has no stream: turn one on, KEYS_ONLY or any other view".to_owned(),
            ),
            (Some(latest), Some(given)) if latest != given => {
                misfits.push(format!(
                    "the stream given is {given}, the table's is {latest}"
                ));
            }
            _ => {}
        }
        misfits
    }
}

fn names(attributes: BTreeSet<&str>) -> Vec<Name> {
    let names = attributes.into_iter();
    names.map(|name| Name::from(name.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPPING: &str = r#"{"key": [{"pk": "S"}, {"sk": "N"}],
        "fields": {"type": {"constant": "post"}, "url": "url"}}"#;

    fn table() -> SourceTable {
        SourceTable::new("posts".to_owned(), MAPPING).unwrap()
    }

    #[test]
    fn an_items_key_and_an_id_are_one() {
        let table = table();
        let key = Item::new()
            .with("pk", "a/b")
            .with("sk", Attribute::number("-1.5"));
        let id = table.id_of_item(&key).unwrap();
        assert_eq!(id, "@a%2Fb/-1.5");
        assert_eq!(table.key_of(&id), Some(key));
        assert_eq!(table.key_of("@a/b/1"), None);
        let mistyped = Item::new().with("pk", "1").with("sk", "1");
        assert_eq!(table.id_of_item(&mistyped), None);
    }

    #[test]
    fn no_item_is_asked_for_twice() {
        let ids = ["@a/7", "@a/7.0", "@a/0.7E1", "@a/70", "@b/7", "@a/x"].map(str::to_owned);
        let keys = table().keys_of(&ids.iter().collect::<Vec<_>>());
        let numbers: Vec<u32> = keys.iter().filter_map(|key| key.number("sk")).collect();
        assert_eq!(numbers, [7, 70, 7]);
    }

    #[test]
    fn a_revision_follows_name_and_mapping_and_no_white_space() {
        let spaced = SourceTable::new("posts".to_owned(), &format!(" {MAPPING}\n")).unwrap();
        assert_eq!(table().revision(), spaced.revision());
        let other = SourceTable::new("others".to_owned(), MAPPING).unwrap();
        assert_ne!(table().revision(), other.revision());
        let changed = MAPPING.replace("post\"", "page\"");
        let changed = SourceTable::new("posts".to_owned(), &changed).unwrap();
        assert_ne!(table().revision(), changed.revision());
    }

    #[test]
    fn what_does_not_fit_the_table_is_told() {
        let pair = |name: &str, of: &str| (name.to_owned(), of.to_owned());
        let described = |key: &[(String, String)], stream: Option<&str>| Description {
            key: key.to_vec(),
            stream: stream.map(str::to_owned),
        };
        let key = [pair("pk", "S"), pair("sk", "N")];
        let (mapping, stream) = (table().mapping().clone(), Some("arn:1"));
        for (description, given, expected) in [
            (described(&key, stream), None, vec![]),
            (described(&key, stream), stream, vec![]),
            (
                described(&key[..1], stream),
                None,
                vec!["key: the mapping has pk (S), sk (N), the table has pk (S)"],
            ),
            (
                described(&[pair("pk", "S"), pair("sk", "S")], None),
                None,
                vec![
                    "key: the mapping has pk (S), sk (N), the table has pk (S), sk (S)",
                    "the table has no stream: turn one on, KEYS_ONLY or any other view",
                ],
            ),
            (
                described(&key, stream),
                Some("arn:0"),
                vec!["the stream given is arn:0, the table's is arn:1"],
            ),
        ] {
            assert_eq!(description.misfits(&mapping, given), expected);
        }
    }
}
