//! Logs of one JSON object a line, with fields of any names.

use std::borrow::Cow;
use std::net::IpAddr;
use std::str::FromStr;

use super::pick::{Picked, Picks, Scalar, Slot};
use super::unread::Unread;
use super::{client, request_line, time};
use crate::request::Request;

/// The parts of a request that a field may have, with the names that are known: of Cloudflare's Logpush, of the Elastic Common
/// Schema, of Google's load balancers, Traefik and Envoy, and those that people give to fields of Fastly's and nginx's.
const PARTS: [(&str, Slot, &[&str]); 9] = [
    (
        "time",
        Slot::Time,
        &[
            "EdgeStartTimestamp",
            "EdgeEndTimestamp",
            "@timestamp",
            "StartUTC",
            "timestamp",
            "time_iso8601",
            "start_time",
            "time_start",
            "datetime",
            "time_local",
            "time",
            "ts",
            "msec",
        ],
    ),
    (
        "host",
        Slot::Host,
        &[
            "ClientRequestHost",
            "url.domain",
            "RequestHost",
            "request_host",
            "http_host",
            "authority",
            "host",
        ],
    ),
    (
        "url",
        Slot::Url,
        &[
            "ClientRequestURI",
            "url.original",
            "url.full",
            "url.path",
            "httpRequest.requestUrl",
            "RequestPath",
            "request_uri",
            "request_url",
            "url",
            "uri",
            "path",
        ],
    ),
    (
        "query",
        Slot::Query,
        &["url.query", "query_string", "query", "args"],
    ),
    ("request", Slot::Request, &["request"]),
    (
        "status",
        Slot::Status,
        &[
            "EdgeResponseStatus",
            "http.response.status_code",
            "httpRequest.status",
            "DownstreamStatus",
            "response_status",
            "response_code",
            "status_code",
            "status",
        ],
    ),
    (
        "agent",
        Slot::Agent,
        &[
            "ClientRequestUserAgent",
            "user_agent.original",
            "httpRequest.userAgent",
            "request_User-Agent",
            "request_user_agent",
            "http_user_agent",
            "user_agent",
            "useragent",
            "userAgent",
            "user-agent",
            "agent",
            "ua",
        ],
    ),
    (
        "client",
        Slot::Client,
        &[
            "ClientIP",
            "client.ip",
            "source.ip",
            "httpRequest.remoteIp",
            "ClientHost",
            "client_ip",
            "remote_addr",
            "remote_ip",
            "clientip",
            "client",
            "ip",
        ],
    ),
    (
        "method",
        Slot::Method,
        &[
            "ClientRequestMethod",
            "http.request.method",
            "httpRequest.requestMethod",
            "RequestMethod",
            "request_method",
            "method",
        ],
    ),
];

/// The names of a log's fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    picks: Picks,
    said: Vec<Slot>,
}

impl Default for Fields {
    fn default() -> Self {
        let names = PARTS
            .iter()
            .flat_map(|(_, slot, names)| names.iter().map(move |name| (*slot, *name)));
        Self {
            picks: Picks::new(names),
            said: PARTS.iter().map(|(_, slot, _)| *slot).collect(),
        }
    }
}

impl FromStr for Fields {
    type Err = FieldsError;

    /// Reads `time=timestamp,url=request.path`: the parts of a request, and the fields that have them. A dot leads into an
    /// object. A part that is not named is in no field.
    ///
    /// # Errors
    ///
    /// If a part is not known, or a request cannot be read without one that is missing.
    fn from_str(list: &str) -> Result<Self, FieldsError> {
        let mut names = Vec::new();
        for pair in list.split(',') {
            let pair = pair.trim();
            let Some((part, name)) = pair.split_once('=').filter(|(_, name)| !name.is_empty())
            else {
                return Err(FieldsError::Pair(pair.to_owned()));
            };
            let known = PARTS.iter().find(|(known, ..)| *known == part);
            let Some((_, slot, _)) = known else {
                return Err(FieldsError::Part(part.to_owned()));
            };
            names.push((*slot, name));
        }
        let said: Vec<Slot> = names.iter().map(|(slot, _)| *slot).collect();
        let has = |slot| said.contains(&slot);
        for (part, is_there) in [
            ("time", has(Slot::Time)),
            ("url", has(Slot::Url) || has(Slot::Request)),
            ("status", has(Slot::Status)),
        ] {
            if !is_there {
                return Err(FieldsError::Missing(part));
            }
        }
        Ok(Self {
            picks: Picks::new(names),
            said,
        })
    }
}

impl Fields {
    /// Returns whether a field has a part.
    pub(super) fn has(&self, slot: Slot) -> bool {
        self.said.contains(&slot)
    }

    pub(super) fn picks(&self) -> &Picks {
        &self.picks
    }
}

/// What is wrong with a list of fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    /// It is no pair.
    #[error("`{0}` is not like `url=request.path`: a part of a request, and the field that has it")]
    Pair(String),
    /// It is no part.
    #[error("no part of a request is called `{0}`: there are {parts}", parts = parts())]
    Part(String),
    /// A part that every request has is missing.
    #[error("no field is named for `{0}`, without which no request can be read")]
    Missing(&'static str),
}

fn parts() -> String {
    PARTS.map(|(name, ..)| name).join(", ")
}

/// Makes a request of what was picked of a line. What has to be put together is written to `scratch`.
pub(super) fn request<'l>(
    mut picked: Picked<'l>,
    scratch: &'l mut Vec<u8>,
) -> Result<Request<'l>, Unread> {
    let (method, target) = asked(&mut picked, scratch)?;
    let client = picked.text(Slot::Client);
    Ok(Request {
        time: picked
            .take(Slot::Time)
            .and_then(seconds)
            .ok_or(Unread::Time)?,
        client: client.as_deref().and_then(address),
        method,
        host: picked.text(Slot::Host).filter(is_said),
        target,
        is_cut: false,
        status: status(picked.take(Slot::Status))?,
        agent: picked.text(Slot::Agent).filter(|agent| **agent != *b"-"),
    })
}

type Text<'l> = Cow<'l, [u8]>;

/// Returns the method and the target.
fn asked<'l>(
    picked: &mut Picked<'l>,
    scratch: &'l mut Vec<u8>,
) -> Result<(Text<'l>, Text<'l>), Unread> {
    let method = picked.text(Slot::Method).unwrap_or_default();
    let Some(url) = picked.text(Slot::Url).filter(is_said) else {
        return match picked.text(Slot::Request) {
            Some(Cow::Borrowed(line)) => {
                let line = request_line::split(line)?;
                Ok((line.method.into(), line.target.into()))
            }
            Some(Cow::Owned(line)) => {
                let line = request_line::split(&line)?;
                Ok((line.method.to_vec().into(), line.target.to_vec().into()))
            }
            None => Err(Unread::NoTarget),
        };
    };
    let query = picked.text(Slot::Query).filter(is_said);
    let Some(query) = query.filter(|_| !url.contains(&b'?')) else {
        return Ok((method, url));
    };
    scratch.clear();
    scratch.extend_from_slice(&url);
    scratch.push(b'?');
    scratch.extend_from_slice(query.strip_prefix(b"?").unwrap_or(&query));
    Ok((method, Cow::Borrowed(scratch)))
}

fn is_said(text: &Text<'_>) -> bool {
    !matches!(&**text, b"" | b"-")
}

fn address(text: &[u8]) -> Option<IpAddr> {
    client::address(text).or_else(|| client::before_port(text))
}

/// Reads a time in any of the ways in which fields have it.
pub(super) fn seconds(value: Scalar<'_>) -> Option<i64> {
    match value {
        Scalar::Whole(number) => time::whole_since_1970(number),
        Scalar::Number(number) => time::since_1970(number),
        Scalar::Text(text) => {
            let text = text.trim_matches(['[', ']']);
            let bytes = text.as_bytes();
            let written = || time::iso(bytes).or_else(|| time::clf(bytes));
            let is_number = bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.'));
            match text.parse() {
                Ok(number) if is_number => time::whole_since_1970(number),
                _ if is_number => text.parse().ok().and_then(time::since_1970),
                _ => written(),
            }
        }
    }
}

/// Reads a status. 0 is one: the client had gone before there was an answer.
pub(super) fn status(value: Option<Scalar<'_>>) -> Result<u16, Unread> {
    let status = match value {
        Some(Scalar::Whole(number)) => u16::try_from(number).ok(),
        Some(Scalar::Text(text)) if text == "0" => Some(0),
        Some(Scalar::Text(text)) => return request_line::status(text.as_bytes()),
        Some(Scalar::Number(_)) | None => None,
    };
    status
        .filter(|status| *status < 1_000)
        .ok_or(Unread::Status)
}
