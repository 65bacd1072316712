//! The errors of a stored file.

use std::fmt;

/// Why a stored file cannot be spliced. The remedy is always to build the file whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemberError {
    /// It is not a gzip member with Waymark's directory.
    #[error("not a segmented gzip member")]
    NotOurs,
    /// It was written by another version of this code.
    #[error("format version {found} instead of {expected}")]
    Version {
        /// The file's version.
        found: u8,
        /// The version of this code, [`FORMAT_VERSION`](super::directory::FORMAT_VERSION).
        expected: u8,
    },
    /// It is Waymark's, but damaged.
    #[error("{what} is damaged")]
    Damaged {
        /// The first damaged part.
        what: Part,
    },
}

/// A part of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The directory in the header.
    Directory,
    /// The block before the segments.
    Prolog,
    /// A segment's block, by its number.
    Segment(usize),
    /// The block after the segments.
    Epilogue,
    /// The checksum and the size at the end.
    Trailer,
    /// The file's length: bytes are missing, or too many.
    Length,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory => f.write_str("the directory"),
            Self::Prolog => f.write_str("the prolog"),
            Self::Segment(number) => write!(f, "segment {number}"),
            Self::Epilogue => f.write_str("the epilogue"),
            Self::Trailer => f.write_str("the trailer"),
            Self::Length => f.write_str("the length"),
        }
    }
}

pub(super) fn damaged(what: Part) -> MemberError {
    MemberError::Damaged { what }
}
