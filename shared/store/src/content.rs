//! The content table: the truth. Waymark only reads it.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use serde_json::{Map, Value};
use sitemap::record::ContentRecord;

use crate::aws::Aws;
use crate::error::{StoreError, service};
use crate::table::{Item, get_text, text};

/// Keys of one `BatchGetItem` (DynamoDB).
const BATCH_KEYS: usize = 100;
/// Rounds for keys that DynamoDB left unprocessed.
const BATCH_ROUNDS: u32 = 10;

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
        let client = self.aws.dynamodb().await;
        let mut records = HashMap::new();
        for ids in ids.chunks(BATCH_KEYS) {
            let keys = ids
                .iter()
                .map(|id| Item::from([("id".to_owned(), text(id))]))
                .collect();
            let mut wanted = keys_to_read(keys);
            for round in 0.. {
                let Some(request) = wanted.take() else { break };
                if round == BATCH_ROUNDS {
                    return Err(StoreError::Contended {
                        what: "BatchGetItem of the content table".to_owned(),
                        tries: round,
                    });
                }
                backoff(round).await;
                let output = client
                    .batch_get_item()
                    .request_items(&self.name, request)
                    .send()
                    .await;
                let output = output.map_err(service("BatchGetItem"))?;
                for item in output
                    .responses
                    .into_iter()
                    .flat_map(HashMap::into_values)
                    .flatten()
                {
                    if let Some(id) = get_text(&item, "id").map(str::to_owned) {
                        records.insert(id.clone(), ContentRecord::parse(&id, &value(item)));
                    }
                }
                let unprocessed = output
                    .unprocessed_keys
                    .into_iter()
                    .flat_map(HashMap::into_values);
                wanted = keys_to_read(unprocessed.flat_map(|keys| keys.keys).collect());
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

fn keys_to_read(keys: Vec<Item>) -> Option<KeysAndAttributes> {
    if keys.is_empty() {
        return None;
    }
    KeysAndAttributes::builder()
        .set_keys(Some(keys))
        .consistent_read(true)
        .build()
        .ok()
}

/// Waits a random time of up to 20 ms, doubled with each round but the first, which does not wait.
pub(crate) async fn backoff(round: u32) {
    if round > 0 {
        let most = 20 << round.min(8);
        tokio::time::sleep(Duration::from_millis(fastrand::u64(0..most))).await;
    }
}
