//! Conditions on the attributes of an item, by which a mapping selects pages.

use serde_json::Value;

/// A condition for an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Condition {
    /// It is this text, number or truth value.
    Is(Value),
    /// It is missing or null.
    Absent,
    /// It is a text with this prefix.
    Begins(String),
    /// It is a text that contains this text, or a list or set that contains this element.
    Contains(Value),
}

impl Condition {
    /// Returns whether an attribute meets the condition. `value` is `None` if the attribute is missing.
    pub(super) fn holds(&self, value: Option<&Value>) -> bool {
        match (self, value) {
            (Self::Absent, value) => value.is_none(),
            (_, None) => false,
            (Self::Begins(prefix), Some(value)) => {
                value.as_str().is_some_and(|text| text.starts_with(prefix))
            }
            (Self::Contains(Value::String(part)), Some(Value::String(text))) => text.contains(part),
            (Self::Contains(wanted), Some(value)) => {
                let mut elements = value.as_array().into_iter().flatten();
                elements.any(|element| is(wanted, element))
            }
            (Self::Is(wanted), Some(value)) => is(wanted, value),
        }
    }
}

fn is(wanted: &Value, value: &Value) -> bool {
    match (wanted, value) {
        // In a table, 1 and 1.0 are the same number.
        (Value::Number(wanted), Value::Number(number)) => {
            wanted == number || wanted.as_f64() == number.as_f64()
        }
        _ => wanted == value,
    }
}
