//! How the items of a file that another system has exported become content records.

use serde_json::Value;

use super::error::MappingError;
use super::grammar::{self, Subject};
use super::source::{Lack, Path, Source};
use super::{Mapping, Problem};

/// A mapping for an export: that of a table without its `key`, and with two members more.
///
/// - `items` is the path to the list of items in a JSON document.
/// - `id` is a source for the ids of records, which have their address for one without it.
///
/// ```
/// use serde_json::json;
/// use sitemap::mapping::ExportMapping;
///
/// let mapping = ExportMapping::parse(r#"{
///     "items": "data.posts",
///     "id": {"template": "post/{id}"},
///     "fields": {"type": {"constant": "post"}, "url": {"template": "https://www.example.com/{slug}/"}}
/// }"#)?;
/// assert_eq!(mapping.items(), Some(&["data".to_owned(), "posts".to_owned()][..]));
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
    fields: Mapping,
}

impl ExportMapping {
    /// Reads a mapping.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, MappingError> {
        let mut parsed = grammar::parse(text, Subject::Export).map_err(MappingError::new)?;
        Ok(Self {
            items: parsed.items.take(),
            id: parsed.id.take(),
            fields: Mapping::of(parsed),
        })
    }

    /// The path to the list of items in a JSON document, if it says one.
    #[must_use]
    pub fn items(&self) -> Option<&[String]> {
        self.items.as_ref().map(|path| path.0.as_slice())
    }

    /// Which items are pages, and what their records are made from. It has no key.
    #[must_use]
    pub fn fields(&self) -> &Mapping {
        &self.fields
    }

    /// The id of an item's record; `None` if the mapping does not say one.
    ///
    /// # Errors
    ///
    /// If the item does not have what the id is made from.
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
