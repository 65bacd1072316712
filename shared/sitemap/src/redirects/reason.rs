//! Why a target has no form for a redirect, and the lines of a file with what was left out of it.

use std::collections::BTreeMap;
use std::fmt;

use super::chain::Redirect;

/// Why a target has no form for a redirect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It has no status 410.
    Gone,
    /// Its rules are for paths.
    Query,
    /// It decodes `%2F` to a slash, or refuses it.
    EncodedSlash,
    /// It decodes `%3F`, which then begins a query.
    EncodedQuestionMark,
    /// It does not tell an empty query from none.
    EmptyQuery,
    /// It joins slashes.
    DoubleSlash,
    /// It refuses `%00`.
    Null,
    /// The decoded path is not UTF-8.
    NotUtf8,
    /// The address has a character that means something else in its rules.
    Pattern,
    /// The line is too long.
    LongLine,
    /// The key is too long.
    LongKey,
    /// The value is too long.
    LongValue,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "it cannot answer 410",
            Self::Query => "its rules are for paths without a query",
            Self::EncodedSlash => "it does not tell %2F from a slash",
            Self::EncodedQuestionMark => "it does not tell %3F from the beginning of a query",
            Self::EmptyQuery => "it does not tell an empty query from none",
            Self::DoubleSlash => "it joins slashes",
            Self::Null => "it refuses %00",
            Self::NotUtf8 => "the decoded path is not UTF-8",
            Self::Pattern => "* and :name are patterns in its rules",
            Self::LongLine => "the line is longer than it takes",
            Self::LongKey => "the address is longer than it takes",
            Self::LongValue => "the target is longer than it takes",
        })
    }
}

/// The lines of a file, and what was left out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The lines, without their ends.
    pub lines: Vec<String>,
    /// The record and the address of each redirect that was left out.
    pub left_out: BTreeMap<Reason, Vec<(String, String)>>,
}

impl Lines {
    /// Returns the line of each redirect, or why there is none.
    pub fn of(
        redirects: &[Redirect],
        mut line: impl FnMut(&Redirect) -> Result<String, Reason>,
    ) -> Self {
        let mut lines = Self::default();
        for redirect in redirects {
            match line(redirect) {
                Ok(line) => lines.lines.push(line),
                Err(reason) => {
                    let names = (redirect.record.clone(), redirect.from.clone());
                    lines.left_out.entry(reason).or_default().push(names);
                }
            }
        }
        lines
    }

    /// Returns the lines with their ends.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.lines.iter().map(|line| line.len() + 1).sum());
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}
