//! What a log is packed with, and its bytes unpacked.

use std::fmt;
use std::io::{self, BufReader, Chain, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

#[cfg(feature = "parquet")]
use super::table::{Table, TableError};
use super::zstd::{self, Frames};

/// Why a log was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// What it is packed with.
    pub packing: &'static str,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Stop {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packing, reason } = self;
        write!(out, "its {packing} data are damaged or end early: {reason}")
    }
}

/// The bytes of a log, unpacked.
pub(super) enum Unpack<R> {
    Plain(Raw<R>),
    Gzip(Box<MultiGzDecoder<BufReader<Raw<R>>>>),
    Zstd(Box<Frames<BufReader<Raw<R>>>>),
    #[cfg(feature = "parquet")]
    Table(Box<Table>),
}

impl<R: Read> Unpack<R> {
    pub(super) fn open(mut reader: R) -> io::Result<Self> {
        let mut magic = Vec::new();
        reader.by_ref().take(4).read_to_end(&mut magic)?;
        let is_gzip = magic.starts_with(b"\x1f\x8b");
        let is_zstd = zstd::is_magic(&magic);
        let raw = Raw {
            inner: Cursor::new(magic).chain(reader),
            failed: None,
        };
        Ok(if is_gzip {
            let source = BufReader::with_capacity(PACKED_BYTES, raw);
            Self::Gzip(Box::new(MultiGzDecoder::new(source)))
        } else if is_zstd {
            let source = BufReader::with_capacity(PACKED_BYTES, raw);
            Self::Zstd(Box::new(Frames::new(source)))
        } else {
            Self::Plain(raw)
        })
    }

    /// Says what an error of [`Read::read`] means.
    ///
    /// # Errors
    ///
    /// The reader's own, if it was the reader that failed, and not the unpacking.
    pub(super) fn stop(&mut self, error: io::Error) -> io::Result<Stop> {
        let (raw, packing) = match self {
            Self::Plain(raw) => (raw, ""),
            Self::Gzip(gzip) => (gzip.get_mut().get_mut(), "gzip"),
            Self::Zstd(frames) => (frames.source().get_mut(), "zstd"),
            #[cfg(feature = "parquet")]
            Self::Table(_) => {
                let is_damage = error
                    .get_ref()
                    .is_some_and(|inner| inner.is::<TableError>());
                let reason = error.to_string();
                return match is_damage {
                    true => Ok(Stop {
                        packing: "Parquet",
                        reason,
                    }),
                    false => Err(error),
                };
            }
        };
        match raw.failed.take() {
            Some(failed) => Err(failed),
            None => Ok(Stop {
                packing,
                reason: error.to_string(),
            }),
        }
    }
}

impl<R: Read> Read for Unpack<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(raw) => raw.read(into),
            Self::Gzip(gzip) => gzip.read(into),
            Self::Zstd(frames) => frames.read(into),
            #[cfg(feature = "parquet")]
            Self::Table(table) => table.read(into),
        }
    }
}

/// The bytes of a packed file that are read at once.
const PACKED_BYTES: usize = 64 * 1024;

/// The bytes as they are. It keeps the error of the reader, which cannot be told from the unpacker's otherwise.
pub(super) struct Raw<R> {
    inner: Chain<Cursor<Vec<u8>>, R>,
    failed: Option<io::Error>,
}

impl<R: Read> Read for Raw<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.inner.read(into).map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::Interrupted {
                self.failed = Some(error);
            }
            kind.into()
        })
    }
}
