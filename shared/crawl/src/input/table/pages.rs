//! The pages of a column of a row group: checked, and unpacked.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

use super::header::{Header, Kind};
use crate::input::zstd::Frames;

/// The bytes of a dictionary, unpacked. Writers begin to write values without one at 1 MiB.
const MAX_DICTIONARY_BYTES: u32 = 16 * 1024 * 1024;

/// The fewest bytes of a value in a dictionary: of a number, or of the length of a text.
const MIN_VALUE_BYTES: u32 = 4;

/// The bytes of a file that are read at once.
const READ_BYTES: usize = 64 * 1024;

/// What pages are packed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Snappy,
    Gzip,
    Zstd,
}

/// The place of a column's pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) codec: Codec,
    /// The bytes of its pages, unpacked, as the file says.
    pub(super) unpacked: u64,
}

/// Reads the pages of a column.
pub(super) struct Pages {
    file: Arc<File>,
    chunk: Chunk,
    /// Rows of which no value was read.
    rows: u32,
    /// The bytes that pages of the row group may still have.
    room: Arc<AtomicU64>,
    /// Whether values may be missing, so that pages say which are there.
    has_levels: bool,
    has_dictionary: bool,
}

impl Pages {
    pub(super) fn new(
        file: Arc<File>,
        chunk: &Chunk,
        has_levels: bool,
        rows: usize,
        room: Arc<AtomicU64>,
    ) -> Self {
        Self {
            file,
            chunk: *chunk,
            rows: u32::try_from(rows).unwrap_or(u32::MAX),
            room,
            has_levels,
            has_dictionary: false,
        }
    }

    /// Reads a header, and the page's bytes as they are in the file.
    fn read(&mut self) -> Result<(Header, Vec<u8>)> {
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(self.chunk.from))?;
        let left = self.chunk.to - self.chunk.from;
        let mut from = BufReader::with_capacity(READ_BYTES, file.take(left));
        let header = Header::read(&mut from).map_err(ParquetError::General)?;
        if u64::from(header.packed) > left - header.bytes {
            return bad("a page is longer than its column");
        }
        let is_left = |room: u64| room.checked_sub(header.unpacked.max(header.packed).into());
        let had_room = self
            .room
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_left);
        if had_room.is_err() {
            return bad(
                "the pages of its row group have more bytes than the file says, and too many",
            );
        }
        let mut packed = vec![0; header.packed as usize];
        from.read_exact(&mut packed)?;
        if header
            .crc
            .is_some_and(|crc| crc != crc32fast::hash(&packed))
        {
            return bad("the checksum of a page is wrong");
        }
        self.chunk.from += header.bytes + u64::from(header.packed);
        Ok((header, packed))
    }

    /// Unpacks a page. The levels of a second version's are not packed.
    fn unpack(&self, header: &Header, packed: Vec<u8>) -> Result<Bytes> {
        let size = header.unpacked as usize;
        let levels =
            (header.definition_bytes as usize).checked_add(header.repetition_bytes as usize);
        let Some(levels) = levels.filter(|levels| *levels <= size.min(packed.len())) else {
            return bad("the levels of a page are longer than the page");
        };
        if self.chunk.codec == Codec::None || !header.is_packed {
            return match packed.len() == size {
                true => Ok(packed.into()),
                false => bad("a page that is not packed has two sizes"),
            };
        }
        let mut out = Vec::with_capacity(size);
        let (levels, packed) = packed.split_at(levels);
        out.extend_from_slice(levels);
        // One byte more than is said shows that there are more.
        let most = (size - levels.len()) as u64 + 1;
        match self.chunk.codec {
            _ if most == 1 => {}
            Codec::Gzip => {
                _ = MultiGzDecoder::new(packed)
                    .take(most)
                    .read_to_end(&mut out)?
            }
            Codec::Zstd => _ = Frames::new(packed).take(most).read_to_end(&mut out)?,
            Codec::Snappy | Codec::None => {
                let failed = |error: snap::Error| ParquetError::General(error.to_string());
                let length = snap::raw::decompress_len(packed).map_err(failed)?;
                if levels.len() + length != size {
                    return bad("a page is not as long as its header says");
                }
                out.resize(size, 0);
                let rest = &mut out[levels.len()..];
                snap::raw::Decoder::new()
                    .decompress(packed, rest)
                    .map_err(failed)?;
            }
        }
        match out.len() == size {
            true => Ok(out.into()),
            false => bad("a page is not as long as its header says"),
        }
    }

    /// Checks a page of values, and counts them.
    fn count(&mut self, header: &Header, encoding: Encoding) -> Result<()> {
        let Some(rows) = self.rows.checked_sub(header.values) else {
            return bad("its pages have more values than the row group has rows");
        };
        self.rows = rows;
        let needs = matches!(
            encoding,
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY
        );
        if needs && !self.has_dictionary {
            return bad("a page needs a dictionary, and there is none before it");
        }
        Ok(())
    }
}

fn bad<T>(reason: &str) -> Result<T> {
    Err(ParquetError::General(reason.to_owned()))
}

/// Returns an encoding by its number.
fn encoding(number: i32) -> Result<Encoding> {
    let mut all = Encoding::VARIANTS.iter();
    let found = all.find(|encoding| **encoding as i32 == number);
    found.map_or_else(
        || bad("a page has an encoding that there is not"),
        |found| Ok(*found),
    )
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        while self.chunk.from < self.chunk.to {
            let (header, packed) = self.read()?;
            let is_empty = header.kind != Kind::Dictionary && header.values == 0;
            if header.kind == Kind::Index || is_empty {
                continue;
            }
            let encoding = encoding(header.encoding)?;
            if header.kind == Kind::Dictionary {
                if self.has_dictionary || header.unpacked > MAX_DICTIONARY_BYTES {
                    return bad("it has two dictionaries, or one that is too large");
                }
                if header.values > header.unpacked / MIN_VALUE_BYTES {
                    return bad("its dictionary has more values than its bytes can be");
                }
                self.has_dictionary = true;
                return Ok(Some(Page::DictionaryPage {
                    buf: self.unpack(&header, packed)?,
                    num_values: header.values,
                    encoding,
                    is_sorted: false,
                }));
            }
            self.count(&header, encoding)?;
            let buf = self.unpack(&header, packed)?;
            if header.kind == Kind::DataV2 {
                if header.nulls > header.values || header.repetition_bytes > 0 {
                    return bad("a page has more nulls than values, or is nested");
                }
                return Ok(Some(Page::DataPageV2 {
                    buf,
                    num_values: header.values,
                    encoding,
                    num_nulls: header.nulls,
                    num_rows: header.rows,
                    def_levels_byte_len: header.definition_bytes,
                    rep_levels_byte_len: 0,
                    is_compressed: false,
                    statistics: None,
                }));
            }
            if self.has_levels && header.levels_encoding != Encoding::RLE as i32 {
                return bad("a page has levels that are not in RLE");
            }
            return Ok(Some(Page::DataPage {
                buf,
                num_values: header.values,
                encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            }));
        }
        Ok(None)
    }

    /// Is only asked where values are nested or skipped.
    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        bad("values are read in order, and are not nested")
    }

    fn skip_next_page(&mut self) -> Result<()> {
        bad("values are read in order, and are not nested")
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

#[cfg(test)]
mod tests;
