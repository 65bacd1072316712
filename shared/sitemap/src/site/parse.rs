//! Parses a site's settings, each with its problems.

use serde_json::{Map, Value};
use strsim::levenshtein;

use super::robots;
use super::settings::{
    FOREIGN_INDEX_SERIES, INDEXNOW_KEY_CHARS, Llms, MAX_BYTES, MAX_ENTRIES, MAX_LLMS_TYPES,
    MAX_MOVED_MAX_AGE, MAX_NOT_FOUND_BYTES, MAX_TEXT_BYTES, MAX_TYPES, MIN_BYTES, PART_PLACE,
    SITE_TYPE, SiteSettings, TypeSettings, URL_PLACE, is_indexnow_key,
};
use crate::format::entry::{ChangeFreq, Priority};
use crate::language;
use crate::loc::{LocError, Origin};
use crate::problem::{Problem, cut};
use crate::series::{MAX_TYPE_BYTES, is_type_name};

/// The most problems that are kept for one site. Further ones are only counted.
pub(super) const MAX_PROBLEMS: usize = 20;
/// The fields of a settings record, except `id` and `type`.
pub const SETTINGS: [&str; 22] = [
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
    "feed_in_robots",
    "llms",
    "indexnow_key",
    "index_lastmod",
    "cascaded_index",
    "moved_max_age",
    "not_found_page",
    "also",
];
/// The fields of a type's settings.
const TYPE_SETTINGS: [&str; 5] = ["public", "changefreq", "priority", "news", "part_url"];
/// The fields of the settings of llms.txt.
const LLMS_SETTINGS: [&str; 3] = ["title", "summary", "types"];
/// A misspelt setting may differ from a known one in this fraction of its characters: one third.
const MISSPELT_PART: usize = 3;
/// The most characters of an unknown setting that are compared: more than the longest known one has.
const MAX_NAME_CHARS: usize = 32;

impl SiteSettings {
    /// Returns the settings that a site's record gives. An invalid field falls back to its default and becomes a problem. An
    /// invalid `public` makes the site private, and robots.txt disallows everything if it cannot be published as intended.
    ///
    /// # Errors
    ///
    /// If `host` is not a valid host.
    pub fn parse(host: &str, item: &Value) -> Result<Self, LocError> {
        let mut settings = Self::default_for(host)?;
        let empty = Map::new();
        let item = item.as_object().unwrap_or(&empty);
        // Only complete records have an id. `is_settings` has recognized this one by its id.
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
        if settings.news_name.is_none() {
            // Yoast SEO does the same.
            settings.news_name.clone_from(&settings.name);
            settings.news_name_is_sites = settings.news_name.is_some();
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
        if settings.feed_in_robots && !settings.feed {
            let reason = "the site has no feed that robots.txt could name, since feed is false";
            settings
                .problems
                .push(Problem::new("feed_in_robots", reason, false));
        }
        settings.limit_problems();
        Ok(settings)
    }

    /// Drops problems beyond a limit, so that the settings fit into an item. Problems that close something are kept first.
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
                // The language is used only for news, where no region is written.
                let is_known = |code: &&str| language::news_language(code).is_some();
                let code = value.as_str().filter(is_known);
                self.language = Some(code.ok_or("not a language code")?.to_owned());
            }
            "news_published_only" => self.news_published_only = flag(value)?,
            "news_series" => self.news_series = series_name(value)?,
            "video_series" => self.video_series = series_name(value)?,
            "feed" => self.feed = flag(value)?,
            "feed_in_robots" => self.feed_in_robots = flag(value)?,
            "llms" => self.set_llms(value)?,
            "cascaded_index" => self.cascaded_index = flag(value)?,
            "moved_max_age" => {
                let seconds = value.as_u64().and_then(|seconds| seconds.try_into().ok());
                self.moved_max_age = seconds
                    .filter(|seconds| *seconds <= MAX_MOVED_MAX_AGE)
                    .ok_or_else(|| {
                        format!("{value} is not a whole number from 0 to {MAX_MOVED_MAX_AGE}")
                    })?;
            }
            "not_found_page" => {
                let page = value.as_str().ok_or("not a text")?;
                if !(1..=MAX_NOT_FOUND_BYTES).contains(&page.len()) {
                    let bytes = page.len();
                    return Err(format!("{bytes} bytes, not 1 to {MAX_NOT_FOUND_BYTES}"));
                }
                self.not_found_page = Some(page.to_owned());
            }
            "stylesheet" => {
                self.stylesheet = serde_json::from_value(value.clone())
                    .map_err(|_| "not one of css, xsl, none".to_owned())?;
            }
            "index_lastmod" => {
                self.index_lastmod = serde_json::from_value(value.clone())
                    .map_err(|_| "neither pages nor published".to_owned())?;
            }
            "also" => self.set_also(value)?,
            "indexnow_key" => {
                let key = value.as_str().filter(|key| is_indexnow_key(key));
                let (least, most) = (INDEXNOW_KEY_CHARS.start(), INDEXNOW_KEY_CHARS.end());
                let reason = format!(
                    "not {least} to {most} characters of A-Z a-z 0-9 -; nor may it be a sitemap's name"
                );
                self.indexnow_key = Some(key.ok_or(reason)?.to_owned());
            }
            "id" | "type" => {}
            _ => return Err(unknown(field, &SETTINGS)),
        }
        Ok(())
    }

    /// Drops each line that cannot be published. If the remaining lines could allow more than intended, robots.txt disallows
    /// everything.
    fn set_robots(&mut self, value: &Value) {
        let Some(lines) = value.as_array() else {
            self.problems.push(Problem::new(
                "robots",
                "not a list of lines: robots.txt disallows all until this is corrected",
                true,
            ));
            self.robots = robots::disallow_all();
            return;
        };
        let (lines, dropped) = robots::read(lines);
        let opens = dropped.iter().any(|line| line.may_open);
        for line in dropped {
            let effect = if line.may_open {
                "robots.txt disallows all until this is corrected"
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

    /// Reads the settings of llms.txt. Without a valid type to list there is no llms.txt. Any other invalid field is omitted
    /// alone.
    fn set_llms(&mut self, value: &Value) -> Result<(), String> {
        let fields = value
            .as_object()
            .ok_or("not an object: there is no llms.txt")?;
        let mut llms = Llms {
            title: None,
            summary: None,
            types: Vec::new(),
        };
        let mut bad = |field: &str, reason: &str| {
            let field = format!("llms.{field}");
            self.problems.push(Problem::new(&field, reason, false));
        };
        for (field, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            match field.as_str() {
                "title" | "summary" => match short_text(value) {
                    Ok(text) if field == "title" => llms.title = Some(text),
                    Ok(text) => llms.summary = Some(text),
                    Err(reason) => bad(field, &reason),
                },
                "types" => {
                    for (at, name) in value.as_array().into_iter().flatten().enumerate() {
                        let name = name.as_str().filter(|name| is_type_name(name));
                        match name.map(str::to_owned) {
                            _ if llms.types.len() == MAX_LLMS_TYPES => {
                                bad(
                                    field,
                                    &format!("more than {MAX_LLMS_TYPES}; the first are kept"),
                                );
                                break;
                            }
                            Some(name) if !llms.types.contains(&name) => llms.types.push(name),
                            Some(_) => {}
                            None => {
                                let field = format!("types[{at}]");
                                bad(&field, "no page can have a type of this name");
                            }
                        }
                    }
                }
                _ => bad(field, &unknown(field, &LLMS_SETTINGS)),
            }
        }
        if llms.types.is_empty() {
            return Err(
                "its types are not a list of types of pages: there is no llms.txt".to_owned(),
            );
        }
        self.llms = Some(llms);
        Ok(())
    }

    /// Reads the settings of the types. An invalid type does not affect the others. A type that may have been intended to be
    /// private is private.
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
                            let reason = format!("not one of {}", ChangeFreq::names());
                            bad(".changefreq", &reason, false);
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
}

/// Returns the problem text for a setting of an unknown name.
fn unknown(field: &str, known: &[&str]) -> String {
    let field = field
        .to_lowercase()
        .chars()
        .take(MAX_NAME_CHARS)
        .collect::<String>();
    let similar = known
        .iter()
        .map(|name| (levenshtein(&field, name), name))
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

fn series_name(value: &Value) -> Result<String, String> {
    match value.as_str().filter(|name| is_type_name(name)) {
        Some(FOREIGN_INDEX_SERIES) => Err(format!(
            "not possible: /{FOREIGN_INDEX_SERIES}-sitemap.xml redirects to the index"
        )),
        Some(name) => Ok(name.to_owned()),
        None => Err(format!(
            "not 1 to {MAX_TYPE_BYTES} characters of A-Z a-z 0-9 _ -"
        )),
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
