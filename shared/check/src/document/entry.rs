//! Checks an entry piece by piece: its address, lastmod, links to other languages, images and news.

use sitemap::site::MAX_ENTRIES;
use sitemap::time::{TimeError, When};

use super::data::{Child, Kind, Link, Listed, MAX_LINKS};
use super::expected::Said;
use super::reader::{Alternate, Mark, Reader};
use super::sample::Page;
use crate::findings::Position;
use crate::rules::Rule;
use crate::text::quoted;
use crate::url::{self, Digest};
use crate::xsd;

/// Seconds of a day.
const DAY: i64 = 86_400;
/// The seconds by which a lastmod may be in the future, because clocks and time zones differ.
const AHEAD: i64 = DAY;
/// The age limit of news: two days (<https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap>), and an
/// hour for sitemaps that are made hourly.
const NEWS_AGE: i64 = 2 * DAY + 3_600;
/// A lastmod within this many seconds of the fetch counts as the time of the fetch, not of a change.
const NOW: i64 = 10;
/// The most bytes of one document's URLs that are kept until the comparison with other documents. A message about a further URL
/// does not show it.
const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;

impl Reader<'_> {
    pub(super) fn begin_entry(&mut self, at: Position) {
        self.document.entries += 1;
        self.entry.at = Some(at);
        self.entry.loc = None;
        self.entry.images = 0;
        (self.entry.has_video, self.entry.has_news) = (false, false);
        self.entry.alternates.clear();
        self.entry.lastmod = None;
        self.entry.said = Said::default();
    }

    /// Reads the address of an entry, without white space around it.
    pub(super) fn loc(&mut self, loc: &str, at: Position) {
        let is_index = self.document.kind == Kind::Index;
        let outside = if is_index {
            Rule::IndexScope
        } else {
            Rule::LocHost
        };
        let mut problems = std::mem::take(&mut self.problems);
        url::problems(loc, &self.about.scope, outside, &mut problems);
        for (rule, message, invalid) in problems.drain(..) {
            match self.about.scope.other_host(loc) {
                // The robots.txt of that host has to be read first.
                Some(origin) if rule == outside && self.about.asks_others => {
                    self.found_elsewhere(origin, rule, at, message);
                }
                _ => self.found(rule, at, invalid, || message),
            }
        }
        self.problems = problems;
        self.document.count_origin(loc);
        if let Some(robots) = &self.about.robots
            && let Some((agent, rule)) = robots.shuts_out(loc, self.about.policy.crawlers())
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

    pub(super) fn lastmod(&mut self, text: &str, invalid: bool, at: Position) {
        if self.about.expected.is_some() {
            self.entry.said.lastmod = Some(text.to_owned());
        }
        let when = match When::parse(text) {
            Ok(when) if !invalid => when,
            Err(TimeError::NoZone) if !invalid => return self.zone.add(at),
            // The schema has reported it.
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
        // A document with more entries has a finding already.
        if self.stamps.len() < MAX_ENTRIES as usize {
            *self.stamps.entry(when.seconds()).or_default() += 1;
        }
    }

    /// Checks the form of an address that is not a page's own. `rule` is the rule for a wrong form, `place` describes where the
    /// address is. Returns whether it is an address, even if it is misspelled.
    pub(super) fn has_form(
        &mut self,
        address: &str,
        rule: Rule,
        at: Position,
        place: impl Fn() -> String,
    ) -> bool {
        let form = url::Form::of(address);
        for (rule, wrong) in [(rule, &form.wrong), (Rule::LocSpelling, &form.unusual)] {
            if !wrong.is_empty() {
                let invalid = rule != Rule::LocSpelling && !xsd::is_any_uri(address);
                self.found(rule, at, invalid, || {
                    format!("{}{} {}", place(), quoted(address), wrong.join(", "))
                });
            }
        }
        url::Parts::of(address).is_some()
    }

    /// Counts a loc with markup in its text.
    pub(super) fn marked(&mut self, marks: u8, at: Position) {
        for mark in Mark::ALL {
            if marks & mark.bit() != 0 {
                self.marks[mark as usize].add(at);
            }
        }
    }

    /// Reads a link to another language, or to this page in its own.
    pub(super) fn alternate(&mut self, mut language: String, href: &str, at: Position) {
        if self.about.expected.is_some() {
            self.entry.said.alternates.add_alternate(&language, href);
        }
        language.make_ascii_lowercase();
        let to = Digest::of(href, &mut self.scratch);
        self.entry.alternates.push(Alternate { language, to, at });
    }

    pub(super) fn image(&mut self, at: Position) {
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

    pub(super) fn image_loc(&mut self, loc: &str) {
        if self.about.expected.is_some() {
            self.entry.said.images.add_image(loc);
        }
    }

    pub(super) fn news_date(&mut self, text: &str, at: Position) {
        self.news += 1;
        if let Ok(when) = When::parse(text) {
            let newest = self.newest_news.get_or_insert(when.seconds());
            *newest = when.seconds().max(*newest);
            // A date includes its whole day.
            let end = when.seconds() + if when.is_date() { DAY } else { 0 };
            if self.about.now - end > NEWS_AGE {
                self.old_news.add(at);
            }
        }
    }

    pub(super) fn end_entry(&mut self) {
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
                    .map(|one| (one.language.clone(), one.to.exact))
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
