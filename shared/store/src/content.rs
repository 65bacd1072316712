//! The truth, which Waymark only reads: its own content table, and beside it, if there is one, a table of the user's.
//!
//! A record's id says which of the two it is in: one of the user's table begins with
//! [`SOURCE_MARK`]. Whoever reads records need not know more.

use std::collections::HashMap;

use aws_lambda_events::event::dynamodb::EventRecord;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Map, Value};
use sitemap::loc::Loc;
use sitemap::mapping::SOURCE_MARK;
use sitemap::record::ContentRecord;

use crate::aws::Aws;
use crate::error::{StoreError, service};
use crate::stream::key_text;
use crate::table::{Item, batch_get, get_text, text};

pub mod source;

pub use source::SourceTable;

/// The revision of a deployment without a table of the user's.
pub const NO_SOURCE: &str = "none";
/// Why a record of the own table whose id begins with [`SOURCE_MARK`] is left out.
pub const RESERVED_ID: &str =
    "id: begins with @, as only the ids of another table's items do: give the record another id";
/// What stands before a cursor of the own table that could else be taken for one of the user's.
const OWN_CURSOR: char = '=';

/// A page of the content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanPage {
    /// The records' ids and sites.
    pub records: Vec<(String, String)>,
    /// Where the next page begins; nothing at the end.
    pub next: Option<String>,
}

/// The content.
pub trait Content: Send + Sync {
    /// The id of the record that a stream record is about; nothing if that is none.
    fn id_of(&self, record: &EventRecord) -> Option<String>;

    /// Whether a stream record is of a table whose key is not the one that is known of it: nothing can be done about it until
    /// that is mended.
    fn is_misfit(&self, record: &EventRecord) -> bool;

    /// Whether the record with this id may be an item that is no page and never was: a table may hold other things too.
    fn may_be_foreign(&self, id: &str) -> bool;

    /// Which table of the user's there is, and how it is read: another one calls for a look at every record.
    fn revision(&self) -> &str;

    /// The raw value of an item, read consistently.
    fn item(&self, id: &str) -> impl Future<Output = Result<Option<Value>, StoreError>> + Send;

    /// The records of these ids that exist, read consistently.
    fn records(
        &self,
        ids: &[String],
    ) -> impl Future<Output = Result<HashMap<String, ContentRecord>, StoreError>> + Send;

    /// Up to `limit` records from a place on, in the tables' own order, one table after the other. A page may be empty
    /// before the end.
    fn scan(
        &self,
        from: Option<&str>,
        limit: i32,
    ) -> impl Future<Output = Result<ScanPage, StoreError>> + Send;
}

/// [`Content`] on DynamoDB.
#[derive(Clone, Debug)]
pub struct ContentTable {
    aws: Aws,
    name: String,
    source: Option<SourceTable>,
}

impl ContentTable {
    /// The content table of this name.
    #[must_use]
    pub fn new(aws: Aws, name: String) -> Self {
        let source = None;
        Self { aws, name, source }
    }

    /// The same with a table of the user's beside it, if there is one.
    #[must_use]
    pub fn with_source(self, source: Option<SourceTable>) -> Self {
        Self { source, ..self }
    }

    /// The user's table.
    #[must_use]
    pub fn source(&self) -> Option<&SourceTable> {
        self.source.as_ref()
    }

    /// Why the item behind a record's id is no page, if there is one and it is none.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn mismatch(&self, id: &str) -> Result<Option<String>, StoreError> {
        let Some(source) = self.source.as_ref().filter(|_| id.starts_with(SOURCE_MARK)) else {
            return Ok(None);
        };
        let item = source.item(&self.aws, id).await?;
        Ok(item.and_then(|item| source.mapping().mismatch(&item)))
    }

    /// Whether the own table has a record whose id begins as only those of the user's table may. No function reads it.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn is_reserved(&self, id: &str) -> Result<bool, StoreError> {
        Ok(id.starts_with(SOURCE_MARK) && self.own_item(id).await?.is_some())
    }

    /// The records of the own table that have this address and such an id. Reads the whole table.
    ///
    /// # Errors
    ///
    /// If the table fails.
    pub async fn reserved_at(&self, loc: &Loc) -> Result<Vec<String>, StoreError> {
        let (mut found, mut start) = (Vec::new(), None);
        loop {
            let request = self
                .aws
                .dynamodb()
                .await
                .scan()
                .table_name(&self.name)
                .consistent_read(true)
                .set_exclusive_start_key(start)
                .filter_expression("begins_with(id, :mark)")
                .projection_expression("id, #url")
                .expression_attribute_names("#url", "url")
                .expression_attribute_values(":mark", text(SOURCE_MARK.to_string()));
            let output = request.send().await.map_err(service("Scan"))?;
            let items = output.items.unwrap_or_default().into_iter();
            let here = items.filter(|item| {
                let url = get_text(item, "url").map(Loc::parse_any);
                url.is_some_and(|url| url.as_ref() == Ok(loc))
            });
            found.extend(here.filter_map(|item| get_text(&item, "id").map(str::to_owned)));
            start = output.last_evaluated_key;
            if start.is_none() {
                return Ok(found);
            }
        }
    }

    async fn own_item(&self, id: &str) -> Result<Option<Item>, StoreError> {
        let request = self
            .aws
            .dynamodb()
            .await
            .get_item()
            .table_name(&self.name)
            .consistent_read(true)
            .key("id", text(id));
        Ok(request.send().await.map_err(service("GetItem"))?.item)
    }

    /// A page of the own table.
    async fn scan_own(&self, from: Option<&str>, limit: i32) -> Result<ScanPage, StoreError> {
        let start = from.map(|id| id.strip_prefix(OWN_CURSOR).unwrap_or(id));
        let start = start.map(|id| Item::from([("id".to_owned(), text(id))]));
        let request = self
            .aws
            .dynamodb()
            .await
            .scan()
            .table_name(&self.name)
            .consistent_read(true)
            .limit(limit)
            .set_exclusive_start_key(start)
            .projection_expression("id, #site, #url, #type")
            .expression_attribute_names("#site", "site")
            .expression_attribute_names("#url", "url")
            .expression_attribute_names("#type", "type");
        let output = request.send().await.map_err(service("Scan"))?;
        let record = |item: Item| {
            let id = get_text(&item, "id").filter(|id| !id.starts_with(SOURCE_MARK))?;
            let id = id.to_owned();
            let site = ContentRecord::parse(&id, &value(item)).site;
            Some((id, site))
        };
        let next = output.last_evaluated_key.as_ref();
        let next = next.and_then(|key| get_text(key, "id")).map(|id| {
            let marked = id.starts_with([SOURCE_MARK, OWN_CURSOR]);
            let mark = if marked {
                OWN_CURSOR.to_string()
            } else {
                String::new()
            };
            format!("{mark}{id}")
        });
        let items = output.items.unwrap_or_default();
        Ok(ScanPage {
            records: items.into_iter().filter_map(record).collect(),
            next,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// An item as JSON. A binary attribute has no JSON: it becomes an object that no field accepts, so that an unknown one
/// is ignored and a known one is reported. What lies beside it in a map or a list stays what it is: it may decide whether a
/// page is listed.
fn value(item: Item) -> Value {
    let field = |(name, attribute): (String, AttributeValue)| (name, json(attribute));
    Value::Object(item.into_iter().map(field).collect::<Map<_, _>>())
}

fn json(attribute: AttributeValue) -> Value {
    match attribute {
        AttributeValue::M(map) => value(map),
        AttributeValue::L(list) => Value::Array(list.into_iter().map(json).collect()),
        other => serde_dynamo::from_attribute_value(other)
            .unwrap_or_else(|_| serde_json::json!({"binary": true})),
    }
}

/// The name of the table that a stream record comes from.
fn table_of(record: &EventRecord) -> Option<&str> {
    // arn:aws:dynamodb:<region>:<account>:table/<name>/stream/<label>
    let (_, name) = record.event_source_arn.as_deref()?.split_once(":table/")?;
    name.split('/').next()
}

impl Content for ContentTable {
    fn id_of(&self, record: &EventRecord) -> Option<String> {
        let source = self.source.as_ref();
        if let Some(source) = source.filter(|source| table_of(record) == Some(source.name())) {
            return source.id_of(record);
        }
        let id = key_text(record, "id")?;
        if id.starts_with(SOURCE_MARK) {
            tracing::error!(record = id, "a record is ignored: {RESERVED_ID}");
            return None;
        }
        Some(id.to_owned())
    }

    fn is_misfit(&self, record: &EventRecord) -> bool {
        let source = self.source.as_ref();
        source.is_some_and(|source| {
            table_of(record) == Some(source.name()) && source.id_of(record).is_none()
        })
    }

    fn may_be_foreign(&self, id: &str) -> bool {
        let source = self.source.as_ref().filter(|_| id.starts_with(SOURCE_MARK));
        source.is_some_and(|source| source.mapping().is_selective())
    }

    fn revision(&self) -> &str {
        self.source
            .as_ref()
            .map_or(NO_SOURCE, SourceTable::revision)
    }

    async fn item(&self, id: &str) -> Result<Option<Value>, StoreError> {
        if id.starts_with(SOURCE_MARK) {
            return match &self.source {
                Some(source) => source.item(&self.aws, id).await,
                None => Ok(None),
            };
        }
        Ok(self.own_item(id).await?.map(value))
    }

    async fn records(&self, ids: &[String]) -> Result<HashMap<String, ContentRecord>, StoreError> {
        let (mapped, own): (Vec<&String>, Vec<&String>) =
            ids.iter().partition(|id| id.starts_with(SOURCE_MARK));
        let mut records = HashMap::new();
        let keys = own
            .into_iter()
            .map(|id| Item::from([("id".to_owned(), text(id))]));
        for item in batch_get(&self.aws, &self.name, keys, None).await? {
            if let Some(id) = get_text(&item, "id").map(str::to_owned) {
                records.insert(id.clone(), ContentRecord::parse(&id, &value(item)));
            }
        }
        if let Some(source) = &self.source {
            records.extend(source.records(&self.aws, &mapped).await?);
        }
        Ok(records)
    }

    async fn scan(&self, from: Option<&str>, limit: i32) -> Result<ScanPage, StoreError> {
        match (&self.source, from) {
            (Some(source), Some(after)) if after.starts_with(SOURCE_MARK) => {
                source.scan(&self.aws, after, limit).await
            }
            // The user's table has gone since the cursor was written.
            (None, Some(after)) if after.starts_with(SOURCE_MARK) => Ok(ScanPage {
                records: Vec::new(),
                next: None,
            }),
            (source, from) => {
                let mut page = self.scan_own(from, limit).await?;
                // No key is empty: the mark alone is the beginning.
                let beginning = source.as_ref().map(|_| SOURCE_MARK.to_string());
                page.next = page.next.or(beginning);
                Ok(page)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::primitives::Blob;
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_in_an_item_hide_nothing_beside_them() {
        let bytes = || AttributeValue::B(Blob::new([1, 2]));
        let meta = [
            ("state".to_owned(), text("draft")),
            ("thumbnail".to_owned(), bytes()),
        ];
        let meta = AttributeValue::M(HashMap::from(meta));
        let list = AttributeValue::L(vec![bytes(), text("b")]);
        let item = Item::from([("meta".to_owned(), meta), ("list".to_owned(), list)]);
        let binary = json!({"binary": true});
        assert_eq!(
            value(item),
            json!({"meta": {"state": "draft", "thumbnail": binary}, "list": [binary, "b"]})
        );
    }
}
