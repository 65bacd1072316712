//! Writes a member, whole or by splicing an older one.

use std::collections::BTreeMap;

use flate2::{Compress, Compression, FlushCompress, Status};

use super::directory::{Block, Directory, SegmentInfo};
use super::frame::Frame;
use super::gzip::TRAILER_BYTES;
use super::reader::Member;
use super::segment::{MAX_SEGMENTS, Segment};

/// The compression level of zlib. Level 9 takes longer and gives larger results for such short blocks.
const LEVEL: u32 = 7;

/// A complete member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The file.
    pub bytes: Vec<u8>,
    /// The directory in the file.
    pub directory: Directory,
}

/// Builds a member from its segments, one at a time. It keeps only the deflated bytes in memory.
#[derive(Debug)]
pub struct Builder {
    deflate: Deflate,
    epilogue: &'static [u8],
    epoch: u64,
    prolog: Block,
    segments: Vec<SegmentInfo>,
    /// The deflated prolog and segments.
    body: Vec<u8>,
}

impl Builder {
    /// Begins a member.
    #[must_use]
    pub fn new(frame: &Frame, epoch: u64) -> Self {
        let mut deflate = Deflate::new();
        let deflated = deflate.block(&frame.prolog, FlushCompress::Full);
        let prolog = Block::of(&frame.prolog, deflated);
        let body = deflated.to_vec();
        Self {
            deflate,
            epilogue: frame.epilogue,
            epoch,
            prolog,
            segments: Vec::new(),
            body,
        }
    }

    /// Adds the next segment.
    ///
    /// # Panics
    ///
    /// If there are [`MAX_SEGMENTS`] already, which cover all positions of a shard.
    pub fn push(&mut self, segment: &Segment<'_>) {
        let deflated: &[u8] = if segment.xml.is_empty() {
            &[]
        } else {
            self.deflate.block(segment.xml, FlushCompress::Full)
        };
        let block = Block::of(segment.xml, deflated);
        self.body.extend_from_slice(deflated);
        self.list(SegmentInfo::new(
            segment.stamp,
            segment.entries,
            segment.newest,
            block,
        ));
    }

    /// Adds a deflated segment.
    fn copy(&mut self, info: SegmentInfo, deflated: &[u8]) {
        self.body.extend_from_slice(deflated);
        self.list(info);
    }

    fn list(&mut self, info: SegmentInfo) {
        assert!(
            self.segments.len() < MAX_SEGMENTS,
            "more than {MAX_SEGMENTS} segments"
        );
        self.segments.push(info);
    }

    /// Ends the member.
    #[must_use]
    pub fn finish(mut self) -> Built {
        while self.segments.last().is_some_and(SegmentInfo::is_blank) {
            self.segments.pop();
        }
        let last = self.deflate.block(self.epilogue, FlushCompress::Finish);
        let directory = Directory {
            epoch: self.epoch,
            segments: self.segments,
            prolog: self.prolog,
            epilogue: Block::of(self.epilogue, last),
        };
        let length = directory.header_bytes() + self.body.len() + last.len() + TRAILER_BYTES;
        let mut bytes = Vec::with_capacity(length);
        directory.write_header(&mut bytes);
        bytes.extend_from_slice(&self.body);
        bytes.extend_from_slice(last);
        bytes.extend_from_slice(&directory.trailer());
        Built { bytes, directory }
    }
}

/// Returns the member with some segments replaced or added, and with this frame. The deflated bytes of all others are copied, and
/// the epoch stays. [`Builder`] makes the same bytes of the same segments.
///
/// A segment beyond the end extends the member, if necessary with never-written segments before it. A segment with stamp 0 and no
/// content removes the existing one.
///
/// # Panics
///
/// If a segment's number is not below [`MAX_SEGMENTS`].
#[must_use]
pub fn splice(old: &Member<'_>, frame: &Frame, changes: &BTreeMap<u32, Segment<'_>>) -> Built {
    const NEVER_WRITTEN: Segment<'_> = Segment {
        stamp: 0,
        entries: 0,
        newest: None,
        xml: b"",
    };
    // The frame has a few hundred bytes, so deflating it again costs less than comparing it.
    let mut builder = Builder::new(frame, old.directory().epoch);
    let added = changes
        .last_key_value()
        .map_or(0, |(&last, _)| last.saturating_add(1));
    let mut kept = old.segments();
    for number in 0.. {
        let kept = kept.next();
        match (changes.get(&number), kept) {
            (Some(change), _) => builder.push(change),
            (None, Some((info, deflated))) => builder.copy(info, deflated),
            (None, None) if number < added => builder.push(&NEVER_WRITTEN),
            (None, None) => break,
        }
    }
    builder.finish()
}

/// One compressor and one buffer for all blocks.
#[derive(Debug)]
struct Deflate {
    compress: Compress,
    buffer: Vec<u8>,
}

impl Deflate {
    fn new() -> Self {
        Self {
            compress: Compress::new(Compression::new(LEVEL), false),
            buffer: Vec::new(),
        }
    }

    /// Returns the content deflated independently of anything before it.
    fn block(&mut self, content: &[u8], flush: FlushCompress) -> &[u8] {
        self.compress.reset();
        self.buffer.clear();
        // This is more than zlib's `deflateBound`, so that one call is enough. A flush that fills its buffer to the last byte
        // would need a second one, and the bytes would depend on the buffer's size.
        self.buffer.reserve(content.len() + content.len() / 8 + 64);
        let status = self
            .compress
            .compress_vec(content, &mut self.buffer, flush)
            .expect("a compressor that was just reset takes any input");
        let expected = match flush {
            FlushCompress::Finish => Status::StreamEnd,
            _ => Status::Ok,
        };
        assert!(
            status == expected && self.compress.total_in() == content.len() as u64,
            "the buffer holds any deflated content"
        );
        &self.buffer
    }
}
