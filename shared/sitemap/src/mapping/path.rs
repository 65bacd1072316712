//! A path into an item, and why there is no value at its end.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};

use crate::problem::cut;

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
    pub(super) fn value<'v>(&self, scope: &'v Value) -> Result<Cow<'v, Value>, Lack> {
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
