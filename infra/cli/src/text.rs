//! Text for a terminal. Everything that the command prints or logs passes through here.
//!
//! - Ids, URLs, titles and the messages that quote them are foreign: a control character among them could move the cursor,
//!   colour the screen or fake a line. [`escaped`] makes such characters visible.
//! - A [`Text`] consists of escaped lines, whatever it was made from.

use std::borrow::Cow;
use std::fmt::{self, Display, Write as _};
use std::ops::Deref;

use indicatif::HumanCount;

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

/// A JSON document without characters that a terminal would act on, except its own line breaks.
///
/// They are written as JSON's escapes. Such characters are only in strings, so the document is the same.
#[must_use]
pub fn json_escaped(document: &str) -> Cow<'_, str> {
    let acts = |character: char| is_active(character) && character != '\n';
    if !document.contains(acts) {
        return Cow::Borrowed(document);
    }
    let mut safe = String::with_capacity(document.len() + 16);
    for character in document.chars() {
        if acts(character) {
            // All of them are in the basic plane: one escape each.
            let _ = write!(safe, "\\u{:04x}", u32::from(character));
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(safe)
}

/// A cell of CSV (RFC 4180). One that a spreadsheet would take for a formula gets a mark before it
/// (<https://owasp.org/www-community/attacks/CSV_Injection>).
#[must_use]
pub fn csv_cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let mark = if is_formula { "'" } else { "" };
    match text.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{mark}{}\"", text.replace('"', "\"\"")),
        false => format!("{mark}{text}"),
    }
}

/// So many things of a name: `1 entry`, `2 entries`.
#[must_use]
pub fn counted(count: u64, name: &str) -> String {
    let (name, end) = match (count, name.strip_suffix('y')) {
        (1, _) => (name, ""),
        (_, Some(begin)) => (begin, "ies"),
        (_, None) => (name, "s"),
    };
    format!("{} {name}{end}", HumanCount(count))
}

/// What a line says, for a terminal with colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// All is well: green.
    Good,
    /// Something to know: yellow.
    Notable,
    /// Something is wrong: red.
    Bad,
}

impl Tone {
    /// The escape sequence that begins its colour (ECMA-48, SGR).
    fn begin(self) -> &'static str {
        match self {
            Self::Good => "\u{1b}[32m",
            Self::Notable => "\u{1b}[33m",
            Self::Bad => "\u{1b}[31m",
        }
    }
}

/// The escape sequence that ends a colour.
const PLAIN: &str = "\u{1b}[0m";

/// Lines for people, each escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    plain: String,
    /// The lines with a tone: where they begin and where their line break is, in order.
    tones: Vec<(usize, usize, Tone)>,
}

impl Text {
    /// Appends a line. A line break in it is escaped like everything else.
    pub fn line(&mut self, line: impl Display) {
        // A string takes whatever is written to it.
        let _ = writeln!(self.plain, "{}", escaped(&line.to_string()));
    }

    /// Appends a line that has a colour where there are colours.
    pub fn toned(&mut self, tone: Tone, line: impl Display) {
        let begin = self.plain.len();
        self.line(line);
        self.tones.push((begin, self.plain.len() - 1, tone));
    }

    /// The text with its colours.
    #[must_use]
    pub fn coloured(&self) -> String {
        let mut text = String::with_capacity(self.plain.len() + self.tones.len() * 9);
        let mut from = 0;
        for &(begin, end, tone) in &self.tones {
            text.push_str(&self.plain[from..begin]);
            text.extend([tone.begin(), &self.plain[begin..end], PLAIN]);
            from = end;
        }
        text.push_str(&self.plain[from..]);
        text
    }

    /// Appends each line of a text that has several.
    pub fn lines(&mut self, lines: impl Display) {
        for line in lines.to_string().split('\n') {
            self.line(line);
        }
    }

    /// Appends another text.
    pub fn append(&mut self, other: &Self) {
        let from = self.plain.len();
        self.plain.push_str(&other.plain);
        let tones = other.tones.iter();
        self.tones
            .extend(tones.map(|&(begin, end, tone)| (from + begin, from + end, tone)));
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.plain
    }
}

impl Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_quoted_and_no_formula() {
        for (text, expected) in [
            ("https://a.example/", "https://a.example/"),
            ("a,\"b\"", "\"a,\"\"b\"\"\""),
            ("=1+1", "'=1+1"),
        ] {
            assert_eq!(csv_cell(text), expected);
        }
    }

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
    fn a_json_document_stays_the_same_without_what_a_terminal_would_act_on() {
        let document = serde_json::json!({"a": "x\u{1b}[2J\u{9b}\u{202e}\u{7f}\n雪"});
        let printed = serde_json::to_string_pretty(&document).unwrap();
        let safe = json_escaped(&printed);
        assert!(
            !safe.contains(|c: char| is_active(c) && c != '\n'),
            "{safe}"
        );
        assert!(safe.contains("雪"));
        let read: serde_json::Value = serde_json::from_str(&safe).unwrap();
        assert_eq!(read, document);
    }

    #[test]
    fn colours_are_around_the_lines_that_have_one() {
        let mut last = Text::default();
        last.toned(Tone::Bad, "c\u{1b}[0m");
        let mut text = Text::default();
        text.toned(Tone::Good, "a");
        text.line("b");
        text.append(&last);
        assert_eq!(&*text, "a\nb\nc\\u{1b}[0m\n");
        let expected = "\u{1b}[32ma\u{1b}[0m\nb\n\u{1b}[31mc\\u{1b}[0m\u{1b}[0m\n";
        assert_eq!(text.coloured(), expected);
    }

    #[test]
    fn a_line_stays_one_line() {
        let mut text = Text::default();
        text.line("a\npost/b: listed");
        text.lines("c\nd\u{1b}");
        assert_eq!(&*text, "a\\npost/b: listed\nc\nd\\u{1b}\n");
    }
}
