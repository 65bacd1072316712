//! One document, read as a stream: what is wrong with it by itself, and what of it is compared with others.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, Read};
use std::sync::Arc;

use sitemap::site::MAX_BYTES;
use sitemap::time::When;

use crate::document::expected::{Expected, Said};
use crate::document::sample::Drawn;
use crate::findings::{Finding, Findings, Policy, Position};
use crate::robots::Robots;
use crate::rules::Rule;
use crate::text::quoted;
use crate::url::{Digest, Problem, Scope};
use input::{Input, Limits, MAX_PIECE_BYTES};

pub mod elements;
mod entry;
pub mod expected;
pub mod feed;
mod finish;
pub mod input;
pub mod sample;
pub(crate) mod schema;
mod xml;

/// Seconds of a day.
const DAY: i64 = 86_400;
/// Seconds by which a lastmod may be in the future: clocks and time zones differ.
const AHEAD: i64 = DAY;
/// News count for two days (<https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap>); an hour
/// for sitemaps that are made on the hour.
const NEWS_AGE: i64 = 2 * DAY + 3_600;
/// A lastmod within so many seconds of the fetch is taken for the time of the fetch, and not of a change.
const NOW: i64 = 10;
/// If so many percent of the lastmods are the same time, and there are at least `SAME_LEAST`, they are taken for the time of a build.
const SAME_PERCENT: u64 = 90;
const SAME_LEAST: u64 = 50;
/// From so many percent of a limit on, a document is near it.
const NEAR_PERCENT: u64 = 95;
/// What a document's beginning is recognised by.
const HEAD_BYTES: usize = 1024;
/// Links between languages, of one document, that are kept to be compared with those of other documents. A sitemap has no room for
/// so many. Each takes 32 bytes until it is sorted.
pub(crate) const MAX_LINKS: usize = 1_000_000;
/// Bytes of URLs, of one document, that are kept until they were compared with those of other documents. A message about a URL beyond
/// that does not show it.
const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;

/// Other hosts, of one document, whose robots.txt may be asked about it.
const MAX_OTHER_HOSTS: usize = 8;

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
    /// The robots.txt of another host is asked before what is listed there is wrong: see [`Document::elsewhere`].
    pub asks_others: bool,
    /// Bytes of a document that are read.
    pub max_bytes: u64,
    /// What robots.txt disallows.
    pub robots: Option<Arc<Robots>>,
    /// The rules that hold.
    pub policy: Arc<Policy>,
    /// What should be listed.
    pub expected: Option<Arc<Expected>>,
    /// How many of its pages are drawn, to be asked for.
    pub draw: usize,
}

impl About {
    /// A document of this name with the usual limits. Nothing is known of it but the rules and the time.
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

/// What a document is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// `<urlset>`
    Sitemap,
    /// `<sitemapindex>`
    Index,
    /// One URL a line.
    Text,
    /// RSS.
    Rss,
    /// Atom.
    Atom,
    /// A web page.
    Html,
    /// Nothing that lists URLs.
    #[default]
    Other,
}

/// A sitemap that an index lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its address.
    pub loc: String,
    /// Its lastmod there.
    pub lastmod: Option<When>,
    /// Where it is listed.
    pub at: Position,
}

/// What every entry of a sitemap has: a sitemap of videos or of news lists pages again, which are in another one, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Subject {
    #[default]
    Pages,
    Videos,
    News,
}

/// A page, as it is compared with others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    pub(crate) digest: Digest,
    pub(crate) at: Position,
    /// Where its text is in `Document::texts`.
    text: (u32, u32),
}

/// A link to a page in another language.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// The page's exact digest.
    pub(crate) from: u64,
    pub(crate) to: Digest,
    pub(crate) at: Position,
}

/// A document that was read.
#[derive(Debug)]
pub struct Document {
    /// Its address or its path.
    pub file: Arc<str>,
    /// What it is.
    pub kind: Kind,
    /// How many entries it has.
    pub entries: u64,
    /// Its bytes, uncompressed.
    pub bytes: u64,
    /// It was read to its end, and its root was closed.
    pub is_whole: bool,
    /// It is gzip by itself.
    pub is_gzip: bool,
    /// What an index lists.
    pub children: Vec<Child>,
    /// What is wrong with it.
    pub findings: Findings,
    /// What is wrong with it unless the robots.txt of another host names it: what it lists there. By scheme and host.
    pub elsewhere: BTreeMap<String, Findings>,
    /// Its newest lastmod.
    pub newest: Option<When>,
    /// How many entries have a lastmod.
    pub dated: u64,
    pub(crate) subject: Subject,
    pub(crate) drawn: Drawn,
    pub(crate) listed: Vec<Listed>,
    /// The texts of what is listed, as far as there is room.
    texts: String,
    pub(crate) links: Vec<Link>,
    /// Links beyond [`MAX_LINKS`] were not kept.
    pub(crate) more_links: bool,
}

impl Document {
    /// The text of a page; empty if there was no room to keep it.
    pub(crate) fn text(&self, page: &Listed) -> &str {
        let (begin, end) = (page.text.0 as usize, page.text.1 as usize);
        self.texts.get(begin..end).unwrap_or_default()
    }

    /// What is wrong with it, which is then elsewhere.
    pub(crate) fn take_findings(&mut self) -> Findings {
        let none = self.findings.none();
        let mut taken = std::mem::replace(&mut self.findings, none);
        for findings in std::mem::take(&mut self.elsewhere).into_values() {
            taken.append(findings);
        }
        taken
    }
}

/// Reads a document to its end, or to what stops it.
pub fn read<'a>(body: impl Read + 'a, about: &'a About) -> Document {
    let limits = Limits {
        bytes: about.max_bytes,
        piece: MAX_PIECE_BYTES,
    };
    let mut source = Input::judged(body, about.transfer.is_encoded, about.is_named_gz, limits);
    let mut reader = Reader::new(about);
    let head = source.head(HEAD_BYTES).to_vec();
    let start = head.trim_ascii_start();
    if source.has_bom() {
        reader.found(Rule::FileBom, None, false, || {
            "begins with a byte order mark".to_owned()
        });
    }
    if source.is_utf_16() {
        reader.found(Rule::FileWellformed, None, false, || {
            "is UTF-16, not UTF-8".to_owned()
        });
    }
    let is_html = [&b"<!doctype html"[..], b"<html"].iter().any(|tag| {
        start
            .get(..tag.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(tag))
    });
    if start.is_empty() && source.stop().is_none() {
        reader.found(Rule::FileWellformed, None, true, || "is empty".to_owned());
    } else if is_html {
        reader.html();
    } else if input::is_list(start) {
        reader.document.kind = Kind::Text;
        reader.text(&mut source);
    } else if start.starts_with(b"<") || start.is_empty() {
        reader = xml::read(&mut source, reader);
    } else {
        let begin = String::from_utf8_lossy(&start[..start.len().min(40)]).into_owned();
        reader.found(Rule::FileWellformed, None, true, || {
            let what = "is neither XML nor a list of URLs";
            match about.transfer.is_foreign {
                true => what.to_owned(),
                false => format!("{what}: it begins with {}", quoted(&begin)),
            }
        });
    }
    let (stop, packing) = (source.stop(), source.packing());
    reader.document.bytes = source.bytes_read();
    reader.finish(stop, packing)
}

/// Something that is counted and said once.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    count: u64,
    first: Option<Position>,
}

impl Tally {
    fn add(&mut self, at: Position) {
        self.count += 1;
        self.first.get_or_insert(at);
    }
}

/// What the text of a loc may have. It is read right here, and not by everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Cdata,
    Reference,
    Comment,
    Instruction,
    Space,
}

impl Mark {
    const ALL: [Self; 5] = [
        Self::Cdata,
        Self::Reference,
        Self::Comment,
        Self::Instruction,
        Self::Space,
    ];

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// An entry that is being read.
#[derive(Debug, Default)]
struct Entry {
    at: Option<Position>,
    loc: Option<Digest>,
    images: u64,
    has_video: bool,
    has_news: bool,
    alternates: Vec<Alternate>,
    /// The address, if the page may be drawn.
    text: String,
    lastmod: Option<When>,
    /// What is compared with what is expected.
    said: Said,
}

#[derive(Debug)]
struct Alternate {
    /// In lower case.
    language: String,
    to: Digest,
    at: Position,
}

struct Reader<'a> {
    about: &'a About,
    document: Document,
    entry: Entry,
    scratch: Vec<u8>,
    problems: Vec<Problem>,
    stamps: HashMap<i64, u64>,
    now: Tally,
    zone: Tally,
    ignored: Tally,
    dead_images: Tally,
    dead_videos: Tally,
    /// Elements of the sitemap that have a prefix.
    prefixed: Tally,
    /// Locs with each [`Mark`].
    marks: [Tally; Mark::ALL.len()],
    /// Items of a feed without an address.
    unaddressed: Tally,
    /// Entries with videos, and with news.
    with_videos: u64,
    with_news: u64,
    news: u64,
    old_news: Tally,
    newest_news: Option<i64>,
    expected: Vec<Said>,
}

impl<'a> Reader<'a> {
    fn new(about: &'a About) -> Self {
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

    fn found(
        &mut self,
        rule: Rule,
        at: impl Into<Option<Position>>,
        invalid: bool,
        message: impl FnOnce() -> String,
    ) {
        let (file, at) = (&self.about.file, at.into());
        self.document.findings.add(rule, || Finding {
            rule,
            file: file.clone(),
            at,
            message: message(),
            invalid,
        });
    }

    /// Adds what is wrong unless this host's robots.txt says otherwise.
    fn found_elsewhere(&mut self, origin: &str, rule: Rule, at: Position, message: String) {
        let elsewhere = &mut self.document.elsewhere;
        if !elsewhere.contains_key(origin) {
            if elsewhere.len() >= MAX_OTHER_HOSTS {
                return self.found(rule, at, false, || message);
            }
            elsewhere.insert(origin.to_owned(), self.document.findings.none());
        }
        let Some(findings) = elsewhere.get_mut(origin) else {
            return;
        };
        let file = self.about.file.clone();
        findings.add(rule, || Finding {
            rule,
            file,
            at: Some(at),
            message,
            invalid: false,
        });
    }

    fn html(&mut self) {
        self.document.kind = Kind::Html;
        self.found(Rule::FileHtml, None, true, || {
            "is a web page, not a sitemap".to_owned()
        });
    }

    /// One URL a line.
    fn text(&mut self, source: &mut Input<'_>) {
        let mut line = Vec::new();
        loop {
            let at = source.position();
            line.clear();
            source.begin_piece();
            match source.read_until(b'\n', &mut line) {
                Ok(0) => break self.document.is_whole = true,
                Ok(_) => {}
                Err(_) => break,
            }
            let Ok(text) = std::str::from_utf8(&line) else {
                self.found(Rule::FileWellformed, at, true, || "is not UTF-8".to_owned());
                break;
            };
            let text = text.trim();
            if !text.is_empty() {
                self.begin_entry(at);
                self.loc(text, at);
                self.end_entry();
            }
        }
    }
}
