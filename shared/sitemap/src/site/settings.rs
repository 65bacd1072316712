//! The settings of a site, and values that follow from them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::format::entry::{ChangeFreq, Priority};
use crate::format::member::SEGMENT_SLOTS;
use crate::loc::{Loc, LocError, Origin};
use crate::problem::Problem;
use crate::series::{MAX_TYPE_BYTES, Series, is_name};
use crate::time::When;

/// The type of settings records. No page has it.
pub const SITE_TYPE: &str = "site";
/// The prefix of the ids of settings records.
pub const SITE_ID_PREFIX: &str = "site/";
/// The most entries of a sitemap (sitemaps.org).
pub const MAX_ENTRIES: u32 = 50_000;
/// The default number of entries of a sitemap. It is that of Yoast SEO, and small enough to be fetched often.
pub const DEFAULT_ENTRIES: u32 = 1_000;
/// The most bytes of a sitemap, unencoded (sitemaps.org).
pub const MAX_BYTES: u64 = 52_428_800;
/// The lowest byte limit that a site may set: room for two entries of the largest size.
pub const MIN_BYTES: u64 = 1_000_000;

/// The most bytes of a host's name (RFC 1035, section 2.3.4, less the root's dot).
pub const MAX_HOST_BYTES: usize = 253;
/// The most types with settings, because a site's settings are one item (DynamoDB: 400 KB).
pub const MAX_TYPES: usize = 1_000;

/// The most entries of a news sitemap (Google's news sitemap guide).
pub const MAX_NEWS_ENTRIES: u32 = 1_000;
/// The most bytes of a site's name, of its news' name and of a pattern of URLs.
pub const MAX_TEXT_BYTES: usize = 300;
/// The most types that llms.txt may list. Each has a heading there.
pub const MAX_LLMS_TYPES: usize = 20;
/// The lengths of an IndexNow key, in characters (<https://www.indexnow.org/documentation>).
pub const INDEXNOW_KEY_CHARS: std::ops::RangeInclusive<usize> = 8..=128;
/// The default of [`SiteSettings::moved_max_age`]: an hour, so that a correction arrives the same day.
pub(super) const DEFAULT_MOVED_MAX_AGE: u32 = 3_600;
/// The longest time in seconds for which caches may keep an answer: a year, as RFC 2616 (section 14.21) advised and caches agree.
pub(super) const MAX_MOVED_MAX_AGE: u32 = 31_536_000;
/// The most bytes of [`SiteSettings::not_found_page`]. `http` reads it with the site's file, and keeps it in memory for each site.
pub const MAX_NOT_FOUND_BYTES: usize = 32_768;
/// The placeholder of the page's URL in a pattern for parts.
pub const URL_PLACE: &str = "{url}";
/// The placeholder of the part's number in such a pattern.
pub const PART_PLACE: &str = "{part}";

/// The beginning of every index's file name. The number of a further index follows it.
pub const INDEX_STEM: &str = "sitemap_index";
/// Suffix of the series of a type whose own name is reserved.
const PAGES_SUFFIX: &str = "-pages";
/// No series has this name, because `/wp-sitemap.xml` is WordPress's name for its index, and leads to ours.
pub const FOREIGN_INDEX_SERIES: &str = "wp";
/// The number of names that no type's series has: that of the videos, that of the news, and [`FOREIGN_INDEX_SERIES`].
const RESERVED_SERIES: usize = 3;
/// The most bytes of a series' name: a type's longest, with a suffix for each reserved name.
pub const MAX_SERIES_BYTES: usize = MAX_TYPE_BYTES + RESERVED_SERIES * PAGES_SUFFIX.len();
const _: () = assert!(
    MAX_ENTRIES.is_multiple_of(SEGMENT_SLOTS),
    "the last segment of a full shard is full"
);

/// The settings of one type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypeSettings {
    /// Whether its pages are listed.
    pub public: bool,
    /// The change frequency of records without their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changefreq: Option<ChangeFreq>,
    /// The priority of records without their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Whether its pages are news.
    #[serde(default)]
    pub news: bool,
    /// The pattern for the URLs of a page's parts, with [`URL_PLACE`] and [`PART_PLACE`]. `None` for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_url: Option<String>,
}

impl Default for TypeSettings {
    fn default() -> Self {
        Self {
            public: true,
            changefreq: None,
            priority: None,
            news: false,
            part_url: None,
        }
    }
}

/// The settings of a site's llms.txt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Llms {
    /// Its title. `None` means the site's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description of the site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The types of the listed pages, in the order of the sections. At least one.
    pub types: Vec<String>,
}

/// The style sheet that a sitemap names, for a browser that opens the file directly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stylesheet {
    /// A CSS style sheet, which shows a readable list in every browser.
    #[default]
    Css,
    /// An XSLT style sheet, whose support browsers are about to remove.
    Xsl,
    /// No style sheet.
    None,
}

/// Which lastmod the index gives a sitemap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IndexLastmod {
    /// The newest lastmod of its pages. A sitemap whose pages have none has none.
    #[default]
    Pages,
    /// The same, and for a sitemap whose pages have none the time at which it last changed.
    Published,
}

/// The content of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesKind {
    /// Pages of a type.
    Pages,
    /// Pages that have a video.
    Video,
    /// Pages that are news.
    News,
}

/// A sitemap of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Also {
    /// Its address.
    pub url: Loc,
    /// When it last changed, as the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lastmod: Option<When>,
}

/// The complete settings of a site, with defaults for missing fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteSettings {
    /// The host by which records, tables and object keys name the site.
    pub host: String,
    /// The scheme and host of all its pages: `https://www.example.com`.
    pub origin: Origin,
    /// Whether the site is public. If not, nothing of it is listed.
    pub public: bool,
    /// The number of positions of a shard that are offered to new entries.
    pub entries_per_sitemap: u32,
    /// The most bytes of a shard, unencoded.
    pub byte_limit: u64,
    /// The types with settings. All others are public.
    pub types: BTreeMap<String, TypeSettings>,
    /// The lines of robots.txt before the sitemaps.
    pub robots: Vec<String>,
    /// The title of the feed. `None` means the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The language of pages that give none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The publication's name. Without it no news are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub news_name: Option<String>,
    /// Whether that is the site's own name, because the record does not name the publication.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub news_name_is_sites: bool,
    /// Whether the modification of an earlier published page does not make it news.
    #[serde(default)]
    pub news_published_only: bool,
    /// The name of the news sitemaps' series.
    pub news_series: String,
    /// The name of the video sitemaps' series.
    pub video_series: String,
    /// The style sheet of its sitemaps.
    #[serde(default)]
    pub stylesheet: Stylesheet,
    /// Whether it has a feed of recent changes.
    pub feed: bool,
    /// Whether robots.txt names that feed as a sitemap.
    #[serde(default)]
    pub feed_in_robots: bool,
    /// Its llms.txt. `None` if it wants none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llms: Option<Llms>,
    /// The site's IndexNow key. Without it, search engines are not notified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexnow_key: Option<String>,
    /// Which lastmod the indexes give a sitemap.
    #[serde(default)]
    pub index_lastmod: IndexLastmod,
    /// Whether several indexes are listed by an index of their own. Google does not read an index in an index.
    #[serde(default)]
    pub cascaded_index: bool,
    /// Seconds for which caches may keep the answers for pages that departed from their addresses.
    #[serde(
        default = "default_moved_max_age",
        skip_serializing_if = "is_default_moved_max_age"
    )]
    pub moved_max_age: u32,
    /// The HTML page with which `http` answers 404 for paths that are no published file. `None` means Waymark's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_found_page: Option<String>,
    /// The sitemaps of others that the indexes list behind the site's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Also>,
    /// The problems of the settings record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

fn default_moved_max_age() -> u32 {
    DEFAULT_MOVED_MAX_AGE
}

// By reference, as serde requires.
fn is_default_moved_max_age(seconds: &u32) -> bool {
    *seconds == DEFAULT_MOVED_MAX_AGE
}

impl SiteSettings {
    /// Returns the settings of a site without a record.
    ///
    /// # Errors
    ///
    /// If `host` is not a valid host.
    pub fn default_for(host: &str) -> Result<Self, LocError> {
        Ok(Self {
            host: host.to_owned(),
            origin: Origin::parse(&format!("https://{host}"))?,
            public: true,
            entries_per_sitemap: DEFAULT_ENTRIES,
            byte_limit: MAX_BYTES,
            types: BTreeMap::new(),
            robots: vec!["User-agent: *".to_owned(), "Disallow:".to_owned()],
            name: None,
            language: None,
            news_name: None,
            news_name_is_sites: false,
            news_published_only: false,
            news_series: "news".to_owned(),
            video_series: "video".to_owned(),
            stylesheet: Stylesheet::default(),
            feed: true,
            feed_in_robots: false,
            llms: None,
            indexnow_key: None,
            index_lastmod: IndexLastmod::default(),
            cascaded_index: false,
            moved_max_age: DEFAULT_MOVED_MAX_AGE,
            not_found_page: None,
            also: Vec::new(),
            problems: Vec::new(),
        })
    }

    /// Returns the settings of a type.
    #[must_use]
    pub fn type_settings(&self, name: &str) -> TypeSettings {
        self.types.get(name).cloned().unwrap_or_default()
    }

    /// Returns the settings of the published llms.txt. A private site has none.
    #[must_use]
    pub fn public_llms(&self) -> Option<&Llms> {
        self.llms.as_ref().filter(|_| self.public)
    }

    /// Returns the series that lists a type's pages. It has the type's name unless that is reserved: pages must not mix with the
    /// videos or the news, nor have the name of an index.
    ///
    /// No two types share a series. A name and the same name with suffixes are a chain: `news`, `news-pages`, `news-pages-pages`.
    /// The n-th type of a chain gets its n-th name that is not reserved. Two chains never share a name.
    #[must_use]
    pub fn series_of(&self, type_name: &str) -> Series {
        let reserved: [&str; RESERVED_SERIES] =
            [&self.video_series, &self.news_series, FOREIGN_INDEX_SERIES];
        let is_passed = |name: &&&str| {
            let suffixes = type_name.strip_prefix(**name);
            suffixes.is_some_and(|suffixes| suffixes.replace(PAGES_SUFFIX, "").is_empty())
        };
        let mut passed = reserved.iter().filter(is_passed).count();
        let mut name = type_name.to_owned();
        while passed > 0 {
            name += PAGES_SUFFIX;
            if !reserved.contains(&name.as_str()) {
                passed -= 1;
            }
        }
        self.series(name)
    }

    /// Returns the series with this name.
    #[must_use]
    pub fn series(&self, name: String) -> Series {
        Series {
            site: self.host.clone(),
            name,
        }
    }

    /// Returns the kind of the series with this name.
    #[must_use]
    pub fn kind_of(&self, series: &str) -> SeriesKind {
        if series == self.video_series {
            SeriesKind::Video
        } else if series == self.news_series {
            SeriesKind::News
        } else {
            SeriesKind::Pages
        }
    }

    /// Returns the number of positions in a series' shards that are offered to new entries.
    #[must_use]
    pub fn capacity(&self, series: &str) -> u32 {
        match self.kind_of(series) {
            SeriesKind::News => self.entries_per_sitemap.min(MAX_NEWS_ENTRIES),
            SeriesKind::Pages | SeriesKind::Video => self.entries_per_sitemap,
        }
    }

    /// Returns the series of types that are not public. Nothing of them is served.
    #[must_use]
    pub fn hidden_series(&self) -> Vec<String> {
        let hidden = self.types.iter().filter(|(_, settings)| !settings.public);
        hidden.map(|(name, _)| self.series_of(name).name).collect()
    }
}

/// Returns whether a series may have this name: a type's name, optionally with suffixes ([`SiteSettings::series_of`]).
#[must_use]
pub fn is_series_name(name: &str) -> bool {
    is_name(name, MAX_SERIES_BYTES) && name != FOREIGN_INDEX_SERIES
}

/// Returns whether `/{name}.txt` may be the text form of a sitemap, which takes precedence over a key's file.
pub(super) fn is_sitemap_name(name: &str) -> bool {
    name.rsplit_once("-sitemap")
        .is_some_and(|(series, n)| !series.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns whether a site may have this IndexNow key, whose file is `/{key}.txt`.
#[must_use]
pub fn is_indexnow_key(key: &str) -> bool {
    INDEXNOW_KEY_CHARS.contains(&key.len())
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        && !is_sitemap_name(key)
}

/// Returns whether an item is a site's settings. Either its type says so, or it has the id of settings and no `url`. In that case
/// it cannot be a page, and may have been intended to make a site private.
#[must_use]
pub fn is_settings(id: &str, item: &Value) -> bool {
    let given = |field| item.get(field).filter(|value: &&Value| !value.is_null());
    given("type").and_then(Value::as_str) == Some(SITE_TYPE)
        || (host_of_site_id(id).is_some() && given("url").is_none())
}

/// Returns whether this is a site's name, as in object keys and in the CDN's header: lower case, labels of `[a-z0-9-]`, and a
/// port unless it is the scheme's default.
#[must_use]
pub fn is_site_host(site: &str) -> bool {
    let (host, port) = site
        .split_once(':')
        .map_or((site, None), |(host, port)| (host, Some(port)));
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let is_port =
        |port: &str| port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok();
    host.len() <= MAX_HOST_BYTES && host.split('.').all(is_label) && port.is_none_or(is_port)
}

/// Returns the host of a settings record, if `id` is the id of one.
#[must_use]
pub fn host_of_site_id(id: &str) -> Option<&str> {
    id.strip_prefix(SITE_ID_PREFIX)
        .filter(|host| !host.is_empty())
}
