//! Some fields of a JSON object, picked without reading the others into memory.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::unread::Unread;

/// What a field is picked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Time,
    /// A day, if `Time` is the time of day.
    Day,
    Host,
    Url,
    Query,
    /// A whole request line, in place of `Url` and `Method`.
    Request,
    Status,
    Agent,
    Client,
    Method,
}

const SLOTS: usize = Slot::Method as usize + 1;

/// A value that is no object and no list.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar<'l> {
    Text(Cow<'l, str>),
    Whole(u64),
    Number(f64),
}

impl<'l> Scalar<'l> {
    /// Returns a text's bytes.
    pub(super) fn bytes(self) -> Option<Cow<'l, [u8]>> {
        match self {
            Self::Text(Cow::Borrowed(text)) => Some(Cow::Borrowed(text.as_bytes())),
            Self::Text(Cow::Owned(text)) => Some(Cow::Owned(text.into_bytes())),
            Self::Whole(_) | Self::Number(_) => None,
        }
    }
}

/// The picked values.
#[derive(Debug, Default)]
pub(super) struct Picked<'l>([Option<(u8, Scalar<'l>)>; SLOTS]);

impl<'l> Picked<'l> {
    /// Takes the value for a slot.
    pub(super) fn take(&mut self, slot: Slot) -> Option<Scalar<'l>> {
        self.0[slot as usize].take().map(|(_, value)| value)
    }

    /// Takes the text for a slot.
    pub(super) fn text(&mut self, slot: Slot) -> Option<Cow<'l, [u8]>> {
        self.take(slot).and_then(Scalar::bytes)
    }

    /// Keeps a value, unless a field with a better rank has one.
    pub(super) fn put(&mut self, (slot, rank): (Slot, u8), value: Scalar<'l>) {
        let kept = &mut self.0[slot as usize];
        if kept.as_ref().is_none_or(|(known, _)| rank < *known) {
            *kept = Some((rank, value));
        }
    }
}

/// Which fields are picked: a tree of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Picks {
    name: String,
    slot: Option<(Slot, u8)>,
    inside: Vec<Picks>,
}

impl Picks {
    /// Picks what these names have. With a dot, a name is of a field in an object, or of a field with a dot in its name. Of two
    /// names for a slot the first is preferred.
    pub(super) fn new<'n>(names: impl IntoIterator<Item = (Slot, &'n str)>) -> Self {
        let mut all = Self::default();
        for (rank, (slot, name)) in names.into_iter().enumerate() {
            let rank = u8::try_from(rank).unwrap_or(u8::MAX);
            all.add(name, (slot, rank));
        }
        all
    }

    fn add(&mut self, name: &str, slot: (Slot, u8)) {
        self.child(name).slot.get_or_insert(slot);
        if let Some((first, rest)) = name.split_once('.') {
            self.child(first).add(rest, slot);
        }
    }

    fn child(&mut self, name: &str) -> &mut Self {
        let at = self.inside.iter().position(|pick| pick.name == name);
        let at = at.unwrap_or_else(|| {
            self.inside.push(Self {
                name: name.to_owned(),
                ..Self::default()
            });
            self.inside.len() - 1
        });
        &mut self.inside[at]
    }

    /// Picks from a line.
    ///
    /// # Errors
    ///
    /// If the line is no JSON object.
    pub(super) fn pick<'l>(&self, line: &'l [u8]) -> Result<Picked<'l>, Unread> {
        let mut picked = Picked::default();
        let mut json = serde_json::Deserializer::from_slice(line);
        let is_object = line.trim_ascii_start().first() == Some(&b'{');
        let value = Value {
            pick: self,
            into: &mut picked,
        };
        let read = value.deserialize(&mut json).and_then(|()| json.end());
        if is_object && read.is_ok() {
            Ok(picked)
        } else {
            Err(Unread::Json)
        }
    }
}

/// Reads the value of a field.
struct Value<'n, 'p, 'l> {
    pick: &'n Picks,
    into: &'p mut Picked<'l>,
}

impl<'l> Value<'_, '_, 'l> {
    fn put<E>(self, value: Scalar<'l>) -> Result<(), E> {
        if let Some(slot) = self.pick.slot {
            self.into.put(slot, value);
        }
        Ok(())
    }
}

impl<'l> DeserializeSeed<'l> for Value<'_, '_, 'l> {
    type Value = ();

    fn deserialize<D: Deserializer<'l>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'l> Visitor<'l> for Value<'_, '_, 'l> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_borrowed_str<E>(self, text: &'l str) -> Result<(), E> {
        self.put(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.put(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.put(Scalar::Whole(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.put(Scalar::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.put(Scalar::Number(number))
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    /// Takes the first of several: the first of two headers, as nginx does.
    fn visit_seq<A: SeqAccess<'l>>(self, mut list: A) -> Result<(), A::Error> {
        if list.next_element_seed(self)?.is_some() {
            while list.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'l>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(pick) = map.next_key_seed(Name(&self.pick.inside))? {
            match pick {
                Some(pick) => map.next_value_seed(Value {
                    pick,
                    into: &mut *self.into,
                })?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Reads the name of a field, and finds what it is picked for.
struct Name<'n>(&'n [Picks]);

impl<'n, 'l> DeserializeSeed<'l> for Name<'n> {
    type Value = Option<&'n Picks>;

    fn deserialize<D: Deserializer<'l>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'n> Visitor<'_> for Name<'n> {
    type Value = Option<&'n Picks>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|pick| pick.name == name))
    }
}
