//! The sources of fields, and the values that they give.

use std::borrow::Cow;
use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Number, Value};

use super::path::{Lack, Path};
use super::translation::translated;
use crate::loc::Loc;
use crate::time::{When, Zone};

/// Characters that are encoded in a step of a URL's path: all but those that RFC 3986 calls unreserved.
pub const STEP: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The source of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    /// The value at a path.
    Path(Path),
    /// The same value for all items.
    Constant(Value),
    /// A text with values inserted.
    Template(Template),
    /// The value at a path, translated.
    Translation {
        path: Path,
        values: BTreeMap<String, Value>,
        /// The value for all others.
        other: Option<Value>,
        /// The value if nothing is at the path.
        missing: Option<Value>,
    },
    /// A time: a text, or a count since 1970.
    Time {
        path: Path,
        /// The unit of numbers. `None` if numbers are not allowed.
        unit: Option<Unit>,
        /// The zone of texts without an offset. `None` if those are not allowed.
        zone: Option<Zone>,
    },
    /// An address: absolute, or relative to a base.
    Address { path: Path, base: Loc },
    /// A value from each element of a list.
    Each(Path, Box<Source>),
    /// A list of the existing values.
    List(Vec<Source>),
    /// An object of the existing values.
    Object(BTreeMap<String, Source>),
    /// The first existing value.
    First(Vec<Source>),
}

/// The unit of a number's count since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
    Microseconds,
}

impl Unit {
    pub(super) const ALL: [Self; 3] = [Self::Seconds, Self::Milliseconds, Self::Microseconds];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
        }
    }

    fn per_second(self) -> i64 {
        match self {
            Self::Seconds => 1,
            Self::Milliseconds => 1_000,
            Self::Microseconds => 1_000_000,
        }
    }

    /// Returns the time of a count, if it is in [`LIKELY`].
    fn time(self, count: i64) -> Option<When> {
        let seconds = count.div_euclid(self.per_second());
        let seconds = Some(seconds).filter(|seconds| LIKELY.contains(seconds));
        seconds.and_then(When::checked_at)
    }
}

/// The plausible range of times, in Unix seconds: the years 1990 to 2199. A count in another unit is far outside of it.
const LIKELY: std::ops::Range<i64> = 631_152_000..7_258_118_400;

/// A text with values inserted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Template {
    pub(super) parts: Vec<Part>,
    /// Whether it is a URL, in which values have to be encoded.
    pub(super) is_url: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Text(String),
    /// A value. With `steps` it may be several steps of a path, which are encoded already.
    Value {
        path: Path,
        steps: bool,
    },
}

impl Source {
    /// Adds the paths that begin in the item itself to `paths`.
    pub(super) fn paths<'s>(&'s self, paths: &mut Vec<&'s Path>) {
        match self {
            Self::Path(path)
            | Self::Translation { path, .. }
            | Self::Time { path, .. }
            | Self::Address { path, .. }
            | Self::Each(path, _) => paths.push(path),
            Self::Constant(_) => {}
            Self::Template(template) => {
                paths.extend(template.parts.iter().filter_map(|part| match part {
                    Part::Value { path, .. } => Some(path),
                    Part::Text(_) => None,
                }))
            }
            Self::List(sources) | Self::First(sources) => {
                sources.iter().for_each(|source| source.paths(paths));
            }
            Self::Object(members) => members.values().for_each(|source| source.paths(paths)),
        }
    }

    /// Returns the value for an item, or for an element of a list. Omitted elements of a list or an object are noted.
    pub(super) fn value(&self, scope: &Value, notes: &mut Vec<String>) -> Result<Value, Lack> {
        match self {
            Self::Path(path) => path.value(scope).map(Cow::into_owned),
            Self::Constant(value) => Ok(value.clone()),
            Self::Template(template) => template.text(scope).map(Value::String),
            Self::Translation {
                path,
                values,
                other,
                missing,
            } => translated(path, values, other.as_ref(), missing.as_ref(), scope),
            Self::Address { path, base } => {
                let value = path.value(scope)?;
                let text = value
                    .as_str()
                    .ok_or_else(|| path.bad(&value, "not a text"))?;
                let loc = Loc::resolve(text, base);
                loc.map(|loc| Value::String(loc.as_str().to_owned()))
                    .map_err(|error| path.bad(&value, &format!("as an address: {error}")))
            }
            Self::Time { path, unit, zone } => {
                let value = path.value(scope)?;
                let at = time(&value, *unit, zone.as_ref());
                at.map(|at| Value::String(at.to_string()))
                    .map_err(|expected| path.bad(&value, &expected))
            }
            Self::Each(path, source) => {
                let list = path.value(scope)?;
                let list = list
                    .as_array()
                    .ok_or_else(|| path.bad(&list, "not a list"))?;
                let mut values = Vec::with_capacity(list.len());
                for (at, element) in list.iter().enumerate() {
                    let (place, quiet) = (format!("{path}[{at}]"), notes.is_empty());
                    let value = source.value(element, notes);
                    if let (true, Some(note)) = (quiet, notes.first_mut()) {
                        *note = format!("{place}.{note}");
                    }
                    values.extend(noted(value, || place, notes));
                }
                Ok(Value::Array(values))
            }
            Self::List(sources) => {
                let mut values = Vec::new();
                for (at, source) in sources.iter().enumerate() {
                    values.extend(noted(source.value(scope, notes), || at.to_string(), notes));
                }
                let missing = Lack::Missing {
                    path: "element of this list".to_owned(),
                    translated: false,
                };
                (!values.is_empty())
                    .then_some(Value::Array(values))
                    .ok_or(missing)
            }
            Self::Object(members) => {
                let (mut object, mut own) = (Map::new(), false);
                for (name, source) in members {
                    let value = noted(source.value(scope, notes), || name.clone(), notes);
                    // Constants alone make no object, because it would contain nothing of this item.
                    own |= value.is_some() && !matches!(source, Self::Constant(_));
                    object.extend(value.map(|value| (name.clone(), value)));
                }
                let missing = Lack::Missing {
                    path: members.keys().cloned().collect::<Vec<_>>().join(" and no "),
                    translated: false,
                };
                own.then_some(Value::Object(object)).ok_or(missing)
            }
            Self::First(sources) => {
                let mut missing = None;
                for source in sources {
                    match source.value(scope, notes) {
                        // A value without a translation excludes the page, whatever else is missing.
                        Err(lack @ Lack::Missing { .. }) => {
                            let closes = matches!(
                                missing,
                                Some(Lack::Missing {
                                    translated: true,
                                    ..
                                })
                            );
                            if !closes {
                                missing = Some(lack);
                            }
                        }
                        found => return found,
                    }
                }
                Err(missing.unwrap_or(Lack::Bad("nothing to choose from".to_owned())))
            }
        }
    }
}

/// Returns a value of a list or an object. Missing or invalid values are omitted.
fn noted(
    value: Result<Value, Lack>,
    place: impl FnOnce() -> String,
    notes: &mut Vec<String>,
) -> Option<Value> {
    match value {
        Ok(value) => Some(value),
        Err(Lack::Missing { .. }) => None,
        Err(Lack::Bad(reason)) => {
            // Only the first problem of a field is reported.
            if notes.is_empty() {
                notes.push(format!("{}: {reason}", place()));
            }
            None
        }
    }
}

/// Returns a time from a text, a number, or a text that is a number. Otherwise fails with a description of the value.
fn time(value: &Value, unit: Option<Unit>, zone: Option<&Zone>) -> Result<When, String> {
    let number: Option<Number> = match value {
        Value::String(text) => text.parse().ok().filter(|_| unit.is_some()),
        Value::Number(number) => Some(number.clone()),
        _ => None,
    };
    let (number, unit) = match (number, unit, value) {
        (Some(number), Some(unit), _) => (number, unit),
        (Some(_), None, _) => {
            return Err("a number, and time does not say what it counts".to_owned());
        }
        (None, _, Value::String(text)) => {
            return When::parse_relaxed(text, zone).map_err(|error| error.to_string());
        }
        (None, ..) => return Err("neither a text nor a number".to_owned()),
    };
    let count = number.as_i64().or_else(|| {
        let number = number.as_f64()?.floor();
        // A number that a double cannot count exactly is not a time.
        (number.abs() < 1e16).then_some(number as i64)
    });
    let count = count.unwrap_or(i64::MAX);
    if let Some(at) = unit.time(count) {
        return Ok(at);
    }
    let seen = When::at(count.div_euclid(unit.per_second()));
    let others = Unit::ALL
        .into_iter()
        .filter_map(|other| Some((other, other.time(count)?)));
    let others: String = others
        .map(|(other, at)| format!("; in {} it is {at}", other.name()))
        .collect();
    Err(format!(
        "in {} {seen}, which is not within the years 1990 to 2199{others}",
        unit.name()
    ))
}

impl Template {
    fn text(&self, scope: &Value) -> Result<String, Lack> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Value { path, steps } => {
                    let value = path.value(scope)?;
                    let value = match &*value {
                        Value::String(text) => text.clone(),
                        Value::Number(number) if !number.is_f64() => number.to_string(),
                        other => {
                            return Err(path.bad(other, "neither a text nor a whole number"));
                        }
                    };
                    match (self.is_url, steps) {
                        (false, _) => text.push_str(&value),
                        // After a slash of the template, a further slash could name another host.
                        (true, true) => text.push_str(value.trim_start_matches(['/', '\\'])),
                        // These steps would lead to another directory.
                        (true, false) if [".", ".."].contains(&value.as_str()) => {
                            return Err(path.bad(&Value::String(value), "not a step of a path"));
                        }
                        (true, false) => text.extend(utf8_percent_encode(&value, STEP)),
                    }
                }
            }
        }
        Ok(text)
    }
}
