//! CloudFront's standard logs: with tabs and a line of the fields' names (legacy, and v2 if so chosen), and JSON (v2). Those in Parquet
//! (v2) are read as a text with tabs.
//!
//! The owner chooses which fields there are. Agents are percent-encoded, once or twice; targets stay as they are.

use std::borrow::Cow;
#[cfg(feature = "parquet")]
use std::fs::File;

use memchr::{memchr_iter, memmem};

use super::pick::{Picked, Picks, Scalar, Slot};
use super::unread::Unread;
use super::{client, escapes, json_lines, time};
#[cfg(feature = "parquet")]
use crate::input::table::{Table, TableError};
use crate::request::Request;

/// The fields that are read, by the names of both forms. `cs(Host)` is not: it is the distribution's own name.
const FIELDS: [(Slot, &str); 10] = [
    (Slot::Time, "timestamp(ms)"),
    (Slot::Time, "timestamp"),
    (Slot::Time, "time"),
    (Slot::Day, "date"),
    (Slot::Host, "x-host-header"),
    (Slot::Url, "cs-uri-stem"),
    (Slot::Query, "cs-uri-query"),
    (Slot::Status, "sc-status"),
    (Slot::Agent, "cs(User-Agent)"),
    (Slot::Client, "c-ip"),
];
const METHOD: (Slot, &str) = (Slot::Method, "cs-method");

/// The fields of a file that does not say them: those of every legacy file.
const LEGACY: &str = "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) \
                      cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header";

/// The fields without which no row of a table is a request, each with those that do as well.
#[cfg(feature = "parquet")]
const NEEDED: [&[&str]; 5] = [
    &["timestamp(ms)", "timestamp", "time"],
    &["cs-uri-stem"],
    &["sc-status"],
    &["cs-method"],
    &["cs(User-Agent)"],
];

/// Begins to read a table of CloudFront's. Its text is of the form [`Form::CloudFrontParquet`](super::Form::CloudFrontParquet).
///
/// # Errors
///
/// As [`Table::open`].
#[cfg(feature = "parquet")]
pub fn table(file: File) -> Result<Table, TableError> {
    let fields = FIELDS.into_iter().chain([METHOD]);
    let names: Vec<&str> = fields.map(|(_, name)| name).collect();
    Table::open(file, &names, &NEEDED)
}

/// What of a JSON line is picked.
pub(super) fn picks() -> Picks {
    Picks::new(FIELDS.into_iter().chain([METHOD]))
}

/// The columns of a file.
#[derive(Clone, Debug)]
pub(super) struct Columns(Vec<Option<(Slot, u8)>>);

impl Default for Columns {
    fn default() -> Self {
        Self::of(LEGACY.as_bytes())
    }
}

impl Columns {
    fn of(names: &[u8]) -> Self {
        let fields = || FIELDS.into_iter().chain([METHOD]).zip(0..);
        let column = |name: &[u8]| {
            let mut fields = fields();
            let found = fields.find(|((_, known), _)| known.as_bytes() == name);
            found.map(|((slot, _), rank)| (slot, rank))
        };
        let names = names.split(|byte| matches!(byte, b' ' | b'\t'));
        Self(names.filter(|name| !name.is_empty()).map(column).collect())
    }

    /// Reads a line. A line of names says what the next ones have.
    pub(super) fn read<'l>(
        &mut self,
        line: &'l [u8],
        scratch: &'l mut Vec<u8>,
    ) -> Result<Option<Request<'l>>, Unread> {
        if let Some(names) = line.strip_prefix(b"#Fields:") {
            *self = Self::of(names);
        }
        if matches!(line.first(), None | Some(b'#')) {
            return Ok(None);
        }
        let mut picked = Picked::default();
        let mut from = 0;
        let ends = memchr_iter(b'\t', line).chain([line.len()]);
        let mut columns = self.0.iter();
        for (end, column) in ends.zip(columns.by_ref()) {
            let value = &line[from..end];
            from = end + 1;
            if let Some(slot) = column
                && let Ok(value) = std::str::from_utf8(value)
            {
                picked.put(*slot, Scalar::Text(Cow::Borrowed(value)));
            }
        }
        // A line that was cut: what it has may be cut as well.
        if columns.next().is_some() {
            return Err(Unread::Shape);
        }
        request(picked, scratch).map(Some)
    }
}

/// Makes a request of what was picked of a line.
pub(super) fn request<'l>(
    mut picked: Picked<'l>,
    scratch: &'l mut Vec<u8>,
) -> Result<Request<'l>, Unread> {
    let is_said = |text: &Cow<'l, [u8]>| !matches!(&**text, b"" | b"-");
    let time = seconds(&mut picked).ok_or(Unread::Time)?;
    let status = json_lines::status(picked.take(Slot::Status))?;
    let client = picked.text(Slot::Client);
    let url = picked.text(Slot::Url).filter(is_said);
    let url = url.ok_or(Unread::NoTarget)?;
    let query = picked.text(Slot::Query).filter(is_said);
    let agent = picked.text(Slot::Agent).filter(is_said);
    scratch.clear();
    if let Some(query) = &query {
        scratch.extend_from_slice(&url);
        scratch.push(b'?');
        scratch.extend_from_slice(query);
    }
    let target_bytes = scratch.len();
    if let Some(agent) = &agent {
        decode_agent(agent, scratch);
    }
    let (target, decoded) = scratch.split_at(target_bytes);
    Ok(Request {
        time,
        client: client.as_deref().and_then(client::address),
        method: picked
            .text(Slot::Method)
            .filter(is_said)
            .unwrap_or_default(),
        host: picked.text(Slot::Host).filter(is_said),
        target: if query.is_some() {
            Cow::Borrowed(target)
        } else {
            url
        },
        is_cut: false,
        status,
        agent: agent.is_some().then_some(Cow::Borrowed(decoded)),
    })
}

/// Appends an agent without its percent-encoding. It is encoded twice in older files, which its blanks show.
fn decode_agent(agent: &[u8], out: &mut Vec<u8>) {
    let from = out.len();
    escapes::percent_decoded(agent, out);
    let has = |blank: &[u8]| memmem::find(&out[from..], blank).is_some();
    if has(b"%20") || has(b"%2520") {
        let once = out.split_off(from);
        escapes::percent_decoded(&once, out);
    }
}

fn seconds(picked: &mut Picked<'_>) -> Option<i64> {
    let day = picked.take(Slot::Day);
    let value = picked.take(Slot::Time)?;
    if let (Scalar::Text(clock), Some(Scalar::Text(day))) = (&value, &day)
        && let Some(clock) = time::clock_seconds(clock.as_bytes())
    {
        return Some(time::iso_day(day.as_bytes())? * time::DAY + clock);
    }
    json_lines::seconds(value)
}
