//! The lines of a log: plain, or packed with gzip or zstd, whatever its name says; with the feature `parquet`, also the rows of a table.
//!
//! - The first bytes decide how it is packed. Several members or frames are one text: nginx writes a member for each buffer.
//! - A line over [`MAX_LINE_BYTES`] is cut, and counted.
//! - Of a damaged file all whole lines before the damage are read. [`Lines::stop`] says what is wrong then.
//! - A byte order mark in front and a carriage return before a line's end belong to no line.

#[cfg(feature = "parquet")]
pub mod table;
mod unpack;
mod zstd;

use std::io::{self, Read};

use memchr::memchr;

pub use unpack::Stop;
use unpack::Unpack;

/// The bytes of a line that are read. Servers take request lines and headers of 8 to 32 KiB, and escapes make four bytes of one.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// The bytes that [`Lines::head`] returns, if there are as many.
pub const HEAD_BYTES: usize = 64 * 1024;

/// The bytes that are held. The rest of a line is moved to the front when they are used up, so several times as long.
const BUFFER_BYTES: usize = 4 * MAX_LINE_BYTES;

/// Reads the lines of a log.
pub struct Lines<R> {
    source: Unpack<R>,
    buffer: Vec<u8>,
    /// What is not yet given is `buffer[at..end]`.
    at: usize,
    end: usize,
    number: u64,
    cut: u64,
    /// Whether the last line was cut, and its rest is not yet skipped.
    is_in_cut: bool,
    is_cut: bool,
    is_at_end: bool,
    stop: Option<Stop>,
}

impl<R: Read> Lines<R> {
    /// Begins to read.
    ///
    /// # Errors
    ///
    /// What the reader fails with.
    pub fn open(reader: R) -> io::Result<Self> {
        Self::of(Unpack::open(reader)?)
    }

    /// Begins to read a table as a text.
    ///
    /// # Errors
    ///
    /// What the file fails with.
    #[cfg(feature = "parquet")]
    pub fn of_table(table: table::Table) -> io::Result<Self> {
        Self::of(Unpack::Table(Box::new(table)))
    }

    fn of(source: Unpack<R>) -> io::Result<Self> {
        let mut lines = Self {
            source,
            buffer: vec![0; BUFFER_BYTES],
            at: 0,
            end: 0,
            number: 0,
            cut: 0,
            is_in_cut: false,
            is_cut: false,
            is_at_end: false,
            stop: None,
        };
        while lines.end < BOM.len() && lines.fill()? {}
        if lines.buffer[..lines.end].starts_with(BOM) {
            lines.at = BOM.len();
        }
        Ok(lines)
    }

    /// Returns what comes next without taking it: [`HEAD_BYTES`], or all there is.
    ///
    /// # Errors
    ///
    /// What the reader fails with.
    pub fn head(&mut self) -> io::Result<&[u8]> {
        while self.end - self.at < HEAD_BYTES && self.fill()? {}
        let all = &self.buffer[self.at..self.end];
        Ok(&all[..all.len().min(HEAD_BYTES)])
    }

    /// Returns whether the bytes are not packed.
    #[cfg(feature = "parquet")]
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.source, Unpack::Plain(_))
    }

    /// Copies all that comes next. Returns why not all could be, if there is a damage.
    ///
    /// # Errors
    ///
    /// If it cannot be read or written, or is longer than `most` bytes.
    #[cfg(feature = "parquet")]
    pub(crate) fn copy(mut self, to: &mut impl io::Write, most: u64) -> io::Result<Option<Stop>> {
        let mut copied = 0;
        loop {
            let pending = &self.buffer[self.at..self.end];
            to.write_all(pending)?;
            copied += pending.len() as u64;
            if copied > most {
                let text = format!("it has more than {most} bytes");
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
            }
            self.at = self.end;
            if !self.fill()? {
                return Ok(self.stop);
            }
        }
    }

    /// Returns the next line without its end, or `None` after the last. The last may have no end.
    ///
    /// # Errors
    ///
    /// What the reader fails with. Damaged data are no error here: see [`Self::stop`].
    #[expect(
        clippy::should_implement_trait,
        reason = "a line borrows from the reader, which an iterator's items cannot"
    )]
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let Some((from, to)) = self.find()? else {
            return Ok(None);
        };
        Ok(Some(&self.buffer[from..to]))
    }

    /// Returns the number of the last line that was given, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether the last line that was given was cut.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns how many lines were cut.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Returns why not all was read, if it was not. What is left of the line in which the damage is, is not given.
    pub fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    fn find(&mut self) -> io::Result<Option<(usize, usize)>> {
        let mut searched = 0;
        loop {
            let pending = &self.buffer[self.at..self.end];
            if let Some(found) = memchr(b'\n', &pending[searched..]) {
                let (from, to) = (self.at, self.at + searched + found);
                self.at = to + 1;
                if self.is_in_cut {
                    (self.is_in_cut, searched) = (false, 0);
                    continue;
                }
                return Ok(Some(self.given(from, to)));
            }
            searched = pending.len();
            if self.is_in_cut {
                (self.at, searched) = (self.end, 0);
            } else if searched > MAX_LINE_BYTES {
                let from = self.at;
                (self.at, self.is_in_cut) = (self.end, true);
                return Ok(Some(self.given(from, self.end)));
            }
            if !self.fill()? {
                let (from, to) = (self.at, self.end);
                self.at = self.end;
                let is_line = from < to && self.stop.is_none();
                return Ok(is_line.then(|| self.given(from, to)));
            }
        }
    }

    fn given(&mut self, from: usize, mut to: usize) -> (usize, usize) {
        self.number += 1;
        self.is_cut = to - from > MAX_LINE_BYTES;
        if self.is_cut {
            self.cut += 1;
            to = from + MAX_LINE_BYTES;
        } else if self.buffer[from..to].ends_with(b"\r") {
            to -= 1;
        }
        (from, to)
    }

    /// Reads more. Returns whether there was any.
    fn fill(&mut self) -> io::Result<bool> {
        if self.is_at_end {
            return Ok(false);
        }
        if self.end == self.buffer.len() || self.at == self.end {
            self.buffer.copy_within(self.at..self.end, 0);
            (self.at, self.end) = (0, self.end - self.at);
        }
        let read = loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        match read {
            Ok(0) => self.is_at_end = true,
            Ok(read) => self.end += read,
            Err(error) => {
                self.is_at_end = true;
                self.stop = Some(self.source.stop(error)?);
            }
        }
        Ok(!self.is_at_end)
    }
}

const BOM: &[u8] = b"\xef\xbb\xbf";
