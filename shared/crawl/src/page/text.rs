//! Texts of others in HTML.

use std::fmt::{Display, Formatter, Result, Write};

use serde::Serialize;

/// A text in an element or in a quoted attribute.
pub(super) struct Text<'t>(pub(super) &'t str);

impl Display for Text<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        for char in self.0.chars() {
            match char {
                '&' => out.write_str("&amp;")?,
                '<' => out.write_str("&lt;")?,
                '>' => out.write_str("&gt;")?,
                '"' => out.write_str("&quot;")?,
                '\'' => out.write_str("&#39;")?,
                _ if char.is_control() => out.write_char('\u{fffd}')?,
                _ => out.write_char(char)?,
            }
        }
        Ok(())
    }
}

/// Returns JSON for a script element, which no text in it can end: the signs that HTML knows are escaped as JSON escapes them.
pub(super) fn embedded(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_else(|error| {
        unreachable!("a report has no maps and no own serializer: {error}")
    });
    let mut escaped = String::with_capacity(json.len());
    for char in json.chars() {
        match char {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            _ => escaped.push(char),
        }
    }
    escaped
}
