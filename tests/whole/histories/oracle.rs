//! The oracle: all records and the time, and what must be listed therefore. It shares no code with the product but the
//! form of a date.

use std::collections::BTreeMap;

use harness::with;
use serde_json::{Value, json};
use sitemap::time::When;

use super::history::{Changed, KNOWN, Page, SITES, Settings, State, TYPES};

/// Entries a sitemap has if the site's record does not say.
const DEFAULT_ENTRIES: u32 = 1_000;
/// The lowest byte limit that a site can ask for.
pub(super) const LOW_BYTE_LIMIT: usize = 1_000_000;
/// What sitemaps.org allows.
const HIGH_BYTE_LIMIT: usize = 52_428_800;

/// The world as it should be.
pub(super) struct Oracle {
    /// When it began, in Unix seconds.
    pub(super) begun: i64,
    pub(super) now: i64,
    /// By the record's id.
    pub(super) pages: BTreeMap<String, Page>,
    pub(super) settings: [Option<Settings>; SITES.len()],
}

/// What an entry must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) series: String,
    pub(super) lastmod: Option<String>,
    pub(super) images: Vec<String>,
}

/// A page's address.
pub(super) fn loc(page: &Page) -> String {
    format!("https://{}/p{}", SITES[page.site], page.path)
}

impl Oracle {
    pub(super) fn new(now: i64) -> Self {
        Self {
            begun: now,
            now,
            pages: BTreeMap::new(),
            settings: [None; SITES.len()],
        }
    }

    fn at(&self, hours: i64) -> i64 {
        self.begun + hours * 3_600
    }

    /// The record of a page.
    pub(super) fn record(&self, id: &str, page: &Page) -> Value {
        let text = |hours| When::at(self.at(hours)).to_string();
        let changed = match page.changed {
            Changed::Day(day) => format!("2026-01-{day:02}"),
            Changed::Hour(hours) => text(hours),
        };
        let mut record = json!({
            "id": id, "type": TYPES[page.kind], "url": loc(page), "modified_at": changed,
            "status": if page.state == State::Draft { "draft" } else { "published" },
            "noindex": page.state == State::Noindex,
            "images": images(page).iter().map(|url| json!({"url": url})).collect::<Vec<_>>(),
        });
        let canonical =
            (page.state == State::Elsewhere).then(|| format!("{}/elsewhere", loc(page)));
        let optional = [
            ("canonical_url", canonical),
            ("published_at", page.from.map(text)),
            ("expires_at", page.until.map(text)),
        ];
        for (field, value) in optional {
            if let Some(value) = value {
                record = with(&record, json!({field: value}));
            }
        }
        record
    }

    /// The record of a site.
    pub(super) fn site_record(site: usize, settings: &Settings) -> Value {
        let hidden = settings.hidden.map(|kind| TYPES[kind]);
        let types: BTreeMap<_, _> = hidden
            .into_iter()
            .map(|kind| (kind, json!({"public": false})))
            .collect();
        let limit = if settings.tight {
            LOW_BYTE_LIMIT
        } else {
            HIGH_BYTE_LIMIT
        };
        json!({
            "id": format!("site/{}", SITES[site]), "type": "site", "public": settings.public, "types": types,
            "entries_per_sitemap": settings.capacity, "byte_limit": limit,
        })
    }

    /// What a site goes by; nothing if it is none.
    fn settings(&self, site: usize) -> Option<Settings> {
        let default = Settings {
            capacity: DEFAULT_ENTRIES,
            public: true,
            hidden: None,
            tight: false,
        };
        self.settings[site].or((site < KNOWN).then_some(default))
    }

    /// Whether anything of a site may be seen.
    pub(super) fn is_public(&self, site: usize) -> bool {
        self.settings(site).is_some_and(|settings| settings.public)
    }

    /// Entries and bytes that a sitemap of the site may have.
    pub(super) fn limits(&self, site: usize) -> (usize, usize) {
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

    fn eligible(&self, page: &Page) -> bool {
        let hidden = self
            .settings(page.site)
            .and_then(|settings| settings.hidden);
        self.is_public(page.site)
            && hidden != Some(page.kind)
            && page.state == State::Listed
            && page.from.is_none_or(|from| self.at(from) <= self.now)
            && page.until.is_none_or(|until| self.at(until) > self.now)
    }

    /// For each address of a site that must be listed, the records that claim it: any one of them is.
    pub(super) fn expected(&self, site: usize) -> BTreeMap<String, BTreeMap<&str, Listing>> {
        let mut expected: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        let pages = self.pages.iter().filter(|(_, page)| page.site == site);
        for (id, page) in pages.filter(|(_, page)| self.eligible(page)) {
            let lastmod = match page.changed {
                Changed::Day(day) => Some(format!("2026-01-{day:02}")),
                Changed::Hour(hour) => {
                    (self.at(hour) <= self.now).then(|| When::at(self.at(hour)).to_string())
                }
            };
            let listing = Listing {
                series: TYPES[page.kind].to_owned(),
                lastmod,
                images: images(page),
            };
            expected
                .entry(loc(page))
                .or_default()
                .insert(id.as_str(), listing);
        }
        expected
    }

    /// When time alone may next change something of a page.
    pub(super) fn due(&self, page: &Page) -> Option<i64> {
        let changed = match page.changed {
            Changed::Day(_) => None,
            Changed::Hour(hour) => Some(hour),
        };
        let hours = [page.from, page.until, changed].into_iter().flatten();
        hours
            .map(|hours| self.at(hours))
            .filter(|at| *at > self.now)
            .min()
    }
}

fn images(page: &Page) -> Vec<String> {
    (0..page.images)
        .map(|n| format!("https://i.example/{n:0>180}"))
        .collect()
}
