//! JSON and JSON Lines: content records as they are, or the items of another system by a mapping.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;

use check::document::input::Input;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use sitemap::mapping::ExportMapping;
use sitemap::record::Problem;
use sitemap::site::is_settings;

use super::html;
use super::options::ImportError;
use super::source::MAX_PIECE_BYTES;
use super::writer::{Id, Sink};

/// Names of members that a message has.
const MAX_NAMES: usize = 50;

/// Reads JSON. Returns why it could not be read to its end.
pub(super) fn read(input: Input<'_>, sink: &mut Sink<'_>) -> Result<Option<String>, ImportError> {
    let options = sink.options;
    let items = options.mapping.as_ref().and_then(ExportMapping::items);
    let mut number = 0;
    walk(input, items, |item| {
        number += 1;
        take(item, &format!("item {number}"), sink)
    })
}

/// Reads JSON Lines. Returns why it could not be read to its end.
pub(super) fn read_lines(
    mut input: Input<'_>,
    sink: &mut Sink<'_>,
) -> Result<Option<String>, ImportError> {
    let mut line = Vec::new();
    loop {
        let number = input.line();
        match input.read_line(&mut line) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => return Ok(Some(format!("line {number}: {error}"))),
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(item) => take(item, &format!("line {number}"), sink)?,
            Err(error) => {
                // The column is in the line; the parser knows of one line alone.
                sink.skip("it is not JSON", || {
                    format!("line {number}, column {}: {error}", error.column())
                });
            }
        }
    }
}

/// Imports an item of a table or a document, by the mapping or as it is.
pub(super) fn take(item: Value, place: &str, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let Some(mapping) = &sink.options.mapping else {
        return as_it_is(item, place, sink);
    };
    if let Some(reason) = mapping.fields().mismatch(&item) {
        // The path alone, so that reasons can be counted.
        let what = reason.split(" is ").next().unwrap_or_default();
        sink.skip(&format!("no page by \"only\": {what}"), || {
            format!("{place}: {reason}")
        });
        return Ok(());
    }
    let (fields, problems) = mapping.fields().content(&item);
    let id = mapping.id(&item);
    let closing = |problem: &&Problem| problem.closes;
    if let Some(problem) = problems.iter().find(closing).or(id.as_ref().err()) {
        sink.skip(&format!("its {} cannot be told", problem.field), || {
            format!("{place}: {problem}")
        });
        return Ok(());
    }
    for problem in &problems {
        sink.note(&problem.field, || format!("{place}: {problem}"));
    }
    let Value::Object(mut fields) = fields else {
        return Ok(());
    };
    for name in mapping.html() {
        if let Some(value) = fields.get_mut(name) {
            make_plain(value);
        }
    }
    match id.ok().flatten() {
        Some(id) => sink.record(fields, Id::Given(&id)),
        None => sink.record(fields, Id::Address),
    }
}

/// Makes plain text of each text in a value that is HTML.
fn make_plain(value: &mut Value) {
    match value {
        Value::String(text) => *text = html::text(text),
        Value::Array(values) => values.iter_mut().for_each(make_plain),
        Value::Object(members) => members.values_mut().for_each(make_plain),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Imports a content record.
fn as_it_is(item: Value, place: &str, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let Value::Object(fields) = item else {
        sink.skip("it is not an object", || place.to_owned());
        return Ok(());
    };
    match fields.get("id").and_then(Value::as_str).map(str::to_owned) {
        Some(id) if !id.is_empty() => {
            let value = Value::Object(fields);
            if is_settings(&id, &value) {
                return sink.settings(&id, &value);
            }
            match value {
                Value::Object(fields) => sink.record(fields, Id::Given(&id)),
                _ => Ok(()),
            }
        }
        _ => sink.record(fields, Id::Address),
    }
}

/// Passes on each element of the list at a path. Only one is in memory at a time. Returns why that ended early.
pub(super) fn walk(
    input: Input<'_>,
    path: Option<&[String]>,
    each: impl FnMut(Value) -> Result<(), ImportError>,
) -> Result<Option<String>, ImportError> {
    let held = Held(Cell::new(None));
    let state = RefCell::new(State {
        each,
        failed: None,
        found: false,
    });
    let seed = Seed {
        path: path.unwrap_or_default(),
        is_told: path.is_some(),
        state: &state,
        held: &held,
    };
    let mut input = input;
    let mut reader = serde_json::Deserializer::from_reader(Pieces {
        input: &mut input,
        held: &held,
    });
    let read = seed.deserialize(&mut reader).and_then(|()| reader.end());
    let state = state.into_inner();
    if let Some(failed) = state.failed {
        return Err(failed);
    }
    Ok(match read {
        Err(error) => Some(error.to_string()),
        Ok(()) if !state.found => {
            let path = path.unwrap_or_default().join(".");
            Some(format!(
                "it has no list at {path:?}, where the mapping's items are"
            ))
        }
        Ok(()) => None,
    })
}

/// How many bytes were read of what is held: an item, or the name of a member. `None` while nothing is.
struct Held(Cell<Option<u64>>);

impl Held {
    fn begin(&self) {
        self.0.set(Some(0));
    }

    fn end(&self) {
        self.0.set(None);
    }
}

/// One document, of any length. What is held of it has a limit.
struct Pieces<'i, 'a> {
    input: &'i mut Input<'a>,
    held: &'i Held,
}

impl io::Read for Pieces<'_, '_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.input.begin_piece();
        let count = self.input.read(out)?;
        if let Some(held) = self.held.0.get() {
            let held = held + count as u64;
            if held > MAX_PIECE_BYTES {
                let mib = MAX_PIECE_BYTES / (1024 * 1024);
                return Err(io::Error::other(format!(
                    "an item is longer than {mib} MiB"
                )));
            }
            self.held.0.set(Some(held));
        }
        Ok(count)
    }
}

struct State<F> {
    each: F,
    failed: Option<ImportError>,
    found: bool,
}

struct Seed<'s, F> {
    path: &'s [String],
    is_told: bool,
    state: &'s RefCell<State<F>>,
    held: &'s Held,
}

impl<F> Seed<'_, F> {
    /// Returns the next member's name, which is held.
    fn next_key<'de, A: MapAccess<'de>>(&self, map: &mut A) -> Result<Option<String>, A::Error> {
        self.held.begin();
        let key = map.next_key()?;
        self.held.end();
        Ok(key)
    }
}

impl<'de, F: FnMut(Value) -> Result<(), ImportError>> DeserializeSeed<'de> for Seed<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: FnMut(Value) -> Result<(), ImportError>> Visitor<'de> for Seed<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.first() {
            Some(name) => write!(f, "an object with {name:?}, where the mapping's items are"),
            None => f.write_str("a list of items"),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        if let Some((name, _)) = self.path.split_first() {
            return Err(serde::de::Error::custom(format_args!(
                "a list, where the mapping's items have {name:?}"
            )));
        }
        self.state.borrow_mut().found = true;
        self.held.begin();
        while let Some(item) = list.next_element::<Value>()? {
            self.held.begin();
            let mut state = self.state.borrow_mut();
            if let Err(failed) = (state.each)(item) {
                state.failed = Some(failed);
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        self.held.end();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((name, rest)) = self.path.split_first() else {
            if self.is_told {
                return Err(serde::de::Error::custom(
                    "an object, where the mapping says a list is",
                ));
            }
            let mut names = Vec::new();
            while let Some(name) = self.next_key(&mut map)? {
                map.next_value::<IgnoredAny>()?;
                if names.len() < MAX_NAMES {
                    names.push(name);
                }
            }
            return Err(serde::de::Error::custom(format_args!(
                "it is an object, not a list: give a --mapping with the path of its \"items\"; it has {}",
                names.join(", ")
            )));
        };
        while let Some(key) = self.next_key(&mut map)? {
            if key == *name {
                map.next_value_seed(Seed {
                    path: rest,
                    is_told: self.is_told,
                    state: self.state,
                    held: self.held,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Collects the members of an object as fields. A member without a value is left out.
pub(super) fn fields(
    members: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> Map<String, Value> {
    let given = members.into_iter();
    given
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}
