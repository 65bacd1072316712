//! The sources of fields, and the values that they give.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Number, Value};

use super::translation::translated;
use crate::loc::Loc;
use crate::problem::cut;
use crate::time::{When, Zone};

/// Characters that are encoded in a step of a URL's path: all but those that RFC 3986 calls unreserved.
pub const STEP: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A path into an item, or into an element of one of its lists. An empty path is the whole item or element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) steps: Vec<String>,
    /// Whether the first text on the path, or at its end, is parsed as JSON.
    pub(super) json: bool,
    /// Prefixes, one of which is cut from the text at the path's end. If there are any, a text without one is invalid.
    pub(super) cut: Vec<String>,
    /// Whether an empty text at the path's end is invalid. Otherwise it counts as missing, because many mappers write an empty
    /// text for no value.
    pub(super) filled: bool,
}

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

/// Returns the JSON form of a binary attribute: an object that no field accepts, and into which no path leads.
#[must_use]
pub fn binary() -> Value {
    serde_json::json!({"binary": true})
}

fn is_binary(members: &Map<String, Value>) -> bool {
    members.len() == 1 && members.get("binary") == Some(&Value::Bool(true))
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    /// The path has no value. `translated` means that the mapping translates the value.
    Missing { path: String, translated: bool },
    /// The value is unsuitable.
    Bad(String),
}

/// Returns a value as a reason shows it.
pub(super) fn shown(value: &Value) -> String {
    cut(&value.to_string())
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&written(&self.steps))
    }
}

fn written(steps: &[String]) -> String {
    match steps {
        [] => ".".to_owned(),
        steps => steps.join("."),
    }
}

impl Path {
    /// Finds the value at the path, without its prefix. Returns `None` if it is missing or null.
    ///
    /// # Errors
    ///
    /// [`Lack::Bad`] if a step leads into a value without members, because then it is not known whether there is a value. Also if
    /// the value has none of the prefixes.
    pub(super) fn find<'v>(&self, scope: &'v Value) -> Result<Option<Cow<'v, Value>>, Lack> {
        match self.seek(scope)? {
            Some(value) if !self.cut.is_empty() => {
                let mut prefixes = self.cut.iter();
                let cut = value.as_str().and_then(|text| {
                    prefixes.find_map(|prefix| text.strip_prefix(prefix.as_str()))
                });
                let without = || format!("which does not begin with {}", self.cut.join(" or "));
                let cut = cut.ok_or_else(|| self.bad(&value, &without()))?;
                Ok(Some(Cow::Owned(Value::from(cut))))
            }
            found => Ok(found),
        }
    }

    fn seek<'v>(&self, scope: &'v Value) -> Result<Option<Cow<'v, Value>>, Lack> {
        let text = match self.walk(scope, 0) {
            Ok(Some(Value::String(text))) if self.json => (self.steps.len(), text),
            Ok(value) => return Ok(value.map(Cow::Borrowed)),
            Err((at, Value::String(text))) if self.json => (at, text),
            Err((at, value)) => return Err(self.dead_end(at, value)),
        };
        let (at, text) = text;
        let parsed: Value = serde_json::from_str(text).map_err(|error| {
            let place = written(&self.steps[..at]);
            let shown = shown(&Value::String(text.clone()));
            Lack::Bad(format!("{place} is {shown}, which is not JSON: {error}"))
        })?;
        let value = self.walk(&parsed, at);
        let value = value.map_err(|(at, value)| self.dead_end(at, value))?;
        Ok(value.cloned().map(Cow::Owned))
    }

    /// Follows the steps from this one on. The error contains the first step that cannot be followed, and the value that has no
    /// such step.
    fn walk<'v>(
        &self,
        scope: &'v Value,
        from: usize,
    ) -> Result<Option<&'v Value>, (usize, &'v Value)> {
        let mut value = scope;
        for (at, step) in self.steps.iter().enumerate().skip(from) {
            let next = match (value, step.parse::<usize>()) {
                (Value::Null, _) => None,
                (Value::Object(members), _) if !is_binary(members) => members.get(step),
                (Value::Array(values), Ok(index)) => values.get(index),
                _ => return Err((at, value)),
            };
            match next {
                Some(next) => value = next,
                None => return Ok(None),
            }
        }
        Ok((!value.is_null()).then_some(value))
    }

    fn dead_end(&self, at: usize, value: &Value) -> Lack {
        let (place, step) = (written(&self.steps[..at]), &self.steps[at]);
        Lack::Bad(format!("{place} is {}, which has no {step}", shown(value)))
    }

    /// Returns the attribute in which the path begins. Returns `None` if it is the whole item.
    pub(super) fn attribute(&self) -> Option<&str> {
        self.steps.first().map(String::as_str)
    }

    /// Finds a value that is neither missing nor an empty text.
    fn value<'v>(&self, scope: &'v Value) -> Result<Cow<'v, Value>, Lack> {
        let value = self.find(scope)?;
        self.said(value)?.ok_or_else(|| Lack::Missing {
            path: self.to_string(),
            translated: false,
        })
    }

    /// Returns `None` for an empty text. Fails if the path may not be empty.
    pub(super) fn said<'v>(
        &self,
        value: Option<Cow<'v, Value>>,
    ) -> Result<Option<Cow<'v, Value>>, Lack> {
        match value {
            Some(value) if value.as_str() == Some("") => match self.filled {
                true => Err(Lack::Bad(format!("{self} is empty"))),
                false => Ok(None),
            },
            value => Ok(value),
        }
    }

    pub(super) fn bad(&self, value: &Value, expected: &str) -> Lack {
        Lack::Bad(format!("{self} is {}, {expected}", shown(value)))
    }
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
