//! One document, read as a stream: what is wrong with it by itself, and what of it is compared with others.

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::sync::Arc;

use sitemap::site::{MAX_BYTES, MAX_ENTRIES};
use sitemap::time::{TimeError, When};

use crate::address::{self, Digest, Problem, Scope};
use crate::draw::{Drawn, Page};
use crate::expected::{Expected, Said};
use crate::finding::{Finding, Findings, Position};
use crate::robots::Robots;
use crate::rules::{Policy, Rule};
use crate::schema::quoted;
use crate::source::Source;
use crate::xsd;

mod feed;
mod finish;
mod xml;

/// Seconds of a day.
const DAY: i64 = 86_400;
/// A lastmod may be so far ahead: clocks and zones differ.
const AHEAD: i64 = DAY;
/// News count for two days (<https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap>); an hour
/// for sitemaps that are made on the hour.
const NEWS_AGE: i64 = 2 * DAY + 3_600;
/// A lastmod so near to the fetch was made for it.
const NOW: i64 = 10;
/// So many of one stamp, in percent, of at least so many.
const SAME_PERCENT: u64 = 90;
const SAME_LEAST: u64 = 50;
/// A document is near a limit from so many percent of it on.
const NEAR_PERCENT: u64 = 95;
/// What a document's beginning is recognised by.
const HEAD_BYTES: usize = 1024;
/// Links between languages that are compared with those of other documents, of one document: more than the bytes of a sitemap
/// have room for. They are held until they are sorted, in 32 bytes each.
pub(crate) const MAX_LINKS: usize = 1_000_000;
/// Bytes of a document's URLs that are kept until they were compared with those of others. Messages do without the rest.
const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;

/// What is known of a document before it is read.
#[derive(Clone, Debug)]
pub struct About {
    /// Its address or its path, as findings name it.
    pub file: Arc<str>,
    /// Where it may list pages.
    pub scope: Scope,
    /// It came with Content-Encoding gzip.
    pub is_encoded: bool,
    /// Its name ends in .gz.
    pub is_named_gz: bool,
    /// The time, in Unix seconds.
    pub now: i64,
    /// It was made just now, if it was made for the fetch: it came over a network.
    pub is_fetched: bool,
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
            is_encoded: false,
            is_named_gz: file
                .split('?')
                .next()
                .is_some_and(|path| path.to_ascii_lowercase().ends_with(".gz")),
            now,
            is_fetched: false,
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
        std::mem::replace(&mut self.findings, none)
    }
}

/// Reads a document to its end, or to what stops it.
pub fn read<'a>(body: impl Read + 'a, about: &'a About) -> Document {
    let mut source = Source::open(body, about.is_encoded, about.is_named_gz, about.max_bytes);
    let mut reader = Reader::new(about);
    let head = source.head(HEAD_BYTES);
    let head = head[..head.len().min(HEAD_BYTES)].to_vec();
    let start = head.trim_ascii_start();
    let is_html = [&b"<!doctype html"[..], b"<html"].iter().any(|tag| {
        start
            .get(..tag.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(tag))
    });
    if start.is_empty() && source.stop().is_none() {
        reader.found(Rule::FileWellformed, None, true, || "is empty".to_owned());
    } else if is_html {
        reader.html();
    } else if start.starts_with(b"http") {
        reader.document.kind = Kind::Text;
        reader.text(&mut source);
    } else if start.starts_with(b"<") || start.is_empty() {
        if source.has_bom() {
            reader.found(Rule::FileWellformed, None, false, || {
                "begins with a byte order mark".to_owned()
            });
        }
        reader = xml::read(&mut source, reader);
    } else if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        reader.found(Rule::FileWellformed, None, false, || {
            "is UTF-16, not UTF-8".to_owned()
        });
    } else {
        let begin = String::from_utf8_lossy(&start[..start.len().min(40)]).into_owned();
        reader.found(Rule::FileWellformed, None, true, || {
            format!(
                "is neither XML nor a list of URLs: it begins with {}",
                quoted(&begin)
            )
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

    fn html(&mut self) {
        self.document.kind = Kind::Html;
        self.found(Rule::FileHtml, None, true, || {
            "is a web page, not a sitemap".to_owned()
        });
    }

    /// One URL a line.
    fn text(&mut self, source: &mut Source<'_>) {
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

    fn begin_entry(&mut self, at: Position) {
        self.document.entries += 1;
        self.entry.at = Some(at);
        self.entry.loc = None;
        self.entry.images = 0;
        (self.entry.has_video, self.entry.has_news) = (false, false);
        self.entry.alternates.clear();
        self.entry.lastmod = None;
        self.entry.said = Said::default();
    }

    /// The address of an entry, without white space around it.
    fn loc(&mut self, loc: &str, at: Position) {
        let is_index = self.document.kind == Kind::Index;
        let outside = if is_index {
            Rule::IndexScope
        } else {
            Rule::LocHost
        };
        let mut problems = std::mem::take(&mut self.problems);
        address::problems(loc, &self.about.scope, outside, &mut problems);
        for (rule, message, invalid) in problems.drain(..) {
            self.found(rule, at, invalid, || message);
        }
        self.problems = problems;
        if let Some(robots) = &self.about.robots
            && let Some(parts) = address::Parts::of(loc)
            && robots.has_rules_for(parts.origin)
            && let Some((agent, rule)) = robots.disallows(parts.path)
        {
            let message = format!(
                "{} is disallowed for {agent} by {}",
                quoted(loc),
                quoted(rule)
            );
            self.found(Rule::RobotsBlocks, at, false, || message);
        }
        if is_index {
            let loc = loc.to_owned();
            self.document.children.push(Child {
                loc,
                lastmod: None,
                at,
            });
            return;
        }
        let digest = Digest::of(loc, &mut self.scratch);
        if let Some(expected) = &self.about.expected
            && !expected.has(digest.exact)
        {
            let message = || format!("{} is not expected", quoted(loc));
            self.found(Rule::SetExtra, at, false, message);
        }
        self.entry.loc = Some(digest);
        if self.document.drawn.wants(digest.exact) {
            self.entry.text.clear();
            self.entry.text.push_str(loc);
        }
        let texts = &mut self.document.texts;
        let begin = texts.len();
        if begin + loc.len() <= MAX_TEXT_BYTES {
            texts.push_str(loc);
        }
        let text = (begin as u32, texts.len() as u32);
        self.document.listed.push(Listed { digest, at, text });
    }

    fn lastmod(&mut self, text: &str, invalid: bool, at: Position) {
        if self.about.expected.is_some() {
            self.entry.said.lastmod = Some(text.to_owned());
        }
        let when = match When::parse(text) {
            Ok(when) if !invalid => when,
            Err(TimeError::NoZone) if !invalid => return self.zone.add(at),
            // The schema has said so.
            _ if invalid => return,
            Ok(_) => return,
            Err(error) => {
                let message = || format!("{} is {error}", quoted(text));
                return self.found(Rule::LastmodW3c, at, false, message);
            }
        };
        let now = self.about.now;
        if when.seconds() > now + AHEAD {
            self.found(Rule::LastmodFuture, at, false, || {
                format!("{text} is more than a day ahead")
            });
        }
        self.document.dated += 1;
        self.entry.lastmod = Some(when);
        if self.document.newest.is_none_or(|newest| newest < when) {
            self.document.newest = Some(when);
        }
        if self.document.kind == Kind::Index {
            if let Some(child) = self.document.children.last_mut() {
                child.lastmod = Some(when);
            }
            return;
        }
        if self.about.is_fetched && !when.is_date() && (when.seconds() - now).abs() <= NOW {
            self.now.add(at);
        }
        // More than the most entries are refused anyway.
        if self.stamps.len() < MAX_ENTRIES as usize {
            *self.stamps.entry(when.seconds()).or_default() += 1;
        }
    }

    /// A link to another language, or to this page in its own.
    fn alternate(&mut self, language: String, href: &str, at: Position) {
        if self.about.expected.is_some() {
            self.entry.said.alternates.add_alternate(&language, href);
        }
        let form = address::form(href);
        if !form.is_empty() {
            let message = || format!("{} {}", quoted(href), form.join(", "));
            let invalid = !xsd::is_any_uri(href);
            self.found(Rule::LocForm, at, invalid, message);
            return;
        }
        let to = Digest::of(href, &mut self.scratch);
        self.entry.alternates.push(Alternate { language, to, at });
    }

    fn image(&mut self, at: Position) {
        self.entry.images += 1;
        if self.entry.images == sitemap::record::MAX_IMAGES as u64 + 1 {
            self.found(Rule::ExtImage, at, false, || {
                format!(
                    "the page has more than {} images",
                    sitemap::record::MAX_IMAGES
                )
            });
        }
    }

    fn image_loc(&mut self, loc: &str) {
        if self.about.expected.is_some() {
            self.entry.said.images.add(address::digest(loc.as_bytes()));
        }
    }

    fn news_date(&mut self, text: &str, at: Position) {
        self.news += 1;
        if let Ok(when) = When::parse(text) {
            let newest = self.newest_news.get_or_insert(when.seconds());
            *newest = when.seconds().max(*newest);
            // A date is its whole day.
            let end = when.seconds() + if when.is_date() { DAY } else { 0 };
            if self.about.now - end > NEWS_AGE {
                self.old_news.add(at);
            }
        }
    }

    fn end_entry(&mut self) {
        if self.document.kind == Kind::Index {
            return;
        }
        self.with_videos += u64::from(self.entry.has_video);
        self.with_news += u64::from(self.entry.has_news);
        let Some(loc) = self.entry.loc else {
            return;
        };
        if self.about.expected.is_some() {
            let mut said = std::mem::take(&mut self.entry.said);
            said.loc = loc.exact;
            self.expected.push(said);
        }
        if self.document.drawn.wants(loc.exact) {
            let alternates = self.entry.alternates.iter();
            let page = Page {
                loc: self.entry.text.clone(),
                file: self.document.file.clone(),
                at: self.entry.at,
                lastmod: self.entry.lastmod,
                alternates: alternates
                    .map(|one| (one.language.to_ascii_lowercase(), one.to.exact))
                    .collect(),
            };
            self.document.drawn.add(loc.exact, page);
        }
        if self.entry.alternates.is_empty() {
            return;
        }
        let at = self.entry.at;
        let alternates = std::mem::take(&mut self.entry.alternates);
        if !alternates.iter().any(|one| one.to.exact == loc.exact) {
            self.found(Rule::ExtHreflangSelf, at, false, || {
                "the page is not among its alternates".to_owned()
            });
        }
        let mut languages: Vec<_> = alternates
            .iter()
            .map(|one| (one.language.as_str(), one.at))
            .collect();
        languages.sort_unstable();
        let two: Vec<_> = languages
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0)
            .map(|pair| (pair[1].0.to_owned(), pair[1].1))
            .collect();
        for (language, at) in two {
            self.found(Rule::ExtHreflangTwo, at, false, || {
                format!("the language {language} is there twice")
            });
        }
        for one in alternates.iter().filter(|one| one.to.exact != loc.exact) {
            if self.document.links.len() < MAX_LINKS {
                self.document.links.push(Link {
                    from: loc.exact,
                    to: one.to,
                    at: one.at,
                });
            } else {
                self.document.more_links = true;
            }
        }
        self.entry.alternates = alternates;
    }
}
