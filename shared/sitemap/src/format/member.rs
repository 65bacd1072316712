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
