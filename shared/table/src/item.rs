//! Items, which are attributes by name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The name of an attribute. Names that the engine uses are static.
pub type Name = Cow<'static, str>;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// `S`.
    Text(String),
    /// `N`, as its decimal digits. DynamoDB keeps 38 of them.
    Number(String),
    /// `B`.
    Bytes(Vec<u8>),
    /// `BOOL`.
    Bool(bool),
    /// `NULL`.
    Null,
    /// `L`.
    List(Vec<Value>),
    /// `M`.
    Map(BTreeMap<String, Value>),
    /// `SS`. Never empty in a table.
    TextSet(BTreeSet<String>),
    /// `NS`.
    NumberSet(BTreeSet<String>),
    /// `BS`.
    BytesSet(BTreeSet<Vec<u8>>),
}

impl Value {
    /// Returns a number as a value.
    #[must_use]
    pub fn number(number: impl ToString) -> Self {
        Self::Number(number.to_string())
    }

    /// Returns the text. Returns `None` if the value is not a text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number of bytes of an item that DynamoDB counts for the value
    /// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>).
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Number(number) => number_bytes(number),
            Self::Bytes(bytes) => bytes.len(),
            Self::Bool(_) | Self::Null => 1,
            Self::List(values) => 3 + values.iter().map(|value| 1 + value.bytes()).sum::<usize>(),
            Self::Map(values) => {
                let fields = values.iter();
                let fields = fields.map(|(name, value)| 1 + name.len() + value.bytes());
                3 + fields.sum::<usize>()
            }
            Self::TextSet(values) => values.iter().map(String::len).sum(),
            Self::NumberSet(values) => values.iter().map(|number| number_bytes(number)).sum(),
            Self::BytesSet(values) => values.iter().map(Vec::len).sum(),
        }
    }
}

/// Returns a number's size: a byte for each two digits, and one more.
fn number_bytes(number: &str) -> usize {
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    digits.div_ceil(2) + 1
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

macro_rules! from_integer {
    ($($integer:ty),*) => {
        $(impl From<$integer> for Value {
            fn from(number: $integer) -> Self {
                Self::number(number)
            }
        })*
    };
}

from_integer!(i32, i64, u16, u32, u64, usize);

/// An item, or its primary key: attributes in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Item(Vec<(Name, Value)>);

impl Item {
    /// Returns an item without attributes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the item with this attribute added, or with its value replaced.
    #[must_use]
    pub fn with(mut self, name: impl Into<Name>, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// Gives an attribute a value.
    pub fn set(&mut self, name: impl Into<Name>, value: impl Into<Value>) {
        let (name, value) = (name.into(), value.into());
        match self.position(&name) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (name, value)),
        }
    }

    /// Removes an attribute and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.position(name).ok()?;
        Some(self.0.remove(at).1)
    }

    /// Returns the value of an attribute. Returns `None` if the item lacks the attribute.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let at = self.position(name).ok()?;
        Some(&self.0[at].1)
    }

    /// Returns an attribute's text. Returns `None` if the attribute is missing or not a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_text()
    }

    /// Returns an attribute's number. Returns `None` if the attribute is missing or not a number, or if it does not fit into this type.
    #[must_use]
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        match self.get(name)? {
            Value::Number(number) => number.parse().ok(),
            _ => None,
        }
    }

    /// Returns whether the item has no attributes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the attributes in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Value)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// Returns an item with only the attributes of these names.
    #[must_use]
    pub fn only<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names = names.into_iter();
        let found = names.filter_map(|name| Some(self.0[self.position(name).ok()?].clone()));
        found.collect()
    }

    /// Returns the item's size as DynamoDB counts it: the bytes of names and values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let attributes = self.0.iter();
        let attributes = attributes.map(|(name, value)| name.len() + value.bytes());
        attributes.sum()
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0
            .binary_search_by(|(other, _)| other.as_ref().cmp(name))
    }
}

impl FromIterator<(Name, Value)> for Item {
    fn from_iter<T: IntoIterator<Item = (Name, Value)>>(attributes: T) -> Self {
        let mut item = Self::new();
        item.extend(attributes);
        // Most collected items are kept, often a million of them.
        item.0.shrink_to_fit();
        item
    }
}

impl Extend<(Name, Value)> for Item {
    fn extend<T: IntoIterator<Item = (Name, Value)>>(&mut self, attributes: T) {
        for (name, value) in attributes {
            self.set(name, value);
        }
    }
}

impl IntoIterator for Item {
    type Item = (Name, Value);
    type IntoIter = std::vec::IntoIter<(Name, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
