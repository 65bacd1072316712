//! Samples the pages to request. It takes those with the smallest digests, so that two runs request the same pages.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::findings::Position;
use sitemap::time::When;

/// The most pages that are sampled of a site. With their texts they take about 30 MB.
pub const MAX_DRAWN: usize = 100_000;

/// A listed page, with the data of its sitemap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its address.
    pub loc: String,
    /// Its sitemap.
    pub file: Arc<str>,
    /// The position of its entry there. `None` if it is not known.
    pub at: Option<Position>,
    /// Its lastmod.
    pub lastmod: Option<When>,
    /// Its alternates: the language, and the digest of the address.
    pub(crate) alternates: Vec<(String, u64)>,
}

/// The sample so far.
#[derive(Debug, Default)]
pub(crate) struct Drawn {
    most: usize,
    pages: BTreeMap<u64, Page>,
}

impl Drawn {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most: most.min(MAX_DRAWN),
            pages: BTreeMap::new(),
        }
    }

    /// Returns whether a page with this digest would be sampled.
    pub(crate) fn wants(&self, digest: u64) -> bool {
        let is_full = self.pages.len() >= self.most;
        self.most > 0
            && !(is_full
                && self
                    .pages
                    .last_key_value()
                    .is_some_and(|(last, _)| *last <= digest))
    }

    /// Adds a page. The first one with a digest stays.
    pub(crate) fn add(&mut self, digest: u64, page: Page) {
        self.pages.entry(digest).or_insert(page);
        if self.pages.len() > self.most {
            self.pages.pop_last();
        }
    }

    /// Adds the pages of a further document.
    pub(crate) fn append(&mut self, other: Self) {
        self.most = self.most.max(other.most);
        for (digest, page) in other.pages {
            if !self.wants(digest) {
                break;
            }
            self.add(digest, page);
        }
    }

    pub(crate) fn into_pages(self) -> Vec<Page> {
        self.pages.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(loc: &str) -> Page {
        Page {
            loc: loc.to_owned(),
            file: "a.xml".into(),
            at: None,
            lastmod: None,
            alternates: Vec::new(),
        }
    }

    #[test]
    fn the_smallest_digests_are_drawn_whatever_the_order() {
        let draw = |digests: [&[u64]; 2]| {
            let mut all = Drawn::default();
            for digests in digests {
                let mut drawn = Drawn::new(3);
                for digest in digests {
                    if drawn.wants(*digest) {
                        drawn.add(*digest, page(&digest.to_string()));
                    }
                }
                all.append(drawn);
            }
            let pages = all.into_pages();
            pages.into_iter().map(|page| page.loc).collect::<Vec<_>>()
        };
        assert_eq!(draw([&[9, 1, 5, 7], &[3, 1, 8]]), ["1", "3", "5"]);
        assert_eq!(draw([&[8, 3], &[1, 7, 5, 9]]), ["1", "3", "5"]);
        assert_eq!(draw([&[], &[2]]), ["2"]);
        assert!(!Drawn::default().wants(0));
    }
}
