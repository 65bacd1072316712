//! The content record: one item of the content table as a domain value.
//!
//! - Parsing never fails. An invalid field becomes a [`Problem`], and the rest of the record is kept.
//! - A problem either *closes* the record, so that its page is excluded, or only omits the field. Fields that decide about
//!   listing close the record: see [`schema`].
//! - Unknown fields are ignored, and so is `null`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::format::entry::{Alternate, ChangeFreq, Priority};
use crate::format::video::{self, Video};
use crate::language::is_language;
use crate::loc::Loc;
pub use crate::problem::{MAX_QUOTED_CHARS, Problem, cut};
pub use crate::series::{MAX_TYPE_BYTES, is_type_name};
use crate::site::{MAX_HOST_BYTES, SITE_TYPE, host_of_site_id, is_settings, is_site_host};
use crate::time::When;

mod fields;
pub mod schema;
#[cfg(test)]
mod tests;
mod values;

use self::fields::Fields;
pub use self::values::{
    ArchiveOf, Departure, Kind, MAX_ALTERNATES, MAX_IMAGES, MAX_PARTS, MAX_TERM_BYTES, MAX_TERMS,
    News, Status, Visibility,
};
use self::values::{KINDS, STATUSES, VISIBILITIES};

/// The most bytes of a record's id, which is a part of sort keys (DynamoDB: 1,024 bytes).
pub const MAX_ID_BYTES: usize = 900;
/// The most bytes of a host's name and a port.
const MAX_SITE_BYTES: usize = MAX_HOST_BYTES + 6;
/// A content record.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentRecord {
    /// The primary key in the content table.
    pub id: String,
    /// The host of its site, as given or taken from the url, in lower case. Empty if there is neither.
    pub site: String,
    /// The type's name, `[A-Za-z0-9_-]`, which is the series' name too. Empty if it is missing or invalid.
    pub type_name: String,
    /// The address as given.
    pub url: String,
    /// The canonical address. A relative one is resolved against `url`. `None` if the record gives none.
    pub canonical_url: Option<Loc>,
    /// What became of the page, if it is no longer at its address.
    pub departure: Option<Departure>,
    /// The title, for feeds and the view for people.
    pub title: Option<String>,
    /// The description, for feeds and the view for people.
    pub description: Option<String>,
    /// The status. Default: published.
    pub status: Status,
    /// The visibility. Default: public.
    pub visibility: Visibility,
    /// Whether search engines are asked not to index it. Default: false.
    pub noindex: bool,
    /// The kind. Default: content.
    pub kind: Kind,
    /// The time of the first publication.
    pub published_at: Option<When>,
    /// The time of the last significant change.
    pub modified_at: Option<When>,
    /// The time from which the page no longer exists.
    pub expires_at: Option<When>,
    /// Its own change frequency. `None` means its type's.
    pub changefreq: Option<ChangeFreq>,
    /// Its own priority. `None` means its type's.
    pub priority: Option<Priority>,
    /// The images, at most [`MAX_IMAGES`].
    pub images: Vec<Loc>,
    /// The videos that a sitemap can list.
    pub videos: Vec<Video>,
    /// The data of news. If set, the page is news, whatever its type.
    pub news: Option<News>,
    /// If set, the page is not news, whatever its type.
    pub no_news: bool,
    /// The page's language.
    pub language: Option<String>,
    /// The page in other languages, at most [`MAX_ALTERNATES`].
    pub alternates: Vec<Alternate>,
    /// The translation group. Records of one group, each with its language, are translations of each other.
    pub translation_group: Option<String>,
    /// Whether it is its group's page for all other languages.
    pub x_default: bool,
    /// Terms by taxonomy, at most [`MAX_TERMS`] in all.
    pub terms: BTreeMap<String, Vec<String>>,
    /// The number of parts, at least 1. An archive has 1.
    pub pages: u32,
    /// The archive whose page the record is. `None` if it is not an archive.
    pub archive_of: Option<ArchiveOf>,
    /// The problems of the record, in the order of the fields above.
    pub problems: Vec<Problem>,
}

/// The part of a record that a scan needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Its site.
    pub site: String,
    /// The number of parts, as [`ContentRecord::pages`].
    pub pages: u32,
}

impl From<ContentRecord> for Outline {
    fn from(record: ContentRecord) -> Self {
        let ContentRecord { site, pages, .. } = record;
        Self { site, pages }
    }
}

impl ContentRecord {
    /// Parses a record of the content table. `id` is the primary key; the value is the whole item.
    ///
    /// ```
    /// use sitemap::record::ContentRecord;
    /// let item = serde_json::json!({"type": "post", "url": "https://www.example.com/a", "priority": 1.7});
    /// let record = ContentRecord::parse("post/1", &item);
    /// assert_eq!(record.site, "www.example.com");
    /// assert_eq!(record.problems[0].to_string(), "priority: 1.7 is not a number from 0.0 to 1.0");
    /// assert!(!record.problems[0].closes);
    /// ```
    #[must_use]
    pub fn parse(id: &str, item: &Value) -> Self {
        let empty = Map::new();
        let mut fields = Fields::of(item.as_object().unwrap_or(&empty));
        if id.len() > MAX_ID_BYTES {
            fields.problem("id", format!("{} bytes, at most {MAX_ID_BYTES}", id.len()));
        }
        let url = match fields.text("url") {
            Some(url) => url,
            None => {
                if fields.get("url").is_none() {
                    fields.problem("url", "missing");
                }
                String::new()
            }
        };
        let site = match fields.text("site").filter(|site| !site.is_empty()) {
            Some(site) if site.len() > MAX_SITE_BYTES => {
                fields.problem(
                    "site",
                    format!("{} bytes, a host has at most {MAX_SITE_BYTES}", site.len()),
                );
                String::new()
            }
            Some(site) => site.to_ascii_lowercase(),
            None => host_of(&url)
                .filter(|host| host.len() <= MAX_SITE_BYTES)
                .unwrap_or_default(),
        };
        let type_name = fields.type_name();
        let (title, description) = (fields.text("title"), fields.text("description"));
        let terms = fields.terms();
        let language = fields.language("language");
        let canonical_url = fields.canonical_url(&url);
        let departure = fields.departure(&url);
        let mut record = Self {
            id: id.to_owned(),
            site,
            type_name,
            canonical_url,
            departure,
            status: fields.choice("status", Status::Published, STATUSES),
            visibility: fields.choice("visibility", Visibility::Public, VISIBILITIES),
            noindex: fields.noindex(),
            kind: fields.choice("kind", Kind::Content, KINDS),
            published_at: fields.when("published_at"),
            modified_at: fields.when("modified_at"),
            expires_at: fields.when("expires_at"),
            changefreq: fields.changefreq(),
            priority: fields.priority(),
            images: fields.images(),
            videos: fields.videos(video::Page {
                title: title.as_deref(),
                description: description.as_deref(),
                tags: terms.get("tag").map_or(&[], Vec::as_slice),
            }),
            news: fields.news(),
            no_news: fields.get("news") == Some(&Value::Bool(false)),
            alternates: fields.alternates(&url),
            translation_group: fields
                .translation_group(language.as_deref().is_some_and(is_language)),
            x_default: fields.flag("x_default"),
            language,
            terms,
            pages: fields.pages(),
            archive_of: fields.archive_of(),
            title,
            description,
            url,
            problems: Vec::new(),
        };
        let mut problems = fields.finish();
        if is_settings(id, item) {
            // Settings are not a page. `SiteSettings` reads the fields and reports their problems, but only under a valid id.
            SITE_TYPE.clone_into(&mut record.type_name);
            problems.clear();
            if !host_of_site_id(id).is_some_and(is_site_host) {
                let reason = "a site's settings have the id site/<host>, in lower case";
                problems.push(Problem::new("id", reason, true));
            }
        }
        Self { problems, ..record }
    }

    /// Returns whether the item is a site's settings, which are not a page. [`crate::site::SiteSettings`] reads them.
    #[must_use]
    pub fn is_settings(&self) -> bool {
        self.type_name == SITE_TYPE
    }

    /// Returns the first problem that excludes the page.
    #[must_use]
    pub fn closing_problem(&self) -> Option<&Problem> {
        self.problems.iter().find(|problem| problem.closes)
    }

    /// Returns the page's lastmod before the check that it is not in the future: `modified_at`, or else `published_at`.
    #[must_use]
    pub fn last_change(&self) -> Option<When> {
        self.modified_at.or(self.published_at)
    }
}

/// Returns the host of an absolute URL, and the port unless it is the scheme's default.
fn host_of(url: &str) -> Option<String> {
    if let Some(host) = Loc::plain_host(url) {
        return Some(host.to_owned());
    }
    let url = url::Url::parse(url).ok()?;
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}
