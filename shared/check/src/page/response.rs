//! Judges how a document was served: status, headers and redirects.

use std::sync::Arc;

use crate::document::{Document, Kind};
use crate::findings::{Finding, Findings};
use crate::rules::Rule;
use crate::text::quoted;

/// Crawlers give up on slower ones.
const SLOW_SECONDS: u64 = 10;

/// How the body ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All that was sent was read.
    Whole,
    /// The reader had enough.
    Enough,
    /// The connection or the time ended it; the text says how.
    Cut(String),
}

/// An answer, whose body was read or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The last answer's status.
    pub status: u16,
    /// Content-Type.
    pub content_type: Option<String>,
    /// Content-Encoding.
    pub content_encoding: Option<String>,
    /// Content-Length.
    pub content_length: Option<u64>,
    /// X-Robots-Tag, each header by itself: a crawler's name in one is not for the next.
    pub robots_tags: Vec<String>,
    /// Link.
    pub link: Option<String>,
    /// Where redirects led, one after the other.
    pub redirects: Vec<String>,
    /// Bytes of the body that came.
    pub received: u64,
    /// Seconds until they had come.
    pub seconds: u64,
    /// How the body ended.
    pub end: End,
    /// It came from a server that the user did not name: no value of its headers is shown.
    pub is_foreign: bool,
}

impl Response {
    /// Returns an answer of this status, about which nothing else is known.
    #[must_use]
    pub fn new(status: u16) -> Self {
        Self {
            status,
            content_type: None,
            content_encoding: None,
            content_length: None,
            robots_tags: Vec::new(),
            link: None,
            redirects: Vec::new(),
            received: 0,
            seconds: 0,
            end: End::Whole,
            is_foreign: false,
        }
    }

    /// Returns whether the body is one layer of gzip more than its name says.
    #[must_use]
    pub fn is_gzip_encoded(&self) -> bool {
        let encoding = self.content_encoding.as_deref().map(str::trim);
        encoding.is_some_and(|encoding| {
            encoding.eq_ignore_ascii_case("gzip") || encoding.eq_ignore_ascii_case("x-gzip")
        })
    }

    /// Adds what is wrong with it. `document` is what its body has, if it was read.
    pub fn judge(&self, file: &Arc<str>, document: Option<&Document>, findings: &mut Findings) {
        let mut found = |rule: Rule, message: String| {
            findings.add(rule, || Finding {
                rule,
                file: file.clone(),
                at: None,
                message,
                invalid: false,
            });
        };
        if let Some(last) = self.redirects.last() {
            found(
                Rule::FileRedirect,
                format!(
                    "leads to {} in {} steps",
                    quoted(last),
                    self.redirects.len()
                ),
            );
        }
        if self.seconds > SLOW_SECONDS {
            found(
                Rule::FileSlow,
                format!("{} bytes came in {} seconds", self.received, self.seconds),
            );
        }
        if let Some(encoding) = &self.content_encoding
            && !self.is_gzip_encoded()
            && !encoding.trim().eq_ignore_ascii_case("identity")
        {
            let message = match self.is_foreign {
                true => "it has a Content-Encoding that was not asked for".to_owned(),
                false => format!("Content-Encoding {} was not asked for", quoted(encoding)),
            };
            found(Rule::FileGzip, message);
            return;
        }
        let Some(document) = document else {
            return;
        };
        if let End::Cut(how) = &self.end {
            // If the document is there, the length was wrong.
            if document.is_whole {
                let length = self.content_length.map_or(String::new(), |length| {
                    format!(", Content-Length says {length}")
                });
                found(
                    Rule::FileLength,
                    format!("{} bytes came{length}: {how}", self.received),
                );
            } else {
                found(
                    Rule::FileTruncated,
                    format!("the body ended after {} bytes: {how}", self.received),
                );
            }
        }
        if document.kind != Kind::Html {
            self.content_type(document, &mut found);
        }
    }

    fn content_type(&self, document: &Document, found: &mut impl FnMut(Rule, String)) {
        let given = self.content_type.as_deref().unwrap_or_default();
        let lower = given.to_ascii_lowercase();
        let mut parts = lower.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let charset = parts.find_map(|part| part.strip_prefix("charset="));
        let charset = charset.map(|charset| charset.trim_matches('"'));
        let fitting: &[&str] = if document.is_gzip {
            &["application/gzip", "application/x-gzip"]
        } else {
            match document.kind {
                Kind::Text => &["text/plain"],
                Kind::Rss => &["application/rss+xml", "application/xml", "text/xml"],
                Kind::Atom => &["application/atom+xml", "application/xml", "text/xml"],
                Kind::Sitemap | Kind::Index => &["application/xml", "text/xml"],
                Kind::Html | Kind::Other => return,
            }
        };
        let is_utf8 = charset.is_none_or(|charset| matches!(charset, "utf-8" | "utf8"));
        if !fitting.contains(&media) || !is_utf8 {
            let fitting = fitting.join(" or ");
            let message = match self.is_foreign {
                true => format!("Content-Type is not {fitting}"),
                false => format!("Content-Type is {}, not {fitting}", quoted(given)),
            };
            found(Rule::FileCtype, message);
        }
    }
}
