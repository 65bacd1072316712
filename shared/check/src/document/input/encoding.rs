//! Decodes documents that are in another encoding than UTF-8.
//!
//! The encoding is recognized by a byte order mark, by the positions of zeros, or by the XML declaration (XML 1.0, appendix F).

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use encoding_rs::{Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use quick_xml::events::Event;
use quick_xml::reader::Reader;

use super::stop::Stop;

/// The first bytes, which decide whether to look for an encoding.
pub(super) const MARK_BYTES: usize = 4;
/// The bytes within which a declaration must end.
pub(super) const HEAD_BYTES: usize = 256;
const DECLARED: &[u8] = b"<?xm";
/// Bytes that are decoded at a time.
const CHUNK_BYTES: usize = 16 * 1024;

/// Returns whether a document with this beginning may have a declaration.
pub(super) fn is_declared(head: &[u8]) -> bool {
    head.starts_with(DECLARED)
}

/// Returns the encoding of a document with this beginning. Returns `None` for UTF-8, which is also the default.
pub(super) fn of(head: &[u8]) -> Option<&'static Encoding> {
    let is_ascii = |byte: u8| byte != 0 && byte.is_ascii();
    match *head {
        [0xff, 0xfe, ..] => Some(UTF_16LE),
        [0xfe, 0xff, ..] => Some(UTF_16BE),
        [a, 0, b, 0, ..] if is_ascii(a) && is_ascii(b) => Some(UTF_16LE),
        [0, a, 0, b, ..] if is_ascii(a) && is_ascii(b) => Some(UTF_16BE),
        _ if is_declared(head) => declared(head),
        _ => None,
    }
}

/// Returns the encoding that a declaration names. Returns `None` if it is UTF-8 or a subset of it, impossible or unknown.
fn declared(head: &[u8]) -> Option<&'static Encoding> {
    let end = memchr::memchr(b'>', head)?;
    let text = std::str::from_utf8(&head[..=end]).ok()?;
    let Ok(Event::Decl(declaration)) = Reader::from_str(text).read_event() else {
        return None;
    };
    let label = declaration.encoding()?.ok()?;
    let is_utf_8 = ["us-ascii", "ascii"]
        .iter()
        .any(|part| label.eq_ignore_ascii_case(part));
    let found = Encoding::for_label_no_replacement(label.as_bytes())?;
    // UTF-16 was recognized before. A declaration of it in single bytes is wrong.
    let is_other = ![UTF_8, UTF_16LE, UTF_16BE].contains(&found) && !is_utf_8;
    is_other.then_some(found)
}

/// A body, converted to UTF-8. Bytes that are invalid in its encoding end it.
pub(super) struct Decoded<R> {
    read: R,
    encoding: &'static Encoding,
    decoder: Decoder,
    bytes: Box<[u8]>,
    text: Vec<u8>,
    at: usize,
    state: State,
    stop: Rc<Cell<Option<Stop>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Reading,
    Ended,
    Wrong,
}

impl<R: Read> Decoded<R> {
    pub(super) fn new(read: R, encoding: &'static Encoding, stop: Rc<Cell<Option<Stop>>>) -> Self {
        Self {
            read,
            encoding,
            decoder: encoding.new_decoder_with_bom_removal(),
            bytes: vec![0; CHUNK_BYTES].into_boxed_slice(),
            text: Vec::new(),
            at: 0,
            state: State::Reading,
            stop,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let read = self.read.read(&mut self.bytes)?;
        let most = self
            .decoder
            .max_utf8_buffer_length_without_replacement(read);
        (self.at, self.state) = (0, State::Wrong);
        self.text.resize(most.unwrap_or(4 * CHUNK_BYTES), 0);
        let (result, _, written) = self.decoder.decode_to_utf8_without_replacement(
            &self.bytes[..read],
            &mut self.text,
            read == 0,
        );
        self.text.truncate(written);
        if result == encoding_rs::DecoderResult::InputEmpty {
            self.state = if read == 0 {
                State::Ended
            } else {
                State::Reading
            };
        }
        Ok(())
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() {
            match self.state {
                State::Reading => self.fill()?,
                State::Ended => return Ok(0),
                State::Wrong => {
                    let name = self.encoding.name();
                    self.stop.set(Some(Stop::BadText(name)));
                    let text = format!("it is not the {name} that it says it is");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                }
            }
        }
        let count = out.len().min(self.text.len() - self.at);
        out[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
