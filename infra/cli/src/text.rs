//! Text for a terminal. Everything that the command prints or logs passes through here.
//!
//! - Ids, URLs, titles and the messages that quote them are foreign: a control character among them could move the cursor,
//!   colour the screen or fake a line. [`escaped`] makes such characters visible.
//! - A [`Text`] consists of escaped lines, whatever it was made from.

use std::borrow::Cow;
use std::fmt::{self, Display, Write as _};
use std::ops::Deref;

/// Whether a terminal would act on a character, or show text in another order or nothing because of it.
fn is_active(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}' // marks without a width
            | '\u{2028}'..='\u{202e}' // line separators, bidirectional embeddings and overrides
            | '\u{2066}'..='\u{2069}') // bidirectional isolates
}

/// A text with every character that a terminal would act on written as in a Rust string: `\n`, `\u{1b}`.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if !is_active(character) {
            safe.push(character);
        } else if character.is_ascii() {
            safe.extend(character.escape_default());
        } else {
            safe.extend(character.escape_unicode());
        }
    }
    Cow::Owned(safe)
}

/// Lines for people, each escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(String);

impl Text {
    /// Appends a line. A line break in it is escaped like everything else.
    pub fn line(&mut self, line: impl Display) {
        // A string takes whatever is written to it.
        let _ = writeln!(self.0, "{}", escaped(&line.to_string()));
    }

    /// Appends each line of a text that has several.
    pub fn lines(&mut self, lines: impl Display) {
        for line in lines.to_string().split('\n') {
            self.line(line);
        }
    }

    /// Appends another text.
    pub fn append(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_made_visible() {
        for (text, expected) in [
            (
                "post/schnee-größe 雪 \"x\" \\",
                "post/schnee-größe 雪 \"x\" \\",
            ),
            ("a\u{1b}[2J\u{7}b\u{7f}", "a\\u{1b}[2J\\u{7}b\\u{7f}"),
            ("a\r\n\tb", "a\\r\\n\\tb"),
            ("\u{9b}31m\u{85}", "\\u{9b}31m\\u{85}"),
            (
                "a\u{202e}b\u{2066}c\u{2028}\u{feff}",
                "a\\u{202e}b\\u{2066}c\\u{2028}\\u{feff}",
            ),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn a_line_stays_one_line() {
        let mut text = Text::default();
        text.line("a\npost/b: listed");
        text.lines("c\nd\u{1b}");
        assert_eq!(&*text, "a\\npost/b: listed\nc\nd\\u{1b}\n");
    }
}
