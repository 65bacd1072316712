//! Text for a terminal. Everything that the command prints or logs passes through here.
//!
//! - Ids, URLs, titles and the messages that quote them are foreign: a control character among them could move the cursor,
//!   colour the screen or fake a line, and some texts are commands for the CI that keeps the output. [`escaped`] makes such
//!   characters visible, [`json_escaped`] and [`csv_cell`] do it in these two forms.
//! - A [`Text`] consists of escaped lines, whatever it was made from.

use std::borrow::Cow;
use std::fmt::{self, Display, Write as _};
use std::ops::Deref;

use indicatif::HumanCount;

/// Returns whether a terminal would act on a character, or show text in another order or nothing because of it. Joiners (U+200C, U+200D)
/// and variation selectors are parts of words and of emoji, and are shown.
fn is_active(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' // shown as nothing
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' // line separators, bidirectional embeddings and overrides
            | '\u{2060}'..='\u{206f}' // word joiner, operators without a width, bidirectional isolates
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}') // tags: letters that are not shown
}

/// Returns whether a text begins with the older form of a CI's commands, which works anywhere in a line: `##[group]` (GitHub),
/// `##vso[task.x]` (Azure Pipelines), `##teamcity[x]`.
fn is_command(text: &str) -> bool {
    let name = text.strip_prefix("##");
    name.is_some_and(|name| {
        name.trim_start_matches(|letter: char| letter.is_ascii_alphabetic())
            .starts_with('[')
    })
}

/// Writes a text with `escape` of each character that acts, and of the second `#` of each command.
fn made_safe(
    text: &str,
    acts: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    let may_command = text.contains("##");
    if !may_command && !text.contains(&acts) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut before = None;
    for (at, character) in text.char_indices() {
        // Only behind a '#' is the byte before a character of its own.
        let is_mark = before == Some('#') && character == '#' && is_command(&text[at - 1..]);
        if is_mark || acts(character) {
            escape(character, &mut safe);
        } else {
            safe.push(character);
        }
        before = Some(character);
    }
    Cow::Owned(safe)
}

/// Escapes every character that a terminal or a CI would act on, as in a Rust string: `\n`, `\u{1b}`.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    made_safe(text, is_active, |character, safe| {
        if character.is_ascii_control() {
            safe.extend(character.escape_default());
        } else {
            safe.extend(character.escape_unicode());
        }
    })
}

/// Escapes a text as [`escaped`] does. The line also cannot begin with a command of GitHub's workflows: `::error::`.
#[must_use]
pub fn line_escaped(text: &str) -> Cow<'_, str> {
    let safe = escaped(text);
    let blank = safe.len() - safe.trim_start().len();
    match safe[blank..].strip_prefix("::") {
        None => safe,
        Some(rest) => Cow::Owned(format!("{}\\u{{3a}}:{rest}", &safe[..blank])),
    }
}

/// Escapes the characters of a JSON document that a terminal or a CI would act on, except its own line breaks.
///
/// They are written as JSON's escapes. Such characters are only in strings, so the document is the same.
#[must_use]
pub fn json_escaped(document: &str) -> Cow<'_, str> {
    let acts = |character: char| is_active(character) && character != '\n';
    made_safe(document, acts, |character, safe| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            // A string takes whatever is written to it.
            let _ = write!(safe, "\\u{unit:04x}");
        }
    })
}

/// The longest word that a line for people has: an address is longer only if nobody reads it.
const MAX_WORD: usize = 400;
/// Characters that are left of a longer one, at its beginning and at its end.
const WORD_ENDS: (usize, usize) = (300, 60);

/// Leaves out the middle of overlong words in lines for people. Files and documents for programs have all of them.
#[must_use]
pub fn shortened(lines: &str) -> Cow<'_, str> {
    let is_long = |word: &str| word.len() > MAX_WORD && word.chars().count() > MAX_WORD;
    let words = || lines.split_inclusive([' ', '\n']);
    if !words().any(is_long) {
        return Cow::Borrowed(lines);
    }
    let (begin, end) = WORD_ENDS;
    let mut short = String::with_capacity(lines.len());
    for word in words() {
        if !is_long(word) {
            short.push_str(word);
            continue;
        }
        let count = word.chars().count();
        short.extend(word.chars().take(begin));
        let left_out = count - begin - end;
        // A string takes whatever is written to it.
        let _ = write!(short, "(… {left_out} more …)");
        short.extend(word.chars().skip(count - end));
    }
    Cow::Owned(short)
}

/// Formats a cell of CSV (RFC 4180), [`line_escaped`]. A cell that a spreadsheet would take for a formula gets a mark before it
/// (<https://owasp.org/www-community/attacks/CSV_Injection>).
#[must_use]
pub fn csv_cell(text: &str) -> String {
    let text = &*line_escaped(text);
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    let mark = if is_formula { "'" } else { "" };
    match text.contains(['"', ',']) {
        true => format!("\"{mark}{}\"", text.replace('"', "\"\"")),
        false => format!("{mark}{text}"),
    }
}

/// Formats a number of things with their name: `1 entry`, `2 entries`, `2 addresses`.
#[must_use]
pub fn counted(count: u64, name: &str) -> String {
    let (name, end) = match (count, name.strip_suffix('y')) {
        (1, _) => (name, ""),
        (_, Some(begin)) => (begin, "ies"),
        (_, None) if name.ends_with('s') => (name, "es"),
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
    /// Returns the escape sequence that begins its colour (ECMA-48, SGR).
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
        let _ = writeln!(self.plain, "{}", line_escaped(&line.to_string()));
    }

    /// Appends a line that has a colour where there are colours.
    pub fn toned(&mut self, tone: Tone, line: impl Display) {
        let begin = self.plain.len();
        self.line(line);
        self.tones.push((begin, self.plain.len() - 1, tone));
    }

    /// Returns the text with its colours.
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
            ("a\u{1b}[2J\r\n", "a\\u{1b}[2J\\r\\n"),
            ("\t=1+1", "\\t=1+1"),
            ("::error::x", "\\u{3a}:error::x"),
            ("a ##[error]x,", "\"a #\\u{23}[error]x,\""),
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
            (
                "so\u{ad}ft\u{2060}\u{e0041}\u{3164}",
                "so\\u{ad}ft\\u{2060}\\u{e0041}\\u{3164}",
            ),
            (
                "\u{1f468}\u{200d}\u{1f469}\u{fe0f}",
                "\u{1f468}\u{200d}\u{1f469}\u{fe0f}",
            ),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn no_text_is_a_command_of_a_ci() {
        for (text, expected) in [
            ("::error::x", "\\u{3a}:error::x"),
            (" \t::set-output name=a::b", " \\t::set-output name=a::b"),
            ("  ::stop-commands::a", "  \\u{3a}:stop-commands::a"),
            (":::", "\\u{3a}::"),
            ("a ::error::x", "a ::error::x"),
            ("https://[::1]/", "https://[::1]/"),
            ("a ##[error]x", "a #\\u{23}[error]x"),
            ("###[group]", "##\\u{23}[group]"),
            ("##vso[task.setvariable]", "#\\u{23}vso[task.setvariable]"),
            (
                "https://a.example/##teamcity[x]",
                "https://a.example/#\\u{23}teamcity[x]",
            ),
            ("## [a] ## b ##", "## [a] ## b ##"),
            // A character of several bytes before a mark.
            ("\u{e9}#a##b", "\u{e9}#a##b"),
            ("\u{65e5}##[x] \u{1f468}#", "\u{65e5}#\\u{23}[x] \u{1f468}#"),
        ] {
            assert_eq!(line_escaped(text), expected);
        }
        let json = serde_json::json!({"##[group]": "\u{e0041} ##vso[a]"});
        let safe = json_escaped(&json.to_string()).into_owned();
        assert!(
            !safe.contains("##") && !safe.contains('\u{e0041}'),
            "{safe}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&safe).unwrap(),
            json
        );
    }

    #[test]
    fn no_text_breaks_off_and_no_command_is_left() {
        let characters = ['#', '[', 'a', '\u{e9}', '\u{1f468}', ':', '\n'];
        let mut texts = vec![String::new()];
        for _ in 0..5 {
            let longer = texts
                .iter()
                .flat_map(|text| characters.map(|c| format!("{text}{c}")));
            texts = longer.collect();
            for text in &texts {
                for safe in [escaped(text), line_escaped(text), json_escaped(text)] {
                    let mut places = safe.match_indices("##");
                    assert!(
                        !places.any(|(at, _)| is_command(&safe[at..])),
                        "{text:?}: {safe}"
                    );
                }
                let cell = csv_cell(text);
                assert!(!cell.contains('\n'), "{cell}");
                assert_eq!(shortened(text), *text);
            }
        }
    }

    #[test]
    fn an_overlong_word_loses_its_middle() {
        let long = format!("https://a.example/{}", "\u{65e5}".repeat(500));
        let lines = format!("a.xml: {long} is long\nshort\n");
        let short = shortened(&lines);
        assert!(
            short.starts_with("a.xml: https://a.example/\u{65e5}"),
            "{short}"
        );
        assert!(short.ends_with("\u{65e5} is long\nshort\n"), "{short}");
        // The word has its blank.
        assert!(short.contains("(… 159 more …)"), "{short}");
        assert_eq!(shortened(&lines[..295]), &lines[..295]);
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
