//! Reads templates and the sources that begin with a path.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::path::{Path, shown};
use super::super::source::{Part, Source, Template, Unit};
use super::reader::{Reader, within};
use crate::loc::Loc;
use crate::record::schema::Shape;
use crate::time::Zone;
use Shape::{Any, List, Number, Scalar, Text};

impl Reader {
    /// Returns the source that begins with this path.
    pub(super) fn at_path(
        &mut self,
        place: &str,
        object: &Map<String, Value>,
        shape: Shape,
    ) -> Option<Source> {
        self.unknown(
            place,
            object,
            &[
                "path", "json", "cut", "values", "missing", "time", "zone", "base", "each",
            ],
        );
        let json = self.json(place, object);
        for (name, way) in [("missing", "values"), ("zone", "time")] {
            if object.contains_key(name) && !object.contains_key(way) {
                let reason = format!("only a source with {way} has it");
                self.problem(&within(place, name), reason);
            }
        }
        let path = self.path(&within(place, "path"), &object["path"])?;
        let cut = object.get("cut");
        let cut = cut.map(|cut| self.prefixes(&within(place, "cut"), cut));
        let cut = cut.unwrap_or_default();
        let path = Path { json, cut, ..path };
        let given = |name: &&&str| object.contains_key(**name);
        let ways: Vec<&str> = ["values", "time", "base", "each"]
            .iter()
            .filter(given)
            .copied()
            .collect();
        let way = match ways.as_slice() {
            [] => return Some(Source::Path(path)),
            [way] => *way,
            _ => {
                self.problem(place, format!("{} exclude each other", ways.join(" and ")));
                return None;
            }
        };
        let (inner, value) = (within(place, way), &object[way]);
        match (way, shape) {
            ("each", List(element)) => {
                let source = self.source(&inner, value, *element)?;
                Some(Source::Each(path, Box::new(source)))
            }
            ("each", Any) => {
                let source = self.source(&inner, value, Any)?;
                Some(Source::Each(path, Box::new(source)))
            }
            ("values", _) => {
                let missing = object.get("missing").cloned();
                self.translation(&inner, path, value, missing, shape)
            }
            ("time", Scalar | Any) => {
                let named = |unit: &Unit| value.as_str() == Some(unit.name());
                let unit = Unit::ALL.into_iter().find(named);
                if unit.is_none() && value.as_str() != Some("text") {
                    let reason = format!(
                        "{} is not one of text, seconds, milliseconds, microseconds",
                        shown(value)
                    );
                    self.problem(&inner, reason);
                    return None;
                }
                let zone = object.get("zone").map(|name| {
                    let zone = name.as_str().and_then(Zone::parse);
                    if zone.is_none() {
                        let reason = format!(
                            "{} is not a zone such as Europe/Berlin, UTC or +01:00",
                            shown(name)
                        );
                        self.problem(&within(place, "zone"), reason);
                    }
                    zone
                });
                let zone = zone.flatten();
                Some(Source::Time { path, unit, zone })
            }
            ("base", Scalar | Any) => {
                let base = value.as_str().and_then(|text| Loc::parse_any(text).ok());
                if base.is_none() {
                    let reason = format!(
                        "{} is not an absolute address such as https://img.example.com/",
                        shown(value)
                    );
                    self.problem(&inner, reason);
                }
                base.map(|base| Source::Address { path, base })
            }
            _ => {
                self.problem(
                    &inner,
                    format!("not possible here: this field is {}", shape.described()),
                );
                None
            }
        }
    }

    /// Returns whether a source's text is parsed as JSON.
    pub(super) fn json(&mut self, place: &str, object: &Map<String, Value>) -> bool {
        let json = object.get("json").unwrap_or(&Value::Bool(false));
        if !json.is_boolean() {
            let reason = format!("{} is neither true nor false", shown(json));
            self.problem(&within(place, "json"), reason);
        }
        json.as_bool().unwrap_or_default()
    }

    /// Returns the prefixes to cut: one text or several.
    fn prefixes(&mut self, place: &str, value: &Value) -> Vec<String> {
        let texts = match value {
            Value::Array(texts) => texts.as_slice(),
            one => std::slice::from_ref(one),
        };
        let prefixes = texts.iter().map(|text| text.as_str().map(str::to_owned));
        let prefixes: Option<Vec<String>> = prefixes.collect();
        let is_prefix = |prefix: &String| !prefix.is_empty();
        let prefixes = prefixes.filter(|all| !all.is_empty() && all.iter().all(is_prefix));
        if prefixes.is_none() {
            let reason = format!(
                "{} is neither a prefix such as POST# nor a list of prefixes",
                shown(value)
            );
            self.problem(place, reason);
        }
        prefixes.unwrap_or_default()
    }

    /// Reads the prefixes to cut from the values of a template, by the values' names.
    pub(super) fn cut_in_template(&mut self, place: &str, value: &Value, template: &mut Template) {
        for (name, value) in self.object(place, value).into_iter().flatten() {
            let place = within(place, name);
            let prefixes = self.prefixes(&place, value);
            let mut is_used = false;
            for part in &mut template.parts {
                if let Part::Value { path, .. } = part
                    && path.to_string() == *name
                {
                    path.cut.clone_from(&prefixes);
                    is_used = true;
                }
            }
            if !is_used {
                self.problem(&place, format!("the template has no {{{name}}}"));
            }
        }
    }

    fn translation(
        &mut self,
        place: &str,
        path: Path,
        value: &Value,
        missing: Option<Value>,
        shape: Shape,
    ) -> Option<Source> {
        let object = self.object(place, value)?;
        if object.is_empty() {
            self.problem(place, "names no value: give at least one");
        }
        let is_scalar = matches!(shape, Scalar | Text | Number);
        for (name, value) in object {
            if is_scalar && (value.is_object() || value.is_array()) {
                let reason = format!("{} is neither a text nor a number", shown(value));
                self.problem(&within(place, name), reason);
            }
        }
        let mut values: BTreeMap<String, Value> = object.clone().into_iter().collect();
        let other = values.remove("*");
        Some(Source::Translation {
            path,
            values,
            other,
            missing,
        })
    }

    pub(super) fn path(&mut self, place: &str, value: &Value) -> Option<Path> {
        if let Value::String(text) = value
            && (text.contains("://") || text.contains('{'))
        {
            let kind = if text.contains('{') {
                "template"
            } else {
                "constant"
            };
            let reason = format!(
                "{} would be the path to an attribute of this name: write {{\"{kind}\": {}}}",
                shown(value),
                shown(value)
            );
            self.problem(place, reason);
            return None;
        }
        let steps: Option<Vec<String>> = match value {
            Value::String(text) if text == "." => Some(Vec::new()),
            Value::String(text) => Some(text.split('.').map(str::to_owned).collect()),
            // A list of steps, for names that contain dots.
            Value::Array(steps) => steps
                .iter()
                .map(|step| step.as_str().map(str::to_owned))
                .collect(),
            _ => None,
        };
        let steps = steps.filter(|steps| steps.iter().all(|step| !step.is_empty()));
        if steps.is_none() {
            let reason = format!(
                "{} is not a path such as title, meta.updated or [\"a.b\", \"c\"]",
                shown(value)
            );
            self.problem(place, reason);
        }
        let filled = self.filled;
        steps.map(|steps| Path {
            steps,
            json: false,
            cut: Vec::new(),
            filled,
        })
    }

    pub(super) fn template(&mut self, place: &str, value: &Value, json: bool) -> Option<Template> {
        let Some(text) = value.as_str() else {
            self.problem(place, format!("{} is not a text", shown(value)));
            return None;
        };
        let is_url = ["http://", "https://"]
            .iter()
            .any(|scheme| text.starts_with(scheme));
        let (mut parts, mut rest, mut before) = (Vec::new(), text, String::new());
        while let Some((literal, tail)) = rest.split_once('{') {
            let Some((name, tail)) = tail.split_once('}') else {
                break;
            };
            before.push_str(literal);
            let (steps, name) = match name.strip_prefix('+') {
                Some(name) => (true, name),
                None => (false, name),
            };
            // Before the URL's path, the steps would become a part of the host.
            if steps && is_url && !(before.matches('/').count() >= 3 && before.ends_with('/')) {
                let reason = format!("{{+{name}}} has no / of the URL's path before it");
                self.problem(place, reason);
            }
            before.push('x');
            if !literal.is_empty() {
                parts.push(Part::Text(literal.to_owned()));
            }
            let path = self.path(place, &Value::String(name.to_owned()))?;
            let path = Path { json, ..path };
            parts.push(Part::Value { path, steps });
            rest = tail;
        }
        if rest.contains(['{', '}']) || before.contains('}') {
            self.problem(place, "a { without its }, or a } without its {");
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Some(Template { parts, is_url })
    }
}
