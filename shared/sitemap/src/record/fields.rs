//! Reads the fields of an item, each with its problems.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::schema::problem_at;
use super::values::{
    ArchiveOf, Departure, MAX_ALTERNATES, MAX_IMAGES, MAX_PARTS, MAX_TERM_BYTES, MAX_TERMS, News,
};
use crate::format::entry::{Alternate, ChangeFreq, Priority};
use crate::format::video::{self, MAX_VIDEOS, Video};
use crate::format::xml;
use crate::language::{LanguageError, X_DEFAULT, check_language};
use crate::loc::{Loc, normalized};
use crate::problem::{Problem, cut};
use crate::series::{MAX_TYPE_BYTES, is_type_name};
use crate::time::When;

/// The most problems that are kept for one record. Further ones are only counted.
pub(super) const MAX_PROBLEMS: usize = 20;

/// Members of an image that other systems write, and that Google ignores since 6 August 2022
/// (<https://developers.google.com/search/blog/2022/05/spring-cleaning-sitemap-extensions>).
const DEAD_OF_IMAGES: [&str; 6] = [
    "caption",
    "title",
    "license",
    "licence",
    "geo_location",
    "location",
];

/// Returns the address to which a page moved, resolved against its own. It may have a fragment.
fn target_of(target: &str, page: &Loc) -> Result<String, String> {
    let (address, fragment) = match target.split_once('#') {
        Some((address, fragment)) => (address, Some(fragment)),
        None => (target, None),
    };
    let loc = match address {
        "" => Ok(page.clone()),
        address => Loc::resolve(address, page),
    };
    let loc = loc.map_err(|error| error.to_string())?;
    if loc.is_equivalent(page) {
        return Err("is the address of the page itself".to_owned());
    }
    match fragment {
        None => Ok(loc.to_string()),
        Some(fragment) if fragment.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Ok(format!("{loc}#{fragment}"))
        }
        Some(_) => Err("has a fragment with a character that is not printable ASCII".to_owned()),
    }
}

fn is_term(text: &str) -> bool {
    (1..=MAX_TERM_BYTES).contains(&text.len())
}

/// Returns a value as a reason shows it.
fn shown(value: &Value) -> String {
    cut(&value.to_string())
}

/// The fields of an item, and the problems found while reading them.
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    problems: Vec<Problem>,
    more: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn of(map: &'a Map<String, Value>) -> Self {
        Self {
            map,
            problems: Vec::new(),
            more: 0,
        }
    }

    pub(super) fn get(&self, field: &str) -> Option<&'a Value> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    /// Notes a problem at a place, such as `images[3].url`.
    pub(super) fn problem(&mut self, place: &str, reason: impl Into<String>) {
        let problem = problem_at(place, &reason.into());
        // Problems that close the record are kept even beyond the limit.
        if problem.closes || self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn finish(mut self) -> Vec<Problem> {
        if self.more > 0 {
            self.problems.push(Problem::new(
                "…",
                &format!("{} more problems", self.more),
                false,
            ));
        }
        self.problems
    }

    pub(super) fn text(&mut self, field: &str) -> Option<String> {
        match self.get(field)? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.problem(field, format!("{} is not text", shown(other)));
                None
            }
        }
    }

    pub(super) fn object(&mut self, field: &str) -> Option<&'a Map<String, Value>> {
        let value = self.get(field)?;
        if !value.is_object() {
            self.problem(field, format!("{} is not an object", shown(value)));
        }
        value.as_object()
    }

    pub(super) fn list(&mut self, field: &str, limit: usize) -> &'a [Value] {
        match self.get(field) {
            None => &[],
            Some(Value::Array(values)) if values.len() > limit => {
                self.problem(
                    field,
                    format!("{} are given; the first {limit} are kept", values.len()),
                );
                &values[..limit]
            }
            Some(Value::Array(values)) => values,
            Some(other) => {
                self.problem(field, format!("{} is not a list", shown(other)));
                &[]
            }
        }
    }

    pub(super) fn choice<T: Copy>(&mut self, field: &str, default: T, choices: &[(&str, T)]) -> T {
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
        self.problem(
            field,
            format!("{} is not one of {}", shown(value), names.join(", ")),
        );
        default
    }

    pub(super) fn type_name(&mut self) -> String {
        let Some(value) = self.get("type") else {
            self.problem("type", "missing");
            return String::new();
        };
        match value.as_str().filter(|name| is_type_name(name)) {
            Some(name) => name.to_owned(),
            None => {
                let reason = format!(
                    "{} is not 1 to {MAX_TYPE_BYTES} characters of A-Z a-z 0-9 _ -",
                    shown(value)
                );
                self.problem("type", reason);
                String::new()
            }
        }
    }

    pub(super) fn noindex(&mut self) -> bool {
        match self.get("noindex") {
            None => false,
            Some(Value::Bool(noindex)) => *noindex,
            Some(other) => {
                self.problem(
                    "noindex",
                    format!("{} is neither true nor false", shown(other)),
                );
                true
            }
        }
    }

    pub(super) fn when(&mut self, field: &str) -> Option<When> {
        let value = self.get(field)?;
        let parsed = match value.as_str() {
            Some(text) => When::parse_relaxed(text, None).map_err(|error| error.to_string()),
            None => Err(format!("{} is not text", shown(value))),
        };
        parsed.map_err(|reason| self.problem(field, reason)).ok()
    }

    /// Returns the canonical address. It decides about listing, so an invalid one closes the record.
    pub(super) fn canonical_url(&mut self, url: &str) -> Option<Loc> {
        let text = self.text("canonical_url").filter(|text| !text.is_empty())?;
        let canonical = match Loc::parse_any(url) {
            Ok(page) => Loc::resolve(&text, &page),
            // The invalid url excludes the page already.
            Err(_) => return None,
        };
        canonical
            .map_err(|error| self.problem("canonical_url", error.to_string()))
            .ok()
    }

    /// Returns what became of the page. Both fields decide about listing, so an invalid one closes the record: it neither is listed nor
    /// redirects.
    pub(super) fn departure(&mut self, url: &str) -> Option<Departure> {
        let moved_to = self.text("moved_to").filter(|text| !text.is_empty());
        let is_gone = match self.get("gone") {
            None => false,
            Some(Value::Bool(gone)) => *gone,
            Some(other) => {
                let reason = format!("{} is neither true nor false", shown(other));
                self.problem("gone", reason);
                return None;
            }
        };
        match (moved_to, is_gone) {
            (None, false) => None,
            (None, true) => Some(Departure::Gone),
            (Some(_), true) => {
                self.problem(
                    "gone",
                    "is true, and moved_to is given: a page has moved or is gone",
                );
                None
            }
            (Some(target), false) => {
                // The invalid url excludes the page already.
                let page = Loc::parse_any(url).ok()?;
                target_of(&target, &page)
                    .map(Departure::MovedTo)
                    .map_err(|reason| self.problem("moved_to", reason))
                    .ok()
            }
        }
    }

    pub(super) fn changefreq(&mut self) -> Option<ChangeFreq> {
        let value = self.get("changefreq")?;
        let parsed = value.as_str().and_then(ChangeFreq::parse);
        if parsed.is_none() {
            self.problem(
                "changefreq",
                format!("{} is not one of {}", shown(value), ChangeFreq::names()),
            );
        }
        parsed
    }

    pub(super) fn priority(&mut self) -> Option<Priority> {
        let value = self.get("priority")?;
        let parsed = value.as_f64().and_then(Priority::new);
        if parsed.is_none() {
            self.problem(
                "priority",
                format!("{} is not a number from 0.0 to 1.0", shown(value)),
            );
        }
        parsed
    }

    /// Returns the absolute address in the member `url` of an object in a list.
    pub(super) fn url_in(&mut self, field: &str, at: usize, value: &Value) -> Option<Loc> {
        let place = format!("{field}[{at}].url");
        let Some(text) = value.get("url").and_then(Value::as_str) else {
            self.problem(&place, "missing");
            return None;
        };
        Loc::parse_any(text)
            .map_err(|error| self.problem(&place, error.to_string()))
            .ok()
    }

    pub(super) fn images(&mut self) -> Vec<Loc> {
        let images = self.list("images", MAX_IMAGES).iter().enumerate();
        let dead = images.clone().find_map(|(at, image)| {
            let name = DEAD_OF_IMAGES
                .iter()
                .find(|name| image.get(name).is_some_and(|text| !text.is_null()));
            Some((at, name?))
        });
        if let Some((at, name)) = dead {
            let reason =
                "left out: since August 2022 Google reads nothing of an image but its address";
            self.problem(&format!("images[{at}].{name}"), reason);
        }
        let mut known = BTreeSet::new();
        images
            .filter_map(|(at, value)| self.url_in("images", at, value))
            .filter(|image| known.insert(image.clone()))
            .collect()
    }

    pub(super) fn videos(&mut self, page: video::Page<'_>) -> Vec<Video> {
        let mut videos = Vec::new();
        for (at, value) in self.list("videos", MAX_VIDEOS).iter().enumerate() {
            let mut problems = Vec::new();
            let video = Video::parse(page, at, value, &mut problems);
            videos.extend(video.filter(|video| !videos.contains(video)));
            for problem in problems {
                self.problem(&problem.field, problem.reason);
            }
        }
        videos
    }

    /// Reads a language code. Returns `None` if it is invalid. A code whose region does not exist is a problem, but is still
    /// returned.
    pub(super) fn language(&mut self, field: &str) -> Option<String> {
        let text = self.text(field)?;
        self.language_code(field, text)
    }

    fn language_code(&mut self, field: &str, text: String) -> Option<String> {
        let Err(error) = check_language(&text) else {
            return Some(text);
        };
        self.problem(field, format!("{text:?} {error}"));
        matches!(error, LanguageError::Region { .. }).then_some(text)
    }

    pub(super) fn news(&mut self) -> Option<News> {
        match self.get("news") {
            Some(Value::Bool(is_news)) => is_news.then(News::default),
            _ => self.news_object(),
        }
    }

    fn news_object(&mut self) -> Option<News> {
        let news = self.object("news")?;
        let mut text = |name: &str| match news.get(name).filter(|value| !value.is_null())? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.problem(
                    &format!("news.{name}"),
                    format!("{} is not text", shown(other)),
                );
                None
            }
        };
        let (title, language) = (text("title"), text("language"));
        let title = title.filter(|title| !xml::is_blank(title));
        let language = language.and_then(|code| self.language_code("news.language", code));
        Some(News { title, language })
    }

    pub(super) fn flag(&mut self, field: &str) -> bool {
        let Some(value) = self.get(field) else {
            return false;
        };
        if !value.is_boolean() {
            self.problem(field, format!("{} is neither true nor false", shown(value)));
        }
        value.as_bool().unwrap_or(false)
    }

    pub(super) fn translation_group(&mut self, has_language: bool) -> Option<String> {
        let group = self.text("translation_group")?;
        if !(1..=MAX_TERM_BYTES).contains(&group.len()) {
            let reason = format!(
                "{} bytes long; it has 1 to {MAX_TERM_BYTES} bytes",
                group.len()
            );
            self.problem("translation_group", reason);
            return None;
        }
        if !has_language {
            self.problem("translation_group", "the page has no valid language");
            return None;
        }
        Some(group)
    }

    /// Returns the alternates of the page at `url`. A set that has lost the page itself is omitted whole, because search engines
    /// ignore such a set and the other pages' links to this one.
    pub(super) fn alternates(&mut self, url: &str) -> Vec<Alternate> {
        let mut alternates = self.valid_alternates();
        let page = normalized(url);
        let given = self.get("alternates").and_then(Value::as_array);
        let mut given = given.into_iter().flatten();
        let is_given = given.any(|value| {
            let url = value.get("url").and_then(Value::as_str);
            url.is_some_and(|url| normalized(url) == page)
        });
        let is_kept = |alternates: &[Alternate]| {
            let mut links = alternates.iter();
            links.any(|alternate| alternate.href.normalized() == page)
        };
        if is_given && !alternates.is_empty() && !is_kept(&alternates) {
            let reason = "left out: the page itself is not among those that are valid";
            self.problem("alternates", reason);
            alternates.clear();
        }
        alternates
    }

    fn valid_alternates(&mut self) -> Vec<Alternate> {
        let mut alternates: Vec<Alternate> = Vec::new();
        for (at, value) in self.list("alternates", MAX_ALTERNATES).iter().enumerate() {
            let place = format!("alternates[{at}].hreflang");
            let hreflang = value
                .get("hreflang")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if hreflang != X_DEFAULT
                && let Err(error) = check_language(hreflang)
            {
                let more = match error {
                    LanguageError::Code => ", x-default",
                    LanguageError::Region { .. } => "",
                };
                self.problem(&place, format!("{hreflang:?} {error}{more}"));
            } else if alternates
                .iter()
                .any(|other| other.hreflang.eq_ignore_ascii_case(hreflang))
            {
                self.problem(&place, format!("{hreflang:?} is given twice"));
            } else if let Some(href) = self.url_in("alternates", at, value) {
                alternates.push(Alternate {
                    hreflang: hreflang.to_owned(),
                    href,
                });
            }
        }
        alternates
    }

    pub(super) fn terms(&mut self) -> BTreeMap<String, Vec<String>> {
        let mut terms: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut count = 0;
        for (taxonomy, values) in self.object("terms").into_iter().flatten() {
            let place = format!("terms.{taxonomy}");
            let Some(values) = values.as_array() else {
                self.problem(&place, "not a list");
                continue;
            };
            for value in values {
                match value.as_str() {
                    None => self.problem(&place, format!("{} is not text", shown(value))),
                    Some(_) if count == MAX_TERMS => {
                        self.problem(
                            &place,
                            format!("more than {MAX_TERMS} terms in all; the first are kept"),
                        );
                        return terms;
                    }
                    Some(term) if !is_term(taxonomy) || !is_term(term) => {
                        let reason = format!("taxonomy and term have 1 to {MAX_TERM_BYTES} bytes");
                        self.problem(&place, reason);
                    }
                    Some(term) => {
                        let terms = terms.entry(taxonomy.clone()).or_default();
                        if !terms.iter().any(|known| known == term) {
                            count += 1;
                            terms.push(term.to_owned());
                        }
                    }
                }
            }
        }
        terms
    }

    pub(super) fn pages(&mut self) -> u32 {
        let Some(value) = self.get("pages") else {
            return 1;
        };
        match value
            .as_u64()
            .and_then(|pages| u32::try_from(pages).ok())
            .filter(|pages| (1..=MAX_PARTS).contains(pages))
        {
            Some(2..) if self.get("archive_of").is_some() => {
                self.problem("pages", "only the first page of an archive is listed");
                1
            }
            Some(pages) => pages,
            None => {
                self.problem(
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

    pub(super) fn archive_of(&mut self) -> Option<ArchiveOf> {
        let value = self.get("archive_of")?;
        let part = |name| value.get(name).and_then(Value::as_str).map(str::to_owned);
        match (part("taxonomy"), part("term")) {
            (Some(taxonomy), Some(term)) if is_term(&taxonomy) && is_term(&term) => {
                Some(ArchiveOf { taxonomy, term })
            }
            // Without both, it is not known which pages the archive has.
            _ => {
                let reason = format!("needs a taxonomy and a term, of 1 to {MAX_TERM_BYTES} bytes");
                self.problem("archive_of", reason);
                None
            }
        }
    }
}
