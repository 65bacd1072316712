//! Reads a mapping, and reports every problem with its place.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::condition::Condition;
use super::error::MappingProblem;
use super::key::{KeyAttribute, KeyType};
use super::path::{Path, shown};
use super::source::Source;
use crate::record::ContentRecord;
use crate::record::schema::{FIELDS, Shape, required_fields};
use crate::site::SITE_TYPE;
use Shape::{Any, List, Number, Object, Scalar, Terms, Text};

mod path;
mod reader;

use self::reader::{Reader, within};

const SOURCES: &str =
    "an attribute's path, or an object with one of path, constant, template, list, object, first";

/// The most bytes of a mapping.
///
/// Lambda allows 4,096 for all environment variables of a function, names included
/// (<https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>), and the others need some.
pub const MAX_MAPPING_BYTES: usize = 2_500;

/// The parts of a valid mapping.
pub(super) struct ParsedMapping {
    /// One or two attributes.
    pub(super) key: Vec<KeyAttribute>,
    pub(super) only: Vec<(Path, Vec<Condition>)>,
    pub(super) fields: BTreeMap<String, Source>,
    /// The path to the items of an export.
    pub(super) items: Option<Path>,
    /// The source of the records' ids of an export.
    pub(super) id: Option<Source>,
    /// The fields of an export whose texts are HTML.
    pub(super) html: Vec<String>,
}

/// The purpose of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A table, whose key makes the records' ids. The mapping must fit into an environment variable.
    Table,
    /// A file that another system exported.
    Export,
}

/// The fields in which an empty text is invalid. Otherwise the page could be listed by mistake, or have another page's address.
const FILLED: [&str; 6] = ["status", "visibility", "noindex", "kind", "url", "type"];

pub(super) fn parse(text: &str, subject: Subject) -> Result<ParsedMapping, Vec<MappingProblem>> {
    let mut reader = Reader::default();
    if subject == Subject::Table && text.len() > MAX_MAPPING_BYTES {
        reader.problem(
            "mapping",
            format!(
                "{} bytes, at most {MAX_MAPPING_BYTES}: leave out white space",
                text.len()
            ),
        );
    }
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            reader.problem("mapping", format!("not JSON: {error}"));
            return Err(reader.problems);
        }
    };
    let mapping = reader.mapping(&value, subject);
    match mapping {
        Some(mapping) if reader.problems.is_empty() => Ok(mapping),
        _ => Err(reader.problems),
    }
}

impl Reader {
    fn mapping(&mut self, value: &Value, subject: Subject) -> Option<ParsedMapping> {
        let object = self.object("mapping", value)?;
        let (mut key, mut items, mut id, mut html) = (Vec::new(), None, None, Vec::new());
        match subject {
            Subject::Table => {
                self.unknown("", object, &["key", "only", "fields"]);
                key = self.key(object.get("key"));
            }
            Subject::Export => {
                self.unknown("", object, &["items", "id", "html", "only", "fields"]);
                items = object
                    .get("items")
                    .and_then(|items| self.path("items", items));
                id = object
                    .get("id")
                    .and_then(|id| self.source("id", id, Scalar));
                html = object.get("html").map_or(html, |html| self.html(html));
            }
        }
        let only = object.get("only").map(|only| self.only(only));
        let fields = match object.get("fields") {
            Some(fields) => self.members("fields", fields, Object(FIELDS), true),
            None => BTreeMap::new(),
        };
        for field in required_fields() {
            let given = object.get("fields").and_then(|fields| fields.get(field));
            if given.is_none() {
                self.problem(&within("fields", field), "missing: every page needs it");
            }
        }
        Some(ParsedMapping {
            key,
            only: only.unwrap_or_default(),
            fields,
            items,
            id,
            html,
        })
    }

    /// Returns the fields whose texts are HTML.
    fn html(&mut self, value: &Value) -> Vec<String> {
        let names = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
        let is_known = |name: &&str| FIELDS.iter().any(|field| field.name == *name);
        let is_whole = value
            .as_array()
            .is_some_and(|given| given.len() == names.len());
        if names.is_empty() || !is_whole || !names.iter().all(is_known) {
            let reason = format!(
                "{} is not a list of fields such as [\"title\"]",
                shown(value)
            );
            self.problem("html", reason);
        }
        names.into_iter().map(str::to_owned).collect()
    }

    fn key(&mut self, value: Option<&Value>) -> Vec<KeyAttribute> {
        let attributes = value.and_then(Value::as_array).map(Vec::as_slice);
        let Some(attributes @ ([_] | [_, _])) = attributes else {
            let reason = "not the table's primary key, such as [{\"pk\": \"S\"}] or [{\"pk\": \"S\"}, {\"sk\": \"N\"}]";
            self.problem("key", reason);
            return Vec::new();
        };
        let mut key: Vec<KeyAttribute> = Vec::new();
        for (at, attribute) in attributes.iter().enumerate() {
            let pair = attribute.as_object().filter(|pair| pair.len() == 1);
            let pair = pair.and_then(|pair| pair.iter().next());
            let key_type = pair.and_then(|(_, name)| KeyType::named(name.as_str()?));
            match (pair, key_type) {
                (Some((name, _)), Some(_)) if key.iter().any(|other| other.name == *name) => {
                    self.problem(&format!("key[{at}]"), format!("{name} is given twice"));
                }
                (Some((name, _)), Some(key_type)) => key.push(KeyAttribute {
                    name: name.clone(),
                    key_type,
                }),
                _ => self.problem(
                    &format!("key[{at}]"),
                    format!(
                        "{} is not an attribute with its type, S, N or B",
                        shown(attribute)
                    ),
                ),
            }
        }
        key
    }

    fn only(&mut self, value: &Value) -> Vec<(Path, Vec<Condition>)> {
        let Some(object) = self.object("only", value) else {
            return Vec::new();
        };
        let mut only = Vec::new();
        for (name, wanted) in object {
            let place = within("only", name);
            let path = self.path(&place, &Value::String(name.clone()));
            let alternatives = match wanted {
                Value::Array(alternatives) => alternatives.as_slice(),
                one => std::slice::from_ref(one),
            };
            if alternatives.is_empty() {
                self.problem(&place, "no value is allowed, so no item would be a page");
            }
            let conditions = alternatives
                .iter()
                .filter_map(|wanted| self.condition(&place, wanted));
            let conditions = conditions.collect();
            only.extend(path.map(|path| (path, conditions)));
        }
        only
    }

    fn condition(&mut self, place: &str, wanted: &Value) -> Option<Condition> {
        match wanted {
            Value::Null => Some(Condition::Absent),
            Value::String(text) if text.ends_with('*') => {
                let prefix = Value::from(text.trim_end_matches('*'));
                let reason = format!(
                    "{} means this text, * included: for all that begin so write {{\"prefix\": {}}}",
                    shown(wanted),
                    shown(&prefix)
                );
                self.problem(place, reason);
                None
            }
            Value::String(_) | Value::Number(_) | Value::Bool(_) => {
                Some(Condition::Is(wanted.clone()))
            }
            Value::Object(object) => {
                self.unknown(place, object, &["prefix", "contains"]);
                let (prefix, part) = (object.get("prefix"), object.get("contains"));
                match (prefix, part) {
                    (Some(Value::String(prefix)), None) => Some(Condition::Begins(prefix.clone())),
                    (None, Some(Value::String(_) | Value::Number(_) | Value::Bool(_))) => {
                        part.cloned().map(Condition::Contains)
                    }
                    _ => {
                        let reason = format!(
                            "{} is neither {{\"prefix\": a text}} nor {{\"contains\": a value}}",
                            shown(wanted)
                        );
                        self.problem(place, reason);
                        None
                    }
                }
            }
            Value::Array(_) => {
                self.problem(place, format!("{} is not a value", shown(wanted)));
                None
            }
        }
    }

    /// Returns the members of an object of a shape. The sources of the mapping's fields are tried out.
    fn members(
        &mut self,
        place: &str,
        value: &Value,
        shape: Shape,
        tried: bool,
    ) -> BTreeMap<String, Source> {
        let Some(object) = self.object(place, value) else {
            return BTreeMap::new();
        };
        let mut members = BTreeMap::new();
        for (name, value) in object {
            let place = within(place, name);
            let shape = match shape {
                Object(known) => {
                    let Some(field) = known.iter().find(|field| field.name == name) else {
                        let known: Vec<&str> = known.iter().map(|field| field.name).collect();
                        let reason = format!("unknown; known are {}", known.join(", "));
                        self.problem(&place, reason);
                        continue;
                    };
                    field.shape
                }
                Terms => List(&Text),
                _ => Any,
            };
            self.filled |= tried && FILLED.contains(&name.as_str());
            let source = self.source(&place, value, shape);
            self.filled &= !tried;
            if let Some(source) = source {
                if tried {
                    self.try_out(&place, name, &source);
                }
                members.insert(name.clone(), source);
            }
        }
        members
    }

    fn source(&mut self, place: &str, value: &Value, shape: Shape) -> Option<Source> {
        let object = match value {
            Value::String(_) => return self.path(place, value).map(Source::Path),
            Value::Object(object) => object,
            other => {
                self.problem(place, format!("{} is not {SOURCES}", shown(other)));
                return None;
            }
        };
        let kinds = ["path", "constant", "template", "list", "object", "first"];
        let mut given = kinds.into_iter().filter(|kind| object.contains_key(*kind));
        let (Some(kind), None) = (given.next(), given.next()) else {
            self.problem(place, format!("{} is not {SOURCES}", shown(value)));
            return None;
        };
        let (inner, value) = (within(place, kind), &object[kind]);
        let is_list = matches!(shape, List(_) | Any);
        let is_object = matches!(shape, Object(_) | Terms | Any);
        let is_scalar = matches!(shape, Scalar | Text | Number | Any);
        let fits = match kind {
            "template" => is_scalar,
            "list" => is_list,
            "object" => is_object,
            _ => true,
        };
        if !fits {
            self.problem(
                &inner,
                format!("not possible here: this field is {}", shape.described()),
            );
        }
        if kind == "path" {
            return self.at_path(place, object, shape);
        }
        if kind == "template" {
            self.unknown(place, object, &[kind, "json", "cut"]);
            let json = self.json(place, object);
            let template = self.template(&inner, value, json);
            return template.map(|mut template| {
                if let Some(cut) = object.get("cut") {
                    self.cut_in_template(&within(place, "cut"), cut, &mut template);
                }
                Source::Template(template)
            });
        }
        self.unknown(place, object, &[kind]);
        match kind {
            "constant" => Some(Source::Constant(value.clone())),
            "object" => Some(Source::Object(self.members(&inner, value, shape, false))),
            _ => {
                let element = match (kind, shape) {
                    ("first", shape) => shape,
                    (_, List(element)) => *element,
                    _ => Any,
                };
                let Some(values) = value.as_array().filter(|values| !values.is_empty()) else {
                    self.problem(&inner, format!("{} is not a list of sources", shown(value)));
                    return None;
                };
                let sources = values.iter().enumerate().filter_map(|(at, value)| {
                    self.source(&format!("{inner}[{at}]"), value, element)
                });
                let sources: Vec<Source> = sources.collect();
                Some(match kind {
                    "first" => Source::First(sources),
                    _ => Source::List(sources),
                })
            }
        }
    }

    /// Checks whether a field accepts the values that the mapping itself contains. Notes a problem for each value that the field
    /// refuses.
    fn try_out(&mut self, place: &str, field: &str, source: &Source) {
        match source {
            Source::Constant(value) => {
                let reason = refused(field, value);
                if let Some(reason) = reason {
                    self.problem(&within(place, "constant"), reason);
                }
            }
            Source::Translation {
                values,
                other,
                missing,
                ..
            } => {
                let named = values.iter().map(|(name, value)| (name.as_str(), value));
                let named = named.chain(other.iter().map(|value| ("*", value)));
                let named = named.map(|(name, value)| (format!("values.{name}"), value));
                let missing = missing.iter().map(|value| ("missing".to_owned(), value));
                for (name, value) in named.chain(missing) {
                    if let Some(reason) = refused(field, value) {
                        self.problem(&within(place, &name), reason);
                    }
                }
            }
            Source::First(sources) => {
                for (at, source) in sources.iter().enumerate() {
                    self.try_out(&format!("{place}.first[{at}]"), field, source);
                }
            }
            _ => {}
        }
    }
}

/// Returns why a content record's field refuses a value. Returns `None` if it accepts the value.
fn refused(field: &str, value: &Value) -> Option<String> {
    if field == "type" && value.as_str() == Some(SITE_TYPE) {
        return Some("a site's settings are a record of Waymark's own table".to_owned());
    }
    let mut item = json!({"type": "page", "url": "https://www.example.com/", "language": "en"});
    item[field] = value.clone();
    let problems = ContentRecord::parse("", &item).problems;
    problems.into_iter().next().map(|problem| problem.reason)
}
