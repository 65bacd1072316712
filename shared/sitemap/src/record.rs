//! The content record: one item of the content table as a domain value.
//!
//! - Parsing never fails: what is wrong with a field becomes a [`Problem`], and the rest of the record is kept.
//! - A problem either *closes* the record (its page is left out) or costs it the field alone. What decides whether a
//!   page is listed fails closed: url, canonical_url, type, status, visibility, noindex, kind and the dates.
//! - Unknown fields are ignored, and so is `null`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::entry::{Alternate, ChangeFreq, Priority};
use crate::loc::Loc;
use crate::site::{MAX_HOST_BYTES, SITE_TYPE, host_of_site_id, is_settings, is_site_host};
use crate::time::When;
use crate::video::{self, Video};

mod fields;
#[cfg(test)]
mod tests;

use fields::{Fields, KINDS, STATUSES, VISIBILITIES};

/// Images a page may list (Google's image sitemap guide).
pub const MAX_IMAGES: usize = 1_000;
/// Terms a record may have, so that a reconcile stays one transaction.
pub const MAX_TERMS: usize = 30;
/// Alternates a record may have: as many as a translation group has members.
pub const MAX_ALTERNATES: usize = 200;
/// Parts of a multi-part page.
pub const MAX_PARTS: u32 = 1_000;
/// Bytes of a record's id, which stands inside sort keys (DynamoDB: 1,024 bytes).
pub const MAX_ID_BYTES: usize = 900;
/// Bytes of a taxonomy's name, of a term and of a group's name: all stand in partition keys (DynamoDB: 2,048 bytes), where
/// each may take three times as many.
pub const MAX_TERM_BYTES: usize = 200;
/// Bytes of a type's name, which becomes part of a path.
pub const MAX_TYPE_BYTES: usize = 64;
/// Problems kept for one record; the rest is counted.
const MAX_PROBLEMS: usize = 20;
/// Bytes of a host's name, and of a port after it.
const MAX_SITE_BYTES: usize = MAX_HOST_BYTES + 6;
/// Characters of a text that is quoted from a record: what is remembered of bad input must stay small.
const MAX_QUOTED_CHARS: usize = 300;

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Problem {
    /// The field, with a path into it: `images[3].url`.
    pub field: String,
    /// The reason, for people.
    pub reason: String,
    /// Whether the page is left out for it.
    pub closes: bool,
}

impl Problem {
    /// A problem with a field. Texts that quote a record's own are cut.
    #[must_use]
    pub fn new(field: &str, reason: &str, closes: bool) -> Self {
        Self {
            field: cut(field),
            reason: cut(reason),
            closes,
        }
    }
}

/// A text, cut to what may be remembered of bad input.
#[must_use]
pub fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

/// Where a page is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The only one that is listed.
    Published,
    /// Not yet finished.
    Draft,
    /// Waiting for review.
    Pending,
    /// To be published by its author's system.
    Scheduled,
    /// For its authors alone.
    Private,
    /// Thrown away.
    Trash,
    /// Its page answers with an error.
    Error,
}

/// Who may see a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Everybody: the only one that is listed.
    Public,
    /// Some.
    Private,
    /// Who knows the password.
    Password,
}

/// What sort of page it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Content: the only one that is listed.
    Content,
    /// A page of search results.
    SearchResults,
    /// An error page.
    Error,
    /// The second or a later page of an archive.
    PaginatedArchive,
}

/// Displays the values of a field as records write them.
macro_rules! display_as_written {
    ($($type:ty: $names:expr),*) => {$(
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let name = $names.iter().find(|(_, value)| value == self);
                f.write_str(name.map_or("", |(name, _)| name))
            }
        }
    )*};
}
display_as_written!(Status: STATUSES, Visibility: VISIBILITIES, Kind: KINDS);

/// The archive that a record is the page of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveOf {
    /// For example `category`.
    pub taxonomy: String,
    /// For example `news`.
    pub term: String,
}

/// What a record says of itself as a piece of news.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Its own, else the page's.
    pub title: Option<String>,
    /// Its own, else the page's, else the site's.
    pub language: Option<String>,
}

/// A content record.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentRecord {
    /// Primary key of the content table.
    pub id: String,
    /// The host of its site, as written or taken from the url; lower case. Empty if there is neither.
    pub site: String,
    /// The type's name, `[A-Za-z0-9_-]`; its series is named so. Empty if it is missing or bad.
    pub type_name: String,
    /// The address as given.
    pub url: String,
    /// The canonical address, if it names one; a relative one is resolved against `url`.
    pub canonical_url: Option<Loc>,
    /// For feeds and the view for people.
    pub title: Option<String>,
    /// For feeds and the view for people.
    pub description: Option<String>,
    /// Default: published.
    pub status: Status,
    /// Default: public.
    pub visibility: Visibility,
    /// Default: false.
    pub noindex: bool,
    /// Default: content.
    pub kind: Kind,
    /// First publication.
    pub published_at: Option<When>,
    /// Last significant change.
    pub modified_at: Option<When>,
    /// From then on it is gone.
    pub expires_at: Option<When>,
    /// Its own, else its type's.
    pub changefreq: Option<ChangeFreq>,
    /// Its own, else its type's.
    pub priority: Option<Priority>,
    /// At most [`MAX_IMAGES`].
    pub images: Vec<Loc>,
    /// Those that a sitemap can list.
    pub videos: Vec<Video>,
    /// Set if the page is news, whatever its type.
    pub news: Option<News>,
    /// Set if the page is not news, whatever its type.
    pub no_news: bool,
    /// The page's language.
    pub language: Option<String>,
    /// At most [`MAX_ALTERNATES`].
    pub alternates: Vec<Alternate>,
    /// Records of one group, with a language each, are translations of each other.
    pub translation_group: Option<String>,
    /// Whether it is its group's page for everybody else.
    pub x_default: bool,
    /// Terms by taxonomy, at most [`MAX_TERMS`] in all.
    pub terms: BTreeMap<String, Vec<String>>,
    /// Parts of a multi-part page, at least 1. An archive has 1.
    pub pages: u32,
    /// Set if the record is an archive page.
    pub archive_of: Option<ArchiveOf>,
    /// What is wrong with it, in the order of the fields above.
    pub problems: Vec<Problem>,
}

impl ContentRecord {
    /// Reads a record of the content table. `id` is the primary key; the value is the whole item.
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
            fields.close("id", format!("{} bytes, at most {MAX_ID_BYTES}", id.len()));
        }
        let url = match fields.text("url", true) {
            Some(url) => url,
            None => {
                if fields.get("url").is_none() {
                    fields.close("url", "missing");
                }
                String::new()
            }
        };
        let site = match fields.text("site", true).filter(|site| !site.is_empty()) {
            Some(site) if site.len() > MAX_SITE_BYTES => {
                fields.close(
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
        let (title, description) = (
            fields.text("title", false),
            fields.text("description", false),
        );
        let terms = fields.terms();
        let language = fields.language("language");
        let canonical_url = fields.canonical_url(&url);
        let mut record = Self {
            id: id.to_owned(),
            site,
            type_name,
            canonical_url,
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
            alternates: fields.alternates(),
            translation_group: fields.translation_group(language.is_some()),
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
            // Not a page. `SiteSettings` reads the fields and says what is wrong with them, but only under a valid id.
            SITE_TYPE.clone_into(&mut record.type_name);
            problems.clear();
            if !host_of_site_id(id).is_some_and(is_site_host) {
                let reason = "a site's settings have the id site/<host>, in lower case";
                problems.push(Problem::new("id", reason, true));
            }
        }
        Self { problems, ..record }
    }

    /// The first problem that leaves the page out.
    #[must_use]
    pub fn closing_problem(&self) -> Option<&Problem> {
        self.problems.iter().find(|problem| problem.closes)
    }

    /// What the page's lastmod would be, were it not in the future: `modified_at`, else `published_at`.
    #[must_use]
    pub fn last_change(&self) -> Option<When> {
        self.modified_at.or(self.published_at)
    }
}

/// The host, and port if it is not the scheme's own, of an absolute URL.
fn host_of(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

/// Whether a type may be called so: its series' file is `{type}-sitemap.xml`.
#[must_use]
pub fn is_type_name(name: &str) -> bool {
    (1..=MAX_TYPE_BYTES).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
