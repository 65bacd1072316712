//! Escapes of texts in logs, undone.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memmem};

/// Splits a line after its text in quotes, whose first quote has been taken: the text, and what follows its last quote.
///
/// A quote after a backslash belongs to the text. Returns `None` if the last quote is missing.
pub(super) fn quoted(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut from = 0;
    loop {
        let at = from + memchr2(b'"', b'\\', line.get(from..)?)?;
        if line[at] == b'"' {
            return Some((&line[..at], &line[at + 1..]));
        }
        from = at + 2;
    }
}

/// Splits like [`quoted`] where no backslash escapes: the last quote is the one that a blank follows, or nothing.
pub(super) fn quoted_plainly(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memmem::find(line, b"\" ").or_else(|| line.ends_with(b"\"").then(|| line.len() - 1));
    at.map(|at| (&line[..at], &line[at + 1..]))
}

/// Undoes `\"`, `\\`, `\t` and their like, and `\x22`: what nginx, Apache, Varnish and lighttpd write between them.
pub(super) fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr(b'\\', text) else {
        return Cow::Borrowed(text);
    };
    let mut out = Vec::with_capacity(text.len());
    out.extend_from_slice(&text[..first]);
    let mut rest = &text[first..];
    while let [byte, tail @ ..] = rest {
        let (value, taken) = match (byte, tail) {
            (b'\\', [b'x', high, low, ..]) => match hex(*high, *low) {
                Some(value) => (value, 4),
                None => (b'\\', 1),
            },
            (b'\\', [escape, ..]) => match plain(*escape) {
                Some(value) => (value, 2),
                None => (b'\\', 1),
            },
            (&byte, _) => (byte, 1),
        };
        out.push(value);
        rest = &rest[taken..];
    }
    Cow::Owned(out)
}

fn plain(escape: u8) -> Option<u8> {
    Some(match escape {
        b'"' | b'\\' => escape,
        b'a' => 0x07,
        b'b' => 0x08,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 0x0b,
        b'f' => 0x0c,
        b'r' => b'\r',
        _ => return None,
    })
}

/// Writes a text without its percent-encoding. An encoding that is none stays.
pub(super) fn percent_decoded(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr(b'%', rest) {
        out.extend_from_slice(&rest[..at]);
        let value = match rest[at..] {
            [_, high, low, ..] => hex(high, low),
            _ => None,
        };
        out.push(value.unwrap_or(b'%'));
        rest = &rest[at + if value.is_some() { 3 } else { 1 }..];
    }
    out.extend_from_slice(rest);
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    Some(digit(high)? * 16 + digit(low)?)
}
