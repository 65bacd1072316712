//! The oracle: derives the pages that must be listed from all records and the time. It shares no code with the product except the
//! format of dates and the keys of rows.
//!
//! A history does not determine which of several records gets an address that all of them want. So the oracle works in two steps.
//! First it returns the possible owners of each address. Then, with the actual owners, it derives the state of each page
//! (`Truth`).

mod listing;
mod records;

use std::collections::{BTreeMap, BTreeSet};

use engine::keys;
use serde_json::Value;
use sitemap::plan::{Term, Translation};
use sitemap::time::When;

use crate::history::{
    ALSO, Changed, DEFAULT, Film, KNOWN, Page, SERIES, SITES, Settings, State, TERMS, TYPES,
};
use crate::source;

/// The lowest byte limit that a site can set.
pub const LOW_BYTE_LIMIT: usize = 1_000_000;
/// The limit of sitemaps.org.
const HIGH_BYTE_LIMIT: usize = 52_428_800;
/// The most sitemaps of one index (sitemaps.org).
const INDEX_LINES: usize = 50_000;
/// The most members of a translation group.
const GROUP_MEMBERS: usize = 200;
/// The most entries of a sitemap of news (Google).
const NEWS_ENTRIES: usize = 1_000;
/// The most pages of llms.txt.
const LLMS_PAGES: usize = 500;
/// The title of every page that has one, as it is in llms.txt.
const LLMS_TITLE: &str = "Rust & &lt;more&gt;";
/// The hours for which a page is news, and for which a change is in the feed.
const RECENT_HOURS: i64 = 48;
/// The hours between two rounds in which all feeds are published, including that of the round.
const ROUND_HOURS: i64 = 25;

/// The expected state of the world.
pub struct Oracle {
    /// The time of its beginning, in Unix seconds.
    pub begun: i64,
    /// The current time, in Unix seconds.
    pub now: i64,
    /// The pages, by the record's id.
    pub pages: BTreeMap<String, Page>,
    /// The sites' records. `None` for a site without one.
    pub settings: [Option<Settings>; SITES.len()],
    /// The sites that have ever had search engines notified of changes.
    pub ever_told: [bool; SITES.len()],
    /// The most sitemaps of one index.
    pub index_lines: usize,
    /// Whether the mapping includes images of items of the user's table.
    pub pictured: bool,
    /// The content at the last comparison.
    pub backup: Backup,
}

/// The content at some time.
#[derive(Clone, Debug, Default)]
pub struct Backup {
    /// The pages, by their ids.
    pub pages: BTreeMap<String, Page>,
    /// The settings, in the order of [`SITES`].
    pub settings: [Option<Settings>; SITES.len()],
}

/// A site's host, and an address on it. All spellings of a loc are the same address.
pub type Address = (String, String);
/// A record's id, and the part of its page.
pub type PagePart = (String, u32);

/// The facts that a history does not determine.
#[derive(Debug, Default)]
pub struct Found {
    /// The owners of addresses.
    pub owners: BTreeMap<Address, PagePart>,
    /// The members of translation groups.
    pub members: BTreeSet<(String, String)>,
}

/// The expected state if these pages have these addresses.
#[derive(Debug, Default)]
pub struct Truth {
    /// For each address that must be listed, the pages that claim it. One of them has it.
    pub claimants: BTreeMap<Address, BTreeSet<PagePart>>,
    /// The expected listing of the pages that have an address.
    pub listed: BTreeMap<PagePart, Listed>,
    /// For each address from which pages departed, these pages. One of them has it, unless a page is listed under it.
    pub departing: BTreeMap<Address, BTreeSet<String>>,
    /// The page that has each address under which no page is listed, its loc, and what became of it, as its row says it.
    pub departed: BTreeMap<Address, (String, String, Value)>,
}

/// The expected state of a listed page.
#[derive(Debug)]
pub struct Listed {
    /// Its address.
    pub address: Address,
    /// Its loc, as it is published.
    pub loc: String,
    /// Its entries.
    pub entries: Vec<Entry>,
    /// The archives in which it is a page, each with its lastmod there.
    pub terms: Vec<(Term, Option<When>)>,
    /// Its translation group, and its data as a member of it.
    pub group: Option<(String, Translation)>,
    /// The group in which it waits for room.
    pub waits_in: Option<String>,
    /// Whether its changes are in the feed.
    pub fed: bool,
    /// Its lastmod, if llms.txt may list it.
    pub llms: Option<Option<When>>,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its series.
    pub series: String,
    /// Its lastmod.
    pub lastmod: Option<String>,
    /// Its images' addresses.
    pub images: Vec<String>,
    /// Its text.
    pub xml: String,
}

impl Oracle {
    /// Returns a world without content that begins now.
    #[must_use]
    pub fn new(now: i64) -> Self {
        Self {
            begun: now,
            now,
            pages: BTreeMap::new(),
            settings: [None; SITES.len()],
            ever_told: [false; SITES.len()],
            index_lines: INDEX_LINES,
            pictured: true,
            backup: Backup::default(),
        }
    }

    fn at(&self, hours: i64) -> i64 {
        self.begun + hours * 3_600
    }

    /// Returns a page as it becomes by an edit now.
    pub fn edited(&self, page: Page) -> Page {
        let changed = match page.changed {
            Changed::Ago(hours) => Changed::Hour((self.now - self.begun) / 3_600 - hours),
            changed => changed,
        };
        Page { changed, ..page }
    }

    /// Backs up the current content.
    pub fn back_up(&mut self) {
        self.backup = Backup {
            pages: self.pages.clone(),
            settings: self.settings,
        };
    }

    /// Returns the settings that apply to a site. Returns `None` if the site has neither a record nor defaults.
    fn settings(&self, site: usize) -> Option<Settings> {
        self.settings[site].or((site < KNOWN).then_some(DEFAULT))
    }

    /// Returns whether a site is public.
    pub fn is_public(&self, site: usize) -> bool {
        self.settings(site).is_some_and(|settings| settings.public)
    }

    /// Returns whether search engines are notified of the site's changes.
    pub fn is_told(&self, site: usize) -> bool {
        let settings = self.settings(site);
        settings.is_some_and(|settings| settings.public && settings.told)
    }

    /// Returns the parts of a page about whose changes search engines are notified.
    #[must_use]
    pub fn shown(&self, id: &str, listed: &Listed) -> String {
        let page = &self.pages[id];
        let lastmod = listed
            .entries
            .first()
            .and_then(|entry| entry.lastmod.clone());
        let images = self.images(id, page);
        format!(
            "{lastmod:?} {} {images:?} {:?} {}",
            page.titled, page.alternates, listed.loc
        )
    }

    /// Returns the images of a page that the mapping includes.
    fn images(&self, id: &str, page: &Page) -> Vec<String> {
        if self.pictured || source::key(id).is_none() {
            records::images(page)
        } else {
            Vec::new()
        }
    }

    /// Returns whether the first of the site's indexes lists the others.
    pub fn is_cascaded(&self, site: usize) -> bool {
        let settings = self.settings(site);
        settings.is_some_and(|settings| settings.cascaded)
    }

    /// Returns the sitemaps of others that the site's indexes list, with their lastmods.
    pub fn also(&self, site: usize) -> &'static [(&'static str, Option<&'static str>)] {
        let settings = self.settings(site).filter(|settings| settings.public);
        &ALSO[..settings.map_or(0, |settings| settings.also)]
    }

    /// Returns whether the site's robots.txt names its feed.
    pub fn names_feed(&self, site: usize) -> bool {
        let settings = self.settings(site);
        settings.is_some_and(|settings| settings.feed && settings.feed_named)
    }

    /// Returns whether the site's indexes give a sitemap without dates the time of its last change.
    pub fn is_timed(&self, site: usize) -> bool {
        let settings = self.settings(site);
        settings.is_some_and(|settings| settings.timed)
    }

    /// Returns the most entries and bytes of a sitemap of the site.
    pub fn limits(&self, site: usize) -> (usize, usize) {
        let Some(Settings {
            capacity, tight, ..
        }) = self.settings(site)
        else {
            return (0, HIGH_BYTE_LIMIT);
        };
        let bytes = if tight {
            LOW_BYTE_LIMIT
        } else {
            HIGH_BYTE_LIMIT
        };
        (capacity as usize, bytes)
    }

    /// Returns whether a page may be listed at some time.
    fn is_open(&self, page: &Page) -> bool {
        let settings = self.settings(page.site);
        settings.is_some_and(|settings| settings.public && settings.hidden != Some(page.kind))
            && page.state == State::Listed
    }

    /// Returns the settings of a page's site. Returns `None` if the page's own state excludes it.
    fn eligible(&self, page: &Page) -> Option<Settings> {
        let settings = self.settings(page.site)?;
        let eligible = self.is_open(page)
            && page.from.is_none_or(|from| self.at(from) <= self.now)
            && page.until.is_none_or(|until| self.at(until) > self.now);
        eligible.then_some(settings)
    }

    /// Returns the term whose pages decide about an archive. Returns `None` for an archive that is excluded anyway.
    pub fn archive(&self, page: &Page) -> Option<Term> {
        self.eligible(page)?;
        Some(term(page.site, page.archive?))
    }

    /// Returns the most entries of a sitemap of a series.
    pub fn series_limit(&self, site: usize, series: &str) -> usize {
        let (entries, _) = self.limits(site);
        let named = self.settings(site).map(|settings| SERIES[settings.series]);
        match named {
            Some((_, news)) if news == series => entries.min(NEWS_ENTRIES),
            _ => entries,
        }
    }

    /// Returns the expected state with these facts.
    ///
    /// # Errors
    ///
    /// If a translation group is neither full nor has all of its pages.
    pub fn truth(&self, found: &Found) -> Result<Truth, String> {
        let Found { owners, members } = found;
        let owned = |id: &str, part, address: &Address| {
            let owner = owners.get(address);
            owner.is_some_and(|(of, its)| (of.as_str(), *its) == (id, part))
        };
        // Pages of archives first, because the archives depend on those that are listed.
        let mut newest: BTreeMap<Term, Option<When>> = BTreeMap::new();
        for (id, page) in self.pages.iter().filter(|(_, page)| page.archive.is_none()) {
            let address = self.eligible(page).and_then(|of| address(page, 1, &of));
            if address.is_some_and(|address| owned(id, 1, &address)) {
                let lastmod = self.lastmod(page);
                for term in terms(page) {
                    let newest = newest.entry(term).or_default();
                    *newest = lastmod.max(*newest);
                }
            }
        }
        let mut truth = Truth::default();
        let mut listed = Vec::new();
        for (id, page) in &self.pages {
            let Some(settings) = self.eligible(page) else {
                continue;
            };
            let lastmod = match page.archive {
                None => self.lastmod(page),
                Some(of) => match newest.get(&term(page.site, of)) {
                    Some(newest) => *newest,
                    None => continue,
                },
            };
            for part in 1..=page.listed_parts() {
                let Some(loc) = records::part_loc(page, part, &settings) else {
                    continue;
                };
                let address = address(page, part, &settings).expect("it has a loc");
                if owned(id, part, &address) {
                    listed.push((id, page, part, (address.clone(), loc), lastmod));
                }
                let claimants = truth.claimants.entry(address).or_default();
                claimants.insert((id.clone(), part));
            }
        }
        self.add_departures(found, &mut truth);
        let mut groups: BTreeMap<String, BTreeMap<&str, Translation>> = BTreeMap::new();
        for (id, page, part, (_, loc), _) in &listed {
            if let Some((group, translation)) = records::translation(page, loc)
                && *part == 1
            {
                groups.entry(group).or_default().insert(id, translation);
            }
        }
        // The first pages are the members of a full group.
        for (name, group) in &mut groups {
            let count = group.len();
            if count > GROUP_MEMBERS {
                group.retain(|id, _| members.contains(&(name.clone(), (*id).to_owned())));
                if group.len() != GROUP_MEMBERS {
                    let members = group.len();
                    return Err(format!("{name} has {members} members of {count} pages"));
                }
            }
        }
        for (id, page, part, (address, loc), lastmod) in &listed {
            let is_page = *part == 1;
            let group = records::translation(page, loc).filter(|_| is_page);
            let members = group.as_ref().map(|(group, _)| &groups[group]);
            let members = members.filter(|members| members.contains_key(id.as_str()));
            let (group, waits_in) = match members {
                Some(_) => (group, None),
                None => (None, group.map(|(group, _)| group)),
            };
            let is_member = is_page && page.archive.is_none();
            let terms = terms(page).filter(|_| is_member);
            let one = Listed {
                address: address.clone(),
                loc: loc.clone(),
                entries: self.entries(id, page, *part, loc, *lastmod, members),
                terms: terms.map(|term| (term, *lastmod)).collect(),
                group,
                waits_in,
                llms: self
                    .settings(page.site)
                    .filter(|site| is_page && site.llms_kinds().contains(&page.kind))
                    .map(|_| *lastmod),
                fed: is_member && self.settings(page.site).is_some_and(|site| site.feed),
            };
            truth.listed.insert(((*id).clone(), *part), one);
        }
        Ok(truth)
    }

    /// Adds the pages that departed from their addresses, and which of them has its address.
    fn add_departures(&self, found: &Found, truth: &mut Truth) {
        for (id, page) in &self.pages {
            let settings = self.settings(page.site).filter(|settings| settings.public);
            let departure = settings.zip(records::departure(page));
            let Some((settings, departure)) = departure else {
                continue;
            };
            let Some(address) = address(page, 1, &settings) else {
                continue;
            };
            let is_owner = found.owners.get(&address) == Some(&(id.clone(), 1));
            if is_owner && !truth.claimants.contains_key(&address) {
                let departed = (id.clone(), records::loc(page), departure);
                truth.departed.insert(address.clone(), departed);
            }
            let departing = truth.departing.entry(address).or_default();
            departing.insert(id.clone());
        }
    }

    /// Returns the expected llms.txt of a site. Returns `None` if it must have none.
    #[must_use]
    pub fn llms(&self, site: usize, truth: &Truth) -> Option<String> {
        let settings = self.settings(site).filter(|settings| settings.public)?;
        settings.llms?;
        let mut pages = Vec::new();
        for ((id, part), listed) in &truth.listed {
            let page = &self.pages[id];
            if let Some(lastmod) = listed.llms.filter(|_| page.site == site) {
                let key = keys::llms(SITES[site], lastmod, &keys::page(id, *part));
                pages.push((key.sk, page, &listed.loc));
            }
        }
        pages.sort_by(|(a, ..), (b, ..)| b.cmp(a));
        pages.truncate(LLMS_PAGES);
        let [title, summary] = records::LLMS;
        let mut text = format!("# {title}\n\n> {summary}\n");
        for kind in settings.llms_kinds() {
            let of_kind = pages.iter().filter(|(_, page, _)| page.kind == kind);
            let line = |(_, page, loc): &(String, &Page, &String)| {
                let title = if page.titled { LLMS_TITLE } else { loc };
                format!("- [{title}]({loc})\n")
            };
            let lines: String = of_kind.map(line).collect();
            if !lines.is_empty() {
                text += &format!("\n## {}\n\n{lines}", TYPES[kind]);
            }
        }
        Some(text)
    }

    /// Returns when a page last changed. Returns `None` if that is in the future.
    fn lastmod(&self, page: &Page) -> Option<When> {
        let at = self.last_change(page);
        at.filter(|at| at.seconds() <= self.now)
    }

    fn last_change(&self, page: &Page) -> Option<When> {
        let modified = records::modified(page, self.begun);
        modified.or(page.from.map(|from| When::at(self.at(from))))
    }

    /// Returns until when a page is news. Returns `None` if it is not news now.
    fn news_until(&self, page: &Page) -> Option<i64> {
        let settings = self.settings(page.site)?;
        if !page.news && settings.news != Some(page.kind) {
            return None;
        }
        let modified = records::modified(page, self.begun).filter(|_| !settings.published_only);
        let dates = [
            page.from.map(|from| self.at(from)),
            modified.map(When::seconds),
        ];
        let dates = dates.into_iter().flatten().filter(|at| *at <= self.now);
        let until = dates.map(|at| at + RECENT_HOURS * 3_600).max();
        until.filter(|until| *until > self.now)
    }

    /// Returns when the time alone may next change the listing of a page.
    pub fn due(&self, page: &Page, listed: bool) -> Option<i64> {
        if !self.is_open(page) {
            return None;
        }
        let film = match page.film {
            Film::Until(hours) | Film::Both(hours) => Some(self.at(hours)),
            Film::None | Film::Plain | Film::Broken => None,
        };
        let always = [
            page.from.map(|hours| self.at(hours)),
            page.until.map(|hours| self.at(hours)),
            self.last_change(page).map(When::seconds),
        ];
        let listed_alone = [film, self.news_until(page)];
        let due = listed_alone.into_iter().filter(|_| listed).chain(always);
        due.flatten().filter(|at| *at > self.now).min()
    }

    /// Returns whether a change at that time is still in the feed.
    pub fn is_recent(&self, at: i64) -> bool {
        self.now < at + RECENT_HOURS * 3_600
    }

    /// Returns whether a change at that time may still be in the feed. Each feed is published once a day.
    pub fn may_be_fed(&self, at: i64) -> bool {
        self.now < at + (RECENT_HOURS + ROUND_HOURS) * 3_600
    }
}

fn address(page: &Page, part: u32, settings: &Settings) -> Option<Address> {
    let address = records::address(page, part, settings)?;
    Some((SITES[page.site].to_owned(), address))
}

fn term(site: usize, of: usize) -> Term {
    let (taxonomy, term) = TERMS[of];
    Term {
        site: SITES[site].to_owned(),
        taxonomy: taxonomy.to_owned(),
        term: term.to_owned(),
    }
}

fn terms(page: &Page) -> impl Iterator<Item = Term> {
    let of = (0..TERMS.len()).filter(|of| page.terms & (1 << of) != 0);
    of.map(|of| term(page.site, of))
}
