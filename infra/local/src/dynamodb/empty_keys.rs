//! Finds queries for an empty key, which DynamoDB refuses and dynoxide answers with nothing.

use serde_json::Value;

/// Returns DynamoDB's reason for refusing a query, whose body this is. Returns `None` if its keys are not empty.
pub(super) fn refusal(body: &[u8]) -> Option<String> {
    // Few have an empty text or no bytes at all.
    if !body.windows(2).any(|pair| pair == b"\"\"") {
        return None;
    }
    let query: Value = serde_json::from_slice(body).ok()?;
    let name = empty_in_expression(&query).or_else(|| empty_in_conditions(&query))?;
    Some(format!(
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: {name}"
    ))
}

/// Returns the key of `KeyConditionExpression` that is compared with nothing.
fn empty_in_expression(query: &Value) -> Option<String> {
    let expression = query["KeyConditionExpression"].as_str()?;
    let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || "_-.#:".contains(letter);
    let words = expression.split(|letter| !is_of_a_name(letter));
    let mut name = "";
    for word in words.filter(|word| !word.is_empty()) {
        let is_keyword = ["and", "between", "begins_with"]
            .iter()
            .any(|keyword| word.eq_ignore_ascii_case(keyword));
        if !word.starts_with(':') {
            if !is_keyword {
                name = word;
            }
        } else if is_empty(&query["ExpressionAttributeValues"][word]) {
            let named = query["ExpressionAttributeNames"][name].as_str();
            return Some(named.unwrap_or(name).to_owned());
        }
    }
    None
}

/// Returns the key of the older `KeyConditions` that is compared with nothing.
fn empty_in_conditions(query: &Value) -> Option<String> {
    let conditions = query["KeyConditions"].as_object()?;
    let is_with_nothing = |condition: &Value| {
        let values = condition["AttributeValueList"].as_array();
        values.is_some_and(|values| values.iter().any(is_empty))
    };
    let mut found = conditions
        .iter()
        .filter(|(_, condition)| is_with_nothing(condition));
    found.next().map(|(name, _)| name.clone())
}

fn is_empty(value: &Value) -> bool {
    ["S", "B"].iter().any(|key_type| value[*key_type] == "")
}
