//! A table of the user's own whose items are content: read through a field mapping, and never written.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use aws_lambda_events::event::dynamodb::EventRecord;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, KeyType as KeyRole};
use serde_json::Value;
use sitemap::mapping::{KeyAttribute, KeyType, KeyValue, Mapping, MappingError};
use sitemap::record::ContentRecord;

use super::{ScanPage, value};
use crate::aws::Aws;
use crate::error::{StoreError, service};
use crate::keys::sha256_hex;
use crate::table::{Item, Projection, batch_get};

/// Hex digits of a revision: two mappings of one deployment do not share 64 bits.
const REVISION_DIGITS: usize = 16;

/// A table of the user's own, and what its items mean.
#[derive(Clone, Debug)]
pub struct SourceTable {
    name: String,
    mapping: Arc<Mapping>,
    revision: String,
}

/// What a table is, as DynamoDB describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Its primary key: names and types, the partition key first.
    pub key: Vec<(String, String)>,
    /// The ARN of its stream, if that is on.
    pub stream: Option<String>,
}

impl SourceTable {
    /// The table of this name, with its field mapping in JSON.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the mapping.
    pub fn new(name: String, mapping: &str) -> Result<Self, MappingError> {
        let parsed = Mapping::parse(mapping)?;
        // White space and the order of names say nothing.
        let canonical = serde_json::from_str(mapping).unwrap_or(Value::Null);
        let mut revision = sha256_hex(&format!("{name}\n{canonical}"));
        revision.truncate(REVISION_DIGITS);
        Ok(Self {
            name,
            mapping: Arc::new(parsed),
            revision,
        })
    }

    /// The table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its items mean.
    #[must_use]
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    pub(super) fn revision(&self) -> &str {
        &self.revision
    }

    /// The id of the record that a stream record of this table is about.
    pub(super) fn id_of(&self, record: &EventRecord) -> Option<String> {
        let value = |name: &str| match record.change.keys.get(name)? {
            serde_dynamo::AttributeValue::S(text) => Some(KeyValue::Text(text.clone())),
            serde_dynamo::AttributeValue::N(number) => Some(KeyValue::Number(number.clone())),
            serde_dynamo::AttributeValue::B(bytes) => Some(KeyValue::Binary(bytes.clone())),
            _ => None,
        };
        self.id(value)
    }

    fn id_of_item(&self, item: &Item) -> Option<String> {
        let value = |name: &str| match item.get(name)? {
            AttributeValue::S(text) => Some(KeyValue::Text(text.clone())),
            AttributeValue::N(number) => Some(KeyValue::Number(number.clone())),
            AttributeValue::B(bytes) => Some(KeyValue::Binary(bytes.clone().into_inner())),
            _ => None,
        };
        self.id(value)
    }

    /// The id of an item's record and the item as JSON, as [`Content`](super::Content) reads them; no id if it has no such
    /// key.
    #[must_use]
    pub fn read(&self, item: HashMap<String, AttributeValue>) -> (Option<String>, Value) {
        (self.id_of_item(&item), value(item))
    }

    fn id(&self, value: impl Fn(&str) -> Option<KeyValue>) -> Option<String> {
        // A key of another type would fail the request that asks for it, and for a hundred others.
        let typed = |attribute: &KeyAttribute| {
            value(&attribute.name).filter(|value| value.key_type() == attribute.key_type)
        };
        let key: Option<Vec<KeyValue>> = self.mapping.key().iter().map(typed).collect();
        Some(self.mapping.id(&key?))
    }

    /// The primary key of a record; nothing if no item of the table has this id.
    fn key_of(&self, id: &str) -> Option<Item> {
        Some(self.item_key(self.mapping.key_of(id)?))
    }

    fn item_key(&self, values: Vec<KeyValue>) -> Item {
        let names = self.mapping.key().iter().map(|key| key.name.clone());
        let values = values.into_iter().map(|value| match value {
            KeyValue::Text(text) => AttributeValue::S(text),
            KeyValue::Number(number) => AttributeValue::N(number),
            KeyValue::Binary(bytes) => AttributeValue::B(Blob::new(bytes)),
        });
        names.zip(values).collect()
    }

    /// The primary keys of these ids, each once: a request that names an item twice is refused as a whole, and an id that
    /// was made of another table's key may spell a number otherwise than this table does.
    fn keys_of(&self, ids: &[&String]) -> Vec<Item> {
        let mut asked = HashSet::new();
        let mut is_new = |values: &Vec<KeyValue>| {
            let canonical = values.iter().cloned().map(KeyValue::canonical);
            asked.insert(canonical.collect::<Vec<_>>())
        };
        let keys = ids.iter().filter_map(|id| self.mapping.key_of(id));
        let keys = keys.filter(|values| is_new(values));
        keys.map(|values| self.item_key(values)).collect()
    }

    pub(super) async fn item(&self, aws: &Aws, id: &str) -> Result<Option<Value>, StoreError> {
        let Some(key) = self.key_of(id) else {
            return Ok(None);
        };
        let request = aws.dynamodb().await.get_item().table_name(&self.name);
        let request = request.consistent_read(true).set_key(Some(key));
        let output = request.send().await.map_err(service("GetItem"))?;
        Ok(output.item.map(value))
    }

    /// The records of these ids that exist and are pages. Of an item only what the mapping takes is sent: the text of an
    /// article may be hundreds of kilobytes.
    pub(super) async fn records(
        &self,
        aws: &Aws,
        ids: &[&String],
    ) -> Result<HashMap<String, ContentRecord>, StoreError> {
        let keys = self.keys_of(ids);
        let projection = self.mapping.attributes().map(projection);
        let items = batch_get(aws, &self.name, keys, projection.as_ref()).await?;
        let record = |item: Item| {
            let id = self.id_of_item(&item)?;
            let record = self.mapping.record(&id, &value(item))?;
            Some((id, record))
        };
        Ok(items.into_iter().filter_map(record).collect())
    }

    /// The pages from behind this id on; from the beginning behind what is none.
    pub(super) async fn scan(
        &self,
        aws: &Aws,
        after: &str,
        limit: i32,
    ) -> Result<ScanPage, StoreError> {
        let mut request = aws
            .dynamodb()
            .await
            .scan()
            .table_name(&self.name)
            .consistent_read(true)
            .limit(limit)
            .set_exclusive_start_key(self.key_of(after));
        if let Some(Projection { expression, names }) =
            self.mapping.site_attributes().map(projection)
        {
            request = request
                .projection_expression(expression)
                .set_expression_attribute_names(Some(names));
        }
        let output = request.send().await.map_err(service("Scan"))?;
        let next = output.last_evaluated_key.as_ref();
        let next = next.and_then(|key| self.id_of_item(key));
        let record = |item: Item| {
            let id = self.id_of_item(&item)?;
            Some((id, self.mapping.site(&value(item))?))
        };
        let items = output.items.unwrap_or_default();
        Ok(ScanPage {
            records: items.into_iter().filter_map(record).collect(),
            next,
        })
    }
}

/// What a table is.
///
/// # Errors
///
/// If there is none, or it may not be described.
pub async fn describe(aws: &Aws, table: &str) -> Result<Description, StoreError> {
    let request = aws.dynamodb().await.describe_table().table_name(table);
    let output = request.send().await.map_err(service("DescribeTable"))?;
    let described = output.table;
    let described = described.as_ref();
    let types: HashMap<&str, &str> = described
        .into_iter()
        .flat_map(|table| table.attribute_definitions())
        .map(|attribute| {
            (
                attribute.attribute_name(),
                attribute.attribute_type().as_str(),
            )
        })
        .collect();
    let schema = described
        .into_iter()
        .flat_map(|table| table.key_schema())
        .collect::<Vec<_>>();
    let role = |role: KeyRole| schema.iter().filter(move |key| *key.key_type() == role);
    let key = role(KeyRole::Hash).chain(role(KeyRole::Range)).map(|key| {
        let name = key.attribute_name();
        let key_type = types.get(name).copied().unwrap_or_default();
        (name.to_owned(), key_type.to_owned())
    });
    Ok(Description {
        key: key.collect(),
        // A stream that is turned off is still told.
        stream: described
            .filter(|table| {
                let stream = table.stream_specification();
                stream.is_some_and(|stream| stream.stream_enabled())
            })
            .and_then(|table| table.latest_stream_arn())
            .map(str::to_owned),
    })
}

impl Description {
    /// What of a mapping does not fit the table; `stream` is the ARN of the stream that is to be read, if one was given.
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

/// A projection to these attributes. Names stand beside the expression, since many a name is a reserved word.
fn projection(attributes: BTreeSet<&str>) -> Projection {
    let places: Vec<String> = (0..attributes.len()).map(|at| format!("#{at}")).collect();
    Projection {
        expression: places.join(","),
        names: places
            .into_iter()
            .zip(attributes.into_iter().map(str::to_owned))
            .collect(),
    }
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
    fn an_events_key_an_items_and_an_id_are_one() {
        let table = table();
        let event = serde_json::json!({"awsRegion": "local", "eventID": "1", "eventName": "MODIFY", "dynamodb": {
            "ApproximateCreationDateTime": 0, "Keys": {"pk": {"S": "a/b"}, "sk": {"N": "-1.5"}}, "SequenceNumber": "1", "SizeBytes": 1}});
        let id = table
            .id_of(&serde_json::from_value(event).unwrap())
            .unwrap();
        assert_eq!(id, "@a%2Fb/-1.5");
        let key = table.key_of(&id).unwrap();
        assert_eq!(key["sk"], AttributeValue::N("-1.5".to_owned()));
        assert_eq!(table.id_of_item(&key).unwrap(), id);
        assert_eq!(table.key_of("@a/b/1"), None);
        let text = AttributeValue::S("1".to_owned());
        let mistyped = Item::from([("pk".to_owned(), text.clone()), ("sk".to_owned(), text)]);
        assert_eq!(table.id_of_item(&mistyped), None);
    }

    #[test]
    fn no_item_is_asked_for_twice() {
        let ids = ["@a/7", "@a/7.0", "@a/0.7E1", "@a/70", "@b/7", "@a/x"].map(str::to_owned);
        let keys = table().keys_of(&ids.iter().collect::<Vec<_>>());
        let number = |n: &str| AttributeValue::N(n.to_owned());
        let numbers: Vec<_> = keys.iter().map(|key| key["sk"].clone()).collect();
        assert_eq!(numbers, [number("7"), number("70"), number("7")]);
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
