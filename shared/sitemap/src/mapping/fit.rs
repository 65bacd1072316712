//! Converts values to the types of a content record's fields. A table may have a number where a record has a text, or the other
//! way round.

use serde_json::{Number, Value};

use crate::record::schema::Shape;

/// Returns a value, converted to a shape. A value that cannot be converted stays as it is, and the record's parser reports it.
fn fitted(value: Value, shape: Shape) -> Value {
    match (shape, value) {
        (Shape::Text, Value::Number(number)) => Value::String(number.to_string()),
        (Shape::Number, Value::String(text)) => match text.trim().parse::<Number>() {
            Ok(number) => Value::Number(number),
            Err(_) => Value::String(text),
        },
        (Shape::List(element), Value::Array(values)) => {
            let values = values.into_iter();
            values.map(|value| fitted(value, *element)).collect()
        }
        (Shape::Object(_) | Shape::Terms, Value::Object(members)) => {
            let members = members.into_iter().map(|(name, value)| {
                let value = member(value, &name, shape);
                (name, value)
            });
            Value::Object(members.collect())
        }
        (_, value) => value,
    }
}

/// Returns a member of an object, converted to the member's shape.
pub(super) fn member(value: Value, name: &str, object: Shape) -> Value {
    match object {
        Shape::Object(known) => match known.iter().find(|field| field.name == name) {
            Some(field) => fitted(value, field.shape),
            None => value,
        },
        Shape::Terms => fitted(value, Shape::List(&Shape::Text)),
        _ => value,
    }
}
