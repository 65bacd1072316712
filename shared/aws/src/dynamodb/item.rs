//! Converts items and values between the SDK's form and the port's.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use table::{Item, Name, Value};

/// An item of the SDK.
pub(super) type SdkItem = HashMap<String, AttributeValue>;

/// Converts an item from the SDK's form to the port's.
#[must_use]
pub fn item(item: SdkItem) -> Item {
    let attributes = item.into_iter();
    attributes
        .map(|(name, attribute)| (Name::from(name), value(attribute)))
        .collect()
}

/// Converts an item from the port's form to the SDK's.
pub(super) fn sdk_item(item: Item) -> SdkItem {
    let attributes = item.into_iter();
    attributes
        .map(|(name, value)| (name.into_owned(), attribute_value(value)))
        .collect()
}

fn value(attribute: AttributeValue) -> Value {
    match attribute {
        AttributeValue::S(text) => Value::Text(text),
        AttributeValue::N(number) => Value::Number(number),
        AttributeValue::B(bytes) => Value::Bytes(bytes.into_inner()),
        AttributeValue::Bool(bool) => Value::Bool(bool),
        AttributeValue::L(values) => Value::List(values.into_iter().map(value).collect()),
        AttributeValue::M(values) => {
            let fields = values.into_iter();
            Value::Map(fields.map(|(name, field)| (name, value(field))).collect())
        }
        AttributeValue::Ss(texts) => Value::TextSet(texts.into_iter().collect()),
        AttributeValue::Ns(numbers) => Value::NumberSet(numbers.into_iter().collect()),
        AttributeValue::Bs(values) => {
            Value::BytesSet(values.into_iter().map(Blob::into_inner).collect())
        }
        // This includes types that DynamoDB does not have yet.
        _ => Value::Null,
    }
}

/// Converts a value from the port's form to the SDK's.
#[must_use]
pub(super) fn attribute_value(value: Value) -> AttributeValue {
    match value {
        Value::Text(text) => AttributeValue::S(text),
        Value::Number(number) => AttributeValue::N(number),
        Value::Bytes(bytes) => AttributeValue::B(Blob::new(bytes)),
        Value::Bool(value) => AttributeValue::Bool(value),
        Value::Null => AttributeValue::Null(true),
        Value::List(values) => AttributeValue::L(values.into_iter().map(attribute_value).collect()),
        Value::Map(values) => {
            let fields = values.into_iter();
            let fields = fields.map(|(name, field)| (name, attribute_value(field)));
            AttributeValue::M(fields.collect())
        }
        Value::TextSet(texts) => AttributeValue::Ss(texts.into_iter().collect()),
        Value::NumberSet(numbers) => AttributeValue::Ns(numbers.into_iter().collect()),
        Value::BytesSet(values) => AttributeValue::Bs(values.into_iter().map(Blob::new).collect()),
    }
}
