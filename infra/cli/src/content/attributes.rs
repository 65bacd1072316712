//! DynamoDB's values as JSON: plain, as a content record is written by hand, or typed, as DynamoDB itself writes them.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_types::base64;
use serde_json::{Map, Number, Value};

/// Converts an item to plain JSON. Sets `is_lossy` if the JSON does not have all of it. A set becomes a list, a binary its base64, and a
/// number with more digits than a double has loses them.
pub(crate) fn plain(item: &HashMap<String, AttributeValue>, is_lossy: &mut bool) -> Value {
    let members = item.iter();
    let members: Map<String, Value> = members
        .map(|(name, attribute)| (name.clone(), value(attribute, is_lossy)))
        .collect();
    Value::Object(members)
}

/// Converts an item to DynamoDB's own JSON.
pub(crate) fn typed(item: HashMap<String, AttributeValue>) -> serde_json::Result<Value> {
    serde_json::to_value(serde_dynamo::Item::from(item))
}

fn value(attribute: &AttributeValue, is_lossy: &mut bool) -> Value {
    match attribute {
        AttributeValue::S(text) => text.as_str().into(),
        AttributeValue::Bool(flag) => (*flag).into(),
        AttributeValue::N(text) => number(text, is_lossy),
        AttributeValue::M(members) => plain(members, is_lossy),
        AttributeValue::L(elements) => {
            let elements = elements.iter();
            elements.map(|element| value(element, is_lossy)).collect()
        }
        AttributeValue::Null(_) => Value::Null,
        AttributeValue::Ss(texts) => {
            *is_lossy = true;
            texts
                .iter()
                .map(|text| Value::from(text.as_str()))
                .collect()
        }
        AttributeValue::Ns(texts) => {
            *is_lossy = true;
            texts.iter().map(|text| number(text, is_lossy)).collect()
        }
        AttributeValue::B(bytes) => {
            *is_lossy = true;
            base64::encode(bytes).into()
        }
        AttributeValue::Bs(all) => {
            *is_lossy = true;
            all.iter()
                .map(|bytes| Value::from(base64::encode(bytes)))
                .collect()
        }
        _ => {
            *is_lossy = true;
            Value::Null
        }
    }
}

fn number(text: &str, is_lossy: &mut bool) -> Value {
    let Ok(number) = text.parse::<Number>() else {
        *is_lossy = true;
        return text.into();
    };
    // What DynamoDB would make of it again.
    if number.to_string() != text {
        *is_lossy = true;
    }
    number.into()
}

/// Counts the bytes of an item as DynamoDB does for its write units
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>).
pub(crate) fn size(item: &HashMap<String, AttributeValue>) -> u64 {
    let members = item.iter();
    members
        .map(|(name, attribute)| name.len() as u64 + size_of(attribute))
        .sum()
}

fn size_of(attribute: &AttributeValue) -> u64 {
    let number = |text: &str| text.len() as u64 / 2 + 2;
    match attribute {
        AttributeValue::S(text) => text.len() as u64,
        AttributeValue::N(text) => number(text),
        AttributeValue::B(bytes) => bytes.as_ref().len() as u64,
        AttributeValue::Ss(texts) => texts.iter().map(|text| text.len() as u64).sum(),
        AttributeValue::Ns(texts) => texts.iter().map(|text| number(text)).sum(),
        AttributeValue::Bs(all) => all.iter().map(|bytes| bytes.as_ref().len() as u64).sum(),
        AttributeValue::M(members) => 3 + members.len() as u64 + size(members),
        AttributeValue::L(elements) => {
            3 + elements
                .iter()
                .map(|element| 1 + size_of(element))
                .sum::<u64>()
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::primitives::Blob;
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_json_says_if_it_is_not_all() {
        let n = |text: &str| AttributeValue::N(text.to_owned());
        for (attribute, expected, lossy) in [
            (AttributeValue::S("é".to_owned()), json!("é"), false),
            (n("12"), json!(12), false),
            (n("0.5"), json!(0.5), false),
            (
                n("-9007199254740993"),
                json!(-9_007_199_254_740_993_i64),
                false,
            ),
            (
                n("1.23456789012345678901"),
                json!(1.234_567_890_123_456_7),
                true,
            ),
            (
                AttributeValue::L(vec![AttributeValue::Null(true)]),
                json!([null]),
                false,
            ),
            (AttributeValue::Ss(vec!["a".to_owned()]), json!(["a"]), true),
            (AttributeValue::B(Blob::new([1, 2, 3])), json!("AQID"), true),
        ] {
            let item = HashMap::from([("a".to_owned(), attribute)]);
            let mut is_lossy = false;
            let found = plain(&item, &mut is_lossy);
            assert_eq!((&found["a"], is_lossy), (&expected, lossy), "{item:?}");
        }
    }
}
