//! The content table: the truth. Waymark only reads it.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Map, Value};
use sitemap::record::ContentRecord;

use crate::aws::Aws;
use crate::error::{StoreError, service};
use crate::table::{Item, batch_get, get_text, text};

/// A page of the content table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanPage {
    /// The records' ids and sites.
    pub records: Vec<(String, String)>,
    /// Where the next page begins; nothing at the end.
    pub next: Option<String>,
}

/// The content table.
pub trait Content: Send + Sync {
    /// The raw value of an item, read consistently.
    fn item(&self, id: &str) -> impl Future<Output = Result<Option<Value>, StoreError>> + Send;

    /// The records of these ids that exist, read consistently.
    fn records(
        &self,
        ids: &[String],
    ) -> impl Future<Output = Result<HashMap<String, ContentRecord>, StoreError>> + Send;

    /// Up to `limit` records from a place on, in the table's own order.
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
}

impl ContentTable {
    /// The content table of this name.
    #[must_use]
    pub fn new(aws: Aws, name: String) -> Self {
        Self { aws, name }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// An item as JSON. A binary attribute has no JSON: it becomes an object that no field accepts, so that an unknown one
/// is ignored and a known one is reported.
fn value(item: Item) -> Value {
    let field = |(name, attribute): (String, AttributeValue)| {
        let value = serde_dynamo::from_attribute_value(attribute)
            .unwrap_or_else(|_| serde_json::json!({"binary": true}));
        (name, value)
    };
    Value::Object(item.into_iter().map(field).collect::<Map<_, _>>())
}

impl Content for ContentTable {
    async fn item(&self, id: &str) -> Result<Option<Value>, StoreError> {
        let request = self
            .aws
            .dynamodb()
            .await
            .get_item()
            .table_name(&self.name)
            .consistent_read(true)
            .key("id", text(id));
        Ok(request
            .send()
            .await
            .map_err(service("GetItem"))?
            .item
            .map(value))
    }

    async fn records(&self, ids: &[String]) -> Result<HashMap<String, ContentRecord>, StoreError> {
        let keys = ids
            .iter()
            .map(|id| Item::from([("id".to_owned(), text(id))]));
        let mut records = HashMap::new();
        for item in batch_get(&self.aws, &self.name, keys).await? {
            if let Some(id) = get_text(&item, "id").map(str::to_owned) {
                records.insert(id.clone(), ContentRecord::parse(&id, &value(item)));
            }
        }
        Ok(records)
    }

    async fn scan(&self, from: Option<&str>, limit: i32) -> Result<ScanPage, StoreError> {
        let start = from.map(|id| Item::from([("id".to_owned(), text(id))]));
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
            let id = get_text(&item, "id")?.to_owned();
            let site = ContentRecord::parse(&id, &value(item)).site;
            Some((id, site))
        };
        let next = output
            .last_evaluated_key
            .as_ref()
            .and_then(|key| get_text(key, "id"))
            .map(str::to_owned);
        Ok(ScanPage {
            records: output
                .items
                .unwrap_or_default()
                .into_iter()
                .filter_map(record)
                .collect(),
            next,
        })
    }
}
