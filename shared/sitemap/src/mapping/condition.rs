//! Conditions on the attributes of an item, by which a mapping selects pages.

use serde_json::Value;

/// What an attribute has to be.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Condition {
    /// This text, number or truth value.
    Is(Value),
    /// Not there, or null.
    Absent,
    /// A text that begins so.
    Begins(String),
    /// A text that has this text in it, or a list or set that has this element.
    Contains(Value),
}

impl Condition {
    /// Returns whether the attribute's value meets the condition. The value is `None` if there is no such attribute.
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
        // 1 and 1.0 are one number in a table.
        (Value::Number(wanted), Value::Number(number)) => {
            wanted == number || wanted.as_f64() == number.as_f64()
        }
        _ => wanted == value,
    }
}
