//! What the adapters of both tables share: the narrow part of DynamoDB's API that Waymark uses.

use std::collections::HashMap;

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::{UpdateItemError, UpdateItemOutput};
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};

use crate::aws::Aws;
use crate::concurrency::backoff;
use crate::error::{StoreError, service};
use crate::keys::Key;

/// Keys of one `BatchGetItem` (DynamoDB).
const BATCH_KEYS: usize = 100;
/// Rounds for keys that DynamoDB left unprocessed.
const BATCH_ROUNDS: u32 = 10;

/// A raw item.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The sitemap table on DynamoDB. Its ports are the traits of this crate's other modules.
#[derive(Clone, Debug)]
pub struct SitemapTable {
    pub(crate) aws: Aws,
    pub(crate) name: String,
}

impl SitemapTable {
    /// The sitemap table of this name.
    #[must_use]
    pub fn new(aws: Aws, name: String) -> Self {
        Self { aws, name }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An item, read consistently.
    pub(crate) async fn item(&self, key: &Key) -> Result<Option<Item>, StoreError> {
        let request = self
            .aws
            .dynamodb()
            .await
            .get_item()
            .table_name(&self.name)
            .consistent_read(true);
        let output = request
            .set_key(Some(key_item(key)))
            .send()
            .await
            .map_err(service("GetItem"))?;
        Ok(output.item)
    }

    /// The items of a partition in the order of their sort keys, read consistently: all, or the first `limit`.
    pub(crate) async fn partition(
        &self,
        pk: &str,
        limit: Option<i32>,
    ) -> Result<Vec<Item>, StoreError> {
        let query = self
            .aws
            .dynamodb()
            .await
            .query()
            .table_name(&self.name)
            .consistent_read(true)
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", text(pk))
            .set_limit(limit);
        if limit.is_some() {
            return Ok(query
                .send()
                .await
                .map_err(service("Query"))?
                .items
                .unwrap_or_default());
        }
        let mut pages = query.into_paginator().send();
        let mut items = Vec::new();
        while let Some(page) = pages.next().await {
            items.extend(page.map_err(service("Query"))?.items.unwrap_or_default());
        }
        Ok(items)
    }

    /// An update of an item, to be completed.
    pub(crate) async fn update(&self, key: &Key) -> UpdateItemFluentBuilder {
        let update = self.aws.dynamodb().await.update_item();
        update.table_name(&self.name).set_key(Some(key_item(key)))
    }

    /// Writes an item over whatever stands there.
    pub(crate) async fn put(&self, item: Item) -> Result<(), StoreError> {
        let request = self.aws.dynamodb().await.put_item().table_name(&self.name);
        let request = request.set_item(Some(item));
        request.send().await.map_err(service("PutItem"))?;
        Ok(())
    }

    /// Deletes an item, whatever it holds.
    pub(crate) async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        let request = self
            .aws
            .dynamodb()
            .await
            .delete_item()
            .table_name(&self.name);
        request
            .set_key(Some(key_item(key)))
            .send()
            .await
            .map_err(service("DeleteItem"))?;
        Ok(())
    }
}

/// Which attributes of an item are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    pub(crate) expression: String,
    pub(crate) names: HashMap<String, String>,
}

/// The items with these keys that exist, whole or what is wanted of them, read consistently, in no particular order.
pub(crate) async fn batch_get(
    aws: &Aws,
    table: &str,
    keys: impl IntoIterator<Item = Item>,
    projection: Option<&Projection>,
) -> Result<Vec<Item>, StoreError> {
    let client = aws.dynamodb().await;
    let keys: Vec<Item> = keys.into_iter().collect();
    let mut items = Vec::new();
    for keys in keys.chunks(BATCH_KEYS) {
        let mut wanted = keys.to_vec();
        for round in 0.. {
            let request = KeysAndAttributes::builder()
                .set_keys(Some(wanted))
                .set_projection_expression(projection.map(|wanted| wanted.expression.clone()))
                .set_expression_attribute_names(projection.map(|wanted| wanted.names.clone()))
                .consistent_read(true);
            if round == BATCH_ROUNDS {
                return Err(StoreError::Contended {
                    what: format!("BatchGetItem of {table}"),
                    tries: round,
                });
            }
            backoff(round).await;
            let output = client
                .batch_get_item()
                .request_items(table, request.build().expect("keys are set"))
                .send()
                .await
                .map_err(service("BatchGetItem"))?;
            let answered = output.responses.into_iter().flat_map(HashMap::into_values);
            items.extend(answered.flatten());
            let left = output
                .unprocessed_keys
                .into_iter()
                .flat_map(HashMap::into_values);
            wanted = left.flat_map(|left| left.keys).collect();
            if wanted.is_empty() {
                break;
            }
        }
    }
    Ok(items)
}

/// Sends an update: nothing is returned if its condition did not hold.
pub(crate) async fn send(
    update: UpdateItemFluentBuilder,
) -> Result<Option<UpdateItemOutput>, StoreError> {
    match update.send().await {
        Ok(output) => Ok(Some(output)),
        Err(error) => match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(None),
            _ => Err(service("UpdateItem")(error)),
        },
    }
}

/// A primary key as an item.
pub(crate) fn key_item(key: &Key) -> Item {
    HashMap::from([
        ("pk".to_owned(), text(&key.pk)),
        ("sk".to_owned(), text(&key.sk)),
    ])
}

/// An item's primary key.
pub(crate) fn item_key(item: &Item) -> Option<Key> {
    let part = |name| get_text(item, name).map(str::to_owned);
    Some(Key {
        pk: part("pk")?,
        sk: part("sk")?,
    })
}

pub(crate) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(crate) fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// An attribute's text, if it has one.
pub(crate) fn get_text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

/// An attribute's number, if it is one of this type.
pub(crate) fn get_number<T: std::str::FromStr>(item: &Item, name: &str) -> Option<T> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

/// The error of an item of ours that lacks an attribute or has a wrong one.
pub(crate) fn damaged(key: &Key, name: &str) -> StoreError {
    StoreError::Damaged {
        what: format!("{} {}", key.pk, key.sk),
        message: format!("attribute {name} is missing or wrong"),
    }
}
