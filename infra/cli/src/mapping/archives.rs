//! `waymark mapping --archives`: makes records for the archives of a mapped table's pages.
//!
//! - An archive is listed only if a record is its page, and a table of pages often has no such items.
//! - Every term counts, whatever the page's status: an archive without listed pages is not listed.

use std::collections::{BTreeMap, BTreeSet};

use engine::content::Content;
use engine::error::EngineError;
use percent_encoding::utf8_percent_encode;
use serde::Serialize;
use serde_json::{Value, json};
use sitemap::loc::Loc;
use sitemap::mapping::{SOURCE_MARK, STEP};
use sitemap::plan::Term;
use sitemap::record::{ContentRecord, is_type_name};
use sitemap::site::SITE_TYPE;

use crate::terminal::progress::{Progress, Unit};
use crate::terminal::text::counted;

/// The term in the path of an archive.
pub(super) const SLUG: &str = "{slug}";
/// The type of archives whose taxonomy cannot be the name of a type.
const OTHER_TYPE: &str = "archive";
/// Records of one page of the scan.
const PAGE: u32 = 500;

/// The paths of archives, by taxonomy. Each contains `{slug}`.
pub type Paths = BTreeMap<String, String>;

/// The records of archives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Archives {
    /// The records, by site, taxonomy and term.
    pub records: Vec<Value>,
    /// Archives that have a record already.
    pub existing: u64,
    /// Records without a `url`, by taxonomy.
    pub without_url: BTreeMap<String, u64>,
    /// Archives without a path, for which there is no record since other taxonomies have one.
    pub skipped: BTreeMap<String, u64>,
    /// Taxonomies with a path that no page has a term of.
    pub unused: Vec<String>,
}

/// The terms of pages, and the archives that have records.
#[derive(Debug, Default)]
struct Terms {
    /// Each with the scheme of its site.
    of_pages: BTreeMap<Term, String>,
    with_record: BTreeSet<Term>,
    /// Whether the user's table has a page.
    has_pages: bool,
}

/// Makes a record for each archive of the user's table that has none. Returns `None` if no item of the table is a page.
///
/// # Errors
///
/// If a table fails.
pub async fn archives(content: &Content, paths: &Paths) -> Result<Option<Archives>, EngineError> {
    let mut terms = Terms::default();
    let mut progress = Progress::begin("reading the pages", Unit::Things("records"), None);
    let (mut read, mut after) = (0, None);
    loop {
        let page = content.scan_records(after.as_deref(), PAGE).await?;
        read += page.records.len() as u64;
        progress.reach(read);
        page.records
            .iter()
            .for_each(|(_, record)| terms.add(record));
        after = page.next;
        if after.is_none() {
            return Ok(terms.has_pages.then(|| terms.records(paths)));
        }
    }
}

impl Terms {
    fn add(&mut self, record: &ContentRecord) {
        let of = |taxonomy: &str, term: &str| Term {
            site: record.site.clone(),
            taxonomy: taxonomy.to_owned(),
            term: term.to_owned(),
        };
        let is_mapped = record.id.starts_with(SOURCE_MARK);
        self.has_pages |= is_mapped;
        if let Some(archive) = &record.archive_of {
            // An archive is not a page of another archive.
            self.with_record
                .insert(of(&archive.taxonomy, &archive.term));
            return;
        }
        let Some(scheme) = scheme(record).filter(|_| is_mapped) else {
            return;
        };
        for (taxonomy, terms) in &record.terms {
            let terms = terms.iter().map(|term| of(taxonomy, term));
            self.of_pages
                .extend(terms.map(|term| (term, scheme.clone())));
        }
    }

    fn records(&self, paths: &Paths) -> Archives {
        let mut archives = Archives::default();
        let mut unused: BTreeSet<&String> = paths.keys().collect();
        for (term, scheme) in &self.of_pages {
            unused.remove(&term.taxonomy);
            if self.with_record.contains(term) {
                archives.existing += 1;
                continue;
            }
            let path = paths.get(&term.taxonomy);
            let taxonomy = term.taxonomy.clone();
            if path.is_none() && !paths.is_empty() {
                *archives.skipped.entry(taxonomy).or_default() += 1;
                continue;
            }
            let url = path.and_then(|path| url(scheme, term, path));
            if url.is_none() {
                *archives.without_url.entry(taxonomy).or_default() += 1;
            }
            archives.records.push(record(term, url.as_deref()));
        }
        archives.unused = unused.into_iter().cloned().collect();
        archives
    }
}

impl Archives {
    /// Returns what the user should know of the records, a line each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let made = counted(self.records.len() as u64, "record");
        let mut notes = vec![match self.existing {
            0 => format!("made {made}"),
            1 => format!("made {made}; 1 more archive has one already"),
            existing => format!("made {made}; {existing} more archives have one already"),
        }];
        for (taxonomy, count) in &self.without_url {
            let records = counted(*count, "record");
            notes.push(format!(
                "{taxonomy}: {records} without url: give --archive-url {taxonomy}=/…/{SLUG}/, or fill in url before you load \
                 them"
            ));
        }
        for (taxonomy, count) in &self.skipped {
            let archives = counted(*count, "archive");
            notes.push(format!(
                "{taxonomy}: no record for {archives}: --archive-url {taxonomy}=/…/{SLUG}/ makes them"
            ));
        }
        let unused = self.unused.iter();
        notes.extend(unused.map(|taxonomy| format!("{taxonomy}: no page has a term of it")));
        notes
    }
}

/// Returns the scheme of a page that is on its site.
fn scheme(record: &ContentRecord) -> Option<String> {
    let loc = Loc::parse_any(&record.url).ok()?;
    let (scheme, rest) = loc.as_str().split_once("://")?;
    let host = rest.split(['/', '?']).next();
    (host == Some(&record.site)).then(|| scheme.to_owned())
}

/// Returns the address of an archive. Returns `None` if the term cannot be a step of its path.
fn url(scheme: &str, term: &Term, path: &str) -> Option<String> {
    let Term { site, term, .. } = term;
    let slug = utf8_percent_encode(term, STEP).to_string();
    let is_step = ![".", ".."].contains(&term.as_str());
    is_step.then(|| format!("{scheme}://{site}{}", path.replace(SLUG, &slug)))
}

fn record(term: &Term, url: Option<&str>) -> Value {
    let Term {
        site,
        taxonomy,
        term,
    } = term;
    let is_type = is_type_name(taxonomy) && taxonomy != SITE_TYPE;
    let type_name = if is_type { taxonomy } else { OTHER_TYPE };
    // Without a slash in it, no two archives have one id.
    let place = utf8_percent_encode(taxonomy, STEP);
    json!({
        "id": format!("{site}/{place}/{term}"),
        "type": type_name,
        "site": site,
        "url": url,
        "archive_of": {"taxonomy": taxonomy, "term": term},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(records: &[(&str, Value)]) -> Terms {
        let mut terms = Terms::default();
        for (id, fields) in records {
            terms.add(&ContentRecord::parse(id, fields));
        }
        terms
    }

    fn page(terms: Value) -> Value {
        json!({"type": "post", "url": "https://www.example.com/a", "status": "draft", "terms": terms})
    }

    fn paths(paths: &[(&str, &str)]) -> Paths {
        let paths = paths.iter();
        let paths = paths.map(|(taxonomy, path)| ((*taxonomy).to_owned(), (*path).to_owned()));
        paths.collect()
    }

    fn archive(taxonomy: &str, term: &str) -> Value {
        json!({"type": "page", "url": "https://www.example.com/x",
            "archive_of": {"taxonomy": taxonomy, "term": term}})
    }

    #[test]
    fn each_term_of_a_mapped_page_without_a_record_gets_one() {
        let terms = terms(&[
            (
                "@1",
                page(json!({"category": ["news", "käse & brot"], "tag": ["rust"]})),
            ),
            ("@2", page(json!({"category": ["news", "old"]}))),
            ("own", page(json!({"category": ["of the own table"]}))),
            ("category/old", archive("category", "old")),
        ]);
        let found = terms.records(&paths(&[("category", "/c/{slug}/"), ("author", "/{slug}")]));
        let record = |term: &str, slug: &str| {
            json!({"id": format!("www.example.com/category/{term}"), "type": "category", "site": "www.example.com",
                "url": format!("https://www.example.com/c/{slug}/"),
                "archive_of": {"taxonomy": "category", "term": term}})
        };
        assert_eq!(
            found.records,
            [
                record("käse & brot", "k%C3%A4se%20%26%20brot"),
                record("news", "news")
            ]
        );
        for record in &found.records {
            let parsed = ContentRecord::parse("x", record);
            assert_eq!(
                (parsed.problems.as_slice(), parsed.site.as_str()),
                (&[][..], "www.example.com")
            );
        }
        assert_eq!(
            found.notes(),
            [
                "made 2 records; 1 more archive has one already",
                "tag: no record for 1 archive: --archive-url tag=/…/{slug}/ makes them",
                "author: no page has a term of it",
            ]
        );
    }

    #[test]
    fn without_a_path_the_url_is_to_be_filled_in() {
        let found = terms(&[("@1", page(json!({"site": ["a"], "post tag": ["b/c"]})))]);
        let found = found.records(&Paths::new());
        let types: Vec<&Value> = found.records.iter().map(|record| &record["type"]).collect();
        assert_eq!(types, ["archive", "archive"]);
        assert_eq!(found.records[0]["id"], "www.example.com/post%20tag/b/c");
        assert!(found.records.iter().all(|record| record["url"].is_null()));
        let expected = "site: 1 record without url: give --archive-url site=/…/{slug}/, or fill in url before you load them";
        assert_eq!(found.notes()[2], expected);
        assert_eq!((found.without_url.len(), found.skipped.len()), (2, 0));
    }

    #[test]
    fn a_term_that_is_no_step_of_a_path_has_no_url() {
        let found = terms(&[("@1", page(json!({"tag": [".."]})))]);
        let found = found.records(&paths(&[("tag", "/tag/{slug}/")]));
        assert!(found.records[0]["url"].is_null());
        assert_eq!(found.without_url["tag"], 1);
    }

    #[test]
    fn a_page_on_another_host_than_its_site_counts_for_nothing() {
        let mut foreign = page(json!({"tag": ["a"]}));
        foreign["site"] = "blog.example.com".into();
        let found = terms(&[("@1", foreign), ("@2", json!({"terms": {"tag": ["b"]}}))]);
        assert!(found.records(&Paths::new()).records.is_empty());
    }
}
