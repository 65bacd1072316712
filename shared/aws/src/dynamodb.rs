//! A table on DynamoDB.

use std::collections::HashMap;
use std::error::Error;

use aws_sdk_dynamodb::Config;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    CancellationReason, ConditionCheck, Delete, KeyType as KeyRole, KeysAndAttributes, Put,
    ReturnValue, TransactWriteItem,
};
use engine::content::source::Description;
use engine::error::EngineError;
use table::{
    Action, Condition, Item, Name, Page, Query, Reason, Reply, Scan, Schema, Table, TableError,
    Update,
};

use self::expression::Expression;
use crate::clients::Aws;
use crate::error::message;

mod expression;
mod item;

pub use item::item;

use item::{SdkItem, sdk_item};

/// [`Table`] on DynamoDB.
#[derive(Clone, Debug)]
pub struct DynamoDbTable {
    aws: Aws,
    name: String,
    schema: Schema,
}

impl DynamoDbTable {
    /// Returns the table of this name, with this primary key.
    #[must_use]
    pub fn new(aws: Aws, name: String, schema: Schema) -> Self {
        Self { aws, name, schema }
    }

    /// Returns the names of the partition key and of the sort key. The latter is empty if the table has no sort key.
    fn key_names(&self) -> (String, String) {
        let mut names = self.schema.names().map(str::to_owned);
        let partition = names.next().unwrap_or_default();
        (partition, names.next().unwrap_or_default())
    }

    /// Converts an action of a transaction to the SDK's form.
    fn action(&self, action: Action) -> TransactWriteItem {
        let table = self.name.as_str();
        let built = TransactWriteItem::builder();
        // The builders only check that table, key and item are set.
        match action {
            Action::Put { item, condition } => {
                let mut expression = Expression::default();
                let condition = condition.map(|condition| expression.condition(&condition));
                let put = Put::builder()
                    .table_name(table)
                    .set_item(Some(sdk_item(item)))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(expression.names())
                    .set_expression_attribute_values(expression.values());
                built.put(put.build().expect("a complete put"))
            }
            Action::Update {
                key,
                update,
                condition,
            } => {
                let mut expression = Expression::default();
                let change = expression.update(&update);
                let condition = condition.map(|condition| expression.condition(&condition));
                let update = aws_sdk_dynamodb::types::Update::builder()
                    .table_name(table)
                    .set_key(Some(sdk_item(key)))
                    .update_expression(change)
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(expression.names())
                    .set_expression_attribute_values(expression.values());
                built.update(update.build().expect("a complete update"))
            }
            Action::Delete { key, condition } => {
                let mut expression = Expression::default();
                let condition = condition.map(|condition| expression.condition(&condition));
                let delete = Delete::builder()
                    .table_name(table)
                    .set_key(Some(sdk_item(key)))
                    .set_condition_expression(condition)
                    .set_expression_attribute_names(expression.names())
                    .set_expression_attribute_values(expression.values());
                built.delete(delete.build().expect("a complete delete"))
            }
            Action::Check { key, condition } => {
                let mut expression = Expression::default();
                let condition = expression.condition(&condition);
                let check = ConditionCheck::builder()
                    .table_name(table)
                    .set_key(Some(sdk_item(key)))
                    .condition_expression(condition)
                    .set_expression_attribute_names(expression.names())
                    .set_expression_attribute_values(expression.values());
                built.condition_check(check.build().expect("a complete check"))
            }
        }
        .build()
    }
}

impl Table for DynamoDbTable {
    fn get(&self, key: Item) -> Reply<'_, Option<Item>> {
        Box::pin(async move {
            let client = self.aws.dynamodb().await;
            let request = client.get_item().table_name(&self.name);
            let request = request.consistent_read(true).set_key(Some(sdk_item(key)));
            let output = request.send().await.map_err(failed("GetItem"))?;
            Ok(output.item.map(item))
        })
    }

    fn batch_get(
        &self,
        keys: Vec<Item>,
        attributes: Option<Vec<Name>>,
    ) -> Reply<'_, (Vec<Item>, Vec<Item>)> {
        Box::pin(async move {
            let mut expression = Expression::default();
            let projection = attributes.map(|names| expression.projection(&names));
            let request = KeysAndAttributes::builder()
                .set_keys(Some(keys.into_iter().map(sdk_item).collect()))
                .set_projection_expression(projection)
                .set_expression_attribute_names(expression.names())
                .consistent_read(true);
            let client = self.aws.dynamodb().await;
            let output = client
                .batch_get_item()
                .request_items(&self.name, request.build().expect("keys are set"))
                .send()
                .await
                .map_err(failed("BatchGetItem"))?;
            let found = output.responses.into_iter().flat_map(HashMap::into_values);
            let left = output.unprocessed_keys.into_iter();
            let left = left.flat_map(HashMap::into_values);
            let left = left.flat_map(|left| left.keys);
            Ok((
                found.flatten().map(item).collect(),
                left.map(item).collect(),
            ))
        })
    }

    fn query(&self, query: Query) -> Reply<'_, Page> {
        Box::pin(async move {
            let (partition, sort) = self.key_names();
            let mut expression = Expression::default();
            let condition = expression.key_condition(&partition, &sort, &query);
            let client = self.aws.dynamodb().await;
            let request = client.query().table_name(&self.name);
            let output = request
                .consistent_read(true)
                .key_condition_expression(condition)
                .set_expression_attribute_names(expression.names())
                .set_expression_attribute_values(expression.values())
                .scan_index_forward(!query.reverse)
                .set_limit(query.limit.map(limit))
                .set_exclusive_start_key(query.after.map(sdk_item))
                .send()
                .await
                .map_err(failed("Query"))?;
            Ok(page(output.items, output.last_evaluated_key))
        })
    }

    fn scan(&self, scan: Scan) -> Reply<'_, Page> {
        Box::pin(async move {
            let mut expression = Expression::default();
            let projection = scan.attributes.map(|names| expression.projection(&names));
            let client = self.aws.dynamodb().await;
            let request = client.scan().table_name(&self.name);
            let output = request
                .consistent_read(scan.consistent)
                .set_limit(scan.limit.map(limit))
                .set_exclusive_start_key(scan.after.map(sdk_item))
                .set_projection_expression(projection)
                .set_expression_attribute_names(expression.names())
                .send()
                .await
                .map_err(failed("Scan"))?;
            Ok(page(output.items, output.last_evaluated_key))
        })
    }

    fn put(&self, item: Item, condition: Option<Condition>) -> Reply<'_, ()> {
        Box::pin(async move {
            let mut expression = Expression::default();
            let condition = condition.map(|condition| expression.condition(&condition));
            let client = self.aws.dynamodb().await;
            let request = client.put_item().table_name(&self.name);
            let request = request
                .set_item(Some(sdk_item(item)))
                .set_condition_expression(condition)
                .set_expression_attribute_names(expression.names())
                .set_expression_attribute_values(expression.values());
            let output = request.send().await;
            output.map(drop).map_err(failed("PutItem"))
        })
    }

    fn update(&self, key: Item, update: Update, condition: Option<Condition>) -> Reply<'_, Item> {
        Box::pin(async move {
            let mut expression = Expression::default();
            let change = expression.update(&update);
            let condition = condition.map(|condition| expression.condition(&condition));
            let client = self.aws.dynamodb().await;
            let request = client.update_item().table_name(&self.name);
            let request = request
                .set_key(Some(sdk_item(key)))
                .update_expression(change)
                .set_condition_expression(condition)
                .set_expression_attribute_names(expression.names())
                .set_expression_attribute_values(expression.values())
                .return_values(ReturnValue::AllNew);
            let output = if update.once {
                let once = Config::builder().retry_config(RetryConfig::disabled());
                request.customize().config_override(once).send().await
            } else {
                request.send().await
            };
            let output = output.map_err(failed("UpdateItem"))?;
            Ok(output.attributes.map(item).unwrap_or_default())
        })
    }

    fn delete(&self, key: Item, condition: Option<Condition>) -> Reply<'_, ()> {
        Box::pin(async move {
            let mut expression = Expression::default();
            let condition = condition.map(|condition| expression.condition(&condition));
            let client = self.aws.dynamodb().await;
            let request = client.delete_item().table_name(&self.name);
            let request = request
                .set_key(Some(sdk_item(key)))
                .set_condition_expression(condition)
                .set_expression_attribute_names(expression.names())
                .set_expression_attribute_values(expression.values());
            let output = request.send().await;
            output.map(drop).map_err(failed("DeleteItem"))
        })
    }

    fn transact(&self, actions: Vec<Action>) -> Reply<'_, ()> {
        Box::pin(async move {
            let actions = actions.into_iter().map(|action| self.action(action));
            let actions = actions.collect();
            let client = self.aws.dynamodb().await;
            let request = client.transact_write_items();
            let request = request.set_transact_items(Some(actions));
            match request.send().await {
                Ok(_) => Ok(()),
                Err(error) => Err(match error.as_service_error() {
                    Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                        let reasons = cancelled.cancellation_reasons().iter();
                        let reasons = reasons.map(reason).collect();
                        TableError::Cancelled { reasons }
                    }
                    // The same request is already running, from a try whose answer was lost.
                    Some(TransactWriteItemsError::TransactionInProgressException(_)) => {
                        let reasons = vec![Reason::Conflict];
                        TableError::Cancelled { reasons }
                    }
                    _ => failed("TransactWriteItems")(error),
                }),
            }
        })
    }
}

/// Returns why an action of a transaction was cancelled, or [`Reason::Innocent`] if the action was not the reason.
fn reason(reason: &CancellationReason) -> Reason {
    match reason.code() {
        None | Some("None") => Reason::Innocent,
        Some("ConditionalCheckFailed") => Reason::ConditionFailed,
        Some("TransactionConflict") => Reason::Conflict,
        Some("ThrottlingError" | "ProvisionedThroughputExceeded") => Reason::Throttled,
        Some(code) => {
            let message = reason.message().unwrap_or_default();
            Reason::Refused(format!("{code}: {message}"))
        }
    }
}

/// Returns a function that converts the error of an API call.
fn failed<E, R>(operation: &'static str) -> impl FnOnce(SdkError<E, R>) -> TableError
where
    E: ProvideErrorMetadata + Error + 'static,
    R: std::fmt::Debug + 'static,
{
    move |error| {
        let message = message(&error);
        match error.code() {
            Some("ConditionalCheckFailedException") => TableError::ConditionFailed { operation },
            Some("ValidationException") => TableError::Refused { operation, message },
            Some(
                "ProvisionedThroughputExceededException"
                | "RequestLimitExceeded"
                | "ThrottlingException",
            ) => TableError::Throttled { operation, message },
            _ => TableError::Unavailable { operation, message },
        }
    }
}

fn limit(limit: u32) -> i32 {
    i32::try_from(limit).unwrap_or(i32::MAX)
}

fn page(items: Option<Vec<SdkItem>>, next: Option<SdkItem>) -> Page {
    Page {
        items: items.into_iter().flatten().map(item).collect(),
        next: next.map(item),
    }
}

/// Returns a table's properties as DynamoDB describes them.
///
/// # Errors
///
/// If the table does not exist, or the caller may not describe it.
pub async fn describe(aws: &Aws, table: &str) -> Result<Description, EngineError> {
    let request = aws.dynamodb().await.describe_table().table_name(table);
    let output = request.send().await;
    let output = output.map_err(failed("DescribeTable"))?;
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
        // The description still has a stream that is turned off.
        stream: described
            .filter(|table| {
                let stream = table.stream_specification();
                stream.is_some_and(|stream| stream.stream_enabled())
            })
            .and_then(|table| table.latest_stream_arn())
            .map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;

    #[test]
    fn every_name_and_value_is_a_placeholder() {
        let mut expression = Expression::default();
        let update = Update::new()
            .set("owner", "me")
            .set_missing("since", 1)
            .remove("xml")
            .add("version", 2);
        assert_eq!(
            expression.update(&update),
            "SET #0 = :0, #1 = if_not_exists(#1, :1) REMOVE #2 ADD #3 :2"
        );
        let condition = Condition::lacks("owner")
            .or(Condition::equals("owner", "me").and(Condition::less("n", 3)));
        assert_eq!(
            expression.condition(&condition),
            "(attribute_not_exists(#0) OR (#0 = :3 AND #4 < :4))"
        );
        let names = expression.names().unwrap_or_default();
        assert_eq!(names["#0"], "owner");
        assert_eq!(names.len(), 5);
        let values = expression.values().unwrap_or_default();
        assert_eq!(values[":4"], AttributeValue::N("3".to_owned()));
        let nothing = Expression::default();
        assert_eq!((nothing.names(), nothing.values()), (None, None));
    }
}
