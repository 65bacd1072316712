//! The errors that end the reading of a document.

use std::fmt;

use crate::document::input::Stop;
use crate::text::quoted;

/// Why the rest of a document cannot be read.
#[derive(Debug)]
pub struct Broken {
    /// The line of the error.
    pub line: u64,
    /// The error.
    pub what: Wrong,
}

/// The errors of a document.
#[derive(Debug)]
pub enum Wrong {
    /// Its bytes cannot be read.
    Unread(Stop, String),
    /// It ends before its root, which has this name.
    Cut(String),
    /// It has no root.
    NoRoot,
    /// It has an element of this name after its root's end.
    Behind(String),
    /// It is not UTF-8.
    Encoding(String),
    /// It is not well-formed, or it ends in the middle of a tag.
    Syntax(String),
    /// It has a reference that is impossible without a DTD.
    Reference(String),
    /// It has more nested elements than this limit.
    Depth(usize),
    /// An entry has more bytes than this limit.
    Large(usize),
    /// The parser refuses it for another reason.
    Other(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread(_, reason) | Self::Other(reason) => f.write_str(reason),
            Self::Cut(root) => write!(f, "it is cut: it ends before </{root}>"),
            Self::NoRoot => f.write_str("it has no root element"),
            Self::Behind(name) => write!(f, "it has <{name}> after the end of its root element"),
            Self::Encoding(_) => f.write_str("it is not UTF-8"),
            Self::Syntax(reason) => write!(f, "it is cut or not well-formed: {reason}"),
            Self::Reference(name) => {
                write!(f, "it has the reference {}, which is unknown", quoted(name))
            }
            Self::Depth(most) => write!(f, "it has more than {most} nested elements"),
            Self::Large(most) => {
                write!(
                    f,
                    "an entry of it is larger than {} MiB",
                    most / (1024 * 1024)
                )
            }
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}
