//! Checks how a document was served: status, headers and redirects.

use std::sync::Arc;

use crate::document::{Document, Kind};
use crate::findings::{Finding, Findings};
use crate::rules::Rule;
use crate::text::quoted;

/// The seconds after which crawlers may give up.
const SLOW_SECONDS: u64 = 10;

/// How the body ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It was read to its end.
    Whole,
    /// The reader needed no more.
    Enough,
    /// It was cut by the connection or a time limit, for this reason.
    Cut(String),
}

/// An answer, with or without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status of the last answer.
    pub status: u16,
    /// The Content-Type. `None` if it is missing.
    pub content_type: Option<String>,
    /// The Content-Encoding. `None` if it is missing.
    pub content_encoding: Option<String>,
    /// The Content-Length. `None` if it is missing.
    pub content_length: Option<u64>,
    /// Each X-Robots-Tag separately, because a crawler's name in one does not apply to the next.
    pub robots_tags: Vec<String>,
    /// The Link header. `None` if it is missing.
    pub link: Option<String>,
    /// The targets of the redirects, in their order.
    pub redirects: Vec<String>,
    /// The number of received bytes of the body.
    pub received: u64,
    /// The seconds until they were received.
    pub seconds: u64,
    /// How the body ended.
    pub end: End,
    /// Whether it was sent by a server that the user did not name. Then no value of its headers is shown.
    pub is_foreign: bool,
}

impl Response {
    /// Returns an answer with this status, and nothing else.
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

    /// Returns whether the body has one more layer of gzip than its name says.
    #[must_use]
    pub fn is_gzip_encoded(&self) -> bool {
        let encoding = self.content_encoding.as_deref().map(str::trim);
        encoding.is_some_and(|encoding| {
            encoding.eq_ignore_ascii_case("gzip") || encoding.eq_ignore_ascii_case("x-gzip")
        })
    }

    /// Adds findings for its problems. `document` is the document in its body, if it was read.
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
            // If the document is complete, the length was wrong.
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
