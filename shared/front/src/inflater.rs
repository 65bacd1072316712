//! Inflates in steps, and verifies the member's own checksum and length ([RFC 1952](https://www.rfc-editor.org/rfc/rfc1952)).

use bytes::{Buf, Bytes};
use flate2::{Crc, Decompress, FlushDecompress, Status};

/// The most bytes of one step. Deflate may turn a kilobyte into a megabyte, and memory must be limited.
pub const STEP_BYTES: usize = 64 * 1024;

/// Bytes of the CRC-32 and the length after the deflated data.
pub const TRAILER_BYTES: usize = 8;

/// The inflater of a member's payload.
pub struct Inflater {
    inflate: Decompress,
    step: Vec<u8>,
    crc: Crc,
    total: u64,
    expected: u64,
    ended: bool,
    trailer: Vec<u8>,
}

impl Inflater {
    /// Returns an inflater for a document that must have this many bytes.
    #[must_use]
    pub fn new(expected: u64) -> Self {
        Self {
            inflate: Decompress::new(false),
            step: Vec::with_capacity(STEP_BYTES),
            crc: Crc::new(),
            total: 0,
            expected,
            ended: false,
            trailer: Vec::with_capacity(TRAILER_BYTES),
        }
    }

    /// Returns the next bytes of the document, or `None` if more input is needed for them.
    ///
    /// # Errors
    ///
    /// The problem of the payload.
    pub fn step(&mut self, input: &mut Bytes) -> Result<Option<Bytes>, &'static str> {
        while !self.ended {
            let (read, written) = (self.inflate.total_in(), self.step.len());
            let status = self
                .inflate
                .decompress_vec(input, &mut self.step, FlushDecompress::None)
                .map_err(|_| "its deflate data is malformed")?;
            let consumed = (self.inflate.total_in() - read) as usize;
            input.advance(consumed);
            self.ended = status == Status::StreamEnd;
            let is_full = self.step.len() == self.step.capacity();
            if is_full || (self.ended && !self.step.is_empty()) {
                return self.take().map(Some);
            }
            if input.is_empty() && !self.ended {
                return Ok(None);
            }
            if consumed == 0 && self.step.len() == written && !self.ended {
                return Err("its deflate data goes nowhere");
            }
        }
        if self.trailer.len() + input.len() > TRAILER_BYTES {
            return Err("there are bytes after its end");
        }
        self.trailer.extend_from_slice(input);
        input.clear();
        Ok(None)
    }

    /// Checks that the whole document has arrived, with the right length and checksum.
    ///
    /// # Errors
    ///
    /// The part that is not right.
    pub fn finish(&self) -> Result<(), &'static str> {
        let Some((crc, length)) = self.trailer.split_first_chunk::<4>() else {
            return Err("its end is missing");
        };
        if length != (self.total as u32).to_le_bytes() {
            return Err("its length is not the one in its trailer");
        }
        if *crc != self.crc.sum().to_le_bytes() {
            return Err("its checksum is not the one in its trailer");
        }
        if self.total != self.expected {
            return Err("its document is shorter than its metadata says");
        }
        Ok(())
    }

    fn take(&mut self) -> Result<Bytes, &'static str> {
        let step = std::mem::replace(&mut self.step, Vec::with_capacity(STEP_BYTES));
        self.crc.update(&step);
        self.total += step.len() as u64;
        if self.total > self.expected {
            return Err("its document is longer than its metadata says");
        }
        Ok(Bytes::from(step))
    }
}
