//! What is compared between the documents of a site: URLs, links between languages, and indexes with their sitemaps.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use crate::address::Digest;
use crate::document::{Document, Kind, Link, Subject};
use crate::draw::{Drawn, Page};
use crate::expected::Expected;
use crate::finding::{Finding, Findings, Position};
use crate::rules::{Policy, Rule};
use sitemap::time::When;

/// URLs of a site that are compared with each other, by digests of 16 bytes. They take 143 MB: each of the `PARTS` maps
/// then has 131,072 places of 17 bytes, and is not yet so full that it would grow.
pub const MAX_PAGES: usize = 7_000_000;
/// Maps by the digest's first bits: when one grows, only its own entries are there twice.
const PARTS: usize = 64;
/// Links between languages that are compared: 48 bytes each.
pub const MAX_LINKS: usize = 1_000_000;

/// Where a sitemap is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The index, or robots.txt.
    pub index: Arc<str>,
    /// Where in it.
    pub at: Option<Position>,
    /// The lastmod there.
    pub lastmod: Option<When>,
}

/// How much was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sitemaps.
    pub sitemaps: u64,
    /// Indexes.
    pub indexes: u64,
    /// URLs.
    pub urls: u64,
}

/// The documents of a site, one after the other.
#[derive(Debug)]
pub struct Site {
    findings: Findings,
    files: Vec<(Arc<str>, Subject)>,
    pages: Pages,
    links: Vec<(Link, u32)>,
    more_links: bool,
    dated: u64,
    totals: Totals,
    drawn: Drawn,
}

impl Site {
    /// No document yet.
    #[must_use]
    pub fn new(policy: Arc<Policy>) -> Self {
        Self {
            findings: Findings::new(policy),
            files: Vec::new(),
            pages: Pages::default(),
            links: Vec::new(),
            more_links: false,
            dated: 0,
            totals: Totals::default(),
            drawn: Drawn::default(),
        }
    }

    /// The pages that were drawn of all documents, in an order that does not depend on them.
    pub fn take_drawn(&mut self) -> Vec<Page> {
        std::mem::take(&mut self.drawn).into_pages()
    }

    /// What was found so far; to add what was found on the way to a document.
    pub fn findings(&mut self) -> &mut Findings {
        &mut self.findings
    }

    /// How much was looked at so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Adds a document. `listing`: the index that lists it, if there is one. The order of the documents decides which of
    /// two is said to be the second.
    pub fn add(&mut self, mut document: Document, listing: Option<&Listing>) {
        let findings = std::mem::replace(
            &mut document.findings,
            Findings::new(Arc::new(self.findings.policy().clone())),
        );
        self.findings.append(findings);
        match document.kind {
            Kind::Index => self.totals.indexes += 1,
            Kind::Html | Kind::Other => return,
            _ => self.totals.sitemaps += 1,
        }
        if let Some(listing) = listing {
            self.compare_with(&document, listing);
        }
        if document.kind == Kind::Index {
            return;
        }
        self.totals.urls += document.entries;
        self.dated += document.dated;
        self.drawn.append(std::mem::take(&mut document.drawn));
        let number = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        let subject = document.subject;
        self.files.push((document.file.clone(), subject));
        for page in &document.listed {
            let Some((first, is_same)) = self.pages.add(page.digest, number) else {
                continue;
            };
            let first = self.files.get(first as usize);
            if let Some((_, other)) = first
                && *other != subject
            {
                // The one among the pages is what others are compared with.
                if subject == Subject::Pages && is_same {
                    self.pages.place(page.digest, number);
                }
                continue;
            }
            let text = document.shown(page);
            let place = match first {
                Some((first, _)) if *first != document.file => format!("in {first}"),
                _ => "in this file".to_owned(),
            };
            let (rule, message) = if is_same {
                (Rule::LocDupAcross, format!("{text}is {place}, too"))
            } else {
                (
                    Rule::LocVariants,
                    format!("another form of {text}is {place}"),
                )
            };
            self.found(rule, &document.file, Some(page.at), message);
        }
        self.more_links |= document.more_links;
        for link in std::mem::take(&mut document.links) {
            if self.links.len() < MAX_LINKS {
                self.links.push((link, number));
            } else {
                self.more_links = true;
            }
        }
    }

    fn compare_with(&mut self, document: &Document, listing: &Listing) {
        let file = &document.file;
        if document.kind == Kind::Index {
            let message = format!("is an index, which {} lists", listing.index);
            return self.found(Rule::IndexNested, file, None, message);
        }
        let (Some(newest), Some(lastmod)) = (document.newest, listing.lastmod) else {
            return;
        };
        const DAY: i64 = 86_400;
        let unit = if newest.is_date() || lastmod.is_date() {
            DAY
        } else {
            1
        };
        let (of_index, of_pages) = (
            lastmod.seconds().div_euclid(unit),
            newest.seconds().div_euclid(unit),
        );
        let differs = self.findings.policy().is_strict() && newest.seconds() != lastmod.seconds();
        if of_index < of_pages || differs {
            let message = format!("{file} has {newest}, and the index says {lastmod}");
            self.found(Rule::IndexLastmod, &listing.index, listing.at, message);
        }
    }

    fn found(&mut self, rule: Rule, file: &Arc<str>, at: Option<Position>, message: String) {
        self.findings.add(rule, || Finding {
            rule,
            file: file.clone(),
            at,
            message,
            invalid: false,
        });
    }

    /// Compares what needs all documents. `target` is named where no document can be.
    #[must_use]
    pub fn finish(mut self, target: &Arc<str>, expected: Option<&Expected>) -> (Findings, Totals) {
        if self.totals.urls > 0 && self.dated == 0 {
            let message = "no URL has a lastmod".to_owned();
            self.found(Rule::LastmodAbsent, target, None, message);
        }
        if self.pages.is_full {
            let message = format!(
                "has more than {MAX_PAGES} URLs: those behind were not compared with each other"
            );
            self.found(Rule::CheckLimits, target, None, message);
        }
        if self.more_links {
            // A link that was not kept would be missed as another one's return.
            let message = format!(
                "has more than {MAX_LINKS} links between languages: whether they return was not looked at"
            );
            self.found(Rule::CheckLimits, target, None, message);
        } else {
            self.returns();
        }
        if let Some(expected) = expected {
            expected.finish(target, &mut self.findings);
        }
        (self.findings, self.totals)
    }

    /// Links to listed pages that have no link back.
    fn returns(&mut self) {
        let mut pairs: Vec<(u64, u64)> = self
            .links
            .iter()
            .map(|(link, _)| (link.from, link.to.exact))
            .collect();
        pairs.sort_unstable();
        let links = std::mem::take(&mut self.links);
        for (link, file) in links {
            let returns = pairs.binary_search(&(link.to.exact, link.from)).is_ok();
            if !returns && self.pages.has(link.to) {
                let file = self.files[file as usize].0.clone();
                let message = "the page to which the link leads does not link back".to_owned();
                self.found(Rule::ExtHreflangReturn, &file, Some(link.at), message);
            }
        }
    }
}

/// Digests of pages. Of the forms of one page only the first is kept.
#[derive(Debug)]
struct Pages {
    parts: Vec<HashMap<u64, (u32, u32), BuildHasherDefault<Itself>>>,
    len: usize,
    is_full: bool,
}

impl Default for Pages {
    fn default() -> Self {
        Self {
            parts: (0..PARTS).map(|_| HashMap::default()).collect(),
            len: 0,
            is_full: false,
        }
    }
}

impl Pages {
    /// Adds a page of a file. If it was there: the file that has it, and whether it is the same text.
    fn add(&mut self, digest: Digest, file: u32) -> Option<(u32, bool)> {
        let part = &mut self.parts[digest.page as usize % PARTS];
        if let Some((exact, first)) = part.get(&digest.page) {
            return Some((*first, *exact == digest.exact as u32));
        }
        if self.len == MAX_PAGES {
            self.is_full = true;
            return None;
        }
        self.len += 1;
        part.insert(digest.page, (digest.exact as u32, file));
        None
    }

    /// Says of a page that is there that this file has it.
    fn place(&mut self, digest: Digest, file: u32) {
        let part = &mut self.parts[digest.page as usize % PARTS];
        part.insert(digest.page, (digest.exact as u32, file));
    }

    fn has(&self, digest: Digest) -> bool {
        let part = &self.parts[digest.page as usize % PARTS];
        part.get(&digest.page)
            .is_some_and(|(exact, _)| *exact == digest.exact as u32)
    }
}

/// A digest is its own hash, but for the bits that have chosen the map.
#[derive(Debug, Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("the key is a number");
    }

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest.rotate_right(PARTS.trailing_zeros());
    }
}
