//! The state of a document that is being read: the open entry, and the counts for the end.

use std::collections::{BTreeMap, HashMap};

use sitemap::time::When;

use super::about::About;
use super::data::{Document, Kind, Subject};
use super::expected::Said;
use super::sample::Drawn;
use crate::findings::{Finding, Findings, Limited, Position, Unchecked};
use crate::rules::Rule;
use crate::url::{Digest, Problem};

/// The most other hosts of one document whose robots.txt may be read.
const MAX_OTHER_HOSTS: usize = 8;

/// A count of something that is reported once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) count: u64,
    pub(super) first: Option<Position>,
}

impl Tally {
    pub(super) fn add(&mut self, at: Position) {
        self.count += 1;
        self.first.get_or_insert(at);
    }
}

/// Markup in the text of a loc. This reader reads it correctly, but others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Cdata,
    Reference,
    Comment,
    Instruction,
    Space,
}

impl Mark {
    pub(super) const ALL: [Self; 5] = [
        Self::Cdata,
        Self::Reference,
        Self::Comment,
        Self::Instruction,
        Self::Space,
    ];

    pub(super) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// An entry that is being read.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) at: Option<Position>,
    pub(super) loc: Option<Digest>,
    pub(super) images: u64,
    pub(super) has_video: bool,
    pub(super) has_news: bool,
    pub(super) alternates: Vec<Alternate>,
    /// The address, if the page may be sampled.
    pub(super) text: String,
    pub(super) lastmod: Option<When>,
    /// The details that are compared with the expected ones.
    pub(super) said: Said,
}

#[derive(Debug)]
pub(super) struct Alternate {
    /// The language, in lower case.
    pub(super) language: String,
    pub(super) to: Digest,
    pub(super) at: Position,
}

pub(super) struct Reader<'a> {
    pub(super) about: &'a About,
    pub(super) document: Document,
    pub(super) entry: Entry,
    pub(super) scratch: Vec<u8>,
    pub(super) problems: Vec<Problem>,
    pub(super) stamps: HashMap<i64, u64>,
    pub(super) now: Tally,
    pub(super) zone: Tally,
    pub(super) ignored: Tally,
    pub(super) dead_images: Tally,
    pub(super) dead_videos: Tally,
    /// Prefixed elements of the sitemap's namespace.
    pub(super) prefixed: Tally,
    /// The locs with each [`Mark`].
    pub(super) marks: [Tally; Mark::ALL.len()],
    /// Items of a feed without an address.
    pub(super) unaddressed: Tally,
    /// The number of entries with videos, and with news.
    pub(super) with_videos: u64,
    pub(super) with_news: u64,
    pub(super) news: u64,
    pub(super) old_news: Tally,
    pub(super) newest_news: Option<i64>,
    pub(super) expected: Vec<Said>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(about: &'a About) -> Self {
        Self {
            about,
            document: Document {
                file: about.file.clone(),
                kind: Kind::default(),
                entries: 0,
                bytes: 0,
                is_whole: false,
                is_gzip: false,
                children: Vec::new(),
                findings: Findings::new(about.policy.clone()),
                elsewhere: BTreeMap::new(),
                origins: Vec::new(),
                newest: None,
                dated: 0,
                subject: Subject::default(),
                drawn: Drawn::new(about.draw),
                listed: Vec::new(),
                texts: String::new(),
                links: Vec::new(),
                more_links: false,
            },
            entry: Entry::default(),
            scratch: Vec::new(),
            problems: Vec::new(),
            stamps: HashMap::new(),
            now: Tally::default(),
            zone: Tally::default(),
            ignored: Tally::default(),
            dead_images: Tally::default(),
            dead_videos: Tally::default(),
            prefixed: Tally::default(),
            marks: [Tally::default(); Mark::ALL.len()],
            unaddressed: Tally::default(),
            with_videos: 0,
            with_news: 0,
            news: 0,
            old_news: Tally::default(),
            newest_news: None,
            expected: Vec::new(),
        }
    }

    pub(super) fn found(
        &mut self,
        rule: Rule,
        at: impl Into<Option<Position>>,
        invalid: bool,
        message: impl FnOnce() -> String,
    ) {
        let (file, at) = (&self.about.file, at.into());
        self.document.findings.add_in(file, rule, || Finding {
            rule,
            file: file.clone(),
            at,
            message: message(),
            invalid,
        });
    }

    /// Adds a finding that does not apply if the robots.txt of this host names the document.
    pub(super) fn found_elsewhere(
        &mut self,
        origin: &str,
        rule: Rule,
        at: Position,
        message: String,
    ) {
        let elsewhere = &mut self.document.elsewhere;
        if !elsewhere.contains_key(origin) {
            if elsewhere.len() >= MAX_OTHER_HOSTS {
                self.document.findings.leave(Unchecked::Limited(Limited {
                    place: self.about.file.clone(),
                    rest: "robots.txt of the other hosts was not read",
                    value: MAX_OTHER_HOSTS as u64,
                    unit: "other hosts of a document",
                    option: None,
                }));
                return self.found(rule, at, false, || message);
            }
            elsewhere.insert(origin.to_owned(), self.document.findings.none());
        }
        let Some(findings) = elsewhere.get_mut(origin) else {
            return;
        };
        let file = &self.about.file;
        findings.add_in(file, rule, || Finding {
            rule,
            file: file.clone(),
            at: Some(at),
            message,
            invalid: false,
        });
    }

    pub(super) fn html(&mut self) {
        self.document.kind = Kind::Html;
        self.found(Rule::FileHtml, None, true, || {
            "is a web page, not a sitemap".to_owned()
        });
    }
}
