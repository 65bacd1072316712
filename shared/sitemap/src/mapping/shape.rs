//! What the fields of a content record look like, as far as a mapping has to make them.

/// What a field, or a part of one, holds.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// A text, a number or a truth value.
    Scalar,
    /// Several of one shape.
    List(&'static Shape),
    /// Members of these names.
    Object(&'static [(&'static str, Shape)]),
    /// Lists by names of the user's own.
    Terms,
    /// Whatever the content record's own reader takes.
    Any,
}

use Shape::{Any, List, Object, Scalar, Terms};

const IMAGE: Shape = Object(&[("url", Scalar)]);
const ALTERNATE: Shape = Object(&[("hreflang", Scalar), ("url", Scalar)]);
const VIDEO: Shape = Object(&[
    ("thumbnail_url", Scalar),
    ("content_url", Scalar),
    ("player_url", Scalar),
    ("title", Scalar),
    ("description", Scalar),
    ("duration", Scalar),
    ("view_count", Scalar),
    ("rating", Scalar),
    ("published_at", Scalar),
    ("expires_at", Scalar),
    ("tags", List(&Scalar)),
    ("family_friendly", Scalar),
    ("requires_subscription", Scalar),
    ("live", Scalar),
    ("restriction", Any),
    ("platform", Any),
    ("uploader", Any),
]);
/// The fields of a content record, but for its id.
pub(super) const FIELDS: Shape = Object(&[
    ("site", Scalar),
    ("type", Scalar),
    ("url", Scalar),
    ("title", Scalar),
    ("description", Scalar),
    ("canonical_url", Scalar),
    ("status", Scalar),
    ("visibility", Scalar),
    ("noindex", Scalar),
    ("kind", Scalar),
    ("published_at", Scalar),
    ("modified_at", Scalar),
    ("expires_at", Scalar),
    ("changefreq", Scalar),
    ("priority", Scalar),
    ("images", List(&IMAGE)),
    ("videos", List(&VIDEO)),
    ("news", Object(&[("title", Scalar), ("language", Scalar)])),
    ("language", Scalar),
    ("alternates", List(&ALTERNATE)),
    ("translation_group", Scalar),
    ("x_default", Scalar),
    ("terms", Terms),
    ("pages", Scalar),
    (
        "archive_of",
        Object(&[("taxonomy", Scalar), ("term", Scalar)]),
    ),
]);

/// The fields without which no page is listed, or which decide about it: a bad one closes the record.
pub(super) const CLOSING: [&str; 12] = [
    "url",
    "site",
    "type",
    "status",
    "visibility",
    "noindex",
    "kind",
    "canonical_url",
    "published_at",
    "modified_at",
    "expires_at",
    "archive_of",
];
/// The fields that every mapping gives.
pub(super) const REQUIRED: [&str; 2] = ["type", "url"];

/// A shape, for people.
pub(super) fn described(shape: Shape) -> String {
    match shape {
        Scalar => "one value".to_owned(),
        List(_) => "a list".to_owned(),
        Terms => "an object of lists".to_owned(),
        Any => "anything".to_owned(),
        Object(known) => {
            let known: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            format!("an object of {}", known.join(", "))
        }
    }
}
