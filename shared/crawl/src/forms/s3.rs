//! S3's server access logs. What was asked for is in the request line: a website's key is `index.html` where the request is `/`.

use std::borrow::Cow;

use memchr::{memchr, memmem};

use super::unread::Unread;
use super::{client, escapes, request_line, time};
use crate::request::Request;

/// The agent with which CloudFront asks.
const CLOUDFRONT: &[u8] = b"Amazon CloudFront";

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Result<Option<Request<'_>>, Unread> {
    if line.is_empty() {
        return Ok(None);
    }
    let begin = memmem::find(line, b" [").ok_or(Unread::Shape)?;
    let inner = &line[begin + 2..];
    let end = memchr(b']', inner).ok_or(Unread::Shape)?;
    let time = time::clf(&inner[..end]).ok_or(Unread::Time)?;
    let rest = &inner[end + 1..];
    let (before, rest) = rest.split_at(memchr(b'"', rest).unwrap_or(rest.len()));
    let mut words = before.trim_ascii().split(|&byte| byte == b' ');
    let client = words.next().unwrap_or_default();
    // Requester, number of the request, operation and key.
    if words.count() < 4 {
        return Err(Unread::Shape);
    }
    // Without a request: a task of S3's own, such as the end of an object's life.
    let rest = rest.strip_prefix(b"\"").ok_or(Unread::NoRequest)?;
    let (asked, rest) = escapes::quoted_plainly(rest).ok_or(Unread::Cut)?;
    let asked = request_line::split(asked)?;
    let (numbers, rest) = rest.split_at(memchr(b'"', rest).ok_or(Unread::Shape)?);
    let mut numbers = numbers.trim_ascii_start().split(|&byte| byte == b' ');
    let status = request_line::status(numbers.next().unwrap_or_default())?;
    let (_, rest) = escapes::quoted_plainly(&rest[1..]).ok_or(Unread::Cut)?;
    let agent = rest.strip_prefix(b" \"").ok_or(Unread::Shape)?;
    let (agent, rest) = escapes::quoted_plainly(agent).ok_or(Unread::Cut)?;
    if agent == CLOUDFRONT {
        return Err(Unread::BehindCloudFront);
    }
    // After the agent: version, host's id, version of the signature, cipher, authentication, and the header.
    let mut after = rest.trim_ascii_start().split(|&byte| byte == b' ').skip(5);
    let host = after.next().filter(|host| !matches!(*host, b"" | b"-"));
    Ok(Some(Request {
        time,
        client: client::address(client),
        method: Cow::Borrowed(asked.method),
        host: host.map(Cow::Borrowed),
        target: Cow::Borrowed(asked.target),
        is_cut: false,
        status,
        agent: (agent != b"-").then_some(Cow::Borrowed(agent)),
    }))
}
