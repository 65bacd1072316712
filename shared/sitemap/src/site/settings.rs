//! The settings that a site can have, and what follows from them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::format::entry::{ChangeFreq, Priority};
use crate::format::member::SEGMENT_SLOTS;
use crate::loc::{LocError, Origin};
use crate::problem::Problem;
use crate::series::{MAX_TYPE_BYTES, Series, is_name};

/// The type of the records that hold settings. No page has it.
pub const SITE_TYPE: &str = "site";
/// What the ids of the records that hold settings begin with.
pub const SITE_ID_PREFIX: &str = "site/";
/// Entries a sitemap may have (sitemaps.org).
pub const MAX_ENTRIES: u32 = 50_000;
/// Entries a sitemap has by default: what Yoast SEO does, small enough to be fetched often.
pub const DEFAULT_ENTRIES: u32 = 1_000;
/// Bytes a sitemap may have, unencoded (sitemaps.org).
pub const MAX_BYTES: u64 = 52_428_800;
/// The fewest bytes a site may ask for: room for two entries of the largest size.
pub const MIN_BYTES: u64 = 1_000_000;

/// Bytes of a host's name (RFC 1035, section 2.3.4, less the root's dot).
pub const MAX_HOST_BYTES: usize = 253;
/// Types that a site may say something of: its settings are one item (DynamoDB: 400 KB).
pub const MAX_TYPES: usize = 1_000;

/// Entries a news sitemap may have (Google's news sitemap guide).
pub const MAX_NEWS_ENTRIES: u32 = 1_000;
/// Bytes of a site's name, of its news' name and of a pattern of URLs.
pub const MAX_TEXT_BYTES: usize = 300;
/// Types that llms.txt may list: each has a heading there.
pub const MAX_LLMS_TYPES: usize = 20;
/// Characters of an IndexNow key (<https://www.indexnow.org/documentation>).
pub const INDEXNOW_KEY_CHARS: std::ops::RangeInclusive<usize> = 8..=128;
/// The placeholder of the page's URL in a pattern of its parts' URLs.
pub const URL_PLACE: &str = "{url}";
/// The placeholder of the part's number in it.
pub const PART_PLACE: &str = "{part}";

/// Suffix of the series of a type whose own name is reserved.
const PAGES_SUFFIX: &str = "-pages";
/// No series has this name: `/wp-sitemap.xml` is WordPress's name for its index, and leads to ours.
pub const FOREIGN_INDEX_SERIES: &str = "wp";
/// Names that no type's series has: that of the videos, that of the news, and [`FOREIGN_INDEX_SERIES`].
const RESERVED_SERIES: usize = 3;
/// Bytes of a series' name: a type's longest, with a suffix for each reserved name that it may have to pass.
pub const MAX_SERIES_BYTES: usize = MAX_TYPE_BYTES + RESERVED_SERIES * PAGES_SUFFIX.len();
const _: () = assert!(
    MAX_ENTRIES.is_multiple_of(SEGMENT_SLOTS),
    "the last segment of a full shard is full"
);

/// What a site says of one type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypeSettings {
    /// Whether its pages are listed.
    pub public: bool,
    /// For entries whose record has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changefreq: Option<ChangeFreq>,
    /// For entries whose record has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Whether its pages are news.
    #[serde(default)]
    pub news: bool,
    /// How the URLs of a page's parts are made, with [`URL_PLACE`] and [`PART_PLACE`].
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

/// What a site says of its llms.txt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Llms {
    /// Its title; the site's name if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the site is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The types whose pages it lists, in the order of its sections: at least one.
    pub types: Vec<String>,
}

/// What a sitemap names for a browser that opens it raw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stylesheet {
    /// A CSS style sheet: a readable list in every browser.
    #[default]
    Css,
    /// An XSLT style sheet: browsers are about to drop it.
    Xsl,
    /// None.
    None,
}

/// What a series lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesKind {
    /// Pages of a type.
    Pages,
    /// Pages that have a video.
    Video,
    /// News.
    News,
}

/// A site's settings, whole: what its record does not say has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SiteSettings {
    /// The host by which records, tables and object keys name the site.
    pub host: String,
    /// Scheme and host that all its pages have: `https://www.example.com`.
    pub origin: Origin,
    /// Whether anything of it is listed.
    pub public: bool,
    /// Positions of a shard that are given to new entries.
    pub entries_per_sitemap: u32,
    /// Bytes of a shard, unencoded.
    pub byte_limit: u64,
    /// Types it says something of; any other is public.
    pub types: BTreeMap<String, TypeSettings>,
    /// Lines of robots.txt before the sitemaps.
    pub robots: Vec<String>,
    /// What the feed is called; the host if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The language of pages that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The publication's name. Without one no news are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub news_name: Option<String>,
    /// Whether a page that was published earlier is no news for being modified.
    #[serde(default)]
    pub news_published_only: bool,
    /// The name of the news sitemaps' series.
    pub news_series: String,
    /// The name of the video sitemaps' series.
    pub video_series: String,
    /// What its sitemaps name.
    #[serde(default)]
    pub stylesheet: Stylesheet,
    /// Whether it has a feed of what has changed.
    pub feed: bool,
    /// Its llms.txt; nothing if it wants none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llms: Option<Llms>,
    /// The key by which IndexNow knows the site. Without a key, search engines are not notified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexnow_key: Option<String>,
    /// Whether many indexes are listed by one of their own. Google reads no index in an index.
    #[serde(default)]
    pub cascaded_index: bool,
    /// What is wrong with its record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

impl SiteSettings {
    /// Returns the settings of a site that has no record.
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
            news_published_only: false,
            news_series: "news".to_owned(),
            video_series: "video".to_owned(),
            stylesheet: Stylesheet::default(),
            feed: true,
            llms: None,
            indexnow_key: None,
            cascaded_index: false,
            problems: Vec::new(),
        })
    }

    /// Returns what the site says of a type.
    #[must_use]
    pub fn type_settings(&self, name: &str) -> TypeSettings {
        self.types.get(name).cloned().unwrap_or_default()
    }

    /// Returns the llms.txt that is published: none of a site that is private.
    #[must_use]
    pub fn public_llms(&self) -> Option<&Llms> {
        self.llms.as_ref().filter(|_| self.public)
    }

    /// Returns the series that lists a type's pages. It has the type's name unless that is reserved: pages must not mix with the
    /// videos or the news, nor hide behind the name of an index.
    ///
    /// No two types share a series. A name and the same name with suffixes are a chain: `news`, `news-pages`,
    /// `news-pages-pages`. The n-th type of a chain has the n-th name of it that is not reserved. Chains have no name in
    /// common.
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

    /// Returns the series of this name.
    #[must_use]
    pub fn series(&self, name: String) -> Series {
        Series {
            site: self.host.clone(),
            name,
        }
    }

    /// Returns what the series of this name lists.
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

    /// Returns the number of positions in a series' shards that are given to new entries.
    #[must_use]
    pub fn capacity(&self, series: &str) -> u32 {
        match self.kind_of(series) {
            SeriesKind::News => self.entries_per_sitemap.min(MAX_NEWS_ENTRIES),
            SeriesKind::Pages | SeriesKind::Video => self.entries_per_sitemap,
        }
    }

    /// Returns the series of types that are not public: nothing of them is served.
    #[must_use]
    pub fn hidden_series(&self) -> Vec<String> {
        let hidden = self.types.iter().filter(|(_, settings)| !settings.public);
        hidden.map(|(name, _)| self.series_of(name).name).collect()
    }
}

/// Returns whether a series may be called so: a type's name, perhaps with suffixes ([`SiteSettings::series_of`]).
#[must_use]
pub fn is_series_name(name: &str) -> bool {
    is_name(name, MAX_SERIES_BYTES) && name != FOREIGN_INDEX_SERIES
}

/// Returns whether `/{name}.txt` may be the text form of a sitemap, which is then served in place of a key.
fn is_sitemap_name(name: &str) -> bool {
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

/// Returns whether an item holds a site's settings. Its type says so; or it has the id of settings and no `url`, so it cannot be a
/// page, and somebody may have made a site private by it.
#[must_use]
pub fn is_settings(id: &str, item: &Value) -> bool {
    let given = |field| item.get(field).filter(|value: &&Value| !value.is_null());
    given("type").and_then(Value::as_str) == Some(SITE_TYPE)
        || (host_of_site_id(id).is_some() && given("url").is_none())
}

/// Returns whether this is a site's name, as in object keys and in the CDN's header: lower case, labels of `[a-z0-9-]`, and a port
/// if it is not the scheme's own.
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

/// Returns the host that a settings record is about, if `id` is the id of one.
#[must_use]
pub fn host_of_site_id(id: &str) -> Option<&str> {
    id.strip_prefix(SITE_ID_PREFIX)
        .filter(|host| !host.is_empty())
}
