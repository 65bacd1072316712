//! Records as they are written, and their expected meaning.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sitemap::loc::Loc;
use sitemap::plan::Translation;
use sitemap::time::When;

use super::{HIGH_BYTE_LIMIT, LOW_BYTE_LIMIT, Oracle};
use crate::endpoint::key_of;
use crate::history::{
    ALSO, Alternates, Changed, Film, GROUPS, MANY_IMAGES, MANY_IMAGES_DIGITS, PART_URLS, Page,
    SERIES, SITES, STYLESHEETS, Settings, Spelling, State, TERMS, TYPES,
};

/// The title of every page that has one.
pub(super) const TITLE: &str = "Rust & <more>";
/// The title and the summary of every llms.txt.
pub(super) const LLMS: [&str; 2] = ["The Lantern", "Bread & more"];
/// The picture and the file of every video.
pub(super) const FILM: [&str; 2] = ["https://i.example/film.jpg", "https://i.example/film.mp4"];
/// The alternate of the pages that name another page.
const OTHER_LANGUAGE: &str = "https://elsewhere.example/de";
/// The language of the sites that have one.
const SITE_LANGUAGE: &str = "en-GB";

/// Returns a page's URL in the spelling of its record.
fn url(page: &Page) -> String {
    let name = match page.spelling {
        Spelling::Raw => "pü",
        Spelling::Lower => "p%c3%bc",
        Spelling::Unreserved => "%70%C3%BC",
    };
    let page_url = format!("https://{}/{name}{}", SITES[page.site], page.path);
    match page.under {
        None => page_url,
        Some(part) => format!("{page_url}/{part}"),
    }
}

/// Returns a page's URL as it is published: encoded where necessary, and otherwise in the spelling of its record.
pub(super) fn loc(page: &Page) -> String {
    url(page).replace('ü', "%C3%BC")
}

/// Returns the canonical URL of a page: itself in another spelling, unless another page is meant.
fn canonical(page: &Page) -> Option<String> {
    let spelled = |spelling| Some(url(&Page { spelling, ..*page }));
    match (page.state, page.spelling) {
        (State::Elsewhere, _) => Some(format!("{}/elsewhere", loc(page))),
        (_, Spelling::Raw) => None,
        (_, Spelling::Lower) => spelled(Spelling::Raw),
        (_, Spelling::Unreserved) => spelled(Spelling::Lower),
    }
}

/// Returns what became of a page, as its row says it. `None` if it has not departed.
pub(super) fn departure(page: &Page) -> Option<Value> {
    match page.state {
        State::Moved => Some(json!({"moved_to": format!("{}/to", loc(page))})),
        State::Gone => Some(json!("gone")),
        _ => None,
    }
}

/// Returns the address of a part, which all spellings share. Returns `None` if it is not on the site.
pub(super) fn address(page: &Page, part: u32, settings: &Settings) -> Option<String> {
    let spelling = Spelling::Raw;
    part_loc(&Page { spelling, ..*page }, part, settings)
}

/// Returns the URL of a part, as it is published. Returns `None` if it is not on the site.
pub(super) fn part_loc(page: &Page, part: u32, settings: &Settings) -> Option<String> {
    let loc = loc(page);
    if part == 1 {
        return Some(loc);
    }
    let pattern = settings.part_url.filter(|(kind, _)| *kind == page.kind);
    match pattern {
        None | Some((_, 0)) => Some(format!("{loc}/{part}")),
        Some((_, 1)) => Some(format!("{loc}?page={part}")),
        Some(_) => None,
    }
}

/// Returns a page's data as a member of its translation group. Returns `None` if it is in no group.
pub(super) fn translation(page: &Page, loc: &str) -> Option<(String, Translation)> {
    let (group, (language, _)) = page.group.zip(page.language_codes())?;
    let translation = Translation {
        language,
        href: Loc::parse_any(loc).expect("a page's address"),
        x_default: page.x_default,
    };
    Some((GROUPS[group].to_owned(), translation))
}

/// Returns the alternates that a page names, with their codes.
pub(super) fn alternates(page: &Page) -> Vec<(&'static str, String)> {
    let itself = ("en", loc(page));
    let other = ("de", OTHER_LANGUAGE.to_owned());
    match page.alternates {
        Alternates::None => Vec::new(),
        Alternates::Both => vec![itself, other],
        Alternates::Other => vec![other],
        Alternates::Itself => vec![itself],
    }
}

/// Returns the time of modification in a page's record, in a world with this beginning.
pub(super) fn modified(page: &Page, begun: i64) -> Option<When> {
    match page.changed {
        Changed::Day(day) => When::parse(&format!("2026-01-{day:02}")).ok(),
        Changed::Hour(hours) => Some(When::at(begun + hours * 3_600)),
        Changed::Ago(_) => panic!("an edit makes an hour of it"),
        Changed::Never => None,
    }
}

pub(super) fn images(page: &Page) -> Vec<String> {
    let digits = if page.images == MANY_IMAGES {
        MANY_IMAGES_DIGITS
    } else {
        1
    };
    let padding = "0".repeat(digits);
    (0..page.images)
        .map(|n| format!("https://i.example/{padding}{n}"))
        .collect()
}

impl Oracle {
    /// Returns the record of a page.
    pub fn record(&self, id: &str, page: &Page) -> Value {
        let text = |hours| When::at(self.at(hours)).to_string();
        let mut terms: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (of, (taxonomy, term)) in TERMS.into_iter().enumerate() {
            if page.terms & (1 << of) != 0 {
                terms.entry(taxonomy).or_default().push(term);
            }
        }
        let film = |until: Option<i64>| {
            let [thumbnail, content] = FILM;
            let until = until.map(text);
            json!({"title": TITLE, "thumbnail_url": thumbnail, "content_url": content, "expires_at": until})
        };
        let films = match page.film {
            Film::None => Vec::new(),
            Film::Plain => vec![film(None)],
            Film::Until(hours) => vec![film(Some(hours))],
            Film::Both(hours) => vec![film(Some(hours)), film(None)],
            Film::Broken => vec![json!({"title": TITLE, "content_url": FILM[1]})],
        };
        let record = json!({
            "id": id, "type": TYPES[page.kind], "url": url(page), "pages": page.parts, "x_default": page.x_default,
            "status": if page.state == State::Draft { "draft" } else { "published" },
            "noindex": page.state == State::Noindex, "terms": terms, "videos": films,
            "alternates": alternates(page).iter().map(|(code, url)| json!({"hreflang": code, "url": url})).collect::<Vec<_>>(),
            "images": images(page).iter().map(|url| json!({"url": url})).collect::<Vec<_>>(),
        });
        let archive = page.archive.map(|of| {
            let (taxonomy, term) = TERMS[of];
            json!({"taxonomy": taxonomy, "term": term})
        });
        let modified = modified(page, self.begun);
        let departure = departure(page);
        let moved_to = departure
            .as_ref()
            .and_then(|departure| departure.get("moved_to"));
        let optional: [(&str, Option<Value>); 11] = [
            ("moved_to", moved_to.cloned()),
            ("gone", (page.state == State::Gone).then(|| true.into())),
            ("canonical_url", canonical(page).map(Value::from)),
            ("modified_at", modified.map(|at| at.to_string().into())),
            ("published_at", page.from.map(|hours| text(hours).into())),
            ("expires_at", page.until.map(|hours| text(hours).into())),
            ("title", page.titled.then(|| TITLE.into())),
            ("archive_of", archive),
            ("news", page.news.then(|| json!({}))),
            (
                "language",
                page.language_codes().map(|(code, _)| code.into()),
            ),
            ("translation_group", page.group.map(|of| GROUPS[of].into())),
        ];
        let given = optional.into_iter();
        given.fold(record, |mut record, (field, value)| {
            if let Some(value) = value {
                record[field] = value;
            }
            record
        })
    }

    /// Returns the record of a site.
    pub fn site_record(site: usize, settings: &Settings) -> Value {
        let mut types: BTreeMap<&str, Value> = BTreeMap::new();
        let mut set = |kind: usize, field: Value| {
            let settings = types.entry(TYPES[kind]).or_insert_with(|| json!({}));
            if let (Value::Object(settings), Value::Object(field)) = (settings, field) {
                settings.extend(field);
            }
        };
        if let Some(kind) = settings.hidden {
            set(kind, json!({"public": false}));
        }
        if let Some(kind) = settings.news {
            set(kind, json!({"news": true}));
        }
        if let Some((kind, pattern)) = settings.part_url {
            set(kind, json!({"part_url": PART_URLS[pattern]}));
        }
        let limit = if settings.tight {
            LOW_BYTE_LIMIT
        } else {
            HIGH_BYTE_LIMIT
        };
        let (videos, news) = SERIES[settings.series];
        json!({
            "id": format!("site/{}", SITES[site]), "type": "site", "public": settings.public, "types": types,
            "entries_per_sitemap": settings.capacity, "byte_limit": limit, "feed": settings.feed,
            "feed_in_robots": settings.feed_named,
            "video_series": videos, "news_series": news, "news_published_only": settings.published_only,
            "stylesheet": STYLESHEETS[settings.stylesheet], "cascaded_index": settings.cascaded,
            "also": also(SITES[site], settings.also),
            "index_lastmod": if settings.timed { "published" } else { "pages" },
            "news_name": settings.publication.filter(|_| !settings.named).map(publication),
            "name": settings.publication.filter(|_| settings.named).map(publication),
            "language": settings.language.then_some(SITE_LANGUAGE),
            "llms": settings.llms.map(|_| {
                let kinds = settings.llms_kinds().into_iter().map(|kind| TYPES[kind]);
                json!({"title": LLMS[0], "summary": LLMS[1], "types": kinds.collect::<Vec<_>>()})
            }),
            "indexnow_key": settings.told.then(|| key_of(SITES[site])),
        })
    }
}

/// Returns the first of the sitemaps of others, among values that cannot be listed.
fn also(host: &str, count: usize) -> Value {
    let mut values = vec![json!(format!("https://{host}/post-sitemap.xml"))];
    for (url, lastmod) in &ALSO[..count] {
        let value = match lastmod {
            None => json!(url),
            Some(lastmod) => json!({"url": url, "lastmod": lastmod}),
        };
        values.extend([value.clone(), json!("/relative"), value]);
    }
    values.into()
}

/// Returns the name under which news are published.
pub(super) fn publication(number: u32) -> String {
    format!("The Lantern {number}")
}
