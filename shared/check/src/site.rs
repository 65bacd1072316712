//! Compares the documents of a site: URLs, links between languages, and indexes with their sitemaps.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::document::expected::Expected;
use crate::document::sample::{Drawn, Page};
use crate::document::{Document, Kind, MAX_LINKS, Subject};
use crate::findings::{Finding, Findings, Limited, Policy, Position, Unchecked};
use crate::listing::sort::SortError;
use crate::rules::Rule;
use crate::text::shown;
use crate::url::Digest;
use sitemap::time::When;

use pages::{Found, Pages, Place};

mod pages;
pub mod yoast_names;

/// Bytes of memory for sorting. They are used twice, for URLs and for links between languages. Everything beyond is on disk.
const MEMORY: usize = 32 * 1024 * 1024;

/// The place where a sitemap is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The index, or robots.txt.
    pub index: Arc<str>,
    /// The position in it. `None` if it is not known.
    pub at: Option<Position>,
    /// The lastmod there. `None` if there is none.
    pub lastmod: Option<When>,
}

/// The numbers of checked items.
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
    folder: PathBuf,
    pages: Pages,
    more_links: bool,
    dated: u64,
    totals: Totals,
    drawn: Drawn,
}

impl Site {
    /// Creates a site without documents. Data that does not fit into memory is sorted in unnamed files in `folder`.
    #[must_use]
    pub fn new(policy: Arc<Policy>, folder: impl Into<PathBuf>) -> Self {
        Self::with_memory(policy, folder.into(), MEMORY)
    }

    fn with_memory(policy: Arc<Policy>, folder: PathBuf, memory: usize) -> Self {
        Self {
            findings: Findings::new(policy),
            files: Vec::new(),
            pages: Pages::new(&folder, memory),
            folder,
            more_links: false,
            dated: 0,
            totals: Totals::default(),
            drawn: Drawn::default(),
        }
    }

    /// Takes the sampled pages of all documents, in an order that does not depend on the documents' order.
    pub fn take_drawn(&mut self) -> Vec<Page> {
        std::mem::take(&mut self.drawn).into_pages()
    }

    /// Returns the findings so far, so that findings about a document's transfer can be added.
    pub fn findings(&mut self) -> &mut Findings {
        &mut self.findings
    }

    /// Returns how much was checked so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Adds a document. `listing` is the index that lists it, if there is one. The order of the documents decides which of two is
    /// reported as the second.
    ///
    /// # Errors
    ///
    /// If its URLs cannot be sorted.
    pub fn add(
        &mut self,
        mut document: Document,
        listing: Option<&Listing>,
    ) -> Result<(), SortError> {
        self.findings.append(document.take_findings());
        match document.kind {
            Kind::Index => self.totals.indexes += 1,
            Kind::Html | Kind::Other => return Ok(()),
            _ => self.totals.sitemaps += 1,
        }
        if let Some(listing) = listing {
            self.compare_with(&document, listing);
        }
        self.sort_sitemaps(&document)
            .map_err(|error| SortError::new(&self.folder, error))?;
        if document.kind == Kind::Index {
            return Ok(());
        }
        self.totals.urls += document.entries;
        self.dated += document.dated;
        self.drawn.append(std::mem::take(&mut document.drawn));
        let file = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        self.files.push((document.file.clone(), document.subject));
        self.more_links |= document.more_links;
        self.sort(&document, file)
            .map_err(|error| SortError::new(&self.folder, error))
    }

    fn sort(&mut self, document: &Document, file: u32) -> io::Result<()> {
        for page in &document.listed {
            let place = Place { file, at: page.at };
            self.pages.list(page.digest, place, document.text(page))?;
        }
        document
            .links
            .iter()
            .try_for_each(|link| self.pages.link(link, file))
    }

    fn sort_sitemaps(&mut self, document: &Document) -> io::Result<()> {
        let mut scratch = Vec::new();
        let children = document.children.iter().map(|child| child.loc.as_str());
        for address in std::iter::once(&*document.file).chain(children) {
            self.pages.sitemap(Digest::of(address, &mut scratch))?;
        }
        Ok(())
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
        self.findings.add_in(file, rule, || Finding {
            rule,
            file: file.clone(),
            at,
            message,
            invalid: false,
        });
    }

    /// Does the comparisons that need all documents. `target` is named in findings without a document.
    ///
    /// # Errors
    ///
    /// If the URLs cannot be sorted.
    pub fn finish(
        mut self,
        target: &Arc<str>,
        expected: Option<&Expected>,
    ) -> Result<(Findings, Totals), SortError> {
        if self.totals.urls > 0 && self.dated == 0 {
            let message = "no URL has a lastmod".to_owned();
            self.found(Rule::LastmodAbsent, target, None, message);
        }
        if self.more_links {
            let message = format!(
                "a sitemap has more than {MAX_LINKS} links between languages, so return links were not checked"
            );
            self.found(Rule::CheckLimits, target, None, message);
            self.findings.leave(Unchecked::Limited(Limited {
                place: target.clone(),
                rest: "return links were not checked",
                value: MAX_LINKS as u64,
                unit: "links between languages in a sitemap",
                option: None,
            }));
        }
        let files = self.files;
        let name = |file: u32| files.get(file as usize).map(|(name, _)| name);
        let findings = &mut self.findings;
        let sorted = self.pages.finish(&files, |place, found| {
            let Some(file) = name(place.file) else {
                return;
            };
            let named = |first: u32| match name(first) {
                Some(first) if first != file => &**first,
                _ => "this file",
            };
            let rule = match found {
                Found::Again(..) | Found::Respelled(..) => Rule::LocDupAcross,
                Found::Variant(..) => Rule::LocVariants,
                // A link that was dropped could be the missing return link.
                Found::OneWay if self.more_links => return,
                Found::OneWay => Rule::ExtHreflangReturn,
                Found::Sitemap(_) => Rule::LocSitemap,
            };
            findings.add_in(file, rule, || Finding {
                rule,
                file: file.clone(),
                at: Some(place.at),
                message: match found {
                    Found::Again(first, text) => {
                        format!("{}is in {}, too", shown(text), named(first))
                    }
                    Found::Respelled(first, text) => {
                        let (text, named) = (shown(text), named(first));
                        format!("{text}is in {named}, too, spelled differently")
                    }
                    Found::Variant(first, text) => {
                        format!("another form of {}is in {}", shown(text), named(first))
                    }
                    Found::Sitemap(text) => format!("{}is a sitemap, not a page", shown(text)),
                    Found::OneWay => {
                        "the page to which the link leads does not link back".to_owned()
                    }
                },
                invalid: false,
            });
        });
        sorted.map_err(|error| SortError::new(&self.folder, error))?;
        if let Some(expected) = expected {
            expected.finish(target, &mut self.findings);
        }
        Ok((self.findings, self.totals))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::document::{About, read};
    use crate::rules::Profile;

    const ORIGIN: &str = "https://www.example.com";
    const FILES: usize = 30;
    const PAGES: usize = 200;

    /// Returns a document. Some of its pages link to the page at the same place in another document. From the second document on,
    /// one page is also in the first, and one is another form of a page there.
    fn document(file: usize) -> String {
        let mut xml = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
            xmlns:xhtml=\"http://www.w3.org/1999/xhtml\">\n"
            .to_owned();
        for place in 0..PAGES {
            let page = |file: usize| format!("{ORIGIN}/{}", file * PAGES + place);
            let loc = match place {
                10 if file > 0 => format!("{ORIGIN}/3"),
                20 if file > 0 => format!("{ORIGIN}/4/"),
                _ => page(file),
            };
            let link = |language: &str, file: usize| {
                let href = page(file);
                format!("<xhtml:link rel=\"alternate\" hreflang=\"{language}\" href=\"{href}\"/>")
            };
            let links = match place {
                60 if file == 3 => String::new(),
                50.. => link("en", file) + &link("de", FILES - 1 - file),
                _ => String::new(),
            };
            writeln!(xml, "<url><loc>{loc}</loc>{links}</url>").unwrap();
        }
        xml + "</urlset>"
    }

    fn findings(memory: usize) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let policy = Arc::new(Policy::of(&Profile::DEFAULT));
        let mut site = Site::with_memory(policy.clone(), folder.path().into(), memory);
        for file in 0..FILES {
            let about = About::new(&format!("{file}.xml"), policy.clone(), 1_800_000_000);
            let document = read(document(file).as_bytes(), &about);
            assert_eq!(document.findings.kept(), []);
            site.add(document, None).unwrap();
        }
        let (findings, totals) = site.finish(&ORIGIN.into(), None).unwrap();
        assert_eq!(totals.urls, (FILES * PAGES) as u64);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        findings.kept().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_documents_share_is_found_across_all_runs_in_the_order_of_the_documents() {
        let in_memory = findings(MEMORY);
        // Some hundred runs of each sorter.
        assert_eq!(findings(0), in_memory);
        let count = |rule: Rule| {
            let rule = format!(": {rule} ");
            in_memory.iter().filter(|line| line.contains(&rule)).count()
        };
        assert_eq!(count(Rule::LocDupAcross), FILES - 1);
        assert_eq!(count(Rule::LocVariants), FILES - 1);
        // The page without links back has one link to it.
        assert_eq!(count(Rule::ExtHreflangReturn), 1);
        let places: Vec<_> = in_memory
            .iter()
            .filter(|line| line.contains(".xml:"))
            .collect();
        assert_eq!(places.len(), 2 * FILES - 1);
        let dup = "1.xml:12:6: loc.dup_across \"https://www.example.com/3\" is in 0.xml, too";
        let variant =
            "1.xml:22:6: loc.variants another form of \"https://www.example.com/4/\" is in 0.xml";
        assert_eq!(places[..2], [dup, variant]);
    }

    #[test]
    fn a_feed_may_list_what_a_sitemap_lists_and_not_what_another_feed_lists() {
        let feed = format!(
            "<feed xmlns=\"http://www.w3.org/2005/Atom\"><entry><link href=\"{ORIGIN}/3\"/></entry></feed>"
        );
        let (sitemap, a, b) = (
            ("0.xml", document(0)),
            ("a.atom", feed.clone()),
            ("b.atom", feed),
        );
        for (documents, expected) in [
            (vec![&sitemap, &a], None),
            (vec![&a, &sitemap], None),
            (vec![&a, &b], Some("b.atom")),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let policy = Arc::new(Policy::of(&Profile::DEFAULT));
            let mut site = Site::with_memory(policy.clone(), folder.path().into(), 0);
            for (name, body) in documents {
                let about = About::new(name, policy.clone(), 1_800_000_000);
                site.add(read(body.as_bytes(), &about), None).unwrap();
            }
            let (findings, _) = site.finish(&ORIGIN.into(), None).unwrap();
            let kept = findings.kept().iter();
            let again = kept.filter(|one| one.rule == Rule::LocDupAcross);
            let again: Vec<&str> = again.map(|one| &*one.file).collect();
            assert_eq!(again, Vec::from_iter(expected));
        }
    }

    #[test]
    fn a_site_that_cannot_be_sorted_says_where_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap().path().join("none");
        let policy = Arc::new(Policy::default());
        let mut site = Site::with_memory(policy.clone(), folder, 0);
        let about = About::new("a.xml", policy, 1_800_000_000);
        let added = site.add(read(document(0).as_bytes(), &about), None);
        let error = added.unwrap_err().to_string();
        assert!(error.starts_with("failed to sort the URLs in "), "{error}");
        assert!(
            error.ends_with(". Name another folder by TMPDIR"),
            "{error}"
        );
    }

    #[test]
    fn of_a_site_that_is_given_up_no_file_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let policy = Arc::new(Policy::default());
        let mut site = Site::with_memory(policy.clone(), folder.path().into(), 0);
        let about = About::new("a.xml", policy, 1_800_000_000);
        site.add(read(document(0).as_bytes(), &about), None)
            .unwrap();
        drop(site);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
