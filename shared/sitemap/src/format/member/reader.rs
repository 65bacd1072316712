//! Reads a stored member.

use crc32fast::Hasher;
use flate2::{Decompress, FlushDecompress, Status};
use sha2::{Digest, Sha256};

use super::directory::{Block, Directory, EXTRA_OFFSET, SegmentInfo, digest, first_bytes};
use super::error::{MemberError, Part, damaged};
use super::gzip::{FEXTRA, TRAILER_BYTES, header};

/// A stored member with a valid directory.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    directory: Directory,
    payload: &'a [u8],
}

impl<'a> Member<'a> {
    /// Reads the directory and checks it: its own checksum, the blocks' lengths and checksums, and the trailer. Nothing is
    /// inflated.
    ///
    /// # Errors
    ///
    /// [`MemberError`] if the file is not Waymark's, of another version, or damaged.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, MemberError> {
        let start = payload_offset(bytes).ok_or(MemberError::NotOurs)?;
        let (Some(extra), Some(payload)) = (bytes.get(EXTRA_OFFSET..start), bytes.get(start..))
        else {
            return Err(damaged(Part::Length));
        };
        let directory = Directory::parse(extra)?;
        let deflated: u64 = directory
            .blocks()
            .map(|(_, block)| u64::from(block.length))
            .sum();
        if Some(deflated)
            != payload
                .len()
                .checked_sub(TRAILER_BYTES)
                .map(|length| length as u64)
        {
            return Err(damaged(Part::Length));
        }
        let member = Self { directory, payload };
        for (part, block, deflated) in member.blocks() {
            if crc32fast::hash(deflated) != block.deflated_crc {
                return Err(damaged(part));
            }
        }
        if !payload.ends_with(&member.directory.trailer()) {
            return Err(damaged(Part::Trailer));
        }
        Ok(member)
    }

    /// Returns the member's directory.
    #[must_use]
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Returns everything after the header. With [`PLAIN_HEADER`](super::PLAIN_HEADER) before it, it is a plain gzip file of the
    /// document.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Returns a part, inflated. Returns `None` if the part does not exist or is damaged.
    #[must_use]
    pub fn inflated(&self, part: Part) -> Option<Vec<u8>> {
        let (_, block, deflated) = self.blocks().find(|(is, ..)| *is == part)?;
        let mut content = Vec::with_capacity(block.size as usize);
        if deflated.is_empty() {
            return Some(content);
        }
        let mut inflate = Decompress::new(false);
        let inflated = inflate.decompress_vec(deflated, &mut content, FlushDecompress::None);
        (inflated.is_ok() && content.len() == block.size as usize).then_some(content)
    }

    /// Inflates everything, and compares sizes, checksums and digests with the directory.
    ///
    /// # Errors
    ///
    /// [`MemberError::Damaged`] with the first block that differs from the directory.
    pub fn verify(&self) -> Result<(), MemberError> {
        let mut buffer = vec![0; INFLATED_BYTES];
        for (part, block, deflated) in self.blocks() {
            // An empty segment has no block, but an empty prolog has one.
            let absent = matches!(part, Part::Segment(_)) && block.size == 0 && deflated.is_empty();
            let holds = if absent {
                block.crc == 0 && block.digest == digest(b"")
            } else {
                inflates_to(block, deflated, part == Part::Epilogue, &mut buffer)
            };
            if !holds {
                return Err(damaged(part));
            }
        }
        Ok(())
    }

    /// Returns the segments with their deflated bytes.
    pub(super) fn segments(&self) -> impl Iterator<Item = (SegmentInfo, &'a [u8])> {
        let deflated = self.blocks().skip(1).map(|(_, _, deflated)| deflated);
        self.directory.segments.iter().copied().zip(deflated)
    }

    fn blocks(&self) -> impl Iterator<Item = (Part, Block, &'a [u8])> {
        let mut rest = self.payload;
        self.directory.blocks().map(move |(part, block)| {
            // `parse` has checked that the lengths add up.
            let (deflated, left) = rest.split_at(block.length as usize);
            rest = left;
            (part, block, deflated)
        })
    }
}

/// The most bytes that are inflated at a time, whatever a block's size claims.
const INFLATED_BYTES: usize = 32 * 1024;

/// The shortest end of a deflate stream: an empty last block. Another block may begin exactly where a stream may end like this.
const STREAM_END: [u8; 2] = [3, 0];

/// Returns whether these bytes are the block. The last block ends the deflate stream. After any other block, the next one must
/// begin at its own byte. Otherwise its bytes would be read as the rest of this one.
fn inflates_to(block: Block, deflated: &[u8], last: bool, buffer: &mut [u8]) -> bool {
    let mut inflate = Decompress::new(false);
    let (mut crc, mut hash) = (Hasher::new(), Sha256::new());
    loop {
        let (consumed, produced) = (inflate.total_in(), inflate.total_out());
        let Some(rest) = deflated.get(consumed as usize..) else {
            return false;
        };
        let Ok(status) = inflate.decompress(rest, buffer, FlushDecompress::None) else {
            return false;
        };
        let Some(inflated) = buffer.get(..(inflate.total_out() - produced) as usize) else {
            return false;
        };
        crc.update(inflated);
        hash.update(inflated);
        let ended = status == Status::StreamEnd;
        if ended || inflate.total_out() > u64::from(block.size) || (inflated.len() < buffer.len()) {
            return ended == last
                && inflate.total_in() == deflated.len() as u64
                && inflate.total_out() == u64::from(block.size)
                && (last || may_end(&mut inflate, buffer))
                && crc.finalize() == block.crc
                && u64::from_be_bytes(first_bytes(hash.finalize().into())) == block.digest;
        }
    }
}

/// Returns whether the stream may end here. The stream has ended afterwards.
fn may_end(inflate: &mut Decompress, buffer: &mut [u8]) -> bool {
    let (consumed, produced) = (inflate.total_in(), inflate.total_out());
    let status = inflate.decompress(&STREAM_END, buffer, FlushDecompress::Finish);
    matches!(status, Ok(Status::StreamEnd))
        && inflate.total_in() - consumed == STREAM_END.len() as u64
        && inflate.total_out() == produced
}

/// Returns the offset of the deflated bytes in a stored member, from its first 12 bytes or more. Returns `None` if the file does
/// not begin like Waymark's.
#[must_use]
pub fn payload_offset(prefix: &[u8]) -> Option<usize> {
    let (length, _) = prefix.strip_prefix(&header(FEXTRA))?.split_first_chunk()?;
    Some(EXTRA_OFFSET + usize::from(u16::from_le_bytes(*length)))
}
