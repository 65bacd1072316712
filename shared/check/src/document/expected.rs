//! Compares a site's listed URLs with a file of URLs that it should list.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::findings::{Finding, Findings};
use crate::rules::Rule;
use crate::text::quoted;
use crate::url;
use sitemap::loc::normalized;
use sitemap::time::When;

/// The URLs that should be listed.
#[derive(Debug, Default)]
pub struct Expected {
    pages: HashMap<u64, Page>,
}

/// The expected details of a URL. A missing detail may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Its lastmod.
    pub lastmod: Option<String>,
    /// Its images, in any order.
    pub images: Option<Vec<String>>,
    /// The languages and addresses of its alternates.
    pub alternates: Option<Vec<(String, String)>>,
}

#[derive(Debug)]
struct Page {
    loc: String,
    lastmod: Option<String>,
    images: Option<Set>,
    alternates: Option<Set>,
    met: AtomicU8,
}

/// An unordered set of addresses: their number, and a sum that only the same set has, in any spelling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set {
    count: u64,
    sum: u64,
}

impl Set {
    fn add(&mut self, digest: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(digest);
    }

    pub(crate) fn add_image(&mut self, loc: &str) {
        self.add(url::digest_of(loc));
    }

    /// Adds an alternate. The case of languages does not matter (RFC 5646, 2.1.1).
    pub(crate) fn add_alternate(&mut self, language: &str, href: &str) {
        let (language, href) = (language.to_ascii_lowercase(), normalized(href));
        self.add(url::digest(format!("{language}\n{href}").as_bytes()));
    }

    fn of_images(images: &[String]) -> Self {
        let mut set = Self::default();
        for image in images {
            set.add_image(image);
        }
        set
    }

    fn of_alternates(alternates: &[(String, String)]) -> Self {
        let mut set = Self::default();
        for (language, href) in alternates {
            set.add_alternate(language, href);
        }
        set
    }
}

/// The details of an entry.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) loc: u64,
    pub(crate) lastmod: Option<String>,
    pub(crate) images: Set,
    pub(crate) alternates: Set,
}

const MET: u8 = 1;
const OTHER_LASTMOD: u8 = 2;
const OTHER_IMAGES: u8 = 4;
const OTHER_ALTERNATES: u8 = 8;

impl Expected {
    /// Adds a URL that should be listed, and its details.
    pub fn add(&mut self, loc: String, details: Details) {
        let page = Page {
            lastmod: details.lastmod,
            images: details.images.as_deref().map(Set::of_images),
            alternates: details.alternates.as_deref().map(Set::of_alternates),
            met: AtomicU8::new(0),
            loc,
        };
        self.pages.insert(url::digest_of(&page.loc), page);
    }

    /// Returns how many URLs should be listed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Returns whether no URL should be listed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Compares a listed URL with the expected details.
    pub(crate) fn meet(&self, said: &Said) {
        let Some(page) = self.pages.get(&said.loc) else {
            return;
        };
        let lastmod = said.lastmod.as_deref();
        let same = |expected: &str| match (When::parse(expected), lastmod.map(When::parse)) {
            (Ok(expected), Some(Ok(lastmod))) => expected == lastmod,
            _ => lastmod.unwrap_or_default() == expected,
        };
        let mut met = MET;
        for (differs, bit) in [
            (
                page.lastmod
                    .as_deref()
                    .is_some_and(|expected| !same(expected)),
                OTHER_LASTMOD,
            ),
            (
                page.images.is_some_and(|images| images != said.images),
                OTHER_IMAGES,
            ),
            (
                page.alternates
                    .is_some_and(|alternates| alternates != said.alternates),
                OTHER_ALTERNATES,
            ),
        ] {
            met |= if differs { bit } else { 0 };
        }
        page.met.fetch_or(met, Ordering::Relaxed);
    }

    /// Returns whether a URL is expected.
    pub(crate) fn has(&self, digest: u64) -> bool {
        self.pages.contains_key(&digest)
    }

    /// Adds findings for the URLs that were not listed, or listed with other details, in the order of the URLs.
    pub(crate) fn finish(&self, file: &Arc<str>, findings: &mut Findings) {
        let mut pages: Vec<_> = self.pages.values().collect();
        pages.sort_unstable_by(|a, b| a.loc.cmp(&b.loc));
        for page in pages {
            let met = page.met.load(Ordering::Relaxed);
            let loc = quoted(&page.loc);
            let mut found = |rule: Rule, message: String| {
                findings.add(rule, || Finding {
                    rule,
                    file: file.clone(),
                    at: None,
                    message,
                    invalid: false,
                });
            };
            if met == 0 {
                found(Rule::SetMissing, format!("{loc} is not listed"));
            }
            if met & OTHER_LASTMOD != 0 {
                let lastmod = page.lastmod.as_deref().unwrap_or_default();
                let message = format!("{loc} has another lastmod than {}", quoted(lastmod));
                found(Rule::SetLastmod, message);
            }
            if met & OTHER_IMAGES != 0 {
                let count = page.images.unwrap_or_default().count;
                let message = format!("{loc} has other images than the {count} of the file");
                found(Rule::SetImages, message);
            }
            if met & OTHER_ALTERNATES != 0 {
                let count = page.alternates.unwrap_or_default().count;
                let message = format!("{loc} has other alternates than the {count} of the file");
                found(Rule::SetAlternates, message);
            }
        }
    }
}
