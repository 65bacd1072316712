//! A site's settings: a content record of type `site`, whose id is `site/<host>`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::entry::{ChangeFreq, Priority};
use crate::language;
use crate::loc::{LocError, Origin};
use crate::member::SEGMENT_SLOTS;
use crate::problem::{Problem, cut};
use crate::series::{MAX_TYPE_BYTES, Series, is_name, is_type_name};

mod robots;

pub use self::robots::MAX_ROBOTS_BYTES;

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
/// Characters of an IndexNow key (<https://www.indexnow.org/documentation>).
pub const INDEXNOW_KEY_CHARS: std::ops::RangeInclusive<usize> = 8..=128;
/// What stands for the page's URL in a pattern of its parts' URLs.
pub const URL_PLACE: &str = "{url}";
/// What stands for the part's number there.
pub const PART_PLACE: &str = "{part}";

/// Suffix of the series of a type whose own name is reserved.
const PAGES_SUFFIX: &str = "-pages";
/// No series has this name: `/wp-sitemap.xml` is WordPress's name for its index, and leads to ours.
pub const FOREIGN_INDEX_SERIES: &str = "wp";
/// Names that no type's series has: that of the videos, that of the news, and [`FOREIGN_INDEX_SERIES`].
const RESERVED_SERIES: usize = 3;
/// Bytes of a series' name: a type's longest, with a suffix for each reserved name that it may have to pass.
pub const MAX_SERIES_BYTES: usize = MAX_TYPE_BYTES + RESERVED_SERIES * PAGES_SUFFIX.len();
/// Problems kept for one site; the rest is counted.
const MAX_PROBLEMS: usize = 20;
/// The fields of a settings record, beside `id` and `type`.
const SETTINGS: [&str; 16] = [
    "base_url",
    "public",
    "entries_per_sitemap",
    "byte_limit",
    "types",
    "robots",
    "name",
    "language",
    "news_name",
    "news_published_only",
    "video_series",
    "news_series",
    "stylesheet",
    "feed",
    "indexnow_key",
    "cascaded_index",
];
/// The fields of a type's settings.
const TYPE_SETTINGS: [&str; 5] = ["public", "changefreq", "priority", "news", "part_url"];
/// A misspelt setting differs from a known one by at most this part of its characters: a third.
const MISSPELT_PART: usize = 3;
/// Characters of an unknown setting that are compared: more than the longest known one has.
const MAX_NAME_CHARS: usize = 32;

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
    /// Whether search engines are told of changes, and by which key they know the site.
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
    /// The settings of a site that has no record.
    ///
    /// # Errors
    ///
    /// If `host` is none.
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
            indexnow_key: None,
            cascaded_index: false,
            problems: Vec::new(),
        })
    }

    /// The settings that a site's record gives. An invalid field falls back to its default and becomes a problem. An
    /// invalid `public` makes the site private, and robots.txt that cannot be published as meant disallows all.
    ///
    /// # Errors
    ///
    /// If `host` is not a valid host.
    pub fn parse(host: &str, item: &Value) -> Result<Self, LocError> {
        let mut settings = Self::default_for(host)?;
        let empty = Map::new();
        let item = item.as_object().unwrap_or(&empty);
        // Only whole records have an id; `is_settings` took this one for settings by its id.
        let given = item.get("type").filter(|given| !given.is_null());
        if item.contains_key("id") && given.is_none_or(|given| given != SITE_TYPE) {
            let given = given.map_or("missing".to_owned(), Value::to_string);
            let reason = format!(
                "not {SITE_TYPE:?}; read as the settings of {host}, since the record has no url: {given}"
            );
            settings.problems.push(Problem::new("type", &reason, false));
        }
        for (field, value) in item.iter().filter(|(_, value)| !value.is_null()) {
            if let Err(reason) = settings.set(field, value) {
                settings.problems.push(Problem::new(
                    field,
                    &reason,
                    field == "public" || field == "types",
                ));
            }
        }
        if settings.news_series == settings.video_series {
            let default = Self::default_for(host)?;
            (settings.news_series, settings.video_series) =
                (default.news_series, default.video_series);
            let reason = "the same as video_series: both fall back to their defaults";
            settings
                .problems
                .push(Problem::new("news_series", reason, false));
        }
        settings.limit_problems();
        Ok(settings)
    }

    /// Keeps so many problems that the settings fit into an item, first those that close something.
    fn limit_problems(&mut self) {
        let more = self.problems.len().saturating_sub(MAX_PROBLEMS);
        if more > 0 {
            self.problems.sort_by_key(|problem| !problem.closes);
            self.problems.truncate(MAX_PROBLEMS);
            let reason = format!("{more} more problems");
            self.problems.push(Problem::new("…", &reason, false));
        }
    }

    fn set(&mut self, field: &str, value: &Value) -> Result<(), String> {
        match field {
            "base_url" => {
                let origin = Origin::parse(value.as_str().unwrap_or_default())
                    .map_err(|error| error.to_string())?;
                if origin.host() != self.host {
                    return Err(format!(
                        "its host is {}, the record's is {}",
                        origin.host(),
                        self.host
                    ));
                }
                self.origin = origin;
            }
            "public" => {
                self.public = false;
                self.public = value
                    .as_bool()
                    .ok_or("neither true nor false: the site is private")?;
            }
            "entries_per_sitemap" => {
                let entries = value
                    .as_u64()
                    .and_then(|entries| u32::try_from(entries).ok());
                self.entries_per_sitemap = entries
                    .filter(|entries| (1..=MAX_ENTRIES).contains(entries))
                    .ok_or_else(|| {
                        format!("{value} is not a whole number from 1 to {MAX_ENTRIES}")
                    })?;
            }
            "byte_limit" => {
                self.byte_limit = value
                    .as_u64()
                    .filter(|bytes| (MIN_BYTES..=MAX_BYTES).contains(bytes))
                    .ok_or_else(|| {
                        format!("{value} is not a whole number from {MIN_BYTES} to {MAX_BYTES}")
                    })?;
            }
            "types" => self.set_types(value)?,
            "robots" => self.set_robots(value),
            "name" => self.name = Some(short_text(value)?),
            "news_name" => self.news_name = Some(short_text(value)?),
            "language" => {
                let code = value.as_str().filter(|code| language::is_language(code));
                self.language = Some(code.ok_or("not a language code")?.to_owned());
            }
            "news_published_only" => self.news_published_only = flag(value)?,
            "news_series" => self.news_series = series_name(value)?,
            "video_series" => self.video_series = series_name(value)?,
            "feed" => self.feed = flag(value)?,
            "cascaded_index" => self.cascaded_index = flag(value)?,
            "stylesheet" => {
                self.stylesheet = serde_json::from_value(value.clone())
                    .map_err(|_| "not one of css, xsl, none".to_owned())?;
            }
            "indexnow_key" => {
                let key = value.as_str().filter(|key| is_indexnow_key(key));
                let (least, most) = (INDEXNOW_KEY_CHARS.start(), INDEXNOW_KEY_CHARS.end());
                let reason =
                    format!("not {least} to {most} of A-Z a-z 0-9 -, or the name of a sitemap");
                self.indexnow_key = Some(key.ok_or(reason)?.to_owned());
            }
            "id" | "type" => {}
            _ => return Err(unknown(field, &SETTINGS)),
        }
        Ok(())
    }

    /// Drops each line that cannot be published. If the lines that are left could allow more than was meant, robots.txt
    /// disallows all.
    fn set_robots(&mut self, value: &Value) {
        let Some(lines) = value.as_array() else {
            self.problems.push(Problem::new(
                "robots",
                "not a list of lines: robots.txt disallows all until this is mended",
                true,
            ));
            self.robots = robots::disallow_all();
            return;
        };
        let (lines, dropped) = robots::read(lines);
        let opens = dropped.iter().any(|line| line.may_open);
        for line in dropped {
            let effect = if line.may_open {
                "robots.txt disallows all until this is mended"
            } else {
                "the line is left out"
            };
            let field = format!("robots[{}]", line.at);
            let reason = format!("{}: {effect}", line.reason);
            self.problems
                .push(Problem::new(&field, &reason, line.may_open));
        }
        self.robots = if opens { robots::disallow_all() } else { lines };
    }

    /// What is wrong with one type costs no other, and a type that may have been meant to be private is.
    fn set_types(&mut self, value: &Value) -> Result<(), String> {
        let types = value.as_object().filter(|types| types.len() <= MAX_TYPES);
        let Some(types) = types else {
            self.public = false;
            return Err(format!(
                "not an object of at most {MAX_TYPES} types: the site is private"
            ));
        };
        for (name, value) in types {
            let mut settings = TypeSettings {
                public: value.is_object(),
                ..TypeSettings::default()
            };
            let mut bad = |field: &str, reason: &str, closes| {
                let field = format!("types.{name}{field}");
                self.problems.push(Problem::new(&field, reason, closes));
            };
            if !is_type_name(name) {
                bad("", "no page can have a type of this name", false);
                continue;
            }
            if !value.is_object() {
                bad("", "not an object: the type is private", true);
            }
            for (field, value) in value
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(_, value)| !value.is_null())
            {
                match field.as_str() {
                    "public" => {
                        settings.public = value.as_bool().unwrap_or(false);
                        if !value.is_boolean() {
                            bad(
                                ".public",
                                "neither true nor false: the type is private",
                                true,
                            );
                        }
                    }
                    "changefreq" => {
                        settings.changefreq = value.as_str().and_then(ChangeFreq::parse);
                        if settings.changefreq.is_none() {
                            bad(".changefreq", "not a changefreq of the protocol", false);
                        }
                    }
                    "priority" => {
                        settings.priority = value.as_f64().and_then(Priority::new);
                        if settings.priority.is_none() {
                            bad(".priority", "not a number from 0.0 to 1.0", false);
                        }
                    }
                    "news" => match flag(value) {
                        Ok(news) => settings.news = news,
                        Err(reason) => bad(".news", &reason, false),
                    },
                    "part_url" => match part_url(value) {
                        Ok(pattern) => settings.part_url = Some(pattern),
                        Err(reason) => bad(".part_url", &reason, false),
                    },
                    _ => bad(&format!(".{field}"), &unknown(field, &TYPE_SETTINGS), false),
                }
            }
            self.types.insert(name.clone(), settings);
        }
        Ok(())
    }

    /// What the site says of a type.
    #[must_use]
    pub fn type_settings(&self, name: &str) -> TypeSettings {
        self.types.get(name).cloned().unwrap_or_default()
    }

    /// The series that lists a type's pages. It has the type's name unless that is reserved: pages must not mix with the
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

    /// The series of this name.
    #[must_use]
    pub fn series(&self, name: String) -> Series {
        Series {
            site: self.host.clone(),
            name,
        }
    }

    /// What the series of this name lists.
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

    /// Positions of a series' shards that are given to new entries.
    #[must_use]
    pub fn capacity(&self, series: &str) -> u32 {
        match self.kind_of(series) {
            SeriesKind::News => self.entries_per_sitemap.min(MAX_NEWS_ENTRIES),
            SeriesKind::Pages | SeriesKind::Video => self.entries_per_sitemap,
        }
    }

    /// The series of types that are not public: nothing of them is served.
    #[must_use]
    pub fn hidden_series(&self) -> Vec<String> {
        let hidden = self.types.iter().filter(|(_, settings)| !settings.public);
        hidden.map(|(name, _)| self.series_of(name).name).collect()
    }
}

/// What is wrong with a setting of an unknown name.
fn unknown(field: &str, known: &[&str]) -> String {
    let field = field.to_lowercase();
    let similar = known
        .iter()
        .map(|name| (distance(&field, name), name))
        .filter(|(distance, name)| distance * MISSPELT_PART <= name.len())
        .min();
    match similar {
        Some((_, name)) => format!("no such setting, it is ignored: is {name} meant?"),
        None => format!(
            "no such setting, it is ignored: there are {}",
            known.join(", ")
        ),
    }
}

/// How many characters have to be put in, left out or replaced to make one text the other (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    // A longer text is no known name misspelt.
    for (i, a) in from.chars().take(MAX_NAME_CHARS).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

fn flag(value: &Value) -> Result<bool, String> {
    value
        .as_bool()
        .ok_or_else(|| "neither true nor false".to_owned())
}

fn short_text(value: &Value) -> Result<String, String> {
    let text = value.as_str().unwrap_or_default().trim();
    if text.is_empty() || text.len() > MAX_TEXT_BYTES || text.contains(char::is_control) {
        return Err(format!(
            "not a text of 1 to {MAX_TEXT_BYTES} bytes without control characters"
        ));
    }
    Ok(text.to_owned())
}

/// Whether a series may be called so: a type's name, perhaps with suffixes ([`SiteSettings::series_of`]).
#[must_use]
pub fn is_series_name(name: &str) -> bool {
    is_name(name, MAX_SERIES_BYTES) && name != FOREIGN_INDEX_SERIES
}

fn series_name(value: &Value) -> Result<String, String> {
    match value.as_str().filter(|name| is_type_name(name)) {
        Some(FOREIGN_INDEX_SERIES) => Err(format!(
            "/{FOREIGN_INDEX_SERIES}-sitemap.xml leads to the index"
        )),
        Some(name) => Ok(name.to_owned()),
        None => Err(format!("not 1 to {MAX_TYPE_BYTES} of A-Z a-z 0-9 _ -")),
    }
}

fn part_url(value: &Value) -> Result<String, String> {
    let pattern = short_text(value)?;
    if !pattern.contains(URL_PLACE) || !pattern.contains(PART_PLACE) {
        return Err(format!(
            "{} lacks {URL_PLACE} or {PART_PLACE}",
            cut(&pattern)
        ));
    }
    Ok(pattern)
}

/// Whether `/{name}.txt` may be the text form of a sitemap, which is then served in place of a key.
fn is_sitemap_name(name: &str) -> bool {
    name.rsplit_once("-sitemap")
        .is_some_and(|(series, n)| !series.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a site may have this IndexNow key, whose file is `/{key}.txt`.
#[must_use]
pub fn is_indexnow_key(key: &str) -> bool {
    INDEXNOW_KEY_CHARS.contains(&key.len())
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        && !is_sitemap_name(key)
}

/// Whether an item holds a site's settings. Its type says so; or it has the id of settings and no `url`, so it cannot be a
/// page, and somebody may have made a site private by it.
#[must_use]
pub fn is_settings(id: &str, item: &Value) -> bool {
    let given = |field| item.get(field).filter(|value: &&Value| !value.is_null());
    given("type").and_then(Value::as_str) == Some(SITE_TYPE)
        || (host_of_site_id(id).is_some() && given("url").is_none())
}

/// Whether a site may be called so: what stands in object keys and in the CDN's header. Lower case, labels of
/// `[a-z0-9-]`, and a port if it is not the scheme's own.
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

/// The host that a settings record is about, if `id` is the id of one.
#[must_use]
pub fn host_of_site_id(id: &str) -> Option<&str> {
    id.strip_prefix(SITE_ID_PREFIX)
        .filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_overrides_the_defaults() {
        let item = json!({"base_url": "http://www.example.com/", "entries_per_sitemap": 50_000, "byte_limit": 10_000_000,
            "types": {"post": {"priority": 0.8}, "draft": {"public": false}}, "robots": ["User-agent: *", "Disallow: /x"]});
        let settings = SiteSettings::parse("www.example.com", &item).unwrap();
        assert_eq!(settings.problems, []);
        assert_eq!(settings.origin.as_str(), "http://www.example.com");
        assert_eq!(
            (settings.entries_per_sitemap, settings.byte_limit),
            (50_000, 10_000_000)
        );
        assert!(!settings.type_settings("draft").public);
        assert!(settings.type_settings("page").public);
        let stored = serde_json::to_string(&settings).unwrap();
        assert_eq!(
            serde_json::from_str::<SiteSettings>(&stored).unwrap(),
            settings
        );
    }

    #[test]
    fn a_bad_field_keeps_its_default() {
        let default = SiteSettings::default_for("www.example.com").unwrap();
        for item in [
            json!({"entries_per_sitemap": 0}),
            json!({"entries_per_sitemap": 60_000}),
            json!({"byte_limit": 5}),
            json!({"base_url": "https://www.example.com/blog"}),
            json!({"base_url": "https://www.example.com:8443"}),
            json!({"base_url": "https://www.example.com.evil"}),
            json!({"types": {"../x": {}}}),
            json!({"indexnow_key": "abcdefg/"}),
            json!({"indexnow_key": "post-sitemap2"}),
            json!({"pubic": false}),
            json!({"unknown": [1, 2]}),
            json!({"indexnow_key": "abcdefg"}),
            json!({"stylesheet": "less"}),
            json!({"news_series": "a/b"}),
            json!({"news_series": "x".repeat(65)}),
            json!({"news_series": "video"}),
            json!({"feed": "yes"}),
            json!({"language": "en_US"}),
            json!({"name": ""}),
        ] {
            let settings = SiteSettings::parse("www.example.com", &item).unwrap();
            assert_eq!(settings.problems.len(), 1, "{item}");
            assert_eq!(
                SiteSettings {
                    problems: Vec::new(),
                    ..settings
                },
                default,
                "{item}"
            );
        }
        assert!(
            !SiteSettings::parse("www.example.com", &json!({"public": "no"}))
                .unwrap()
                .public
        );
    }

    #[test]
    fn pages_never_mix_with_the_video_and_news_sitemaps() {
        let parse = |item| SiteSettings::parse("www.example.com", &item).unwrap();
        let names = |settings: &SiteSettings| {
            ["post", "news", "video", "wp"].map(|name| settings.series_of(name).name)
        };
        let default = parse(json!({"news_series": "wp"}));
        assert_eq!(default.problems[0].field, "news_series");
        assert_eq!(
            names(&default),
            ["post", "news-pages", "video-pages", "wp-pages"]
        );
        let renamed = parse(
            json!({"news_series": "google-news", "video_series": "clips",
            "types": {"news": {"public": false}}, "entries_per_sitemap": 5000}),
        );
        assert_eq!(names(&renamed), ["post", "news", "video", "wp-pages"]);
        assert_eq!(renamed.hidden_series(), ["news"]);
        assert_eq!(renamed.kind_of("google-news"), SeriesKind::News);
        assert_eq!(renamed.kind_of("clips"), SeriesKind::Video);
        assert_eq!(renamed.kind_of("news"), SeriesKind::Pages);
        assert_eq!(
            ["google-news", "news"].map(|name| renamed.capacity(name)),
            [1_000, 5_000]
        );
    }

    #[test]
    fn a_bad_line_of_robots_never_opens_the_site() {
        let parse = |robots: Value| {
            SiteSettings::parse("www.example.com", &json!({"robots": robots})).unwrap()
        };
        let closed = ["User-agent: *", "Disallow: /"];
        for robots in [
            json!(["User-agent: *", "Disallow: /admin/", "Disallow: /x\u{1}"]),
            json!(["User-agent: *\nDisallow: /admin/"]),
            json!([
                "User-agent: *",
                format!("Disallow: /{}", "x".repeat(MAX_ROBOTS_BYTES))
            ]),
            json!("User-agent: *\nDisallow: /"),
            json!({"User-agent": "*"}),
            json!(false),
        ] {
            let settings = parse(robots.clone());
            assert_eq!(settings.robots, closed, "{robots}");
            assert!(settings.public && settings.problems[0].closes, "{robots}");
        }
        let long = format!("Disallow: /{}", "x".repeat(49_988));
        for lines in [
            ["User-agent: *", "Disallow: /admin/", "Disallow: /x\t"],
            ["User-agent:\t*", "Disallow:\t/admin/", &long],
        ] {
            let settings = parse(json!(lines));
            assert_eq!(
                (settings.problems, settings.robots),
                (vec![], lines.map(str::to_owned).to_vec())
            );
        }
        let settings = parse(json!(["User-agent: *", "# note\u{7}", "Disallow: /x"]));
        assert_eq!(settings.robots, ["User-agent: *", "Disallow: /x"]);
        assert_eq!(
            settings.problems[0].to_string(),
            "robots[1]: \"# note\\u{7}\" has the control character U+0007: the line is left out"
        );
        assert!(!settings.problems[0].closes);
    }

    #[test]
    fn unknown_settings_are_told_with_the_name_that_may_be_meant() {
        let told = |item: Value| {
            let settings = SiteSettings::parse("www.example.com", &item).unwrap();
            let told: Vec<String> = settings.problems.iter().map(ToString::to_string).collect();
            told.join("\n")
        };
        let meant = |name: &str| format!("no such setting, it is ignored: is {name} meant?");
        assert_eq!(
            told(json!({"Public": true})),
            format!("Public: {}", meant("public"))
        );
        assert_eq!(
            told(json!({"pubilc": 1})),
            format!("pubilc: {}", meant("public"))
        );
        assert_eq!(
            told(json!({"robot": []})),
            format!("robot: {}", meant("robots"))
        );
        assert_eq!(
            told(json!({"types": {"post": {"prioritty": 1}}})),
            format!("types.post.prioritty: {}", meant("priority"))
        );
        let unknown = told(json!({"sitemap_size": 7}));
        assert!(
            unknown.contains("there are base_url, public, "),
            "{unknown}"
        );
        assert!(
            unknown.ends_with("indexnow_key, cascaded_index"),
            "{unknown}"
        );
        assert_eq!(
            told(json!({"id": "site/www.example.com", "type": "site", "x": null})),
            ""
        );
        for known in SETTINGS {
            let told = told(json!({known: {"": 1}}));
            assert!(!told.contains(&format!("{known}: no such")), "{told}");
        }
    }

    #[test]
    fn settings_without_their_type_are_obeyed_and_say_so() {
        let item = json!({"id": "site/www.example.com", "public": false});
        assert!(is_settings("site/www.example.com", &item));
        let settings = SiteSettings::parse("www.example.com", &item).unwrap();
        assert!(!settings.public);
        assert_eq!(
            settings.problems[0].to_string(),
            "type: not \"site\"; read as the settings of www.example.com, since the record has no url: missing"
        );
        let page = json!({"type": "page", "url": "https://www.example.com/"});
        assert!(!is_settings("site/about", &page));
        assert!(!is_settings("post/1", &item));
    }

    #[test]
    fn problems_are_counted_beyond_a_limit_and_those_that_close_come_first() {
        let mut item: Map<String, Value> = (0..100).map(|n| (format!("a{n}"), json!(1))).collect();
        item.insert("public".to_owned(), json!("no"));
        let settings = SiteSettings::parse("www.example.com", &Value::Object(item)).unwrap();
        assert_eq!(settings.problems.len(), MAX_PROBLEMS + 1);
        assert_eq!(settings.problems[0].field, "public");
        assert_eq!(
            settings.problems[MAX_PROBLEMS].to_string(),
            "…: 81 more problems"
        );
    }

    #[test]
    fn what_decides_listing_fails_closed() {
        let types = |value: Value| {
            SiteSettings::parse("www.example.com", &json!({"types": value})).unwrap()
        };
        let settings = types(
            json!({"aaa": {"priority": 7}, "b": {"public": "no"}, "c": 1, "zzz": {"public": false}}),
        );
        assert!(settings.public && settings.type_settings("aaa").public);
        assert!(
            ["b", "c", "zzz"]
                .iter()
                .all(|name| !settings.type_settings(name).public)
        );
        let fields: Vec<&str> = settings
            .problems
            .iter()
            .map(|problem| problem.field.as_str())
            .collect();
        assert_eq!(fields, ["types.aaa.priority", "types.b.public", "types.c"]);
        assert!(!types(json!(["post"])).public);
        let many: Map<_, _> = (0..=MAX_TYPES)
            .map(|n| (format!("t{n}"), json!({})))
            .collect();
        assert!(!types(Value::Object(many)).public);
    }

    #[test]
    fn stored_settings_fit_into_an_item_whatever_the_record_holds() {
        let names = (0..MAX_TYPES).map(|n| {
            (
                format!("{n:0>64}"),
                json!({"priority": 0.5, "changefreq": "monthly"}),
            )
        });
        let lines: Vec<String> = (0..MAX_ROBOTS_BYTES / 2).map(|_| "\"".to_owned()).collect();
        let item = json!({"types": names.collect::<Map<_, _>>(), "robots": lines, "name": "\"".repeat(MAX_TEXT_BYTES), "byte_limit": "\u{1}".repeat(100_000)});
        let stored =
            serde_json::to_string(&SiteSettings::parse("www.example.com", &item).unwrap()).unwrap();
        assert!(stored.len() < 400_000, "{} bytes", stored.len());
    }

    #[test]
    fn the_names_that_types_have_without_a_conflict_stay() {
        let settings = SiteSettings::default_for("www.example.com").unwrap();
        let name = |of: &str| settings.series_of(of).name;
        for (of, expected) in [
            ("post", "post"),
            ("page", "page"),
            ("post-pages", "post-pages"),
            ("video", "video-pages"),
            ("news", "news-pages"),
            ("wp", "wp-pages"),
            ("news-pages", "news-pages-pages"),
            ("wp-pages-pages", "wp-pages-pages-pages"),
            ("news-pagespages", "news-pagespages"),
        ] {
            assert_eq!(name(of), expected);
        }
        let longest = format!("{}{}", "x".repeat(52), "-pages".repeat(2));
        let reserved = json!({"video_series": longest, "news_series": "x".repeat(52)});
        let settings = SiteSettings::parse("www.example.com", &reserved).unwrap();
        assert_eq!(settings.problems, []);
        assert_eq!(settings.series_of(&longest).name, longest + "-pages-pages");
    }

    #[test]
    fn a_private_type_closes_its_own_series_alone() {
        let item = json!({"types": {"news": {"public": false}}});
        let settings = SiteSettings::parse("www.example.com", &item).unwrap();
        assert_eq!(settings.hidden_series(), ["news-pages"]);
        assert_ne!(settings.series_of("news-pages").name, "news-pages");
    }

    /// Names that are likely to meet: a few roots, with suffixes.
    fn names() -> impl Strategy<Value = String> {
        let root = prop_oneof![
            3 => prop::sample::select(vec!["news", "video", "wp", "a"]).prop_map(str::to_owned),
            1 => "[A-Za-z0-9_-]{1,34}",
        ];
        let suffix = prop::sample::select(vec!["-pages", "-pages", "pages", "-page"]);
        let suffixes = prop::collection::vec(suffix, 0..5);
        (root, suffixes).prop_map(|(root, suffixes)| root + &suffixes.concat())
    }

    proptest! {
        #[test]
        fn no_two_types_share_a_series_whatever_the_settings_call_the_others(
            video in names(), news in names(), types in prop::collection::btree_set(names(), 2..40),
        ) {
            let item = json!({"video_series": video, "news_series": news});
            let settings = SiteSettings::parse("www.example.com", &item).unwrap();
            let mut series = std::collections::BTreeMap::new();
            for name in [&settings.video_series, &settings.news_series, FOREIGN_INDEX_SERIES] {
                prop_assert_eq!(series.insert(name.to_owned(), "reserved".to_owned()), None);
            }
            for of in types {
                let name = settings.series_of(&of).name;
                prop_assert!(name.len() <= MAX_SERIES_BYTES, "{}", name);
                prop_assert!(name.starts_with(&of));
                let other = series.insert(name.clone(), of.clone());
                prop_assert_eq!(other, None, "{} has the series {}", of, name);
            }
        }
    }

    #[test]
    fn hosts() {
        for good in [
            "www.example.com",
            "a",
            "xn--bcher-kva.example",
            "localhost:8080",
        ] {
            assert!(is_site_host(good), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "a..b",
            "a.",
            "A.example",
            "my_site.example",
            "[::1]",
            "a/b",
            "a:",
            "a:99999",
            "a:b",
        ] {
            assert!(!is_site_host(bad), "{bad}");
        }
    }
}
