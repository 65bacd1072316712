//! The published file: one gzip member (RFC 1952) of independently deflated blocks, with a directory in its header.
//!
//! ```text
//! header, FEXTRA = directory | prolog | segment 0 | segment 1 | … | epilogue | CRC-32, size
//! ```
//!
//! - Every block but the last ends with a full flush: it is byte-aligned, and later blocks do not refer to earlier ones. So one
//!   segment can be replaced without inflating the others: their compressed bytes are copied, and the member's CRC-32 is combined
//!   from theirs.
//! - It is one member and not several, because Chromium and PHP show only the first.
//! - The same frame, epoch and segments give the same bytes, whether built whole or by [`splice`].
//! - Ordinary readers skip the directory, as the standard requires.
//! - Everything in a stored file is checked before it is used: [`Member::parse`] detects any damage to the directory or the
//!   compressed bytes, [`Member::verify`] also inflates them.
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
mod error;
mod frame;
mod gzip;
mod reader;
mod segment;
#[cfg(test)]
mod tests;

pub use self::builder::{Builder, Built, splice};
pub use self::directory::{Directory, FORMAT_VERSION, SegmentInfo};
pub use self::error::{MemberError, Part};
pub use self::frame::Frame;
pub use self::gzip::PLAIN_HEADER;
pub use self::reader::{Member, payload_offset};
pub use self::segment::{MAX_SEGMENTS, SEGMENT_SLOTS, Segment};
