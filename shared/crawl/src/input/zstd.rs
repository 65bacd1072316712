//! Frames of zstd, one after the other: a rotated log may have one for each write.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The window of a frame that is read: what `zstd` itself reads without being asked for more (`--long=27`).
const MAX_WINDOW_BYTES: u64 = 128 * 1024 * 1024;

/// Returns whether a file begins as zstd's do: with a frame, or with one to be skipped (RFC 8878, 3.1).
pub(super) fn is_magic(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]
    )
}

/// Unpacks frames.
pub(super) struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> Frames<R> {
    pub(super) fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW_BYTES);
        Self {
            source,
            decoder,
            is_in_frame: false,
        }
    }

    pub(super) fn source(&mut self) -> &mut R {
        &mut self.source
    }

    /// Begins the next frame. Returns whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => {
                    self.is_in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped =
                        io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
                    if skipped < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }

    /// Checks what a frame says of its content.
    fn close(&mut self) -> io::Result<()> {
        self.is_in_frame = false;
        let said = self.decoder.get_checksum_from_data();
        if said.is_some() && said != self.decoder.get_calculated_checksum() {
            return Err(io::Error::other("a checksum is wrong"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.is_in_frame || self.begin()? {
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.source, one);
                decoded.map_err(io::Error::other)?;
            }
            let read = self.decoder.read(into)?;
            if read > 0 {
                return Ok(read);
            }
            self.close()?;
        }
        Ok(0)
    }
}
