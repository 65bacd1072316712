//! The bytes of a source: inflated, without a byte order mark, in pieces of a bounded length, with the number of the line.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

/// Two bytes with which every gzip file begins (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];
const BOM: &[u8] = b"\xef\xbb\xbf";
const BUFFER_BYTES: usize = 64 * 1024;
/// What a format is recognised by.
const HEAD_BYTES: usize = 16 * 1024;
/// The longest tag, text, line or cell: more than any post that WordPress exports.
pub(super) const MAX_PIECE_BYTES: u64 = 64 * 1024 * 1024;

/// A source's bytes.
pub(crate) struct Input {
    read: BufReader<Box<dyn Read>>,
    head: Vec<u8>,
    line: u64,
    piece: u64,
    bytes: u64,
    /// Bytes that are read at most.
    limit: u64,
}

impl Input {
    /// Opens a body, of which at most `limit` bytes are read, inflated.
    pub(crate) fn open(body: impl Read + 'static, limit: u64) -> io::Result<Self> {
        let mut body = BufReader::with_capacity(BUFFER_BYTES, body);
        let plain: Box<dyn Read> = if body.fill_buf()?.starts_with(&GZIP) {
            Box::new(MultiGzDecoder::new(body))
        } else {
            Box::new(body)
        };
        let mut plain = plain;
        let mut head = Vec::with_capacity(HEAD_BYTES);
        plain
            .by_ref()
            .take(HEAD_BYTES as u64)
            .read_to_end(&mut head)?;
        if head.starts_with(BOM) {
            head.drain(..BOM.len());
        }
        let whole: Box<dyn Read> = Box::new(Cursor::new(head.clone()).chain(plain));
        Ok(Self {
            read: BufReader::with_capacity(BUFFER_BYTES, whole),
            head,
            line: 1,
            piece: 0,
            bytes: 0,
            limit,
        })
    }

    /// Its first bytes.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The number of the line that is being read, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// A new piece begins, whose length counts from here.
    pub(super) fn begin_piece(&mut self) {
        self.piece = 0;
    }

    /// The next line without its end; nothing at the end.
    pub(crate) fn read_line(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        line.clear();
        self.begin_piece();
        if self.read_until(b'\n', line)? == 0 {
            return Ok(false);
        }
        while matches!(line.last(), Some(b'\n' | b'\r')) {
            line.pop();
        }
        Ok(true)
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(out.len());
        out[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.bytes > self.limit {
            let mib = self.limit / (1024 * 1024);
            return Err(io::Error::other(format!("it has more than {mib} MiB")));
        }
        if self.piece > MAX_PIECE_BYTES {
            let mib = MAX_PIECE_BYTES / (1024 * 1024);
            return Err(io::Error::other(format!(
                "a piece of it is longer than {mib} MiB"
            )));
        }
        self.read.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        let consumed = self.read.buffer().get(..count).unwrap_or_default();
        let lines = consumed.iter().filter(|byte| **byte == b'\n').count();
        self.line += lines as u64;
        self.piece += count as u64;
        self.bytes += count as u64;
        self.read.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_gzipped_body_with_a_mark_is_read_by_lines() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"\xef\xbb\xbfa\r\n\nb").unwrap();
        let mut input = Input::open(Cursor::new(gzip.finish().unwrap()), u64::MAX).unwrap();
        assert_eq!(input.head(), b"a\r\n\nb");
        let (mut line, mut lines) = (Vec::new(), Vec::new());
        while input.read_line(&mut line).unwrap() {
            lines.push(String::from_utf8(line.clone()).unwrap());
        }
        assert_eq!(lines, ["a", "", "b"]);
        assert_eq!(input.line(), 3);
    }

    #[test]
    fn more_than_the_limit_is_not_read() {
        let mut input = Input::open(io::repeat(b'x'), 3 * 1024 * 1024).unwrap();
        let error = io::copy(&mut input, &mut io::sink()).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 3 MiB");
    }

    #[test]
    fn a_piece_has_an_end() {
        let mut input = Input::open(io::repeat(b'x'), u64::MAX).unwrap();
        let error = input.read_line(&mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "a piece of it is longer than 64 MiB");
    }
}
