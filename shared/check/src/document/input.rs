//! From a body to the bytes of a document: inflated, without a byte order mark, counted, and never more than a limit.

use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::rc::Rc;

use flate2::bufread::GzDecoder;

use crate::finding::Position;

/// What gzip begins with (RFC 1952, 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BUFFER_BYTES: usize = 64 * 1024;
/// The longest piece of markup or text: far more than the longest URL or description, and all that is held of a document.
const MAX_PIECE_BYTES: u64 = 1024 * 1024;

/// What ended a document early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It has more than so many bytes.
    TooLarge,
    /// One piece of it is longer than [`MAX_PIECE_BYTES`].
    LongPiece,
    /// The gzip stream ends in its middle.
    CutGzip,
    /// The gzip stream is damaged.
    BadGzip,
    /// The body itself could not be read to its end. Whoever reads it says why.
    Body,
}

/// How the bytes are packed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packing {
    /// What is wrong with it.
    pub(crate) problems: Vec<String>,
    /// It is gzip by itself, not by a Content-Encoding.
    pub(crate) is_file: bool,
}

/// A document's bytes.
pub(crate) struct Source<'a> {
    read: Box<dyn Read + 'a>,
    buffer: Box<[u8]>,
    at: usize,
    end: usize,
    bytes: u64,
    limit: u64,
    piece: u64,
    /// The line and column of the buffer's byte at `counted`. The bytes behind it are counted once a position there is asked for.
    position: Position,
    counted: usize,
    stop: Rc<Cell<Option<Stop>>>,
    packing: Rc<RefCell<Packing>>,
    has_bom: bool,
}

impl<'a> Source<'a> {
    /// Opens a body. `encoded`: it came with Content-Encoding gzip. `named_gz`: its name ends in .gz.
    pub(crate) fn open(body: impl Read + 'a, encoded: bool, named_gz: bool, limit: u64) -> Self {
        let stop = Rc::new(Cell::new(None));
        let packing = Rc::new(RefCell::new(Packing::default()));
        let raw = Raw {
            body,
            stop: stop.clone(),
        };
        let unzip = |read: Box<dyn BufRead + 'a>| -> Box<dyn Read + 'a> {
            Box::new(Unzip {
                decoder: Some(GzDecoder::new(read)),
                members: 1,
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
        let mut source = Self {
            read,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            at: 0,
            end: 0,
            bytes: 0,
            limit,
            piece: 0,
            position: Position { line: 1, column: 1 },
            counted: 0,
            stop,
            packing,
            has_bom: false,
        };
        source.skip_bom();
        source
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

    /// The first bytes that are not consumed yet: `wanted` of them, unless the document is shorter.
    pub(crate) fn head(&mut self, wanted: usize) -> &[u8] {
        debug_assert!(wanted <= BUFFER_BYTES && self.at == 0 || self.at + wanted <= BUFFER_BYTES);
        while self.end - self.at < wanted && self.end < self.buffer.len() {
            match self.read.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break, // the next read ends in the same error
            }
        }
        &self.buffer[self.at..self.end]
    }

    /// Where the next byte is.
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

    /// How many bytes of the document were read.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn has_bom(&self) -> bool {
        self.has_bom
    }

    pub(crate) fn stop(&self) -> Option<Stop> {
        self.stop.get()
    }

    pub(crate) fn packing(&self) -> Packing {
        self.packing.borrow().clone()
    }

    /// A new piece begins, whose length counts from here.
    pub(crate) fn begin_piece(&mut self) {
        self.piece = 0;
    }

    fn stopped(&self, stop: Stop) -> io::Error {
        if self.stop.get().is_none() {
            self.stop.set(Some(stop));
        }
        io::Error::other("stopped")
    }
}

impl Read for Source<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(out.len());
        out[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Source<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.bytes > self.limit {
            return Err(self.stopped(Stop::TooLarge));
        }
        if self.piece > MAX_PIECE_BYTES {
            return Err(self.stopped(Stop::LongPiece));
        }
        if self.at == self.end {
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

/// The body, whose own errors are told from what is made of its bytes.
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

/// Whether these bytes are gzip, and the bytes again.
fn peek<'a>(mut read: Box<dyn Read + 'a>) -> (bool, impl Read + 'a) {
    let mut head = Vec::with_capacity(GZIP_MAGIC.len());
    // An error comes again with the next read.
    let _ = read
        .by_ref()
        .take(GZIP_MAGIC.len() as u64)
        .read_to_end(&mut head);
    (head == GZIP_MAGIC, Cursor::new(head).chain(read))
}

/// Inflates, and says what is behind the first member.
struct Unzip<R> {
    decoder: Option<GzDecoder<R>>,
    members: u32,
    stop: Rc<Cell<Option<Stop>>>,
    packing: Rc<RefCell<Packing>>,
}

impl<R: BufRead> Unzip<R> {
    /// What follows the end of a member.
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
            wrong("bytes follow the end of the gzip stream");
            return Ok(());
        }
        wrong("several gzip members, of which some readers take the first alone");
        self.members += 1;
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
