//! Reads a sample of a table's items, and its key.

use anyhow::{Result, anyhow};
use aws_sdk_dynamodb::Client;

use super::Item;
use crate::error::permission;

/// The attributes of a table's key, each with its type: `S`, `N` or `B`.
pub(super) type Key = Vec<(String, String)>;

/// Reads the first items of a scan, which are those of any partitions.
pub(super) async fn items(client: &Client, table: &str, most: usize) -> Result<Vec<Item>> {
    let (mut items, mut after) = (Vec::new(), None);
    loop {
        let left = i32::try_from(most - items.len()).unwrap_or(i32::MAX);
        let page = client.scan().table_name(table).limit(left);
        let page = page.set_exclusive_start_key(after).send().await;
        let page = page.map_err(|error| anyhow!(permission::dynamodb("Scan", table, &error)))?;
        items.extend(page.items.unwrap_or_default());
        after = page.last_evaluated_key;
        if items.len() >= most || after.is_none() {
            return Ok(items);
        }
    }
}

/// Reads the key of a table.
pub(super) async fn key(client: &Client, table: &str) -> Result<Key> {
    let described = client.describe_table().table_name(table).send().await;
    let described =
        described.map_err(|error| anyhow!(permission::dynamodb("DescribeTable", table, &error)))?;
    let description = described
        .table
        .ok_or_else(|| anyhow!("{table}: DynamoDB describes no such table"))?;
    let attributes = description.attribute_definitions();
    let key = description.key_schema().iter().filter_map(|part| {
        let mut attributes = attributes.iter();
        let named =
            attributes.find(|attribute| attribute.attribute_name() == part.attribute_name())?;
        let name = named.attribute_name().to_owned();
        Some((name, named.attribute_type().as_str().to_owned()))
    });
    Ok(key.collect())
}
