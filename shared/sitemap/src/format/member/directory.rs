//! The directory of the blocks in the header's extra field.
//!
//! Numbers are little-endian, as everywhere in gzip:
//!
//! | bytes | what |
//! |---|---|
//! | 2 | subfield id `WM` |
//! | 2 | length of the rest |
//! | 1 | [`FORMAT_VERSION`] |
//! | 8 | epoch |
//! | 24 | the prolog's block: size, length, CRC-32, CRC-32 of the deflated bytes (4 each), digest (8) |
//! | 24 | the epilogue's block |
//! | 45 a segment | stamp (8), entries (4), newest (1 for its kind, 8 for its seconds), block (24) |
//! | 4 | CRC-32 of all bytes from the version on |

use crc32fast::Hasher;
use sha2::{Digest, Sha256};

use super::error::{MemberError, Part, damaged};
use super::frame::Frame;
use super::gzip::{FEXTRA, TRAILER_BYTES, header};
use super::segment::{MAX_SEGMENTS, Segment};
use crate::time::When;

/// The directory's version. A file of another version is not spliced but built whole.
pub const FORMAT_VERSION: u8 = 1;
const SUBFIELD: [u8; 2] = *b"WM";
const BLOCK_BYTES: usize = 24;
const SEGMENT_BYTES: usize = 8 + 4 + 1 + 8 + BLOCK_BYTES;
const CRC_BYTES: usize = 4;
/// Bytes of the subfield's content without segments.
const FIXED_BYTES: usize = 1 + 8 + 2 * BLOCK_BYTES + CRC_BYTES;
/// Bytes of the subfield's id and length.
const SUBFIELD_HEAD: usize = 4;
const MAX_EXTRA_BYTES: usize = SUBFIELD_HEAD + FIXED_BYTES + MAX_SEGMENTS * SEGMENT_BYTES;
// The header has two bytes for the length of the extra field.
const _: () = assert!(MAX_EXTRA_BYTES <= u16::MAX as usize);

/// The offset of the extra field: after the fixed header and XLEN.
pub(super) const EXTRA_OFFSET: usize = 12;

/// The directory's data about one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// See [`Segment::stamp`].
    pub stamp: u64,
    /// The number of entries.
    pub entries: u32,
    /// The newest lastmod of the entries.
    pub newest: Option<When>,
    /// Bytes of XML.
    pub size: u32,
    /// Bytes of deflated XML.
    pub length: u32,
    /// CRC-32 of the XML.
    pub crc: u32,
    /// The first 8 bytes of the XML's SHA-256.
    pub digest: u64,
    /// CRC-32 of the deflated bytes, so that damage is found without inflating them.
    pub deflated_crc: u32,
}

/// The data that all kinds of blocks have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) size: u32,
    pub(super) length: u32,
    pub(super) crc: u32,
    pub(super) deflated_crc: u32,
    pub(super) digest: u64,
}

impl SegmentInfo {
    pub(super) fn new(stamp: u64, entries: u32, newest: Option<When>, block: Block) -> Self {
        Self {
            stamp,
            entries,
            newest,
            size: block.size,
            length: block.length,
            crc: block.crc,
            digest: block.digest,
            deflated_crc: block.deflated_crc,
        }
    }

    /// Returns whether the segment has the same content as this one, regardless of their stamps.
    #[must_use]
    pub fn says(&self, segment: &Segment<'_>) -> bool {
        self.entries == segment.entries
            && self.newest == segment.newest
            && self.size as usize == segment.xml.len()
            && self.digest == digest(segment.xml)
    }

    pub(super) fn block(&self) -> Block {
        Block {
            size: self.size,
            length: self.length,
            crc: self.crc,
            deflated_crc: self.deflated_crc,
            digest: self.digest,
        }
    }

    pub(super) fn is_blank(&self) -> bool {
        self.stamp == 0 && self.entries == 0 && self.size == 0
    }
}

/// The directory of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// The site's epoch when the member was built. Stamps of different epochs cannot be compared.
    pub epoch: u64,
    /// The segments in order. The last one is not empty with stamp 0.
    pub segments: Vec<SegmentInfo>,
    pub(super) prolog: Block,
    pub(super) epilogue: Block,
}

impl Directory {
    /// Returns the sum of the stamps.
    #[must_use]
    pub fn generation(&self) -> u64 {
        // 2^64 is out of reach of versions that rise by one a write. Saturation keeps the sum from ever falling, which is enough
        // for the order of generations.
        self.segments
            .iter()
            .fold(0, |sum: u64, segment| sum.saturating_add(segment.stamp))
    }

    /// Returns whether the member has this frame around its segments.
    #[must_use]
    pub fn has_frame(&self, frame: &Frame) -> bool {
        let is = |block: Block, content: &[u8]| {
            block.size as usize == content.len() && block.digest == digest(content)
        };
        is(self.prolog, &frame.prolog) && is(self.epilogue, frame.epilogue)
    }

    /// Returns the number of the document's entries.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| u64::from(segment.entries))
            .sum()
    }

    /// Returns the newest lastmod in the document.
    #[must_use]
    pub fn newest(&self) -> Option<When> {
        self.segments
            .iter()
            .filter_map(|segment| segment.newest)
            .max()
    }

    /// Returns the bytes of the entries, without the frame.
    #[must_use]
    pub fn entry_bytes(&self) -> u64 {
        let segments = self.segments.iter();
        segments.map(|segment| u64::from(segment.size)).sum()
    }

    /// Returns the document's length in bytes, inflated.
    #[must_use]
    pub fn document_bytes(&self) -> u64 {
        self.blocks().map(|(_, block)| u64::from(block.size)).sum()
    }

    /// Returns 32 lower-case hex digits that are equal for equal documents, whatever their stamps and epoch.
    ///
    /// Equal documents that are cut into segments at different places have different digests, which costs a reader one needless download.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        // An emptied segment adds nothing to the document.
        for (_, block) in self.blocks().filter(|(_, block)| block.size > 0) {
            hasher.update(block.size.to_le_bytes());
            hasher.update(block.digest.to_le_bytes());
        }
        let hash = u128::from_be_bytes(first_bytes(hasher.finalize().into()));
        format!("{hash:032x}")
    }

    /// Returns all blocks in the order of the file.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (Part, Block)> {
        let segments = self.segments.iter().enumerate();
        let segments = segments.map(|(number, segment)| (Part::Segment(number), segment.block()));
        std::iter::once((Part::Prolog, self.prolog))
            .chain(segments)
            .chain(std::iter::once((Part::Epilogue, self.epilogue)))
    }

    /// Returns the CRC-32 and the size of the document, as gzip's trailer has them.
    pub(super) fn trailer(&self) -> [u8; TRAILER_BYTES] {
        let mut whole = Hasher::new();
        for (_, block) in self.blocks() {
            whole.combine(&Hasher::new_with_initial_len(
                block.crc,
                u64::from(block.size),
            ));
        }
        let crc = whole.finalize();
        let size = self.document_bytes() as u32; // modulo 2^32 (RFC 1952)
        (u64::from(size) << 32 | u64::from(crc)).to_le_bytes()
    }

    /// Returns how many bytes [`Directory::write_header`] appends.
    pub(super) fn header_bytes(&self) -> usize {
        EXTRA_OFFSET + SUBFIELD_HEAD + FIXED_BYTES + self.segments.len() * SEGMENT_BYTES
    }

    /// Appends the gzip header with the directory in it.
    pub(super) fn write_header(&self, out: &mut Vec<u8>) {
        assert!(self.segments.len() <= MAX_SEGMENTS);
        let content = FIXED_BYTES + self.segments.len() * SEGMENT_BYTES;
        // `MAX_EXTRA_BYTES` fits into two bytes.
        out.extend_from_slice(&header(FEXTRA));
        out.extend_from_slice(&((SUBFIELD_HEAD + content) as u16).to_le_bytes());
        out.extend_from_slice(&SUBFIELD);
        out.extend_from_slice(&(content as u16).to_le_bytes());
        let start = out.len();
        out.push(FORMAT_VERSION);
        out.extend_from_slice(&self.epoch.to_le_bytes());
        self.prolog.write(out);
        self.epilogue.write(out);
        for segment in &self.segments {
            out.extend_from_slice(&segment.stamp.to_le_bytes());
            out.extend_from_slice(&segment.entries.to_le_bytes());
            write_newest(segment.newest, out);
            segment.block().write(out);
        }
        let crc = crc32fast::hash(&out[start..]);
        out.extend_from_slice(&crc.to_le_bytes());
    }

    /// Parses the extra field's bytes.
    pub(super) fn parse(extra: &[u8]) -> Result<Self, MemberError> {
        let mut rest = extra;
        if take(&mut rest) != Some(SUBFIELD) {
            return Err(MemberError::NotOurs);
        }
        if take(&mut rest).map(u16::from_le_bytes).map(usize::from) != Some(rest.len()) {
            return Err(MemberError::NotOurs);
        }
        match rest.first() {
            None => return Err(MemberError::NotOurs),
            Some(&FORMAT_VERSION) => {}
            Some(&found) => {
                return Err(MemberError::Version {
                    found,
                    expected: FORMAT_VERSION,
                });
            }
        }
        Self::parse_content(rest).ok_or(damaged(Part::Directory))
    }

    fn parse_content(content: &[u8]) -> Option<Self> {
        let (checked, crc) = content.split_last_chunk()?;
        if crc32fast::hash(checked) != u32::from_le_bytes(*crc) {
            return None;
        }
        let mut rest = checked.get(1..)?;
        let epoch = u64::from_le_bytes(take(&mut rest)?);
        let prolog = Block::read(&mut rest)?;
        let epilogue = Block::read(&mut rest)?;
        if !rest.len().is_multiple_of(SEGMENT_BYTES) || rest.len() / SEGMENT_BYTES > MAX_SEGMENTS {
            return None;
        }
        let mut segments = Vec::with_capacity(rest.len() / SEGMENT_BYTES);
        while !rest.is_empty() {
            let stamp = u64::from_le_bytes(take(&mut rest)?);
            let entries = u32::from_le_bytes(take(&mut rest)?);
            let newest = read_newest(&mut rest)?;
            let block = Block::read(&mut rest)?;
            // An empty content must have no block. Otherwise, when a never-written segment is removed from the directory, its
            // block would remain.
            if (block.size == 0) != (block.length == 0) {
                return None;
            }
            segments.push(SegmentInfo::new(stamp, entries, newest, block));
        }
        if segments.last().is_some_and(SegmentInfo::is_blank) {
            return None;
        }
        Some(Self {
            epoch,
            segments,
            prolog,
            epilogue,
        })
    }
}

impl Block {
    /// Returns the block of this content and its deflated bytes.
    ///
    /// # Panics
    ///
    /// If either has 4 GiB or more, which is eighty times the limit of a sitemap.
    pub(super) fn of(content: &[u8], deflated: &[u8]) -> Self {
        Self {
            size: u32::try_from(content.len()).expect("a block is below 4 GiB"),
            length: u32::try_from(deflated.len()).expect("a deflated block is below 4 GiB"),
            crc: crc32fast::hash(content),
            deflated_crc: crc32fast::hash(deflated),
            digest: digest(content),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.size.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.extend_from_slice(&self.crc.to_le_bytes());
        out.extend_from_slice(&self.deflated_crc.to_le_bytes());
        out.extend_from_slice(&self.digest.to_le_bytes());
    }

    fn read(rest: &mut &[u8]) -> Option<Self> {
        Some(Self {
            size: u32::from_le_bytes(take(rest)?),
            length: u32::from_le_bytes(take(rest)?),
            crc: u32::from_le_bytes(take(rest)?),
            deflated_crc: u32::from_le_bytes(take(rest)?),
            digest: u64::from_le_bytes(take(rest)?),
        })
    }
}

fn write_newest(newest: Option<When>, out: &mut Vec<u8>) {
    let (kind, seconds) = match newest {
        None => (0, 0),
        Some(when) if when.is_date() => (1, when.seconds()),
        Some(when) => (2_u8, when.seconds()),
    };
    out.push(kind);
    out.extend_from_slice(&seconds.to_le_bytes());
}

fn read_newest(rest: &mut &[u8]) -> Option<Option<When>> {
    let [kind] = take(rest)?;
    let seconds = i64::from_le_bytes(take(rest)?);
    match (kind, seconds) {
        (0, 0) => Some(None),
        (1, seconds) => When::midnight(seconds).map(Some),
        (2, seconds) => When::checked_at(seconds).map(Some),
        _ => None,
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(*taken)
}

/// Returns the first 8 bytes of the SHA-256. A CRC-32 is too short to distinguish contents reliably.
pub(super) fn digest(content: &[u8]) -> u64 {
    u64::from_be_bytes(first_bytes(Sha256::digest(content).into()))
}

pub(super) fn first_bytes<const N: usize>(hash: [u8; 32]) -> [u8; N] {
    const { assert!(N <= 32) };
    std::array::from_fn(|at| hash[at])
}
