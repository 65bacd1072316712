//! Converts a body to the bytes of a document: inflated, in UTF-8, without a byte order mark, counted, and up to a limit.
//!
//! All commands that read foreign files use it: `check`, `diff`, `import`, `load`, `build` and `explain`.

use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::rc::Rc;

use flate2::bufread::GzDecoder;

use crate::findings::Position;
use encoding::Decoded;

mod encoding;
mod stop;

pub use stop::Stop;

/// The first bytes of gzip (RFC 1952, 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BUFFER_BYTES: usize = 64 * 1024;
/// The longest piece of a sitemap's markup or text. It is far longer than the longest URL or description, and no more of a
/// sitemap is in memory.
pub(crate) const MAX_PIECE_BYTES: u64 = 1024 * 1024;

/// Limits of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes, inflated.
    pub bytes: u64,
    /// The most bytes of one piece: a tag, a text, a line or a cell, from one [`Input::begin_piece`] to the next.
    pub piece: u64,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self {
        bytes: u64::MAX,
        piece: u64::MAX,
    };
}

/// How the bytes are compressed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packing {
    /// The problems of the compression.
    pub(crate) problems: Vec<String>,
    /// Whether the body is a gzip file, regardless of Content-Encoding.
    pub(crate) is_file: bool,
}

/// A document's bytes.
///
/// - Gzip is recognized by its first bytes and inflated, up to two layers.
/// - Another encoding than UTF-8 is recognized by a byte order mark or an XML declaration, and converted. All counts are made
///   after that.
/// - An error that stopped it stops every later read too, so no part of a document passes for all of it.
pub struct Input<'a> {
    read: Box<dyn Read + 'a>,
    buffer: Box<[u8]>,
    at: usize,
    end: usize,
    bytes: u64,
    piece: u64,
    limits: Limits,
    /// An error of looking ahead, which the read at that place will return.
    failed: Option<io::Error>,
    /// The line and column of the buffer's byte at `counted`. Later bytes are counted when a later position is requested.
    position: Position,
    counted: usize,
    stop: Rc<Cell<Option<Stop>>>,
    packing: Rc<RefCell<Packing>>,
    has_bom: bool,
    encoding: Option<&'static str>,
}

impl<'a> Input<'a> {
    /// Opens a body, compressed or not. Bytes after the end of a gzip stream are an error, because their meaning is unknown.
    pub fn open(body: impl Read + 'a, limits: Limits) -> Self {
        Self::with(body, false, true, true, limits)
    }

    /// Opens a body and reports problems of its compression instead of refusing it. `encoded` means Content-Encoding gzip,
    /// `named_gz` a name that ends in .gz.
    pub(crate) fn judged(
        body: impl Read + 'a,
        encoded: bool,
        named_gz: bool,
        limits: Limits,
    ) -> Self {
        Self::with(body, encoded, named_gz, false, limits)
    }

    fn with(
        body: impl Read + 'a,
        encoded: bool,
        named_gz: bool,
        is_strict: bool,
        limits: Limits,
    ) -> Self {
        let stop = Rc::new(Cell::new(None));
        let packing = Rc::new(RefCell::new(Packing::default()));
        let raw = Raw {
            body,
            stop: stop.clone(),
        };
        let unzip = |read: Box<dyn BufRead + 'a>| -> Box<dyn Read + 'a> {
            Box::new(Unzip {
                decoder: Some(GzDecoder::new(read)),
                is_strict,
                stop: stop.clone(),
                packing: packing.clone(),
            })
        };
        let mut read: Box<dyn Read + 'a> = Box::new(raw);
        let wrong = |text: &str| packing.borrow_mut().problems.push(text.to_owned());
        let mut layers = 0;
        loop {
            let (is_gzip, peeked) = peek(read);
            read = Box::new(peeked);
            match (is_gzip, layers) {
                (false, 0) if encoded => {
                    wrong("Content-Encoding is gzip, but the body is not compressed");
                }
                (true, 0) if !encoded => {
                    packing.borrow_mut().is_file = true;
                    if !named_gz {
                        wrong("compressed under a name without .gz and without Content-Encoding");
                    }
                }
                (true, 1) => wrong(if encoded {
                    "compressed twice: Content-Encoding gzip over a body that is gzip already"
                } else {
                    "compressed twice"
                }),
                _ => {}
            }
            if !is_gzip || layers == 2 {
                break;
            }
            layers += 1;
            read = unzip(Box::new(BufReader::with_capacity(BUFFER_BYTES, read)));
        }
        let mut input = Self {
            read,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            at: 0,
            end: 0,
            bytes: 0,
            piece: 0,
            limits,
            failed: None,
            position: Position { line: 1, column: 1 },
            counted: 0,
            stop,
            packing,
            has_bom: false,
            encoding: None,
        };
        input.decode();
        input.skip_bom();
        input
    }

    /// Converts another encoding to UTF-8.
    fn decode(&mut self) {
        // Most documents declare nothing. So a slow body is not read further than necessary.
        let wanted = match self.head(encoding::MARK_BYTES) {
            head if encoding::is_declared(head) => encoding::HEAD_BYTES,
            head => head.len(),
        };
        let Some(found) = encoding::of(self.head(wanted)) else {
            return;
        };
        self.encoding = Some(found.name());
        let head = Cursor::new(self.buffer[self.at..self.end].to_vec());
        let rest = std::mem::replace(&mut self.read, Box::new(io::empty()));
        let failed = Failed(self.failed.take());
        let stop = self.stop.clone();
        self.read = Box::new(Decoded::new(head.chain(failed).chain(rest), found, stop));
        (self.at, self.end) = (0, 0);
    }

    fn skip_bom(&mut self) {
        const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];
        self.has_bom = self.head(BOM.len()).starts_with(&BOM);
        if self.has_bom {
            self.at += BOM.len();
            self.counted = self.at;
            self.bytes += BOM.len() as u64;
        }
    }

    /// Returns the first unread bytes: `wanted` of them, unless the document is shorter or cannot be read.
    pub fn head(&mut self, wanted: usize) -> &[u8] {
        debug_assert!(wanted <= BUFFER_BYTES && self.at == 0 || self.at + wanted <= BUFFER_BYTES);
        while self.end - self.at < wanted && self.end < self.buffer.len() && self.failed.is_none() {
            match self.read.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.failed = Some(error),
            }
        }
        &self.buffer[self.at..self.end.min(self.at + wanted)]
    }

    /// Returns the number of the line of the next byte, from 1.
    pub fn line(&mut self) -> u64 {
        self.position().line.into()
    }

    /// Reads the next line without its end. Returns `false` at the end of the document.
    ///
    /// # Errors
    ///
    /// If the document cannot be read, or the line is longer than a piece may be.
    pub fn read_line(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
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

    /// Returns the position of the next byte.
    pub(crate) fn position(&mut self) -> Position {
        let passed = &self.buffer[self.counted..self.at];
        self.counted = self.at;
        let characters = |bytes: &[u8]| bytes.iter().filter(|byte| (**byte & 0xc0) != 0x80).count();
        let column = match memchr::memrchr(b'\n', passed) {
            Some(last) => {
                let lines = memchr::memchr_iter(b'\n', passed).count() as u32;
                self.position.line = self.position.line.saturating_add(lines);
                1 + characters(&passed[last + 1..])
            }
            None => self.position.column as usize + characters(passed),
        };
        self.position.column = u32::try_from(column).unwrap_or(u32::MAX);
        self.position
    }

    /// Returns the number of the document's bytes that were read.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_utf_16(&self) -> bool {
        self.encoding
            .is_some_and(|encoding| encoding.starts_with("UTF-16"))
    }

    pub(crate) fn has_bom(&self) -> bool {
        self.has_bom
    }

    /// Returns why it ended early. Returns `None` if it did not.
    #[must_use]
    pub fn stop(&self) -> Option<Stop> {
        self.stop.get()
    }

    pub(crate) fn packing(&self) -> Packing {
        self.packing.borrow().clone()
    }

    /// Begins a piece. Its length counts from here.
    pub fn begin_piece(&mut self) {
        self.piece = 0;
    }

    fn stopped(&self, stop: Stop) -> io::Error {
        let mib = |bytes: u64| bytes / (1024 * 1024);
        // A body over the limit may be cut by its sender's side first.
        let stop = match self.stop.get() {
            None | Some(Stop::Body) => stop,
            Some(known) => known,
        };
        self.stop.set(Some(stop));
        io::Error::other(match stop {
            Stop::TooLarge => format!("it has more than {} MiB", mib(self.limits.bytes)),
            Stop::LongPiece => format!(
                "a piece of it is longer than {} MiB",
                mib(self.limits.piece)
            ),
            Stop::CutGzip => "the gzip stream ends in its middle".to_owned(),
            Stop::BadGzip => "the gzip stream is damaged".to_owned(),
            Stop::BadText(encoding) => format!("it is not the {encoding} that it says it is"),
            Stop::Body => "the body could not be read to its end".to_owned(),
        })
    }
}

impl Read for Input<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(out.len());
        out[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Input<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.bytes > self.limits.bytes {
            return Err(self.stopped(Stop::TooLarge));
        }
        if self.piece > self.limits.piece {
            return Err(self.stopped(Stop::LongPiece));
        }
        if self.at == self.end {
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if let Some(stop) = self.stop.get() {
                return Err(self.stopped(stop));
            }
            self.position();
            (self.at, self.end, self.counted) = (0, 0, 0);
            self.end = self.read.read(&mut self.buffer)?;
        }
        Ok(&self.buffer[self.at..self.end])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
        self.bytes += count as u64;
        self.piece += count as u64;
    }
}

/// The body, whose own errors are distinguished from errors in its bytes.
struct Raw<R> {
    body: R,
    stop: Rc<Cell<Option<Stop>>>,
}

impl<R: Read> Read for Raw<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.body.read(out);
        if let Err(error) = &read
            && error.kind() != io::ErrorKind::Interrupted
        {
            self.stop.set(Some(Stop::Body));
        }
        read
    }
}

/// A reader that fails once.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Returns whether a text begins like a URL, so that it is an address, or a list of them.
#[must_use]
pub fn is_list(text: &[u8]) -> bool {
    const BEGIN: &[u8] = b"http";
    text.get(..BEGIN.len())
        .is_some_and(|begin| begin.eq_ignore_ascii_case(BEGIN))
}

/// Returns whether these bytes are gzip, and a reader of the same bytes.
fn peek<'a>(mut read: Box<dyn Read + 'a>) -> (bool, impl Read + 'a) {
    let mut head = Vec::with_capacity(GZIP_MAGIC.len());
    // The next read returns the error again.
    let _ = read
        .by_ref()
        .take(GZIP_MAGIC.len() as u64)
        .read_to_end(&mut head);
    (head == GZIP_MAGIC, Cursor::new(head).chain(read))
}

/// Inflates, and reports what follows the first member.
struct Unzip<R> {
    decoder: Option<GzDecoder<R>>,
    /// Whether bytes after the stream are an error.
    is_strict: bool,
    stop: Rc<Cell<Option<Stop>>>,
    packing: Rc<RefCell<Packing>>,
}

impl<R: BufRead> Unzip<R> {
    /// Continues after the end of a member.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(mut decoder) = self.decoder.take() else {
            return Ok(());
        };
        let rest = decoder.get_mut().fill_buf()?;
        let wrong = |text: &str| {
            let problems = &mut self.packing.borrow_mut().problems;
            if !problems.iter().any(|problem| problem == text) {
                problems.push(text.to_owned());
            }
        };
        if rest.is_empty() {
            return Ok(());
        }
        if !rest.starts_with(&GZIP_MAGIC[..1]) {
            let text = "bytes follow the end of the gzip stream";
            wrong(text);
            if self.is_strict {
                self.stop.set(Some(Stop::BadGzip));
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            return Ok(());
        }
        wrong("several gzip members, of which some readers read only the first");
        self.decoder = Some(GzDecoder::new(decoder.into_inner()));
        Ok(())
    }
}

impl<R: BufRead> Read for Unzip<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(decoder) = &mut self.decoder else {
                return Ok(0);
            };
            match decoder.read(out) {
                Ok(0) => self.next_member()?,
                Ok(read) => return Ok(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    if self.stop.get().is_none() {
                        self.stop.set(Some(match error.kind() {
                            io::ErrorKind::UnexpectedEof => Stop::CutGzip,
                            _ => Stop::BadGzip,
                        }));
                    }
                    return Err(error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
