//! The facts about a document that are known before it is read.

use std::sync::Arc;

use sitemap::site::MAX_BYTES;

use super::expected::Expected;
use crate::findings::Policy;
use crate::robots::Robots;
use crate::url::Scope;

/// The properties of a transfer that affect how the document is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Whether it was sent with `Content-Encoding: gzip`.
    pub is_encoded: bool,
    /// Whether it was sent by a server that the user did not name. If it is not a sitemap, nothing of it is quoted then, because
    /// a site may name any address.
    pub is_foreign: bool,
}

/// The facts about a document that are known before it is read.
#[derive(Clone, Debug)]
pub struct About {
    /// Its address or its path, as findings show it.
    pub file: Arc<str>,
    /// The URLs that it may list.
    pub scope: Scope,
    /// The transfer.
    pub transfer: Transfer,
    /// Whether its name ends in .gz.
    pub is_named_gz: bool,
    /// The time, in Unix seconds.
    pub now: i64,
    /// Whether it was fetched over a network. If it is generated for each fetch, it was made just now.
    pub is_fetched: bool,
    /// Whether the robots.txt of another host is read before listing that host's URLs counts as an error: see
    /// [`Document::elsewhere`](super::Document::elsewhere).
    pub asks_others: bool,
    /// The most bytes that are read.
    pub max_bytes: u64,
    /// The robots.txt whose rules apply. `None` if there is none.
    pub robots: Option<Arc<Robots>>,
    /// The rules that apply.
    pub policy: Arc<Policy>,
    /// The URLs that should be listed. `None` if they are not known.
    pub expected: Option<Arc<Expected>>,
    /// The number of its pages that are sampled, to be requested.
    pub draw: usize,
}

impl About {
    /// Describes a document of this name with the usual limits, with nothing known but the rules and the time.
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
