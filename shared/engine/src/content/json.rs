//! Items as JSON.

use serde_json::{Map, Value};
use sitemap::mapping::{Number, binary};
use table::{Item, Value as Attribute};

/// Returns an item as JSON.
///
/// A binary attribute becomes an object that no field accepts, so that it is ignored in an unknown field
/// and reported in a known one. Other values of the same map or list are unaffected, because they may decide whether a page is
/// listed.
#[must_use]
pub fn value(item: Item) -> Value {
    let field = |(name, attribute): (table::Name, Attribute)| (name.into_owned(), json(attribute));
    Value::Object(item.into_iter().map(field).collect::<Map<_, _>>())
}

fn json(attribute: Attribute) -> Value {
    match attribute {
        Attribute::Text(text) => text.into(),
        Attribute::Number(number) => json_number(&number),
        Attribute::Bool(value) => value.into(),
        Attribute::Null => Value::Null,
        Attribute::List(list) => list.into_iter().map(json).collect(),
        Attribute::Map(map) => {
            let fields = map.into_iter();
            Value::Object(fields.map(|(name, value)| (name, json(value))).collect())
        }
        Attribute::TextSet(texts) => texts.into_iter().collect(),
        Attribute::NumberSet(numbers) => numbers.iter().map(|number| json_number(number)).collect(),
        Attribute::Bytes(_) | Attribute::BytesSet(_) => binary(),
    }
}

/// Returns a number as JSON. A whole number that fits no integer type becomes a text of its digits: such numbers are ids, and a
/// `f64` would change them.
fn json_number(number: &str) -> Value {
    let text = Number::parse(number).map_or_else(|| number.to_owned(), |number| number.text());
    let integer = text.parse::<i64>().map(Value::from);
    let integer = integer.or_else(|_| text.parse::<u64>().map(Value::from));
    integer.unwrap_or_else(|_| match text.contains('.') {
        true => text.parse::<f64>().map_or(Value::Null, Value::from),
        false => Value::String(text),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_in_an_item_hide_nothing_beside_them() {
        let bytes = || Attribute::Bytes(vec![1, 2]);
        let meta = [
            ("state".to_owned(), "draft".into()),
            ("thumbnail".to_owned(), bytes()),
        ];
        let item = Item::new()
            .with("meta", Attribute::Map(BTreeMap::from(meta)))
            .with("list", Attribute::List(vec![bytes(), "b".into()]));
        assert_eq!(
            value(item),
            json!({"meta": {"state": "draft", "thumbnail": binary()}, "list": [binary(), "b"]})
        );
    }

    #[test]
    fn an_attribute_is_what_json_has_for_it() {
        let texts = |texts: [&str; 2]| BTreeSet::from(texts.map(str::to_owned));
        for (attribute, expected) in [
            (Attribute::number("-7"), json!(-7)),
            (Attribute::number(u64::MAX), json!(u64::MAX)),
            (Attribute::number("1.5"), json!(1.5)),
            (Attribute::number("2.0"), json!(2)),
            (Attribute::number("1E+3"), json!(1000)),
            (
                Attribute::number("12345678901234567890123456789012345678"),
                json!("12345678901234567890123456789012345678"),
            ),
            (Attribute::number("1E+20"), json!("100000000000000000000")),
            (
                Attribute::NumberSet(texts(["1.50", "18446744073709551616"])),
                json!([1.5, "18446744073709551616"]),
            ),
            (Attribute::Null, json!(null)),
            (true.into(), json!(true)),
            (Attribute::TextSet(texts(["b", "a"])), json!(["a", "b"])),
            (Attribute::NumberSet(texts(["1", "2"])), json!([1, 2])),
            (Attribute::BytesSet(BTreeSet::from([vec![1]])), binary()),
        ] {
            assert_eq!(json(attribute.clone()), expected, "{attribute:?}");
        }
    }
}
