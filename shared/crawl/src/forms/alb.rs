//! The access logs of application load balancers, and of classic ones, which lack the first field. The target is a whole URL.

use std::borrow::Cow;

use memchr::memchr;

use super::unread::Unread;
use super::{client, escapes, request_line, time};
use crate::request::Request;

/// Reads a line. Fields that AWS appends to it from time to time are left alone.
pub(super) fn read(line: &[u8]) -> Result<Option<Request<'_>>, Unread> {
    if line.is_empty() {
        return Ok(None);
    }
    let (before, rest) = line.split_at(memchr(b'"', line).ok_or(Unread::Shape)?);
    let before = before.strip_suffix(b" ").ok_or(Unread::Shape)?;
    let mut words = before.split(|&byte| byte == b' ');
    let mut word = || words.next().ok_or(Unread::Shape);
    let first = word()?;
    let time = match time::iso(first) {
        Some(time) => time,
        None => time::iso(word()?).ok_or(Unread::Time)?,
    };
    let _name = word()?;
    let client = client::before_port(word()?);
    let _target = word()?;
    for _ in 0..3 {
        let _seconds = word()?;
    }
    let status = word()?;
    let (asked, rest) = escapes::quoted_plainly(&rest[1..]).ok_or(Unread::Cut)?;
    let asked = request_line::split(asked)?;
    let agent = match rest.strip_prefix(b" \"") {
        Some(rest) => Some(escapes::quoted_plainly(rest).ok_or(Unread::Cut)?.0),
        None => None,
    };
    Ok(Some(Request {
        time,
        client,
        method: Cow::Borrowed(asked.method),
        host: None,
        // A request that could not be read has a blank after the port, in place of a protocol.
        target: Cow::Borrowed(asked.target.strip_suffix(b" -").unwrap_or(asked.target)),
        is_cut: false,
        status: request_line::status(status)?,
        agent: agent.filter(|agent| *agent != b"-").map(Cow::Borrowed),
    }))
}
