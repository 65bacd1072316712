//! The sources of an import: where a source is, and which format it has.

use std::fs::File;
use std::io::{self, BufRead as _, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use check::document::elements::root_of;
use check::document::input::{Input, Limits, is_list};
use check::url::origin_of;
use serde_json::Value;
use tokio::runtime::Handle;

use super::options::SourceKind;
use super::redirects::is_rules;
use crate::fetch::client::{Client, NoBody};
use crate::files;

/// The name of standard input.
pub const STDIN_NAME: &str = "-";

/// What a format is recognised by.
pub(crate) const HEAD_BYTES: usize = 16 * 1024;
/// Characters of what is not recognised that are shown.
const SHOWN_CHARS: usize = 40;
/// Bytes of a sitemap. The protocol allows 50 MiB, and some makers do not count.
const MAX_DOCUMENT_BYTES: u64 = 1024 * 1024 * 1024;
/// The longest tag, text, line or cell: more than any post that WordPress exports.
pub(super) const MAX_PIECE_BYTES: u64 = 64 * 1024 * 1024;

/// Opens a body of which at most so many bytes are read, inflated.
pub(crate) fn open(body: impl Read + 'static, bytes: u64) -> io::Result<Input<'static>> {
    let piece = MAX_PIECE_BYTES;
    let mut input = Input::open(body, Limits { bytes, piece });
    // What cannot be read at all is no empty document.
    input.fill_buf()?;
    Ok(input)
}

/// Detects the format of a document by its beginning. Returns `None` if it is unknown.
pub(super) fn detected(head: &[u8]) -> Option<SourceKind> {
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start();
    let first = text.lines().next().unwrap_or_default().trim_end();
    if text.starts_with('<') {
        return match root_of(head)?.as_str() {
            "urlset" | "sitemapindex" => Some(SourceKind::Sitemap),
            "rss" if text.contains("wordpress.org/export/") => Some(SourceKind::Wxr),
            "rss" | "feed" | "RDF" | "Channel" => Some(SourceKind::Feed),
            _ => None,
        };
    }
    if text.starts_with('[') {
        return Some(SourceKind::Json);
    }
    if text.starts_with('{') {
        if text.contains("https://jsonfeed.org/version/") {
            return Some(SourceKind::Feed);
        }
        let is_line = serde_json::from_str::<Value>(first).is_ok();
        return Some(if is_line {
            SourceKind::Jsonl
        } else {
            SourceKind::Json
        });
    }
    if is_list(first.as_bytes()) && first.contains("://") {
        return Some(SourceKind::Urls);
    }
    if is_rules(text) {
        return Some(SourceKind::Redirects);
    }
    // A head of a table names its columns.
    let is_name = |c: char| c.is_alphanumeric() || " _-()/,\";\t'.".contains(c);
    (!first.is_empty() && first.chars().all(is_name)).then_some(SourceKind::Csv)
}

/// Says what a document is that is not recognised by its beginning.
pub(super) fn begin_of(head: &[u8]) -> String {
    let text = String::from_utf8_lossy(head);
    let begin: String = text.trim_start().chars().take(SHOWN_CHARS).collect();
    match root_of(head) {
        Some(root) => format!("its root is <{root}>"),
        None if begin.is_empty() => "it is empty".to_owned(),
        None => format!("it begins with {begin:?}"),
    }
}

/// Where a source is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A site, whose robots.txt names its sitemaps.
    Site(String),
    /// A document over HTTP.
    Url(String),
    /// A folder of sitemaps.
    Folder(PathBuf),
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

/// A document that is open.
pub(super) struct Opened {
    pub(super) input: Input<'static>,
    /// Whether a redirect led to a server that the user did not name.
    pub(super) is_foreign: bool,
}

/// Returns the message for a problem of a document. It quotes nothing of a foreign document: a site may lead to any address.
pub(super) fn shown(problem: String, is_foreign: bool) -> String {
    match is_foreign {
        false => problem,
        true => "a redirect led to another host, and its answer cannot be imported: give its own address to see why".to_owned(),
    }
}

/// Opens documents, for a thread that may wait.
pub(super) struct Opener {
    pub(super) client: Arc<Client>,
    pub(super) runtime: Handle,
}

impl Opener {
    /// Opens a document over HTTP.
    pub(super) fn url(&self, url: &str) -> Result<Opened, String> {
        match self.url_if_any(url) {
            Ok(opened) => opened,
            Err(none) => Err(none.why),
        }
    }

    /// Opens a document over HTTP, as [`Opener::url`], or says that no answer has the status 200.
    pub(super) fn url_if_any(&self, url: &str) -> Result<Result<Opened, String>, NoBody> {
        let (response, body) = Client::body(&self.client, url, MAX_DOCUMENT_BYTES, &self.runtime)?;
        Ok(opened(open(body, MAX_DOCUMENT_BYTES), response.is_foreign))
    }

    /// Opens a file that the user named, which may be a pipe.
    pub(super) fn file(&self, path: &Path) -> Result<Opened, String> {
        opened(
            File::open(path).and_then(|file| open(file, u64::MAX)),
            false,
        )
    }

    /// Opens a file that was found.
    pub(super) fn found(&self, path: &Path) -> Result<Opened, String> {
        let file = files::regular(path);
        opened(file.and_then(|file| open(file, MAX_DOCUMENT_BYTES)), false)
    }

    /// Opens standard input.
    pub(super) fn stdin(&self) -> Result<Opened, String> {
        opened(open(io::stdin(), u64::MAX), false)
    }

    /// Returns the origin that gets the requests for a URL.
    pub(super) fn asked<'s>(&'s self, url: &'s str) -> Option<&'s str> {
        origin_of(url).map(|origin| self.client.asked(origin))
    }
}

fn opened(input: io::Result<Input<'static>>, is_foreign: bool) -> Result<Opened, String> {
    match input {
        Ok(input) => Ok(Opened { input, is_foreign }),
        Err(error) => Err(shown(error.to_string(), is_foreign)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_recognised_by_its_beginning() {
        for (head, expected) in [
            (
                "<?xml version='1.0'?>\n<!-- x --><urlset xmlns='…'>",
                Some(SourceKind::Sitemap),
            ),
            ("  <sitemapindex>", Some(SourceKind::Sitemap)),
            (
                "<?xml version='1.0'?><sm:urlset xmlns:sm='…'>",
                Some(SourceKind::Sitemap),
            ),
            ("<rdf:RDF xmlns:rdf='…'>", Some(SourceKind::Feed)),
            ("<a:feed xmlns:a='…'>", Some(SourceKind::Feed)),
            ("<!-- <urlset> --><html><p>", None),
            ("<!DOCTYPE html><html><rss>", None),
            ("HTTPS://www.example.com/\n", Some(SourceKind::Urls)),
            ("<rss version='2.0'><channel>", Some(SourceKind::Feed)),
            (
                "<?xml?><rss xmlns:wp='http://wordpress.org/export/1.2/'>",
                Some(SourceKind::Wxr),
            ),
            (
                "<feed xmlns='http://www.w3.org/2005/Atom'>",
                Some(SourceKind::Feed),
            ),
            ("<!doctype html><html>", None),
            ("[{\"id\": 1}]", Some(SourceKind::Json)),
            ("{\"id\": 1}\n{\"id\": 2}", Some(SourceKind::Jsonl)),
            ("{\"id\": 1}", Some(SourceKind::Jsonl)),
            ("{\n \"data\": []}", Some(SourceKind::Json)),
            (
                "{\"version\": \"https://jsonfeed.org/version/1.1\"}",
                Some(SourceKind::Feed),
            ),
            ("https://www.example.com/\n", Some(SourceKind::Urls)),
            ("ID,post_title,url\n1,Soup,https://…", Some(SourceKind::Csv)),
            ("\"Handle\",\"Body (HTML)\"", Some(SourceKind::Csv)),
            ("# moved\n/old /new 301\n", Some(SourceKind::Redirects)),
            ("Origin,Target,Type,Format\n", Some(SourceKind::Csv)),
            ("Redirect from,Redirect to\n", Some(SourceKind::Csv)),
            ("\u{1}\u{2}binary", None),
            ("", None),
        ] {
            assert_eq!(detected(head.as_bytes()), expected, "{head}");
        }
    }
}
