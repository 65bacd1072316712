//! The published file: one gzip member (RFC 1952) of independently deflated blocks, with a directory in its header.
//!
//! ```text
//! header, FEXTRA = directory | prolog | segment 0 | segment 1 | … | epilogue | CRC-32, size
//! ```
//!
//! - Every block but the last ends with a full flush: byte-aligned, and nothing after it refers to anything before. So
//!   one segment can be replaced without a look at the others: their compressed bytes are copied, and the member's
//!   CRC-32 is combined from theirs.
//! - It is one member, not several in a row: Chromium and PHP show the first alone.
//! - The same frame, epoch and segments are the same bytes, built whole or by [`splice`].
//! - A reader that knows nothing of this skips the directory, as the standard asks of it.
//! - Everything in a stored file is checked before it is believed: [`Member::parse`] detects any damage to the
//!   directory or the compressed bytes, [`Member::verify`] also inflates them.
//!
//! ```
//! use sitemap::member::{Builder, Frame, Member, Segment};
//!
//! let mut builder = Builder::new(&Frame::urlset(None), 7);
//! builder.push(&Segment { stamp: 1, entries: 0, newest: None, xml: b"" });
//! let built = builder.finish();
//! let member = Member::parse(&built.bytes)?;
//! assert_eq!(member.directory().generation(), 1);
//! # Ok::<(), sitemap::member::MemberError>(())
//! ```

mod builder;
mod directory;
mod reader;

use std::fmt;

use sha2::{Digest, Sha256};

pub use self::builder::{Builder, Built, splice};
pub use self::directory::{Directory, SegmentInfo};
pub use self::reader::{Member, payload_offset};

use crate::time::When;
use crate::xml;

/// Slots a segment. Measured on 50,000 URLs: segments of 500 cost 3 % in size and make a change of one record 76 times
/// cheaper than deflating everything again; segments of 1,000 cost 1.5 % and make it 42 times cheaper.
pub const SEGMENT_SLOTS: u32 = 500;

/// Segments a member: those of 50,000 entries, the most that sitemaps.org lets a sitemap hold.
pub const MAX_SEGMENTS: usize = 100;
const _: () = assert!(MAX_SEGMENTS * SEGMENT_SLOTS as usize == 50_000);

/// The directory's version. One of another version is not spliced on; the file is built whole.
pub const FORMAT_VERSION: u8 = 1;

/// zlib's level. 9 takes longer and, of blocks as short as these, comes out larger.
const LEVEL: u32 = 7;

/// A gzip header that says nothing but "deflate", with the same time, level and system as a stored member's. With it in
/// place of header and directory, equal documents are equal bytes.
pub const PLAIN_HEADER: [u8; 10] = header(0);

/// The flag that says that an extra field follows.
const FEXTRA: u8 = 4;

/// CRC-32 and size.
const TRAILER_BYTES: usize = 8;

const fn header(flags: u8) -> [u8; 10] {
    // Magic, method, flags, no time, neither the fastest nor the best level, unknown system.
    [0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 255]
}

/// Up to [`SEGMENT_SLOTS`] rendered entries in a row.
///
/// With stamp 0 and no content it was never written: it stands in the directory only if others follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The sum of its rows' versions: equal stamps of one segment mean equal content.
    pub stamp: u64,
    /// How many entries `xml` holds.
    pub entries: u32,
    /// The newest lastmod among them.
    pub newest: Option<When>,
    /// The entries, rendered, one after the other. May be empty.
    pub xml: &'a [u8],
}

/// What stands around the segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Up to and with the start tag.
    pub prolog: Vec<u8>,
    /// From the end tag on.
    pub epilogue: &'static [u8],
}

impl Frame {
    /// A urlset's, with the URL of a style sheet.
    #[must_use]
    pub fn urlset(stylesheet: Option<&str>) -> Self {
        Self {
            prolog: xml::urlset_prolog(stylesheet),
            epilogue: xml::URLSET_EPILOGUE,
        }
    }

    /// A sitemap index's, with the URL of a style sheet.
    #[must_use]
    pub fn index(stylesheet: Option<&str>) -> Self {
        Self {
            prolog: xml::index_prolog(stylesheet),
            epilogue: xml::INDEX_EPILOGUE,
        }
    }
}

/// Why stored bytes are not spliced on. All of them mean: build the file whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemberError {
    /// Not a gzip member with a directory of ours.
    #[error("not a segmented gzip member")]
    NotOurs,
    /// Written by another version of this code.
    #[error("format version {found} instead of {expected}")]
    Version {
        /// The file's.
        found: u8,
        /// [`FORMAT_VERSION`].
        expected: u8,
    },
    /// Ours, but not as it was written.
    #[error("{what} is damaged")]
    Damaged {
        /// The first part found so.
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
    /// Checksum and size at the end.
    Trailer,
    /// The file's length: bytes are missing or follow.
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

fn damaged(what: Part) -> MemberError {
    MemberError::Damaged { what }
}

/// The first 8 bytes of the SHA-256: a CRC-32 is too short to tell two contents apart for good.
fn digest(content: &[u8]) -> u64 {
    u64::from_be_bytes(first_bytes(Sha256::digest(content).into()))
}

fn first_bytes<const N: usize>(hash: [u8; 32]) -> [u8; N] {
    const { assert!(N <= 32) };
    std::array::from_fn(|at| hash[at])
}

#[cfg(test)]
mod tests;
