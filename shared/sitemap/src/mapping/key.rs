//! Converts an item's primary key to a record's id, and back.
//!
//! The id is `@` and the partition key, then `/` and the sort key. In a text `%` and `/` are escaped, so that the first `/`
//! separates. A binary is percent-escaped. A number is spelled as the table does.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use super::number::Number;

/// The first character of the ids of records from another table. Ids of the own table may not begin with it.
pub const SOURCE_MARK: char = '@';
/// The most bytes of a partition key and of a sort key (DynamoDB).
const MAX_KEY_BYTES: [usize; 2] = [2_048, 1_024];
const SEPARATOR: char = '/';

/// An attribute of a primary key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAttribute {
    /// Its name.
    pub name: String,
    /// Its type.
    pub key_type: KeyType,
}

/// The type of a key's attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyType {
    /// `S`.
    Text,
    /// `N`.
    Number,
    /// `B`.
    Binary,
}

/// The value of a key's attribute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyValue {
    /// `S`.
    Text(String),
    /// `N`, as DynamoDB spells it: each number has one spelling.
    Number(String),
    /// `B`.
    Binary(Vec<u8>),
}

impl KeyType {
    /// Returns DynamoDB's name of the type.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "S",
            Self::Number => "N",
            Self::Binary => "B",
        }
    }

    /// Returns the type with this DynamoDB name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let types = [Self::Text, Self::Number, Self::Binary];
        types.into_iter().find(|known| known.name() == name)
    }

    fn read(self, part: &str) -> Option<KeyValue> {
        let bytes: Vec<u8> = percent_decode_str(part).collect();
        Some(match self {
            Self::Text => KeyValue::Text(String::from_utf8(bytes).ok()?),
            Self::Number => KeyValue::Number(part.to_owned()),
            Self::Binary => KeyValue::Binary(bytes),
        })
    }
}

impl KeyValue {
    /// Returns the value's type.
    #[must_use]
    pub fn key_type(&self) -> KeyType {
        match self {
            Self::Text(_) => KeyType::Text,
            Self::Number(_) => KeyType::Number,
            Self::Binary(_) => KeyType::Binary,
        }
    }

    fn write(&self) -> String {
        match self {
            Self::Text(text) => text.replace('%', "%25").replace(SEPARATOR, "%2F"),
            Self::Number(number) => number.clone(),
            Self::Binary(bytes) => percent_encode(bytes, NON_ALPHANUMERIC).to_string(),
        }
    }

    /// Returns the value in DynamoDB's own spelling of numbers.
    #[must_use]
    pub fn canonical(self) -> Self {
        match &self {
            Self::Number(text) => Number::parse(text).map_or(self, |it| Self::Number(it.text())),
            Self::Text(_) | Self::Binary(_) => self,
        }
    }

    /// Returns whether DynamoDB accepts the value in a key. An invalid key fails the request for a hundred other keys.
    fn is_accepted(&self, max_bytes: usize) -> bool {
        match self {
            Self::Text(text) => (1..=max_bytes).contains(&text.len()),
            Self::Number(number) => Number::parse(number).is_some(),
            Self::Binary(bytes) => (1..=max_bytes).contains(&bytes.len()),
        }
    }
}

pub(super) fn id(key: &[KeyValue]) -> String {
    let parts: Vec<String> = key.iter().map(KeyValue::write).collect();
    format!("{SOURCE_MARK}{}", parts.join("/"))
}

pub(super) fn parse(text: &str, attributes: &[KeyAttribute]) -> Option<Vec<KeyValue>> {
    let parts = text.strip_prefix(SOURCE_MARK)?.split(SEPARATOR);
    let parts: Vec<&str> = parts.collect();
    if parts.len() != attributes.len() {
        return None;
    }
    let values = parts.iter().zip(attributes);
    let values = values.map(|(part, attribute)| attribute.key_type.read(part));
    let key: Vec<KeyValue> = values.collect::<Option<_>>()?;
    let mut values = key.iter().zip(MAX_KEY_BYTES);
    // Only one of a key's spellings is an id.
    (values.all(|(value, max)| value.is_accepted(max)) && id(&key) == text).then_some(key)
}
