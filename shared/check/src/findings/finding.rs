//! A finding, and its position.

use std::fmt;
use std::sync::Arc;

use crate::rules::Rule;

/// A position in a document, both numbers from 1. A column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A broken rule at some position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that is broken.
    pub rule: Rule,
    /// The document's address, or its path.
    pub file: Arc<str>,
    /// The position in the document. `None` if it concerns the whole.
    pub at: Option<Position>,
    /// The problem. The message quotes foreign text.
    pub message: String,
    /// Whether the official schemas, or any XML parser, refuse the document because of it.
    pub invalid: bool,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(at) = self.at {
            write!(f, ":{}:{}", at.line, at.column)?;
        }
        write!(f, ": {} {}", self.rule, self.message)
    }
}
