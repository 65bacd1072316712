//! The values that a mapping gives for the values of an item.

use std::collections::BTreeMap;

use serde_json::Value;

use super::path::{Lack, Path};

/// Ends the name of all texts that begin with what is before it.
const ANY_END: char = '*';

/// Returns the result that `values` has for the value at a path: the one for the value itself, or for the longest prefix of a
/// text, or `other`.
///
/// # Errors
///
/// If there is none, or if the path fails.
pub(super) fn translated(
    path: &Path,
    values: &BTreeMap<String, Value>,
    other: Option<&Value>,
    missing: Option<&Value>,
    scope: &Value,
) -> Result<Value, Lack> {
    let lack = |translated| Lack::Missing {
        path: path.to_string(),
        translated,
    };
    // A translation to null means that the item has no value.
    let given = |value: &Value| match value {
        Value::Null => Err(lack(false)),
        value => Ok(value.clone()),
    };
    let found = path.find(scope)?;
    // The translation may contain the empty text.
    let found = match found {
        Some(value) if value.as_str().is_some_and(|text| values.contains_key(text)) => Some(value),
        found => path.said(found)?,
    };
    let Some(value) = found else {
        return missing.map_or_else(|| Err(lack(true)), given);
    };
    let named = match &*value {
        Value::String(text) => values.get(text).or_else(|| of_prefix(values, text)),
        Value::Bool(_) | Value::Number(_) => values.get(&value.to_string()),
        _ => None,
    };
    let names = || values.keys().cloned().collect::<Vec<_>>().join(", ");
    let named = named.or(other);
    let named = named.ok_or_else(|| path.bad(&value, &format!("not one of {}", names())))?;
    given(named)
}

/// Returns the result for the longest prefix that a text has.
fn of_prefix<'v>(values: &'v BTreeMap<String, Value>, text: &str) -> Option<&'v Value> {
    let prefixes = values.iter().filter_map(|(name, value)| {
        let prefix = name.strip_suffix(ANY_END)?;
        text.starts_with(prefix).then_some((prefix.len(), value))
    });
    let longest = prefixes.max_by_key(|(bytes, _)| *bytes);
    longest.map(|(_, value)| value)
}
