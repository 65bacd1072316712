//! The table of bots, as JSON.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Purpose;
use super::agents::HEAD;
use super::ranges::Prefix;
use crate::report;

/// Written by `infra/release/bots`.
const BUILT_IN: &str = include_str!("table.json");

/// The name of a text that has the form of [`BUILT_IN`].
const OWN_FORM: &str = "bots.json";

/// Rows of a table. [`super::BotId`] is two bytes, and one more row is for all others.
const MOST_BOTS: usize = 10_000;

/// A text with newer lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'t> {
    /// The file's name, such as `googlebot.json`.
    pub name: &'t str,
    /// What is in it.
    pub text: &'t str,
}

/// Why a text is not a table or a list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}: {entry}{separator}{reason}", separator = if entry.is_empty() { "" } else { ": " })]
pub struct TableError {
    /// The text's name.
    pub text: String,
    /// The entry, such as `prefixes[3]`. Empty if the whole text is meant.
    pub entry: String,
    /// The reason.
    pub reason: String,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    name: String,
    date: String,
    /// The names of the texts that were read in addition.
    newer: Vec<String>,
    pub(super) bots: Vec<Row>,
    pub(super) lists: Vec<List>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) tokens: Vec<String>,
    #[serde(default)]
    pub(super) operator: String,
    pub(super) purpose: Purpose,
    /// The names of lists.
    #[serde(default)]
    pub(super) lists: Vec<String>,
    #[serde(default)]
    pub(super) source: String,
    #[serde(default, rename = "note")]
    _note: String,
}

#[derive(Debug)]
pub(super) struct List {
    pub(super) name: String,
    /// Other names of its file.
    also: Vec<String>,
    /// As `2026-09-02`, or empty.
    pub(super) date: String,
    pub(super) prefixes: Vec<Prefix>,
}

/// A text of the own form. Entries are read one by one, so that errors can name them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnForm {
    #[serde(default)]
    name: String,
    date: String,
    #[serde(default, rename = "about")]
    _about: String,
    #[serde(default)]
    bots: Vec<Value>,
    #[serde(default)]
    lists: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnList {
    name: String,
    #[serde(default)]
    also: Vec<String>,
    #[serde(default, rename = "operator")]
    _operator: String,
    #[serde(default, rename = "source")]
    _source: String,
    date: String,
    prefixes: Vec<String>,
}

/// What operators publish. They add fields as they like.
#[derive(Deserialize)]
struct Published {
    #[serde(default, rename = "creationTime")]
    creation_time: String,
    prefixes: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PublishedPrefix {
    ipv4_prefix: Option<String>,
    ipv6_prefix: Option<String>,
}

impl Table {
    pub(super) fn source(&self) -> report::Source {
        let oldest = self
            .lists
            .iter()
            .map(|list| list.date.as_str())
            .min()
            .unwrap_or_default();
        let mut name = format!(
            "{}, with addresses of {}",
            self.name,
            if oldest.is_empty() {
                "an unknown day"
            } else {
                oldest
            }
        );
        if !self.newer.is_empty() {
            name = format!("{name} or newer ({})", self.newer.join(", "));
        }
        report::Source {
            name,
            date: self.date.clone(),
        }
    }

    /// Puts rows and lists in place of those of the same name.
    fn merge(&mut self, text: &Text<'_>) -> Result<(), TableError> {
        let Text { name, text } = *text;
        let form: OwnForm = parsed(name, text)?;
        if !is_date(&form.date) {
            return Err(error(name, "date", not_a_date(&form.date)));
        }
        for (at, value) in form.lists.into_iter().enumerate() {
            let (entry, list) = entry::<OwnList>(name, "lists", at, value)?;
            if !is_date(&list.date) {
                return Err(error(name, &entry, not_a_date(&list.date)));
            }
            let mut prefixes = Vec::with_capacity(list.prefixes.len());
            for (at, prefix) in list.prefixes.iter().enumerate() {
                prefixes.push(parsed_prefix(
                    name,
                    &format!("{entry}.prefixes[{at}]"),
                    prefix,
                )?);
            }
            if prefixes.is_empty() {
                return Err(error(name, &entry, EMPTY));
            }
            let list = List {
                name: list.name,
                also: list.also,
                date: list.date,
                prefixes,
            };
            put(&mut self.lists, list, |a, b| a.name == b.name);
        }
        for (at, value) in form.bots.into_iter().enumerate() {
            let (entry, row) = entry::<Row>(name, "bots", at, value)?;
            if row.tokens.is_empty() {
                return Err(error(name, &entry, "has no tokens"));
            }
            if let Some(token) = row.tokens.iter().find(|token| !is_token(token)) {
                let reason = format!(
                    "the token `{token}` has to begin with {HEAD} letters, digits, `-`, `.` or `_`, the first of them a letter or digit"
                );
                return Err(error(name, &entry, reason));
            }
            if let Some(list) = row
                .lists
                .iter()
                .find(|list| !self.lists.iter().any(|known| known.name == **list))
            {
                return Err(error(
                    name,
                    &entry,
                    format!("no list has the name `{list}`"),
                ));
            }
            put(&mut self.bots, row, |a, b| a.name == b.name);
        }
        if self.bots.len() > MOST_BOTS {
            return Err(error(
                name,
                "bots",
                format!("there are more than {MOST_BOTS}"),
            ));
        }
        if self.name.is_empty() {
            self.name = form.name;
        }
        self.date = form.date.max(std::mem::take(&mut self.date));
        Ok(())
    }

    /// Puts published addresses in place of a list, or gives them to a bot.
    fn replace(&mut self, text: &Text<'_>) -> Result<(), TableError> {
        let Text { name, text } = *text;
        let form: Published = parsed(name, text)?;
        let mut prefixes = Vec::with_capacity(form.prefixes.len());
        for (at, value) in form.prefixes.into_iter().enumerate() {
            let entry = format!("prefixes[{at}]");
            let prefix: PublishedPrefix =
                object(value).map_err(|reason| error(name, &entry, reason))?;
            let texts = [prefix.ipv4_prefix, prefix.ipv6_prefix];
            if texts.iter().all(Option::is_none) {
                return Err(error(name, &entry, "has neither ipv4Prefix nor ipv6Prefix"));
            }
            for prefix in texts.into_iter().flatten() {
                prefixes.push(parsed_prefix(name, &entry, &prefix)?);
            }
        }
        if prefixes.is_empty() {
            return Err(error(name, "prefixes", EMPTY));
        }
        let stem = name.strip_suffix(".json").unwrap_or(name);
        let date = form
            .creation_time
            .get(..10)
            .filter(|date| is_date(date))
            .unwrap_or_default()
            .to_owned();
        if let Some(list) = self
            .lists
            .iter_mut()
            .find(|list| list.name == stem || list.also.iter().any(|also| also == stem))
        {
            (list.date, list.prefixes) = (date, prefixes);
            return Ok(());
        }
        let is_it = |row: &&mut Row| {
            row.name.eq_ignore_ascii_case(stem)
                || row
                    .tokens
                    .iter()
                    .any(|token| token.eq_ignore_ascii_case(stem))
        };
        let Some(row) = self.bots.iter_mut().find(is_it) else {
            let lists: Vec<&str> = self.lists.iter().map(|list| list.name.as_str()).collect();
            let reason = format!(
                "no bot and no list has the name `{stem}`; the lists are {}",
                lists.join(", ")
            );
            return Err(error(name, "", reason));
        };
        row.lists = vec![stem.to_owned()];
        self.lists.push(List {
            name: stem.to_owned(),
            also: Vec::new(),
            date,
            prefixes,
        });
        Ok(())
    }
}

/// Returns the table that is part of the program. A test reads it, so it has no faults.
pub(super) fn built_in() -> Table {
    let mut table = Table::default();
    if let Err(error) = table.merge(&Text {
        name: "table.json",
        text: BUILT_IN,
    }) {
        unreachable!("{error}");
    }
    table
}

/// Returns the built-in table with newer lists: rows first, since a list may be of a bot that is new.
pub(super) fn read(texts: &[Text<'_>]) -> Result<Table, TableError> {
    let mut table = built_in();
    for text in texts.iter().filter(|text| text.name == OWN_FORM) {
        table.merge(text)?;
    }
    for text in texts.iter().filter(|text| text.name != OWN_FORM) {
        table.replace(text)?;
    }
    table.newer = texts.iter().map(|text| text.name.to_owned()).collect();
    table.newer.sort();
    Ok(table)
}

/// With no prefix, everybody would be an impostor.
const EMPTY: &str = "has no prefixes";

fn error(text: &str, entry: &str, reason: impl ToString) -> TableError {
    TableError {
        text: text.to_owned(),
        entry: entry.to_owned(),
        reason: reason.to_string(),
    }
}

fn parsed<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, TableError> {
    let value = serde_json::from_str(text.trim_start_matches('\u{feff}'));
    value
        .and_then(object)
        .map_err(|reason| error(name, "", reason))
}

/// Reads an object. Serde alone would take an array for its fields, in order.
fn object<T: DeserializeOwned>(value: Value) -> Result<T, serde_json::Error> {
    if !value.is_object() {
        return Err(serde::de::Error::custom("is not an object"));
    }
    serde_json::from_value(value)
}

/// Returns an entry, and how errors call it: by its name, or by its position if it has none.
fn entry<T: DeserializeOwned>(
    text: &str,
    field: &str,
    at: usize,
    value: Value,
) -> Result<(String, T), TableError> {
    let entry = match value.get("name").and_then(Value::as_str) {
        Some(name) => format!("{field} `{name}`"),
        None => format!("{field}[{at}]"),
    };
    match object(value) {
        Ok(read) => Ok((entry, read)),
        Err(reason) => Err(error(text, &entry, reason)),
    }
}

fn parsed_prefix(text: &str, entry: &str, prefix: &str) -> Result<Prefix, TableError> {
    prefix
        .parse()
        .map_err(|reason| error(text, entry, format!("`{prefix}` {reason}")))
}

fn put<T>(all: &mut Vec<T>, one: T, is_same: impl Fn(&T, &T) -> bool) {
    match all.iter_mut().find(|old| is_same(old, &one)) {
        Some(old) => *old = one,
        None => all.push(one),
    }
}

/// Returns whether the search for tokens can find a text.
fn is_token(token: &str) -> bool {
    let bytes = token.as_bytes();
    bytes.len() >= HEAD
        && bytes[0].is_ascii_alphanumeric()
        && bytes[..HEAD]
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._ ".contains(byte))
}

fn is_date(date: &str) -> bool {
    let bytes = date.as_bytes();
    bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| {
            if matches!(at, 4 | 7) {
                *byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        })
}

fn not_a_date(date: &str) -> String {
    format!("the date `{date}` is not of the form 2026-09-02")
}
