//! The schema of a content record: the shapes of its fields, and which of them decide about listing. The parser, the mapping and
//! the test of the documentation read this table.

use crate::problem::Problem;

/// A field, or a member of one.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// The shape of its value.
    pub shape: Shape,
    /// Its role.
    pub role: Role,
}

/// The role of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The field is required: without it the page is excluded.
    Required,
    /// It decides whether the page is listed: an invalid value excludes the page.
    Decides,
    /// It adds to a listed page: an invalid value is omitted alone.
    Adds,
}

/// The shape of a field's value, or of a part of it.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A time, an address, one of several words, or a truth value.
    Scalar,
    /// A free text. A mapping converts numbers to it.
    Text,
    /// A number. A mapping converts texts that are numbers to it.
    Number,
    /// A list of values of one shape.
    List(&'static Shape),
    /// An object with these members.
    Object(&'static [Field]),
    /// Lists by free names.
    Terms,
    /// Anything that the parser accepts.
    Any,
}

use Shape::{Any, List, Number, Object, Scalar, Terms, Text};

const fn required(name: &'static str) -> Field {
    let role = Role::Required;
    Field {
        role,
        ..adds(name, Scalar)
    }
}

const fn decides(name: &'static str, shape: Shape) -> Field {
    let role = Role::Decides;
    Field {
        role,
        ..adds(name, shape)
    }
}

const fn adds(name: &'static str, shape: Shape) -> Field {
    let role = Role::Adds;
    Field { name, shape, role }
}

const IMAGE: Shape = Object(&[adds("url", Scalar)]);
const ALTERNATE: Shape = Object(&[adds("hreflang", Scalar), adds("url", Scalar)]);
const NEWS: Shape = Object(&[adds("title", Text), adds("language", Scalar)]);
const ARCHIVE: Shape = Object(&[adds("taxonomy", Text), adds("term", Text)]);
const VIDEO: Shape = Object(&[
    adds("thumbnail_url", Scalar),
    adds("content_url", Scalar),
    adds("player_url", Scalar),
    adds("title", Text),
    adds("description", Text),
    adds("duration", Number),
    adds("view_count", Number),
    adds("rating", Number),
    adds("published_at", Scalar),
    adds("expires_at", Scalar),
    adds("tags", List(&Text)),
    adds("family_friendly", Scalar),
    adds("requires_subscription", Scalar),
    adds("live", Scalar),
    adds("restriction", Any),
    adds("platform", Any),
    adds("uploader", Any),
]);

/// The fields of a content record, except its primary key, `id`.
pub const FIELDS: &[Field] = &[
    decides("site", Scalar),
    required("type"),
    required("url"),
    adds("title", Text),
    adds("description", Text),
    decides("canonical_url", Scalar),
    decides("moved_to", Scalar),
    decides("gone", Scalar),
    decides("status", Scalar),
    decides("visibility", Scalar),
    decides("noindex", Scalar),
    decides("kind", Scalar),
    decides("published_at", Scalar),
    decides("modified_at", Scalar),
    decides("expires_at", Scalar),
    adds("changefreq", Scalar),
    adds("priority", Number),
    adds("images", List(&IMAGE)),
    adds("videos", List(&VIDEO)),
    adds("news", NEWS),
    adds("language", Scalar),
    adds("alternates", List(&ALTERNATE)),
    adds("translation_group", Text),
    adds("x_default", Scalar),
    adds("terms", Terms),
    adds("pages", Number),
    decides("archive_of", ARCHIVE),
];

/// Returns whether a problem at a place, such as `images[3].url`, excludes the page. A place that is not in the table, such as
/// the id, does.
pub(crate) fn closes(place: &str) -> bool {
    let name = place.split(['[', '.']).next();
    let field = FIELDS.iter().find(|field| Some(field.name) == name);
    field.is_none_or(|field| field.role != Role::Adds)
}

/// Returns a problem at a place.
pub(crate) fn problem_at(place: &str, reason: &str) -> Problem {
    Problem::new(place, reason, closes(place))
}

/// Returns the required fields.
pub(crate) fn required_fields() -> impl Iterator<Item = &'static str> {
    let required = FIELDS.iter().filter(|field| field.role == Role::Required);
    required.map(|field| field.name)
}

impl Shape {
    /// Returns a description of the shape, for people.
    pub(crate) fn described(self) -> String {
        match self {
            Scalar | Text | Number => "one value".to_owned(),
            List(_) => "a list".to_owned(),
            Terms => "an object of lists".to_owned(),
            Any => "anything".to_owned(),
            Object(known) => {
                let known: Vec<&str> = known.iter().map(|field| field.name).collect();
                format!("an object of {}", known.join(", "))
            }
        }
    }
}
