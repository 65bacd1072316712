//! The attributes of a sample, and what their values are.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use sitemap::record::is_type_name;
use sitemap::time::When;

use crate::mapping::Item;

/// The counts that a mapping accepts as times (docs/MAPPING.md, Times): from 1990 to 2199, in seconds.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 631_152_000.0..=7_258_118_400.0;
const UNITS: [(&str, f64); 3] = [
    ("seconds", 1.0),
    ("milliseconds", 1e3),
    ("microseconds", 1e6),
];

/// An attribute of the items, or a member of one that is a map.
pub(super) struct Attribute<'a> {
    pub(super) path: String,
    /// Its name without `_` and `-`, in lower case.
    pub(super) name: String,
    /// Its values, without NULL and empty texts.
    pub(super) values: Vec<&'a AttributeValue>,
}

/// Returns the attributes of items, and the members of those that are maps, the attributes first. Names with dots are left out.
pub(super) fn attributes(items: &[Item]) -> Vec<Attribute<'_>> {
    let mut found: BTreeMap<(usize, String), (String, Vec<&AttributeValue>)> = BTreeMap::new();
    let mut add = |depth: usize, path: String, name: &str, value| {
        let values = &mut found
            .entry((depth, path))
            .or_insert_with(|| (plain_name(name), Vec::new()))
            .1;
        if !is_absent(value) {
            values.push(value);
        }
    };
    for item in items {
        for (name, value) in item.iter().filter(|(name, _)| !name.contains('.')) {
            add(0, name.clone(), name, value);
            for (member, value) in value.as_m().ok().into_iter().flatten() {
                if !member.contains('.') {
                    add(1, format!("{name}.{member}"), member, value);
                }
            }
        }
    }
    let found = found.into_iter();
    found
        .map(|((_, path), (name, values))| Attribute { path, name, values })
        .collect()
}

fn plain_name(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect()
}

fn is_absent(value: &AttributeValue) -> bool {
    value.as_null().is_ok() || value.as_s().is_ok_and(String::is_empty)
}

pub(super) fn text(value: &AttributeValue) -> Option<String> {
    value.as_s().ok().cloned()
}

pub(super) fn number(value: &AttributeValue) -> Option<f64> {
    let text = value.as_n().or_else(|_| value.as_s()).ok()?;
    text.parse().ok()
}

pub(super) fn is_flag(value: &AttributeValue) -> bool {
    value.as_bool().is_ok()
        || value
            .as_n()
            .is_ok_and(|number| matches!(number.as_str(), "0" | "1"))
}

/// Returns the names of yes and no among flags.
pub(super) fn flags(values: &[&AttributeValue]) -> (&'static str, &'static str) {
    match values.iter().any(|value| value.as_n().is_ok()) {
        true => ("1", "0"),
        false => ("true", "false"),
    }
}

/// Returns what a status of another system probably means: published, or a draft if that is not known.
pub(super) fn meant(state: &str) -> &'static str {
    match state.to_lowercase().as_str() {
        "published" | "publish" | "public" | "live" | "active" | "online" | "visible" => {
            "published"
        }
        _ => "draft",
    }
}

/// Returns the name of a type for a kind of items: in lower case, with hyphens in place of what a name may not have.
pub(super) fn type_name(kind: &str) -> String {
    let name: String = kind
        .to_lowercase()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '-'
            }
        })
        .collect();
    let name = name.trim_matches('-').to_owned();
    if is_type_name(&name) {
        name
    } else {
        "page".to_owned()
    }
}

/// How an attribute writes times.
pub(super) enum Time {
    /// As a text that needs no source of its own.
    Text,
    /// As a text without an offset.
    Local,
    /// As a count in this unit.
    Count(&'static str),
}

pub(super) fn time(values: &[&AttributeValue]) -> Option<Time> {
    let counts: Vec<f64> = values.iter().filter_map(|value| number(value)).collect();
    let is_plausible = |(_, scale): &&(&str, f64)| {
        counts
            .iter()
            .all(|count| PLAUSIBLE.contains(&(count / scale)))
    };
    let unit = UNITS.iter().find(is_plausible).map(|(unit, _)| *unit);
    let mut texts = values
        .iter()
        .filter(|value| number(value).is_none())
        .filter_map(|value| text(value))
        .peekable();
    if !counts.is_empty() {
        let all = texts.all(|text| When::parse_relaxed(&text, None).is_ok());
        return unit.filter(|_| all).map(Time::Count);
    }
    let texts: Vec<String> = texts.collect();
    let read = |suffix: &str| {
        texts
            .iter()
            .all(|text| When::parse_relaxed(&format!("{text}{suffix}"), None).is_ok())
    };
    match (read(""), read("Z")) {
        (true, _) => Some(Time::Text),
        (false, true) => Some(Time::Local),
        (false, false) => None,
    }
}
