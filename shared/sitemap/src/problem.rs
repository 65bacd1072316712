//! Problems of fields of a record, of a site's settings or of a video.

/// The most characters of a text that is quoted from a record, because the stored problems must stay small. An ellipsis may follow.
pub const MAX_QUOTED_CHARS: usize = 400;

/// A problem of a field.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Problem {
    /// The field, with a path into it: `images[3].url`.
    pub field: String,
    /// The reason, for people.
    pub reason: String,
    /// Whether the problem excludes the page.
    pub closes: bool,
}

impl Problem {
    /// Returns a problem of a field. Texts that quote a record's own are cut.
    #[must_use]
    pub fn new(field: &str, reason: &str, closes: bool) -> Self {
        Self {
            field: cut(field),
            reason: cut(reason),
            closes,
        }
    }
}

/// Returns a text, cut to the length that may be stored.
#[must_use]
pub fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}
