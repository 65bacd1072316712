//! Requests for sitemaps and robots.txt.

use std::collections::{BTreeMap, HashMap};

use crate::address::{self, Key, SEPARATOR};
use crate::bots::{BotId, Bots};
use crate::join::names::natural;
use crate::join::record::Hit;
use crate::report;

/// Times of one document and bot that are kept. More are thinned out: each second one is dropped, and half of what follows is not kept.
const MAX_TIMES: usize = 10_000;

const ROBOTS: &[u8] = b"/robots.txt";

/// What crawlers ask any site for: robots.txt, an index of sitemaps, and Waymark's other documents.
const USUAL: [&[u8]; 5] = [
    ROBOTS,
    b"/sitemap.xml",
    b"/sitemap_index.xml",
    b"/feed.atom",
    b"/llms.txt",
];

/// Requests of one bot for one document.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) requests: u64,
    pub(super) last: i64,
    pub(super) statuses: BTreeMap<u16, u64>,
    /// When it was fetched. Sorted by [`Documents::finish`].
    times: Vec<i64>,
    /// One of so many fetches is kept.
    each: u64,
    fetches: u64,
}

/// A sitemap or robots.txt.
#[derive(Clone, Debug)]
pub(super) struct Document {
    /// An address, or the name of a file.
    pub(super) name: String,
    /// Whether crawlers should ask for it: it is one of the sitemaps, or robots.txt.
    pub(super) is_expected: bool,
    pub(super) bots: BTreeMap<BotId, Asked>,
}

/// All documents. A sitemap's number is its place.
#[derive(Clone, Debug, Default)]
pub(super) struct Documents {
    all: Vec<Document>,
    sitemaps: Vec<u32>,
    by_key: HashMap<Vec<u8>, u32>,
    /// By the last part of the name, for sitemaps whose address is not known.
    by_file: HashMap<Vec<u8>, u32>,
}

impl Asked {
    fn add(&mut self, hit: &Hit) {
        self.requests += 1;
        self.last = self.last.max(hit.time);
        *self.statuses.entry(hit.status).or_default() += 1;
        if !hit.is_fetch() {
            return;
        }
        self.each = self.each.max(1);
        if self.fetches.is_multiple_of(self.each) {
            self.times.push(hit.time);
        }
        self.fetches += 1;
        if self.times.len() >= MAX_TIMES {
            let mut at = 0;
            self.times.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.each *= 2;
        }
    }

    /// Returns when it was first fetched at this time or later.
    pub(super) fn first_since(&self, time: i64) -> Option<i64> {
        let at = self.times.partition_point(|fetched| *fetched < time);
        self.times.get(at).copied()
    }
}

impl Document {
    fn report(&self, bots: &Bots) -> report::Document {
        let asked = self.bots.iter().map(|(bot, asked)| report::Asked {
            bot: bots.bot(*bot).name.clone(),
            requests: asked.requests,
            last: asked.last,
            statuses: asked
                .statuses
                .iter()
                .map(|(&status, &count)| (status, count))
                .collect(),
        });
        let mut asked: Vec<report::Asked> = asked.collect();
        asked.sort_by_key(|asked| std::cmp::Reverse(asked.requests));
        report::Document {
            address: self.name.clone(),
            bots: asked,
        }
    }
}

impl Documents {
    /// Returns the number of a sitemap, by an address or the name of a file.
    pub(super) fn sitemap(&mut self, name: &str, key: &mut Key) -> u32 {
        let at = self.push(name.to_owned(), true);
        self.sitemaps.push(at);
        match key.of_url(name) {
            Some(key) => {
                self.by_key.insert(plain(key).to_vec(), at);
            }
            None => {
                let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
                self.by_file.insert(plain(file.as_bytes()).to_vec(), at);
            }
        }
        at
    }

    /// Adds the documents that any site may have, besides its sitemaps.
    pub(super) fn usual(&mut self, host: &[u8]) {
        for name in USUAL {
            let mut key = [host, name].concat();
            key.push(SEPARATOR);
            if !self.by_key.contains_key(plain(&key)) {
                let at = self.push(address::shown(&key, false), name == ROBOTS);
                self.by_key.insert(plain(&key).to_vec(), at);
            }
        }
    }

    fn push(&mut self, name: String, is_expected: bool) -> u32 {
        self.all.push(Document {
            name,
            is_expected,
            bots: BTreeMap::new(),
        });
        self.all.len() as u32 - 1
    }

    /// Counts a request if it is for a document. Returns whether it is.
    pub(super) fn asked(&mut self, key: &[u8], hit: &Hit) -> bool {
        let plain = plain(key);
        let file = plain.rsplit(|byte| *byte == b'/').next().unwrap_or(plain);
        let known = self.by_key.get(plain).or_else(|| self.by_file.get(file));
        let Some(document) = known.and_then(|at| self.all.get_mut(*at as usize)) else {
            return false;
        };
        document.bots.entry(hit.bot).or_default().add(hit);
        true
    }

    /// Ends the input.
    pub(super) fn finish(&mut self) {
        let all = self.all.iter_mut();
        for asked in all.flat_map(|document| document.bots.values_mut()) {
            asked.times.sort_unstable();
        }
    }

    pub(super) fn all(&self) -> &[Document] {
        &self.all
    }

    /// Returns the numbers of the sitemaps.
    pub(super) fn sitemaps(&self) -> &[u32] {
        &self.sitemaps
    }

    /// Returns whether any sitemap was asked for.
    pub(super) fn sitemaps_were_asked_for(&self) -> bool {
        let mut sitemaps = self.sitemaps.iter();
        sitemaps.any(|at| !self.all[*at as usize].bots.is_empty())
    }

    /// Returns who asked for which documents. Sitemaps and robots.txt are among them also if nobody did.
    pub(super) fn report(&self, bots: &Bots) -> Vec<report::Document> {
        let all = self.all.iter();
        let all = all.filter(|document| document.is_expected || !document.bots.is_empty());
        let mut found: Vec<_> = all.map(|document| document.report(bots)).collect();
        found.sort_by(|a, b| natural(&a.address).cmp(&natural(&b.address)));
        found
    }
}

/// Returns a document's key or name without its compression and without a query: both forms are one document.
fn plain(name: &[u8]) -> &[u8] {
    let end = memchr::memchr(SEPARATOR, name).unwrap_or(name.len());
    name[..end].strip_suffix(b".gz").unwrap_or(&name[..end])
}
