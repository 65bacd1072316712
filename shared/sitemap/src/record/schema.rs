//! The fields of a content record: what they look like, and which of them decide whether a page is listed. The parser, the
//! mapping and the test of the documentation read this table.

use crate::problem::Problem;

/// A field, or a member of one.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// What it is for.
    pub role: Role,
}

/// What a field is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Without it no page is listed.
    Required,
    /// It decides whether the page is listed: a bad one leaves the page out.
    Decides,
    /// It says more of a page that is listed: a bad one is left out alone.
    Adds,
}

/// What a field, or a part of one, holds.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A time, an address, a word of several, or a truth value.
    Scalar,
    /// A text of the user's own: a mapping makes one of a number.
    Text,
    /// A number: a mapping makes one of a text that is a number.
    Number,
    /// Several of one shape.
    List(&'static Shape),
    /// Members.
    Object(&'static [Field]),
    /// Lists by names of the user's own.
    Terms,
    /// Whatever the parser takes.
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

/// The fields of a content record, but for its primary key, `id`.
pub const FIELDS: &[Field] = &[
    decides("site", Scalar),
    required("type"),
    required("url"),
    adds("title", Text),
    adds("description", Text),
    decides("canonical_url", Scalar),
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

/// Returns whether what is wrong at a place, such as `images[3].url`, leaves the page out. What is not in the table does, as the
/// id.
pub(crate) fn closes(place: &str) -> bool {
    let name = place.split(['[', '.']).next();
    let field = FIELDS.iter().find(|field| Some(field.name) == name);
    field.is_none_or(|field| field.role != Role::Adds)
}

/// Returns what is wrong at a place.
pub(crate) fn problem_at(place: &str, reason: &str) -> Problem {
    Problem::new(place, reason, closes(place))
}

/// Returns the fields without which no page is listed.
pub(crate) fn required_fields() -> impl Iterator<Item = &'static str> {
    let required = FIELDS.iter().filter(|field| field.role == Role::Required);
    required.map(|field| field.name)
}

impl Shape {
    /// Returns what it is, for people.
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
