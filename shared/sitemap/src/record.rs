//! The content record: one item of the content table as a domain value.
//!
//! - Parsing never fails: what is wrong with a field becomes a [`Problem`], and the rest of the record is kept.
//! - A problem either *closes* the record (its page is left out) or costs it the field alone. What decides whether a
//!   page is listed fails closed: url, type, status, visibility, noindex, kind and the dates.
//! - Unknown fields are ignored, and so is `null`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::entry::{Alternate, ChangeFreq, Priority};
use crate::loc::Loc;
use crate::time::When;

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
/// Bytes of a type's name, which becomes part of a path.
pub const MAX_TYPE_BYTES: usize = 64;
/// Problems kept for one record; the rest is counted.
const MAX_PROBLEMS: usize = 20;
/// Bytes of a host's name (RFC 1035), and of a port after it.
const MAX_SITE_BYTES: usize = 253 + 6;
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

/// The archive that a record is the page of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveOf {
    /// For example `category`.
    pub taxonomy: String,
    /// For example `news`.
    pub term: String,
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
    /// The canonical address, if it names one.
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
    /// As given: each is an object.
    pub videos: Vec<Map<String, Value>>,
    /// As given.
    pub news: Option<Map<String, Value>>,
    /// The page's language.
    pub language: Option<String>,
    /// At most [`MAX_ALTERNATES`].
    pub alternates: Vec<Alternate>,
    /// Records of one group are translations of each other.
    pub translation_group: Option<String>,
    /// Terms by taxonomy, at most [`MAX_TERMS`] in all.
    pub terms: BTreeMap<String, Vec<String>>,
    /// Parts of a multi-part page, at least 1.
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
        let mut fields = Fields {
            map: item.as_object().unwrap_or(&empty),
            problems: Vec::new(),
            more: 0,
        };
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
        let site = match fields.text("site", true) {
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
        let record = Self {
            id: id.to_owned(),
            site,
            type_name,
            canonical_url: fields.canonical_url(),
            title: fields.text("title", false),
            description: fields.text("description", false),
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
            videos: fields.videos(),
            news: fields.object("news").cloned(),
            language: fields.text("language", false),
            alternates: fields.alternates(),
            translation_group: fields.text("translation_group", false),
            terms: fields.terms(),
            pages: fields.pages(),
            archive_of: fields.archive_of(),
            url,
            problems: Vec::new(),
        };
        Self {
            problems: fields.finish(),
            ..record
        }
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

const STATUSES: &[(&str, Status)] = &[
    ("published", Status::Published),
    ("draft", Status::Draft),
    ("pending", Status::Pending),
    ("scheduled", Status::Scheduled),
    ("private", Status::Private),
    ("trash", Status::Trash),
    ("error", Status::Error),
];
const VISIBILITIES: &[(&str, Visibility)] = &[
    ("public", Visibility::Public),
    ("private", Visibility::Private),
    ("password", Visibility::Password),
];
const KINDS: &[(&str, Kind)] = &[
    ("content", Kind::Content),
    ("search_results", Kind::SearchResults),
    ("error", Kind::Error),
    ("paginated_archive", Kind::PaginatedArchive),
];

/// The host, and port if it is not the scheme's own, of an absolute URL.
fn host_of(url: &str) -> Option<String> {
    let url = url::Url::parse(url).ok()?;
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

/// Whether a hreflang is `x-default` or language[-Script][-REGION] in form.
fn is_hreflang(code: &str) -> bool {
    let alphabetic =
        |part: &str, bytes| part.len() == bytes && part.bytes().all(|b| b.is_ascii_alphabetic());
    let mut parts = code.split('-').peekable();
    let language = parts
        .next()
        .is_some_and(|part| alphabetic(part, 2) || alphabetic(part, 3));
    parts.next_if(|part| alphabetic(part, 4));
    parts.next_if(|part| {
        alphabetic(part, 2) || (part.len() == 3 && part.bytes().all(|b| b.is_ascii_digit()))
    });
    code == "x-default" || (language && parts.next().is_none())
}

/// A value as it is shown in a reason.
fn shown(value: &Value) -> String {
    cut(&value.to_string())
}

/// The fields of an item, and what was found wrong while reading them.
struct Fields<'a> {
    map: &'a Map<String, Value>,
    problems: Vec<Problem>,
    more: usize,
}

impl<'a> Fields<'a> {
    fn get(&self, field: &str) -> Option<&'a Value> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    fn problem(&mut self, field: &str, reason: impl Into<String>, closes: bool) {
        // What closes a record must not be lost to the cap.
        if closes || self.problems.len() < MAX_PROBLEMS {
            self.problems
                .push(Problem::new(field, &reason.into(), closes));
        } else {
            self.more += 1;
        }
    }

    fn close(&mut self, field: &str, reason: impl Into<String>) {
        self.problem(field, reason, true);
    }

    fn drop_field(&mut self, field: &str, reason: impl Into<String>) {
        self.problem(field, reason, false);
    }

    fn finish(mut self) -> Vec<Problem> {
        if self.more > 0 {
            self.problems.push(Problem::new(
                "…",
                &format!("{} more problems", self.more),
                false,
            ));
        }
        self.problems
    }

    fn text(&mut self, field: &str, closes: bool) -> Option<String> {
        match self.get(field)? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.problem(field, format!("{} is not text", shown(other)), closes);
                None
            }
        }
    }

    fn object(&mut self, field: &str) -> Option<&'a Map<String, Value>> {
        let value = self.get(field)?;
        if !value.is_object() {
            self.drop_field(field, format!("{} is not an object", shown(value)));
        }
        value.as_object()
    }

    fn list(&mut self, field: &str, limit: usize) -> &'a [Value] {
        match self.get(field) {
            None => &[],
            Some(Value::Array(values)) if values.len() > limit => {
                self.drop_field(
                    field,
                    format!("{} given, the first {limit} are kept", values.len()),
                );
                &values[..limit]
            }
            Some(Value::Array(values)) => values,
            Some(other) => {
                self.drop_field(field, format!("{} is not a list", shown(other)));
                &[]
            }
        }
    }

    fn choice<T: Copy>(&mut self, field: &str, default: T, choices: &[(&str, T)]) -> T {
        let Some(value) = self.get(field) else {
            return default;
        };
        if let Some((_, choice)) = choices
            .iter()
            .find(|(name, _)| value.as_str() == Some(name))
        {
            return *choice;
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        self.close(
            field,
            format!("{} is none of {}", shown(value), names.join(", ")),
        );
        default
    }

    fn type_name(&mut self) -> String {
        let Some(value) = self.get("type") else {
            self.close("type", "missing");
            return String::new();
        };
        match value.as_str().filter(|name| is_type_name(name)) {
            Some(name) => name.to_owned(),
            None => {
                let reason = format!(
                    "{} is not 1 to {MAX_TYPE_BYTES} of A-Z a-z 0-9 _ -",
                    shown(value)
                );
                self.close("type", reason);
                String::new()
            }
        }
    }

    fn noindex(&mut self) -> bool {
        match self.get("noindex") {
            None => false,
            Some(Value::Bool(noindex)) => *noindex,
            Some(other) => {
                self.close(
                    "noindex",
                    format!("{} is neither true nor false", shown(other)),
                );
                true
            }
        }
    }

    fn when(&mut self, field: &str) -> Option<When> {
        let value = self.get(field)?;
        let parsed = match value.as_str() {
            Some(text) => When::parse(text).map_err(|error| error.to_string()),
            None => Err(format!("{} is not text", shown(value))),
        };
        parsed.map_err(|reason| self.close(field, reason)).ok()
    }

    fn canonical_url(&mut self) -> Option<Loc> {
        let text = self
            .text("canonical_url", false)
            .filter(|text| !text.is_empty())?;
        Loc::parse_any(&text)
            .map_err(|error| self.drop_field("canonical_url", error.to_string()))
            .ok()
    }

    fn changefreq(&mut self) -> Option<ChangeFreq> {
        let value = self.get("changefreq")?;
        let parsed = value.as_str().and_then(ChangeFreq::parse);
        if parsed.is_none() {
            self.drop_field(
                "changefreq",
                format!("{} is no changefreq of the protocol", shown(value)),
            );
        }
        parsed
    }

    fn priority(&mut self) -> Option<Priority> {
        let value = self.get("priority")?;
        let parsed = value.as_f64().and_then(Priority::new);
        if parsed.is_none() {
            self.drop_field(
                "priority",
                format!("{} is not a number from 0.0 to 1.0", shown(value)),
            );
        }
        parsed
    }

    /// The absolute address under `url` of one object of a list.
    fn url_in(&mut self, field: &str, at: usize, value: &Value) -> Option<Loc> {
        let place = format!("{field}[{at}].url");
        let Some(text) = value.get("url").and_then(Value::as_str) else {
            self.drop_field(&place, "missing");
            return None;
        };
        Loc::parse_any(text)
            .map_err(|error| self.drop_field(&place, error.to_string()))
            .ok()
    }

    fn images(&mut self) -> Vec<Loc> {
        let images = self.list("images", MAX_IMAGES);
        images
            .iter()
            .enumerate()
            .filter_map(|(at, value)| self.url_in("images", at, value))
            .collect()
    }

    fn videos(&mut self) -> Vec<Map<String, Value>> {
        let mut videos = Vec::new();
        for (at, value) in self.list("videos", usize::MAX).iter().enumerate() {
            match value.as_object() {
                Some(video) => videos.push(video.clone()),
                None => self.drop_field(&format!("videos[{at}]"), "not an object"),
            }
        }
        videos
    }

    fn alternates(&mut self) -> Vec<Alternate> {
        let mut alternates: Vec<Alternate> = Vec::new();
        for (at, value) in self.list("alternates", MAX_ALTERNATES).iter().enumerate() {
            let place = format!("alternates[{at}].hreflang");
            let hreflang = value
                .get("hreflang")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if !is_hreflang(hreflang) {
                self.drop_field(
                    &place,
                    format!(
                        "{hreflang:?} is no language code such as en, en-GB, zh-Hant, x-default"
                    ),
                );
            } else if alternates
                .iter()
                .any(|other| other.hreflang.eq_ignore_ascii_case(hreflang))
            {
                self.drop_field(&place, format!("{hreflang:?} is given twice"));
            } else if let Some(href) = self.url_in("alternates", at, value) {
                alternates.push(Alternate {
                    hreflang: hreflang.to_owned(),
                    href,
                });
            }
        }
        alternates
    }

    fn terms(&mut self) -> BTreeMap<String, Vec<String>> {
        let mut terms: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut count = 0;
        for (taxonomy, values) in self.object("terms").into_iter().flatten() {
            let place = format!("terms.{taxonomy}");
            let Some(values) = values.as_array() else {
                self.drop_field(&place, "not a list");
                continue;
            };
            for value in values {
                match value.as_str() {
                    None => self.drop_field(&place, format!("{} is not text", shown(value))),
                    Some(_) if count == MAX_TERMS => {
                        self.drop_field(
                            &place,
                            format!("more than {MAX_TERMS} terms in all, the first are kept"),
                        );
                        return terms;
                    }
                    Some(term) => {
                        count += 1;
                        terms
                            .entry(taxonomy.clone())
                            .or_default()
                            .push(term.to_owned());
                    }
                }
            }
        }
        terms
    }

    fn pages(&mut self) -> u32 {
        let Some(value) = self.get("pages") else {
            return 1;
        };
        match value
            .as_u64()
            .and_then(|pages| u32::try_from(pages).ok())
            .filter(|pages| (1..=MAX_PARTS).contains(pages))
        {
            Some(pages) => pages,
            None => {
                self.drop_field(
                    "pages",
                    format!(
                        "{} is not a whole number from 1 to {MAX_PARTS}",
                        shown(value)
                    ),
                );
                1
            }
        }
    }

    fn archive_of(&mut self) -> Option<ArchiveOf> {
        let object = self.object("archive_of")?;
        let part = |name| object.get(name).and_then(Value::as_str).map(str::to_owned);
        match (part("taxonomy"), part("term")) {
            (Some(taxonomy), Some(term)) => Some(ArchiveOf { taxonomy, term }),
            // Half an archive is a page whose members cannot be known.
            _ => {
                self.close("archive_of", "needs a taxonomy and a term");
                None
            }
        }
    }
}

/// Whether a type may be called so: its series' file is `{type}-sitemap.xml`.
#[must_use]
pub fn is_type_name(name: &str) -> bool {
    (1..=MAX_TYPE_BYTES).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The problems of an otherwise good record with these fields, `!` before those that close it.
    fn problems(fields: Value) -> Vec<String> {
        let mut item = json!({"type": "post", "url": "https://www.example.com/a"});
        item.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let record = ContentRecord::parse("post/1", &item);
        let mark = |problem: &Problem| {
            format!("{}{}", if problem.closes { "!" } else { "" }, problem.field)
        };
        record.problems.iter().map(mark).collect()
    }

    #[test]
    fn every_field_is_read() {
        let item = json!({
            "id": "post/42", "site": "www.example.com", "type": "post", "url": "https://www.example.com/blog/hello/",
            "title": "Hello", "description": "World", "canonical_url": "https://www.example.com/blog/hello/",
            "status": "published", "visibility": "public", "noindex": false, "kind": "content",
            "published_at": "2026-01-02T03:04:05Z", "modified_at": "2026-01-03", "expires_at": "2027-01-02T03:04:05+02:00",
            "changefreq": "weekly", "priority": 0.8, "images": [{"url": "https://cdn.example.net/1.png"}],
            "videos": [{"title": "v"}], "news": {"title": "n"}, "language": "en",
            "alternates": [{"hreflang": "de", "url": "https://www.example.de/"}], "translation_group": "g",
            "terms": {"author": ["jane"], "category": ["news"]}, "pages": 3,
            "archive_of": {"taxonomy": "category", "term": "news"}, "unknown": {"is": "ignored"}, "nothing": null,
        });
        let record = ContentRecord::parse("post/42", &item);
        assert_eq!(record.problems, []);
        assert_eq!(
            record.expires_at.unwrap().to_string(),
            "2027-01-02T01:04:05+00:00"
        );
        assert_eq!(record.modified_at.unwrap().to_string(), "2026-01-03");
        assert_eq!(record.images[0].as_str(), "https://cdn.example.net/1.png");
        assert_eq!(record.terms["author"], ["jane"]);
        assert_eq!(
            (record.pages, record.videos.len(), record.alternates.len()),
            (3, 1, 1)
        );
        assert_eq!(record.archive_of.unwrap().term, "news");
    }

    #[test]
    fn what_decides_listing_fails_closed() {
        for (fields, problem) in [
            (json!({"url": 3}), "!url"),
            (json!({"type": null}), "!type"),
            (json!({"type": "../x"}), "!type"),
            (json!({"status": "live"}), "!status"),
            (json!({"visibility": 1}), "!visibility"),
            (json!({"noindex": "yes"}), "!noindex"),
            (json!({"kind": "page"}), "!kind"),
            (json!({"modified_at": "2020-02-30"}), "!modified_at"),
            (json!({"published_at": 1_700_000_000}), "!published_at"),
            (json!({"expires_at": "soon"}), "!expires_at"),
            (json!({"archive_of": {"taxonomy": "tag"}}), "!archive_of"),
        ] {
            assert_eq!(problems(fields), [problem]);
        }
        assert!(
            ContentRecord::parse("x", &json!("not an object"))
                .closing_problem()
                .is_some()
        );
        let long = "x".repeat(MAX_ID_BYTES + 1);
        assert_eq!(
            ContentRecord::parse(&long, &json!({"type": "t", "url": "https://a.example/"}))
                .problems[0]
                .field,
            "id"
        );
    }

    #[test]
    fn a_bad_optional_field_costs_that_field_alone() {
        for (fields, problem) in [
            (json!({"priority": 1.7}), "priority"),
            (json!({"changefreq": "often"}), "changefreq"),
            (json!({"canonical_url": "/relative"}), "canonical_url"),
            (
                json!({"images": [{"url": "https://a.example/1"}, {"src": "x"}]}),
                "images[1].url",
            ),
            (
                json!({"alternates": [{"hreflang": "en_US", "url": "https://a.example/"}]}),
                "alternates[0].hreflang",
            ),
            (json!({"pages": 0}), "pages"),
            (json!({"pages": 100_000}), "pages"),
            (json!({"terms": {"tag": "rust"}}), "terms.tag"),
            (json!({"title": 7}), "title"),
            (json!({"videos": [1]}), "videos[0]"),
        ] {
            assert_eq!(problems(fields), [problem]);
        }
    }

    #[test]
    fn of_1001_images_1000_are_kept() {
        let images: Vec<Value> = (0..1_001)
            .map(|i| json!({"url": format!("https://a.example/{i}.png")}))
            .collect();
        let item = json!({"type": "post", "url": "https://a.example/", "images": images});
        let record = ContentRecord::parse("p", &item);
        assert_eq!(record.images.len(), MAX_IMAGES);
        assert_eq!(
            record.problems[0].to_string(),
            "images: 1001 given, the first 1000 are kept"
        );
    }

    #[test]
    fn many_problems_are_counted_and_none_that_closes_is_lost() {
        let images: Vec<Value> = (0..100).map(|_| json!({"url": ""})).collect();
        let record = ContentRecord::parse(
            "p",
            &json!({"url": "https://a.example/", "type": "t", "images": images, "archive_of": {}}),
        );
        assert_eq!(record.problems.len(), MAX_PROBLEMS + 2);
        assert!(record.closing_problem().is_some());
    }

    #[test]
    fn what_is_remembered_of_a_record_is_small_whatever_it_holds() {
        let huge = "\u{1}".repeat(100_000);
        let mut terms = serde_json::Map::new();
        terms.insert(huge.clone(), json!(1));
        let alternates = json!([{"hreflang": huge, "url": huge}]);
        let item = json!({"url": huge, "type": huge, "status": huge, "site": huge, "terms": terms, "alternates": alternates});
        let record = ContentRecord::parse("p", &item);
        assert!(
            record
                .problems
                .iter()
                .all(|problem| problem.to_string().chars().count() < 700),
            "{:?}",
            record.problems
        );
        assert_eq!((record.site.as_str(), record.type_name.as_str()), ("", ""));
    }

    #[test]
    fn language_codes() {
        for good in [
            "en",
            "en-GB",
            "zh-Hant",
            "zh-Hant-TW",
            "es-419",
            "fil",
            "x-default",
        ] {
            assert!(is_hreflang(good), "{good}");
        }
        for bad in [
            "", "en_US", "e", "english", "en-", "x-other", "en-GB-x", "-",
        ] {
            assert!(!is_hreflang(bad), "{bad}");
        }
    }
}
