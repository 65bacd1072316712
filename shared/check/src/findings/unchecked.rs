//! The parts of a check's target that were not checked: the rest of a broken document, and what is beyond a limit.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::finding::Position;

/// A part that was not checked, or that XML parsers do not read. Nothing in it may pass for correct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unchecked {
    /// The rest of a document that is not well-formed.
    Broken(Broken),
    /// The rest of what a limit ended.
    Limited(Limited),
}

/// The rest of a document after its first XML error. Most parsers stop there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The document's address, or its path.
    pub file: Arc<str>,
    /// The position of the error.
    pub at: Position,
    /// The entries of the document: `URLs` or `sitemaps`.
    pub entries: &'static str,
    /// The number of entries before the error.
    pub before: u64,
    /// The number of entries after it. `None` if the document is cut off, so that the number is unknown.
    pub after: Option<u64>,
    /// Whether `after` is a count of start tags, because the rest could not be parsed.
    pub is_estimate: bool,
    /// The cause, and how it is written correctly.
    pub cause: Cow<'static, str>,
}

/// A limit that was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limited {
    /// The document, the target or the host that has more.
    pub place: Arc<str>,
    /// What was not checked, as a clause: `the other sitemaps were not checked`.
    pub rest: &'static str,
    /// The limit.
    pub value: u64,
    /// The unit of the limit, with what it applies to: `sitemaps of a target`.
    pub unit: &'static str,
    /// The option that raises the limit. `None` if no option does.
    pub option: Option<&'static str>,
}

impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(broken) => broken.fmt(f),
            Self::Limited(limited) => limited.fmt(f),
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            entries,
            before,
            cause,
            ..
        } = self;
        let line = self.at.line;
        let Some(after) = self.after else {
            return write!(
                f,
                "the rest of {file} after line {line} could not be read, {} before it could: {cause}",
                counted(*before, entries)
            );
        };
        let about = if self.is_estimate { "about " } else { "" };
        let (lost, all) = (grouped(after), counted(before + after, entries));
        write!(
            f,
            "{about}{lost} of {all} of {file} could not be read after line {line}: {cause}"
        )
    }
}

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place, rest, unit, ..
        } = self;
        let value = grouped(self.value);
        write!(
            f,
            "{place}: the limit of {value} {unit} was reached, so {rest}"
        )?;
        match self.option {
            Some(option) => write!(f, ": {option} raises the limit"),
            None => f.write_str(": no option raises the limit"),
        }
    }
}

/// Formats a number with the plural of its unit, or with the singular.
fn counted(number: u64, units: &str) -> String {
    let unit = match number {
        1 => units.strip_suffix('s').unwrap_or(units),
        _ => units,
    };
    format!("{} {unit}", grouped(number))
}

/// Formats a number with commas: `49,898`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_document_says_what_it_costs() {
        let mut broken = Broken {
            file: "products-4.xml".into(),
            at: Position {
                line: 103,
                column: 40,
            },
            entries: "URLs",
            before: 102,
            after: Some(49_898),
            is_estimate: false,
            cause: "& is written &amp;".into(),
        };
        let exact = "49,898 of 50,000 URLs of products-4.xml could not be read after line 103: & is written &amp;";
        assert_eq!(Unchecked::Broken(broken.clone()).to_string(), exact);
        broken.is_estimate = true;
        assert_eq!(broken.to_string(), format!("about {exact}"));
        (broken.after, broken.before) = (None, 1);
        broken.cause = "the document is cut off".into();
        assert_eq!(
            broken.to_string(),
            "the rest of products-4.xml after line 103 could not be read, 1 URL before it could: the document is cut off"
        );
    }

    #[test]
    fn a_limit_says_its_value_and_what_raises_it() {
        let mut limited = Limited {
            place: "https://www.example.com".into(),
            rest: "the other sitemaps were not checked",
            value: 50_001,
            unit: "sitemaps of a target",
            option: Some("--max-sitemaps"),
        };
        let text = "https://www.example.com: the limit of 50,001 sitemaps of a target was reached, \
            so the other sitemaps were not checked:";
        assert_eq!(
            limited.to_string(),
            format!("{text} --max-sitemaps raises the limit")
        );
        limited.option = None;
        assert_eq!(
            limited.to_string(),
            format!("{text} no option raises the limit")
        );
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
