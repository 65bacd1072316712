//! The header of a page, in Thrift's compact protocol
//! (<https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>, `PageHeader`).
//!
//! The crate `parquet` reads headers, too. But it makes room for as many bytes as a header says, before it has looked at them.

use std::io::{self, Read};

/// The bytes of a header. It may have the least and the greatest value of its page.
const MAX_HEADER_BYTES: u64 = 1024 * 1024;

/// Structures within each other. A header has three: itself, a page's, and its statistics.
const MAX_DEPTH: usize = 8;

/// The kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    DataV2,
    Dictionary,
    /// It has no values.
    Index,
}

/// What a header says. What it leaves out is 0.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// The bytes of the page as they are in the file.
    pub(super) packed: u32,
    pub(super) unpacked: u32,
    pub(super) crc: Option<u32>,
    pub(super) values: u32,
    pub(super) encoding: i32,
    pub(super) levels_encoding: i32,
    pub(super) nulls: u32,
    pub(super) rows: u32,
    pub(super) definition_bytes: u32,
    pub(super) repetition_bytes: u32,
    pub(super) is_packed: bool,
    /// The bytes of the header itself.
    pub(super) bytes: u64,
}

/// Why there is no header.
pub(super) type Bad = String;

impl Header {
    /// Reads a header.
    pub(super) fn read(from: impl Read) -> Result<Self, Bad> {
        let mut thrift = Thrift { from, bytes: 0 };
        let mut kind = None;
        let (mut packed, mut unpacked, mut crc) = (None, None, None);
        let mut page = [0_i32; FIELDS];
        let mut is_packed = true;
        let mut last = 0;
        while let Some((field, wire)) = thrift.field(&mut last)? {
            match (field, wire) {
                (1, I32) => kind = Some(thrift.i32()?),
                (2, I32) => unpacked = Some(thrift.size()?),
                (3, I32) => packed = Some(thrift.size()?),
                (4, I32) => crc = Some(thrift.i32()? as u32),
                (5 | 7 | 8, STRUCT) => {
                    let mut last = 0;
                    while let Some((inner, wire)) = thrift.field(&mut last)? {
                        match (inner, wire) {
                            (1..=6, I32) => page[inner as usize] = thrift.i32()?,
                            (7, FALSE) if field == 8 => is_packed = false,
                            (_, wire) => thrift.skip(wire, 0)?,
                        }
                    }
                }
                (_, wire) => thrift.skip(wire, 0)?,
            }
        }
        let kind = match kind {
            Some(0) => Kind::Data,
            Some(1) => Kind::Index,
            Some(2) => Kind::Dictionary,
            Some(3) => Kind::DataV2,
            _ => return Err("a page is of no kind that there is".to_owned()),
        };
        let count = |field: usize| {
            u32::try_from(page[field]).map_err(|_| "a page has less than no values".to_owned())
        };
        let (Some(packed), Some(unpacked)) = (packed, unpacked) else {
            return Err("a page does not say its size".to_owned());
        };
        let is_v2 = kind == Kind::DataV2;
        let of_v2 = |field| if is_v2 { count(field) } else { Ok(0) };
        Ok(Self {
            kind,
            packed,
            unpacked,
            crc,
            values: count(1)?,
            encoding: page[if is_v2 { 4 } else { 2 }],
            levels_encoding: page[3],
            nulls: of_v2(2)?,
            rows: of_v2(3)?,
            definition_bytes: of_v2(5)?,
            repetition_bytes: of_v2(6)?,
            is_packed,
            bytes: thrift.bytes,
        })
    }
}

/// The fields of a page's own structure, from 1.
const FIELDS: usize = 7;

// Types of the compact protocol.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

/// Reads the compact protocol.
struct Thrift<R> {
    from: R,
    bytes: u64,
}

impl<R: Read> Thrift<R> {
    fn byte(&mut self) -> Result<u8, Bad> {
        self.bytes += 1;
        if self.bytes > MAX_HEADER_BYTES {
            return Err("the header of a page has no end".to_owned());
        }
        let mut byte = [0];
        self.from
            .read_exact(&mut byte)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => "it ends within the header of a page".to_owned(),
                _ => error.to_string(),
            })?;
        Ok(byte[0])
    }

    fn varint(&mut self) -> Result<u64, Bad> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("the header of a page has a number that is too long".to_owned())
    }

    fn i32(&mut self) -> Result<i32, Bad> {
        let number = u32::try_from(self.varint()?)
            .map_err(|_| "the header of a page has a number that is too large".to_owned())?;
        Ok((number >> 1) as i32 ^ -((number & 1) as i32))
    }

    fn size(&mut self) -> Result<u32, Bad> {
        u32::try_from(self.i32()?).map_err(|_| "a page has less than no bytes".to_owned())
    }

    /// Returns the next field and its type. Returns `None` at the end of a structure.
    fn field(&mut self, last: &mut i64) -> Result<Option<(i64, u8)>, Bad> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *last = match byte >> 4 {
            0 => i64::from(self.i32()?),
            more => *last + i64::from(more),
        };
        Ok(Some((*last, byte & 0xf)))
    }

    fn skip(&mut self, wire: u8, depth: usize) -> Result<(), Bad> {
        if depth > MAX_DEPTH {
            return Err("the header of a page is nested too deeply".to_owned());
        }
        match wire {
            TRUE | FALSE => {}
            BYTE => _ = self.byte()?,
            I16 | I32 | I64 => _ = self.varint()?,
            DOUBLE => self.pass(8)?,
            BINARY => {
                let bytes = self.varint()?;
                self.pass(bytes)?;
            }
            LIST | SET => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.varint()?,
                    count => u64::from(count),
                };
                for _ in 0..count {
                    match head & 0xf {
                        TRUE | FALSE => _ = self.byte()?,
                        wire => self.skip(wire, depth + 1)?,
                    }
                }
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, wire)) = self.field(&mut last)? {
                    self.skip(wire, depth + 1)?;
                }
            }
            _ => return Err("the header of a page has a type that there is not".to_owned()),
        }
        Ok(())
    }

    fn pass(&mut self, bytes: u64) -> Result<(), Bad> {
        // Each counts, so that there are at most as many as a header may have.
        (0..bytes).try_for_each(|_| self.byte().map(drop))
    }
}
