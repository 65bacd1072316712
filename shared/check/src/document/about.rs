//! The facts about a document that are known before it is read.

use std::sync::Arc;

use sitemap::site::MAX_BYTES;

use super::expected::Expected;
use crate::findings::Policy;
use crate::robots::Robots;
use crate::url::Scope;

/// How a document comes, as far as that decides how it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// It came with `Content-Encoding: gzip`.
    pub is_encoded: bool,
    /// It came from a server that the user did not name. Of what is no sitemap nothing is quoted then: a site may name any address.
    pub is_foreign: bool,
}

/// What is known of a document before it is read.
#[derive(Clone, Debug)]
pub struct About {
    /// Its address or its path, as findings name it.
    pub file: Arc<str>,
    /// Where it may list pages.
    pub scope: Scope,
    /// How it comes.
    pub transfer: Transfer,
    /// Its name ends in .gz.
    pub is_named_gz: bool,
    /// The time, in Unix seconds.
    pub now: i64,
    /// It was made just now, if it was made for the fetch: it came over a network.
    pub is_fetched: bool,
    /// The robots.txt of another host is asked before what is listed there is wrong: see [`Document::elsewhere`](super::Document::elsewhere).
    pub asks_others: bool,
    /// Bytes of a document that are read.
    pub max_bytes: u64,
    /// What robots.txt disallows.
    pub robots: Option<Arc<Robots>>,
    /// The rules that apply.
    pub policy: Arc<Policy>,
    /// What should be listed.
    pub expected: Option<Arc<Expected>>,
    /// How many of its pages are drawn, to be asked for.
    pub draw: usize,
}

impl About {
    /// Describes a document of this name with the usual limits, of which only the rules and the time are known.
    #[must_use]
    pub fn new(file: &str, policy: Arc<Policy>, now: i64) -> Self {
        Self {
            file: file.into(),
            scope: Scope::default(),
            transfer: Transfer::default(),
            is_named_gz: file
                .split('?')
                .next()
                .is_some_and(|path| path.to_ascii_lowercase().ends_with(".gz")),
            now,
            is_fetched: false,
            asks_others: false,
            max_bytes: MAX_BYTES,
            robots: None,
            policy,
            expected: None,
            draw: 0,
        }
    }
}
