//! Which form a log has.

use memchr::memmem;

use super::form::Form;
use super::unread::Unread;

/// The lines of a file that are tried.
const TRIED_LINES: usize = 50;

/// What a log looks like whose form is none of those that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undetected {
    /// It has no line with content.
    #[error("it has no lines")]
    Empty,
    /// It is packed with something else than gzip and zstd.
    #[error("it is packed with {0}: unpack it, or pack it with gzip or zstd")]
    Packed(&'static str),
    /// It is Parquet.
    #[error(
        "it is Parquet, which this command was built without: build it with `cargo build --features parquet`, or choose JSON or text for \
         CloudFront's log"
    )]
    Parquet,
    /// It is HAProxy's own form.
    #[error(
        "it looks like HAProxy's own log, whose lines have no time zone and no name for the User-Agent: have HAProxy write combined \
         lines, with `capture request header User-Agent` and `log-format`"
    )]
    HaProxy,
    /// It is of IIS, or of another server with W3C's extended log.
    #[error(
        "it looks like a W3C extended log, such as IIS writes, and does not have the fields of CloudFront's"
    )]
    Extended,
    /// It is JSON with other fields.
    #[error(
        "its lines are JSON, and no fields with known names have a time, an address and a status: name them, as in \
         `--from time=timestamp,host=host,url=url,status=status,agent=user_agent,client=client_ip`"
    )]
    Json,
    /// It is one document of JSON, and not one a line.
    #[error("it looks like one JSON document: a log has one object on each line")]
    JsonDocument,
    /// It is something else.
    #[error("its lines have none of the forms that are read")]
    Other,
}

impl Form {
    /// Finds the form of a log by its first bytes.
    ///
    /// # Errors
    ///
    /// What it looks like instead.
    pub fn detect(head: &[u8]) -> Result<Self, Undetected> {
        if let Some(known) = binary(head) {
            return Err(known);
        }
        let lines = lines(head);
        if lines.is_empty() {
            return Err(Undetected::Empty);
        }
        let mut best = (0, None);
        for form in Self::all() {
            let score = score(&form, &lines);
            if score > best.0 {
                best = (score, Some(form));
            }
        }
        best.1.ok_or_else(|| looks(&lines))
    }
}

/// Returns the first lines with content. The last of several may not be whole.
fn lines(head: &[u8]) -> Vec<&[u8]> {
    let mut all: Vec<&[u8]> = head.split(|&byte| byte == b'\n').collect();
    if all.len() > 1 {
        all.pop();
    }
    let all = all
        .into_iter()
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    all.filter(|line| !line.trim_ascii().is_empty())
        .take(TRIED_LINES)
        .collect()
}

/// Returns how many lines a form reads. Requests count more than connections without one.
fn score(form: &Form, lines: &[&[u8]]) -> usize {
    let mut reader = form.reader();
    let score = |line: &&[u8]| match reader.read(line) {
        Ok(Some(_)) => 4,
        Err(Unread::NoRequest | Unread::NotHttp | Unread::BehindCloudFront) => 3,
        // A file that has nothing but the names of its fields.
        Ok(None) if *form == Form::CloudFront && is_cloudfront(line) => 1,
        _ => 0,
    };
    lines.iter().map(score).sum()
}

fn is_cloudfront(line: &[u8]) -> bool {
    let has = |name: &[u8]| memmem::find(line, name).is_some();
    line.starts_with(b"#Fields:") && (has(b"x-edge-") || has(b"x-host-header"))
}

/// Recognises what has no lines, by its first bytes.
fn binary(head: &[u8]) -> Option<Undetected> {
    let packed: [(&[u8], &str); 5] = [
        (b"\xfd7zXZ\0", "xz"),
        (b"BZh", "bzip2"),
        (b"PK\x03\x04", "zip"),
        (b"\x04\x22\x4d\x18", "lz4"),
        (b"\x1f\x9d", "compress"),
    ];
    if head.starts_with(b"PAR1") {
        return Some(Undetected::Parquet);
    }
    let found = packed.iter().find(|(magic, _)| head.starts_with(magic));
    found.map(|(_, name)| Undetected::Packed(name))
}

/// Says what lines look like that no form reads.
fn looks(lines: &[&[u8]]) -> Undetected {
    let any = |test: fn(&[u8]) -> bool| lines.iter().any(|line| test(line));
    let first = lines[0].trim_ascii_start();
    if any(|line| line.starts_with(b"#Fields:")) {
        Undetected::Extended
    } else if first.starts_with(b"[") || matches!(first, b"{") {
        Undetected::JsonDocument
    } else if any(|line| line.trim_ascii_start().starts_with(b"{")) {
        Undetected::Json
    } else if any(is_haproxy) {
        Undetected::HaProxy
    } else {
        Undetected::Other
    }
}

/// Returns whether a line has a time as HAProxy writes it: with milliseconds, and without a zone.
fn is_haproxy(line: &[u8]) -> bool {
    let mut starts = memmem::find_iter(line, b" [");
    starts.any(|at| {
        let time = line.get(at + 2..at + 26).unwrap_or_default();
        let shape = time.iter().map(|byte| match byte {
            b'0'..=b'9' => b'0',
            b'A'..=b'Z' | b'a'..=b'z' => b'a',
            &other => other,
        });
        shape.eq(*b"00/aaa/0000:00:00:00.000") && line.get(at + 26) == Some(&b']')
    })
}
