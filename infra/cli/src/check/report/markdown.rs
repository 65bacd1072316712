//! Markdown, as GitHub and GitLab show it.

use std::fmt::Write as _;

use super::{FEW, Report, place};
use crate::terminal::text::escaped;

impl Report {
    pub(super) fn markdown(&self, most: u64) -> String {
        let mut text = format!("{}\n", markdown(&self.summary()));
        let shown = self.shown(most);
        for finding in &shown.findings {
            let info = finding.rule.info();
            // A string takes whatever is written to it.
            let _ = write!(
                text,
                "\n- **{}** [{}]({}) {}: {}",
                self.level(finding.rule),
                markdown(finding.rule.id()),
                info.source.link,
                markdown(&place(finding)),
                markdown(&finding.message)
            );
        }
        for (rule, count, shown) in self.cut(&shown) {
            let _ = write!(
                text,
                "\n- {}: {count} findings, of which {shown} are shown",
                markdown(rule.id())
            );
        }
        for omitted in self.omitted(&shown, FEW) {
            let _ = write!(text, "\n- {}", markdown(&omitted.to_string()));
        }
        let (unchecked, more) = self.unchecked(FEW);
        for part in unchecked {
            let part = markdown(&part.to_string());
            let _ = write!(text, "\n- **not checked** {part}");
        }
        if more > 0 {
            let _ = write!(text, "\n- **not checked** {more} more");
        }
        for hint in &self.hints {
            let _ = write!(text, "\n- **hint** {}", markdown(hint));
        }
        text.push('\n');
        text
    }
}

/// Escapes foreign text for Markdown: possible markup is escaped, and no address becomes a link.
pub(crate) fn markdown(text: &str) -> String {
    let mut safe = String::new();
    for character in escaped(text).chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            ':' => safe.push_str("&#58;"),
            '@' => safe.push_str("&#64;"),
            // GitHub makes a link of www.example.com, too.
            '.' if ends_with_www(&safe) => safe.push_str("&#46;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '+' | '!' | '|'
            | '~' | '>' => {
                safe.push('\\');
                safe.push(character);
            }
            character => safe.push(character),
        }
    }
    safe
}

fn ends_with_www(text: &str) -> bool {
    let end = text.len().checked_sub(3).and_then(|at| text.get(at..));
    end.is_some_and(|end| end.eq_ignore_ascii_case("www"))
}
