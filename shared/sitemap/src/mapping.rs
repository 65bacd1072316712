//! The field mapping, which makes content records of the items of a table that is not Waymark's own.
//!
//! ```text
//! item ─▶ only: is it a page? ─▶ fields: its content record ─▶ ContentRecord::parse
//! key  ─▶ the record's id, and back
//! ```
//!
//! - A mapping is JSON data. All its problems are reported at once, each with its place.
//! - An item never fails. A field that cannot be made is a problem of its record, like an invalid field. If the field decides
//!   about listing, the page is excluded.
//! - Unknown is not absent: a path that leads into a value without members is invalid, never missing.
//! - A record's id can be turned back into the primary key. It begins with [`SOURCE_MARK`], which no id of Waymark's own table
//!   may.
//!
//! `docs/MAPPING.md` is the reference of the grammar.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::record::schema::{FIELDS, Shape, closes, problem_at, required_fields};
use crate::record::{ContentRecord, Outline, Problem};

mod condition;
mod error;
mod fit;
mod grammar;
mod key;
mod number;
mod path;
mod source;
#[cfg(test)]
mod tests;
mod translation;

pub use self::error::{MappingError, MappingProblem};
pub use self::grammar::MAX_MAPPING_BYTES;
pub use self::key::{KeyAttribute, KeyType, KeyValue, SOURCE_MARK};
pub use self::number::Number;
pub use self::path::binary;
pub use self::source::STEP;

use self::condition::Condition;
use self::grammar::{ParsedMapping, Subject};
use self::path::{Lack, Path};
use self::source::Source;

/// A field mapping.
///
/// ```
/// use serde_json::json;
/// use sitemap::mapping::{KeyValue, Mapping};
///
/// let mapping = Mapping::parse(r#"{
///     "key": [{"pk": "S"}, {"sk": "N"}],
///     "only": {"entity": "POST"},
///     "fields": {
///         "type": {"constant": "post"},
///         "url": {"template": "https://www.example.com/{slug}/"},
///         "status": {"path": "state", "values": {"live": "published", "*": "draft"}},
///         "modified_at": {"path": "meta.updated", "time": "seconds"}
///     }
/// }"#)?;
/// let item = json!({"pk": "POST#7", "sk": 1, "entity": "POST", "slug": "käse", "state": "live", "meta": {"updated": 1_767_323_045}});
/// let id = mapping.id(&[KeyValue::Text("POST#7".to_owned()), KeyValue::Number("1".to_owned())]);
/// assert_eq!(id, "@POST#7/1");
/// let record = mapping.record(&id, &item).ok_or("it is a page")?;
/// assert_eq!(record.url, "https://www.example.com/k%C3%A4se/");
/// assert_eq!(record.problems, []);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// One or two attributes.
    key: Vec<KeyAttribute>,
    only: Vec<(Path, Vec<Condition>)>,
    fields: BTreeMap<String, Source>,
}

impl Mapping {
    /// Parses a mapping.
    ///
    /// # Errors
    ///
    /// All its problems.
    pub fn parse(text: &str) -> Result<Self, MappingError> {
        let parsed = grammar::parse(text, Subject::Table).map_err(MappingError::new)?;
        Ok(Self::of(parsed))
    }

    fn of(parsed: ParsedMapping) -> Self {
        let ParsedMapping {
            key, only, fields, ..
        } = parsed;
        Self { key, only, fields }
    }

    /// Returns the table's primary key: the partition key, and the sort key if there is one.
    #[must_use]
    pub fn key(&self) -> &[KeyAttribute] {
        &self.key
    }

    /// Returns the id of the record with this key, whose values have the key's order and types.
    #[must_use]
    pub fn id(&self, key: &[KeyValue]) -> String {
        key::id(key)
    }

    /// Returns the primary key of a record, in the key's order. Returns `None` if no item of such a table has this id.
    #[must_use]
    pub fn key_of(&self, id: &str) -> Option<Vec<KeyValue>> {
        key::parse(id, &self.key)
    }

    /// Returns the item's attributes from which a record is made. Returns `None` if the whole item is needed.
    #[must_use]
    pub fn attributes(&self) -> Option<BTreeSet<&str>> {
        self.attributes_of(|_| true)
    }

    /// Returns the item's attributes that [`Mapping::outline`] needs, as [`Mapping::attributes`] does.
    #[must_use]
    pub fn outline_attributes(&self) -> Option<BTreeSet<&str>> {
        self.attributes_of(|field| ["site", "url", "pages"].contains(&field))
    }

    fn attributes_of(&self, wanted: impl Fn(&str) -> bool) -> Option<BTreeSet<&str>> {
        let mut paths: Vec<&Path> = self.only.iter().map(|(path, _)| path).collect();
        for (_, source) in self.fields.iter().filter(|(field, _)| wanted(field)) {
            source.paths(&mut paths);
        }
        let attributes: Option<BTreeSet<&str>> = paths.into_iter().map(Path::attribute).collect();
        let key = self.key.iter().map(|attribute| attribute.name.as_str());
        attributes.map(|attributes| attributes.into_iter().chain(key).collect())
    }

    /// Returns the names of the record's fields that have a source.
    pub fn field_names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// Returns whether some items may not be pages.
    #[must_use]
    pub fn is_selective(&self) -> bool {
        !self.only.is_empty()
    }

    /// Returns why an item is not a page. Returns `None` if it is one.
    #[must_use]
    pub fn mismatch(&self, item: &Value) -> Option<String> {
        self.only.iter().find_map(|(path, conditions)| {
            let value = match path.find(item) {
                Ok(value) => value,
                // It is not known whether the condition is met.
                Err(Lack::Bad(reason)) => return Some(format!("its {reason}")),
                Err(Lack::Missing { .. }) => None,
            };
            let mut conditions = conditions.iter();
            if conditions.any(|condition| condition.holds(value.as_deref())) {
                return None;
            }
            Some(match value {
                None => format!("it has no {path}"),
                Some(value) => format!("its {path} is {}", path::shown(&value)),
            })
        })
    }

    /// Returns the record that an item becomes. Returns `None` if it is not a page.
    #[must_use]
    pub fn record(&self, id: &str, item: &Value) -> Option<ContentRecord> {
        if self.mismatch(item).is_some() {
            return None;
        }
        let (fields, problems) = self.content(item);
        let mut record = ContentRecord::parse(id, &fields);
        // A field that could not be made is missing too. The reason why it could not be made is the better message.
        let explained = |found: &Problem| problems.iter().any(|own| own.field == found.field);
        record.problems.retain(|found| !explained(found));
        record.problems.splice(0..0, problems);
        Some(record)
    }

    /// Returns the outline of an item's record, from the attributes that [`Mapping::outline_attributes`] names. Returns `None` if
    /// the item is not a page.
    #[must_use]
    pub fn outline(&self, item: &Value) -> Option<Outline> {
        if self.mismatch(item).is_some() {
            return None;
        }
        let (fields, _) = self.content(item);
        Some(ContentRecord::parse("", &fields).into())
    }

    /// Returns the content record's JSON that an item becomes, and the problems, at most one for each field.
    #[must_use]
    pub fn content(&self, item: &Value) -> (Value, Vec<Problem>) {
        let (mut fields, mut problems) = (Map::new(), Vec::new());
        for (field, source) in &self.fields {
            let mut notes = Vec::new();
            let reason = match source.value(item, &mut notes) {
                Ok(value) => {
                    let value = fit::member(value, field, Shape::Object(FIELDS));
                    fields.insert(field.clone(), value);
                    notes.into_iter().next()
                }
                Err(Lack::Bad(reason)) => Some(reason),
                Err(Lack::Missing { path, .. })
                    if required_fields().any(|required| required == field) =>
                {
                    Some(format!("missing, since the item has no {path}"))
                }
                Err(Lack::Missing { path, translated }) if translated && closes(field) => Some(
                    format!("the item has no {path}, and \"missing\" does not say what that means"),
                ),
                Err(Lack::Missing { .. }) => notes.into_iter().next(),
            };
            problems.extend(reason.map(|reason| problem_at(field, &reason)));
        }
        (Value::Object(fields), problems)
    }
}

/// A mapping for an export: like that of a table, without `key` and with three further members.
///
/// - `items` is the path to the list of items in a JSON document.
/// - `id` is a source for the ids of records. Without it, the address is the id.
/// - `html` is a list of fields whose texts are HTML in the export. The reader of the export converts them to plain text.
///
/// ```
/// use serde_json::json;
/// use sitemap::mapping::ExportMapping;
///
/// let mapping = ExportMapping::parse(r#"{
///     "items": "data.posts",
///     "id": {"template": "post/{id}"},
///     "html": ["title"],
///     "fields": {"type": {"constant": "post"}, "url": {"template": "https://www.example.com/{slug}/"}}
/// }"#)?;
/// assert_eq!(mapping.items(), Some(&["data".to_owned(), "posts".to_owned()][..]));
/// assert_eq!(mapping.html(), ["title"]);
/// let item = json!({"id": 7, "slug": "soup"});
/// assert_eq!(mapping.id(&item), Ok(Some("post/7".to_owned())));
/// let (record, problems) = mapping.fields().content(&item);
/// assert_eq!(record, json!({"type": "post", "url": "https://www.example.com/soup/"}));
/// assert_eq!(problems, []);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ExportMapping {
    items: Option<Path>,
    id: Option<Source>,
    html: Vec<String>,
    fields: Mapping,
}

impl ExportMapping {
    /// Parses a mapping.
    ///
    /// # Errors
    ///
    /// All its problems.
    pub fn parse(text: &str) -> Result<Self, MappingError> {
        let mut parsed = grammar::parse(text, Subject::Export).map_err(MappingError::new)?;
        Ok(Self {
            items: parsed.items.take(),
            id: parsed.id.take(),
            html: std::mem::take(&mut parsed.html),
            fields: Mapping::of(parsed),
        })
    }

    /// Returns the path to the list of items in a JSON document. Returns `None` if the mapping has none.
    #[must_use]
    pub fn items(&self) -> Option<&[String]> {
        self.items.as_ref().map(|path| path.steps.as_slice())
    }

    /// Returns the fields whose texts are HTML in the export.
    #[must_use]
    pub fn html(&self) -> &[String] {
        &self.html
    }

    /// Returns the mapping of the items' fields, which has no key.
    #[must_use]
    pub fn fields(&self) -> &Mapping {
        &self.fields
    }

    /// Returns the id of an item's record. Returns `None` if the mapping has no source for it.
    ///
    /// # Errors
    ///
    /// If the item lacks the values for the id.
    pub fn id(&self, item: &Value) -> Result<Option<String>, Problem> {
        let Some(source) = &self.id else {
            return Ok(None);
        };
        let problem = |reason: &str| Problem::new("id", reason, true);
        match source.value(item, &mut Vec::new()) {
            Ok(Value::String(id)) => Ok(Some(id)),
            Ok(Value::Number(id)) => Ok(Some(id.to_string())),
            Ok(other) => Err(problem(&format!("{other} is neither a text nor a number"))),
            Err(Lack::Bad(reason)) => Err(problem(&reason)),
            Err(Lack::Missing { path, .. }) => Err(problem(&format!("the item has no {path}"))),
        }
    }
}
