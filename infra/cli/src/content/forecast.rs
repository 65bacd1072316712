//! Predicts what would be listed of records. It uses the functions' own eligibility rules before any record is loaded.
//!
//! - A record is looked at once and then forgotten: of its addresses and terms 64 bits each are kept.
//! - Of two records with one address the first is counted as listed.
//! - An archive is listed if a page that is listed has its term, so archives are counted at the end.
//! - Any host is taken for a site that is known, with the settings that were given for it, or else the defaults.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use sha2::{Digest, Sha256};
use sitemap::eligibility::{NewsState, Refusal, eligible, news};
use sitemap::plan::Term;
use sitemap::record::ContentRecord;
use sitemap::site::SiteSettings;

/// Examples of each reason.
const EXAMPLES: usize = 3;

/// How often something was found, and examples of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// How often.
    pub count: u64,
    /// The first few.
    pub examples: Vec<String>,
}

impl Tally {
    /// Counts one more.
    pub fn add(&mut self, example: impl FnOnce() -> String) {
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(example());
        }
    }
}

/// What would be listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Predicted {
    /// Pages.
    pub listed: u64,
    /// Further parts of them.
    pub parts: u64,
    /// Sitemaps of each series, as `www.example.com post`.
    pub sitemaps: BTreeMap<String, u64>,
    /// Pages that are left out, by the reason's name.
    pub left_out: BTreeMap<String, Tally>,
}

/// An archive that waits for its members.
#[derive(Debug)]
struct Archive {
    term: Term,
    loc: u64,
    id: String,
    series: (String, String),
}

/// Counts records.
#[derive(Debug)]
pub struct Prediction {
    now: i64,
    sites: BTreeMap<String, SiteSettings>,
    locs: HashSet<u64>,
    terms: HashSet<u64>,
    archives: Vec<Archive>,
    /// Entries by site and series.
    entries: BTreeMap<(String, String), u64>,
    predicted: Predicted,
}

impl Prediction {
    /// Creates a prediction that has counted nothing. `now` is in Unix seconds.
    #[must_use]
    pub fn new(now: i64) -> Self {
        Self {
            now,
            sites: BTreeMap::new(),
            locs: HashSet::new(),
            terms: HashSet::new(),
            archives: Vec::new(),
            entries: BTreeMap::new(),
            predicted: Predicted::default(),
        }
    }

    /// Gives a site its settings, for the records that are counted from now on.
    pub fn set_site(&mut self, settings: SiteSettings) {
        self.sites.insert(settings.host.clone(), settings);
    }

    /// Returns whether a site has settings. They may be given, or taken for one of its records.
    #[must_use]
    pub fn has_site(&self, host: &str) -> bool {
        self.sites.contains_key(host)
    }

    /// Counts a page. Settings do not count as pages.
    pub fn add(&mut self, record: &ContentRecord) {
        if !self.sites.contains_key(&record.site)
            && let Ok(settings) = SiteSettings::default_for(&record.site)
        {
            self.sites.insert(record.site.clone(), settings);
        }
        let site = self.sites.get(&record.site);
        let example = |refusal: &Refusal| format!("{}: {refusal}", record.id);
        for part in 1..=record.pages {
            match eligible(record, part, site, self.now) {
                Err(refusal) => {
                    if part == 1 {
                        let name = refusal.name().to_owned();
                        let tally = self.predicted.left_out.entry(name).or_default();
                        tally.add(|| example(&refusal));
                        return;
                    }
                }
                Ok((settings, loc)) => {
                    let series = settings.series_of(&record.type_name).name;
                    let series = (record.site.clone(), series);
                    let loc = digest(&[&loc.normalized()]);
                    if let Some(of) = &record.archive_of {
                        let term = Term {
                            site: record.site.clone(),
                            taxonomy: of.taxonomy.clone(),
                            term: of.term.clone(),
                        };
                        let id = record.id.clone();
                        self.archives.push(Archive {
                            term,
                            loc,
                            id,
                            series,
                        });
                        return;
                    }
                    if !self.locs.insert(loc) {
                        if part == 1 {
                            return self.duplicate(&record.id);
                        }
                        continue;
                    }
                    *self.entries.entry(series).or_default() += 1;
                    match part {
                        1 => self.predicted.listed += 1,
                        _ => self.predicted.parts += 1,
                    }
                }
            }
        }
        self.beside(record);
        for (taxonomy, terms) in &record.terms {
            for term in terms {
                self.terms.insert(digest(&[&record.site, taxonomy, term]));
            }
        }
    }

    /// Counts what a page has more than when it was counted: entries among the videos and the news.
    pub fn amend(&mut self, before: &ContentRecord, after: &ContentRecord) {
        if eligible(after, 1, self.sites.get(&after.site), self.now).is_err() {
            return;
        }
        let known = self.series_beside(before);
        let more = self.series_beside(after).into_iter();
        let more = more.filter(|series| !known.contains(series));
        self.count_entries(&after.site, more.collect());
    }

    /// Counts the entries of a listed page among the videos and the news.
    fn beside(&mut self, record: &ContentRecord) {
        self.count_entries(&record.site, self.series_beside(record));
    }

    fn count_entries(&mut self, site: &str, series: Vec<String>) {
        for series in series {
            let series = (site.to_owned(), series);
            *self.entries.entry(series).or_default() += 1;
        }
    }

    /// Returns the series of videos and of news in which a page has an entry.
    fn series_beside(&self, record: &ContentRecord) -> Vec<String> {
        let Some(settings) = self.sites.get(&record.site) else {
            return Vec::new();
        };
        let is_live = |at: Option<sitemap::time::When>| at.is_none_or(|at| at.seconds() > self.now);
        let mut more = Vec::new();
        if record.videos.iter().any(|video| is_live(video.expires_at)) {
            more.push(settings.video_series.clone());
        }
        let has_title = record.title.is_some()
            || record
                .news
                .as_ref()
                .is_some_and(|news| news.title.is_some());
        if settings.news_name.is_some()
            && has_title
            && matches!(news(record, settings, self.now), NewsState::Until(_))
        {
            more.push(settings.news_series.clone());
        }
        more
    }

    fn duplicate(&mut self, id: &str) {
        let left_out = &mut self.predicted.left_out;
        let tally = left_out.entry(Refusal::Duplicate.name().to_owned());
        tally
            .or_default()
            .add(|| format!("{id}: {}", Refusal::Duplicate));
    }

    /// Returns the archives, one after the other, that none of the counted pages is in.
    pub fn empty_archives(&self) -> impl Iterator<Item = &Term> {
        let archives = self.archives.iter().map(|archive| &archive.term);
        archives.filter(|term| !self.terms.contains(&digest_of(term)))
    }

    /// Takes a term of a page that is not counted, because a table has it.
    pub fn add_term(&mut self, term: &Term) {
        self.terms.insert(digest_of(term));
    }

    /// Returns what would be listed of all that was counted.
    #[must_use]
    pub fn finish(mut self) -> Predicted {
        for archive in std::mem::take(&mut self.archives) {
            if !self.terms.contains(&digest_of(&archive.term)) {
                let name = Refusal::EmptyArchive.name().to_owned();
                let tally = self.predicted.left_out.entry(name).or_default();
                tally.add(|| format!("{}: {}", archive.id, Refusal::EmptyArchive));
            } else if self.locs.insert(archive.loc) {
                *self.entries.entry(archive.series).or_default() += 1;
                self.predicted.listed += 1;
            } else {
                self.duplicate(&archive.id);
            }
        }
        for ((site, series), entries) in self.entries {
            let capacity = self
                .sites
                .get(&site)
                .map_or(1, |site| site.capacity(&series));
            let sitemaps = entries.div_ceil(u64::from(capacity.max(1)));
            let sitemap = format!("{site} {series}");
            self.predicted.sitemaps.insert(sitemap, sitemaps);
        }
        self.predicted
    }
}

fn digest_of(term: &Term) -> u64 {
    digest(&[&term.site, &term.taxonomy, &term.term])
}

/// Returns 64 bits of the hash of texts. Ten million of them take 160 MB, and two of them are not likely to be equal.
pub(crate) fn digest(texts: &[&str]) -> u64 {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    let hash = hash.finalize();
    let first = hash.iter().take(8);
    first.fold(0, |digest, byte| digest << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn predicted(records: &[Value]) -> Predicted {
        let mut prediction = Prediction::new(1_800_000_000);
        for (at, record) in records.iter().enumerate() {
            prediction.add(&ContentRecord::parse(&at.to_string(), record));
        }
        prediction.finish()
    }

    fn page(path: &str) -> Value {
        json!({"type": "post", "url": format!("https://www.example.com/{path}")})
    }

    #[test]
    fn addresses_are_listed_once_and_parts_are_counted() {
        let mut parts = page("a/");
        parts["pages"] = 3.into();
        // The second has the address of the first one's part.
        let found = predicted(&[parts, page("a/2/"), page("b")]);
        assert_eq!((found.listed, found.parts), (2, 2));
        assert_eq!(found.left_out["duplicate"].count, 1);
        assert_eq!(found.sitemaps["www.example.com post"], 1);
    }

    #[test]
    fn two_spellings_of_an_address_are_one() {
        let found = predicted(&[page("~a/%c3%a9"), page("%7Ea/%C3%A9"), page("~a/\u{e9}")]);
        assert_eq!((found.listed, found.left_out["duplicate"].count), (1, 2));
    }

    #[test]
    fn what_a_page_has_more_is_counted_once() {
        let mut prediction = Prediction::new(1_800_000_000);
        let settings = json!({"entries_per_sitemap": 1});
        prediction.set_site(SiteSettings::parse("www.example.com", &settings).unwrap());
        let before = ContentRecord::parse("a", &page("a"));
        let mut more = page("a");
        more["videos"] = json!([{"thumbnail_loc": "https://e.example/t.jpg", "title": "t",
            "description": "d", "content_loc": "https://e.example/v.mp4"}]);
        let after = ContentRecord::parse("a", &more);
        prediction.add(&before);
        prediction.amend(&before, &after);
        prediction.amend(&after, &after);
        let found = prediction.finish();
        assert_eq!(found.sitemaps["www.example.com video"], 1);
        assert_eq!(found.listed, 1);
    }

    #[test]
    fn an_archive_needs_a_page_that_is_listed() {
        let archive = |term: &str| {
            json!({"type": "category", "url": format!("https://www.example.com/category/{term}/"),
                "archive_of": {"taxonomy": "category", "term": term}})
        };
        let mut draft = page("draft");
        draft["status"] = "draft".into();
        draft["terms"] = json!({"category": ["none"]});
        let mut listed = page("listed");
        listed["terms"] = json!({"category": ["some"]});
        let found = predicted(&[archive("none"), archive("some"), draft, listed]);
        assert_eq!(found.listed, 2);
        assert_eq!(found.left_out["empty_archive"].examples.len(), 1);
        assert_eq!(found.left_out["not_published"].count, 1);
    }

    #[test]
    fn a_series_has_as_many_sitemaps_as_it_needs() {
        let mut prediction = Prediction::new(1_800_000_000);
        let settings = json!({"entries_per_sitemap": 2});
        prediction.set_site(SiteSettings::parse("www.example.com", &settings).unwrap());
        for at in 0..5 {
            let mut page = page(&at.to_string());
            page["videos"] = json!([{"thumbnail_url": "https://e.example/t.jpg", "title": "t",
                "content_url": "https://e.example/v.mp4"}]);
            prediction.add(&ContentRecord::parse(&at.to_string(), &page));
        }
        let found = prediction.finish();
        let sitemaps: Vec<_> = found.sitemaps.values().copied().collect();
        assert_eq!(sitemaps, [3, 3], "{found:?}");
    }
}
