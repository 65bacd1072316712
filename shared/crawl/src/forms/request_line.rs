//! The first line of a request, as most forms have it: `GET /path HTTP/1.1`.

use memchr::{memchr, memrchr};

use super::unread::Unread;

/// The longest method that is taken for one. The longest of IANA's registry, `UPDATEREDIRECTREF`, has 17 bytes.
const MAX_METHOD_BYTES: usize = 20;

/// The parts of a request line.
pub(super) struct RequestLine<'l> {
    pub(super) method: &'l [u8],
    pub(super) target: &'l [u8],
    pub(super) has_protocol: bool,
}

/// Splits it. The target may have blanks: lighttpd answers those with 200.
///
/// # Errors
///
/// If it is none: nothing was asked for, or what was sent is not HTTP.
pub(super) fn split(line: &[u8]) -> Result<RequestLine<'_>, Unread> {
    let Some(at) = memchr(b' ', line) else {
        return Err(match line {
            b"" | b"-" => Unread::NoRequest,
            _ => Unread::NotHttp,
        });
    };
    let (method, rest) = (&line[..at], &line[at + 1..]);
    if method == b"-" {
        return Err(Unread::NoRequest);
    }
    let is_method = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
    if method.is_empty() || method.len() > MAX_METHOD_BYTES || !method.iter().all(is_method) {
        return Err(Unread::NotHttp);
    }
    // Apache drops the protocol of a request line that it refuses, and HTTP/0.9 has none.
    let (target, has_protocol) = match memrchr(b' ', rest) {
        Some(at) if rest[at + 1..].starts_with(b"HTTP/") => (&rest[..at], true),
        _ => (rest, false),
    };
    if target.is_empty() {
        return Err(Unread::NotHttp);
    }
    Ok(RequestLine {
        method,
        target,
        has_protocol,
    })
}

/// Reads a status of three digits.
pub(super) fn status(text: &[u8]) -> Result<u16, Unread> {
    match text {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
            let digit = |byte: &u8| u16::from(byte - b'0');
            Ok(digit(a) * 100 + digit(b) * 10 + digit(c))
        }
        _ => Err(Unread::Status),
    }
}
