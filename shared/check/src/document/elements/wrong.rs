//! The errors that end the reading of a document.

use std::fmt;

use crate::document::input::Stop;
use crate::text::quoted;

/// Why a document cannot be read on.
#[derive(Debug)]
pub struct Broken {
    /// The line at which that is seen.
    pub line: u64,
    /// What is wrong there.
    pub what: Wrong,
}

/// What is wrong with a document.
#[derive(Debug)]
pub enum Wrong {
    /// Its bytes cannot be read.
    Unread(Stop, String),
    /// It ends before its root does, whose name this is.
    Cut(String),
    /// It has no root.
    NoRoot,
    /// It has an element of this name behind its root's end.
    Behind(String),
    /// It is not UTF-8.
    Encoding(String),
    /// It is not well-formed, or cut in the middle of a tag.
    Syntax(String),
    /// It has a reference that no document without a DTD can have.
    Reference(String),
    /// It has more than so many elements inside each other.
    Depth(usize),
    /// An entry has more than so many bytes.
    Large(usize),
    /// Something else that the parser refuses.
    Other(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread(_, reason) | Self::Other(reason) => f.write_str(reason),
            Self::Cut(root) => write!(f, "it is cut: it ends before </{root}>"),
            Self::NoRoot => f.write_str("it has no root element"),
            Self::Behind(name) => write!(f, "it has <{name}> behind its root's end"),
            Self::Encoding(_) => f.write_str("it is not UTF-8"),
            Self::Syntax(reason) => write!(f, "it is cut or not well-formed: {reason}"),
            Self::Reference(name) => {
                write!(f, "it has the reference {}, which is unknown", quoted(name))
            }
            Self::Depth(most) => write!(f, "it has more than {most} elements in each other"),
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
