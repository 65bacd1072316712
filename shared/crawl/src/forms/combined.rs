//! The combined log of nginx, Apache, Varnish and lighttpd, with a host in front or without, the common log, and Traefik's.
//!
//! ```text
//! 192.0.2.1 - user [27/Nov/2026:23:42:03 +0000] "GET /path HTTP/1.1" 200 5 "referer" "agent" more
//! ```

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};

use super::unread::Unread;
use super::{client, escapes, request_line, time};
use crate::request::Request;

/// The bytes of a URL after which Varnish cuts it: a record of its log has 255 with the NUL at its end (`vsl_reclen`). A URL of
/// just so many bytes looks the same.
const VARNISH_URL_BYTES: usize = 254;

/// The bytes of a request line after which HAProxy cuts it, and with it the protocol (`tune.http.logurilen`).
const HAPROXY_LINE_BYTES: usize = 1_023;

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Result<Option<Request<'_>>, Unread> {
    if matches!(line.first(), None | Some(b'#')) {
        return Ok(None);
    }
    let (before, time, rest) = around_time(line)?;
    let rest = rest.strip_prefix(b" \"").ok_or(Unread::Shape)?;
    let (asked, rest) = escapes::quoted(rest).ok_or(Unread::Cut)?;
    let is_line_cut = asked.len() == HAPROXY_LINE_BYTES;
    let asked = request_line::split(asked)?;
    let (status, rest) = word(rest.strip_prefix(b" ").ok_or(Unread::Shape)?);
    let status = request_line::status(status)?;
    let (host, client) = parties(before);
    let target = escapes::unescaped(asked.target);
    Ok(Some(Request {
        time,
        client,
        method: Cow::Borrowed(asked.method),
        host: host.map(Cow::Borrowed),
        is_cut: is_line_cut && !asked.has_protocol || is_cut(&target),
        target,
        status,
        agent: agent(rest)?.map(escapes::unescaped),
    }))
}

/// Splits a line at its time. A user's name may have blanks and brackets, so the first bracket may be another's.
fn around_time(line: &[u8]) -> Result<(&[u8], i64, &[u8]), Unread> {
    let mut error = Unread::Shape;
    for at in memchr_iter(b'[', line) {
        let Some(before) = line[..at].strip_suffix(b" ") else {
            continue;
        };
        let inner = &line[at + 1..];
        let inner = &inner[..inner.len().min(MAX_TIME_BYTES)];
        let Some(end) = memchr(b']', inner) else {
            continue;
        };
        match time::clf(&inner[..end]) {
            Some(time) => return Ok((before, time, &line[at + end + 2..])),
            None => error = Unread::Time,
        }
    }
    Err(error)
}

/// The bytes of a time with its bracket, and with a fraction of nine digits.
const MAX_TIME_BYTES: usize = 40;

/// Returns the host and the client of what is before the time.
fn parties(before: &[u8]) -> (Option<&[u8]>, Option<std::net::IpAddr>) {
    let (first, rest) = word(before);
    let (second, _) = word(rest);
    if let Some(client) = client::address(first) {
        // lighttpd has the host where others have the client's own name of its user, which nobody asks for.
        let is_host = second.iter().any(|byte| matches!(byte, b'.' | b':'));
        return (is_host.then_some(second), Some(client));
    }
    match client::address(second) {
        Some(client) => (Some(first), Some(client)),
        // `-`, or the client's name, which Apache looks up if it is told to.
        None => (None, None),
    }
}

/// Returns the agent of what follows the status, if there is one: the second text in quotes.
fn agent(rest: &[u8]) -> Result<Option<&[u8]>, Unread> {
    let (_size, rest) = word(rest);
    let Some(referer) = rest.strip_prefix(b"\"") else {
        return Ok(None);
    };
    let (_, rest) = last_quoted(referer)?;
    let Some(agent) = rest.strip_prefix(b" \"") else {
        return Ok(None);
    };
    let (agent, _) = last_quoted(agent)?;
    Ok((agent != b"-").then_some(agent))
}

/// Splits like [`escapes::quoted`]. Where a quote within is not escaped, as in headers that HAProxy captures, nobody knows which
/// is the last.
fn last_quoted(text: &[u8]) -> Result<(&[u8], &[u8]), Unread> {
    let (inner, rest) = escapes::quoted(text).ok_or(Unread::Cut)?;
    match rest.first() {
        None | Some(b' ') => Ok((inner, rest)),
        Some(_) => Err(Unread::Shape),
    }
}

/// Returns whether Varnish cut a target. It alone writes the whole address of each request.
fn is_cut(target: &[u8]) -> bool {
    let Some(rest) = target.strip_prefix(b"http://") else {
        return false;
    };
    memchr(b'/', rest).is_some_and(|at| rest.len() - at == VARNISH_URL_BYTES)
}

/// Splits at the first blank.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr(b' ', text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, b""),
    }
}
