//! A record's id from an item's primary key, and back.
//!
//! `@` and the partition key, then `/` and the sort key. In a text `%` and `/` are escaped, so that the first `/` separates;
//! a binary is percent-escaped, a number stands as the table writes it.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use super::SOURCE_MARK;

/// Bytes of a partition key and of a sort key (DynamoDB).
const MAX_KEY_BYTES: [usize; 2] = [2_048, 1_024];
/// Digits of a number (DynamoDB).
const MAX_DIGITS: usize = 38;
/// Decimal exponents of a number (DynamoDB); those of the smallest and the largest.
const EXPONENTS: std::ops::RangeInclusive<i32> = -130..=125;
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
    /// `N`, as DynamoDB writes it: it has one text for one number.
    Number(String),
    /// `B`.
    Binary(Vec<u8>),
}

impl KeyType {
    /// DynamoDB's name of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "S",
            Self::Number => "N",
            Self::Binary => "B",
        }
    }

    /// The type that DynamoDB calls so.
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
    /// Its type.
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

    /// The same for every way to write the value: a number's sign, its digits and the power of ten behind them. No id is
    /// made of it: DynamoDB writes numbers otherwise.
    #[must_use]
    pub fn canonical(self) -> Self {
        let Self::Number(text) = &self else {
            return self;
        };
        let Some(Decimal {
            whole,
            fraction,
            exponent,
        }) = Decimal::read(text)
        else {
            return self;
        };
        let sign = if text.starts_with('-') { "-" } else { "" };
        let digits = format!("{whole}{fraction}");
        let kept = digits.trim_end_matches('0');
        let power =
            (digits.len() - kept.len()) as i64 - fraction.len() as i64 + i64::from(exponent);
        Self::Number(match kept.trim_start_matches('0') {
            "" => "0".to_owned(),
            digits => format!("{sign}{digits}E{power}"),
        })
    }

    /// Whether DynamoDB takes it: one key that it does not take fails the request for a hundred others.
    fn is_accepted(&self, max_bytes: usize) -> bool {
        match self {
            Self::Text(text) => (1..=max_bytes).contains(&text.len()),
            Self::Number(number) => is_number(number),
            Self::Binary(bytes) => (1..=max_bytes).contains(&bytes.len()),
        }
    }
}

/// A number's digits before and behind the point, and the power of ten that they are multiplied by.
struct Decimal<'a> {
    whole: &'a str,
    fraction: &'a str,
    exponent: i32,
}

impl<'a> Decimal<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let text = text.strip_prefix('-').unwrap_or(text);
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            None => (text, 0),
            Some((digits, exponent)) => (digits, exponent.parse().ok()?),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        (all_digits(whole) && all_digits(fraction)).then_some(Self {
            whole,
            fraction,
            exponent,
        })
    }
}

/// Whether a text is a number as DynamoDB takes them.
fn is_number(text: &str) -> bool {
    Decimal::read(text).is_some_and(|decimal| {
        let Decimal {
            whole,
            fraction,
            exponent,
        } = decimal;
        let significant = format!("{whole}{fraction}");
        // The order of magnitude, near enough: the text is at most as long as the digits and the exponents allow.
        let shift = i32::try_from(whole.len()).unwrap_or(i32::MAX) - 1;
        significant.trim_matches('0').len() <= MAX_DIGITS
            && text.trim_start_matches('-').len() <= MAX_DIGITS + 256
            && EXPONENTS.contains(&exponent)
            && EXPONENTS.contains(&(exponent + shift))
    })
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
    // Of the ways to write a key, one alone is an id.
    (values.all(|(value, max)| value.is_accepted(max)) && id(&key) == text).then_some(key)
}
