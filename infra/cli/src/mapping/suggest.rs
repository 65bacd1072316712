//! `waymark mapping --suggest`: proposes a mapping for a sample of items, from their names, shapes and units of times.
//!
//! A proposal is a start for its user, who knows what the items mean. It says which parts the sample does not show.

mod names;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Map, Value, json};

use self::names::{
    CREATED, FLAGS, HIDDEN, IMAGE_URLS, IMAGES, KINDS, PARTITION_KEYS, SLUGS, SORT_KEYS, STATES,
    TERMS, TEXTS, TIMES, URLS,
};
use self::values::{
    Attribute, Time, attributes, flags, is_flag, meant, number, text, time, type_name,
};
use super::Item;

/// The origin of addresses if the sample has none, and nobody gives one.
const ORIGIN: &str = "https://www.example.com";
/// Marks of a kind of items have at most so many values.
const MAX_KINDS: usize = 10;
/// The statuses of a record.
const STATUSES: [&str; 7] = [
    "published",
    "draft",
    "pending",
    "scheduled",
    "private",
    "trash",
    "error",
];

/// A proposed mapping.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Suggestion {
    /// The mapping.
    pub mapping: Value,
    /// What the sample does not show, a sentence each.
    pub unsure: Vec<String>,
}

/// Proposes a mapping for items. `key` has the table's key if it is known: names, and `S`, `N` or `B`. `origin` is that of the
/// pages' addresses, such as `https://www.example.com`.
///
/// Returns `None` if there are no items.
#[must_use]
pub fn suggest(
    items: &[Item],
    key: Option<Vec<(String, String)>>,
    origin: Option<&str>,
) -> Option<Suggestion> {
    if items.is_empty() {
        return None;
    }
    let mut suggesting = Suggesting {
        items,
        attributes: attributes(items),
        fields: Map::new(),
        unsure: Vec::new(),
    };
    let key = key.or_else(|| suggesting.key());
    let key = key.into_iter().flatten();
    let key: Vec<Value> = key
        .map(|(name, key_type)| json!({name: key_type}))
        .collect();
    let only = suggesting.kind();
    suggesting.url(origin);
    suggesting.status();
    suggesting.noindex();
    suggesting.times();
    suggesting.texts();
    suggesting.images(origin);
    suggesting.terms();
    let Suggesting { fields, unsure, .. } = suggesting;
    let mut mapping = json!({"key": key, "fields": fields});
    if let (Some(only), Some(members)) = (only, mapping.as_object_mut()) {
        members.insert("only".to_owned(), only);
    }
    Some(Suggestion { mapping, unsure })
}

struct Suggesting<'a> {
    items: &'a [Item],
    attributes: Vec<Attribute<'a>>,
    fields: Map<String, Value>,
    unsure: Vec<String>,
}

impl<'a> Suggesting<'a> {
    /// Returns the attribute with the first of these names whose values fit.
    fn find(
        &self,
        names: &[&str],
        fits: impl Fn(&AttributeValue) -> bool,
    ) -> Option<&Attribute<'a>> {
        names.iter().find_map(|name| {
            self.attributes.iter().find(|attribute| {
                let mut values = attribute.values.iter();
                attribute.name == *name
                    && !attribute.values.is_empty()
                    && values.all(|value| fits(value))
            })
        })
    }

    fn is_in_all(&self, attribute: &Attribute<'_>) -> bool {
        attribute.values.len() == self.items.len()
    }

    /// Guesses the table's key.
    fn key(&mut self) -> Option<Vec<(String, String)>> {
        let typed = |attribute: &Attribute<'_>| {
            let key_type = match attribute.values.first()? {
                AttributeValue::S(_) => "S",
                AttributeValue::N(_) => "N",
                AttributeValue::B(_) => "B",
                _ => return None,
            };
            Some((attribute.path.clone(), key_type.to_owned()))
        };
        let part = |names: &[&str]| {
            let found = self.find(names, |_| true);
            found.filter(|found| self.is_in_all(found)).and_then(typed)
        };
        let (partition, sort) = (part(&PARTITION_KEYS), part(&SORT_KEYS));
        let any = || {
            self.attributes
                .iter()
                .find(|found| self.is_in_all(found))
                .and_then(typed)
        };
        let key: Vec<_> = partition.or_else(any).into_iter().chain(sort).collect();
        let told = "key is guessed: `aws dynamodb describe-table` shows it, and --table reads it";
        self.unsure.push(told.to_owned());
        Some(key)
    }

    /// Proposes the type, and which items are pages.
    fn kind(&mut self) -> Option<Value> {
        let is_text = |value: &AttributeValue| value.as_s().is_ok();
        let found = self
            .find(&KINDS, is_text)
            .filter(|found| !found.path.contains('.'));
        let Some(found) = found else {
            self.fields
                .insert("type".to_owned(), json!({"constant": "page"}));
            self.unsure.push(
                "type: no attribute says what an item is, so all are pages of one type".to_owned(),
            );
            return None;
        };
        let path = found.path.clone();
        let kinds: BTreeSet<String> = found
            .values
            .iter()
            .filter_map(|value| text(value))
            .collect();
        if kinds.len() > MAX_KINDS {
            self.fields
                .insert("type".to_owned(), json!({"constant": "page"}));
            self.unsure.push(format!(
                "type: {path} has more than {MAX_KINDS} values, so it is not used"
            ));
            return None;
        }
        let values: BTreeMap<&String, String> =
            kinds.iter().map(|kind| (kind, type_name(kind))).collect();
        let source = match values.values().next() {
            Some(name) if values.len() == 1 => json!({"constant": name}),
            _ => json!({"path": path, "values": values}),
        };
        self.fields.insert("type".to_owned(), source);
        if kinds.len() > 1 {
            let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
            self.unsure.push(format!(
                "only: are all of these pages? {path} is {}",
                kinds.join(", ")
            ));
        }
        let mut kinds = kinds.into_iter().map(Value::from);
        Some(match kinds.len() {
            1 => json!({path: kinds.next()}),
            _ => json!({path: kinds.collect::<Vec<_>>()}),
        })
    }

    fn url(&mut self, origin: Option<&str>) {
        let is_text = |value: &AttributeValue| value.as_s().is_ok();
        let is_absolute = |value: &AttributeValue| {
            text(value)
                .is_some_and(|text| text.starts_with("https://") || text.starts_with("http://"))
        };
        if let Some(found) = self.find(&URLS, is_absolute) {
            let path = found.path.clone();
            self.fields.insert("url".to_owned(), path.into());
            return;
        }
        let from = origin.unwrap_or(ORIGIN).trim_end_matches('/');
        let named = [&URLS[..], &SLUGS].concat();
        let is_step = |value: &AttributeValue| text(value).is_some_and(|text| !text.contains('/'));
        let (template, path) = match (self.find(&named, is_step), self.find(&named, is_text)) {
            (Some(slug), _) => (format!("{from}/{{{}}}/", slug.path), slug.path.clone()),
            (None, Some(path)) => (format!("{from}/{{+{}}}", path.path), path.path.clone()),
            (None, None) => {
                let key = self.attributes.iter().find(|found| self.is_in_all(found));
                let key = key.map_or_else(|| "id".to_owned(), |key| key.path.clone());
                self.unsure
                    .push("url: no attribute looks like an address or a part of one".to_owned());
                (format!("{from}/{{{key}}}/"), key)
            }
        };
        self.fields
            .insert("url".to_owned(), json!({"template": template}));
        let host = if origin.is_none() {
            "the host, and "
        } else {
            ""
        };
        self.unsure.push(format!(
            "url: {host}what is before and behind {path} in the address"
        ));
    }

    fn status(&mut self) {
        let is_text = |value: &AttributeValue| value.as_s().is_ok();
        if let Some(found) = self.find(&STATES, is_text) {
            let (path, in_all) = (found.path.clone(), self.is_in_all(found));
            let states: BTreeSet<String> = found
                .values
                .iter()
                .filter_map(|value| text(value))
                .collect();
            let is_known = states
                .iter()
                .all(|state| STATUSES.contains(&state.as_str()));
            let source = match is_known {
                true => Value::from(path.clone()),
                false => {
                    let meaning = states.iter().map(|state| (state, meant(state)));
                    let mut values: BTreeMap<&str, &str> = meaning
                        .map(|(state, meant)| (state.as_str(), meant))
                        .collect();
                    values.insert("*", "draft");
                    self.unsure.push(format!(
                        "status: what the values of {path} mean: {}",
                        states.iter().cloned().collect::<Vec<_>>().join(", ")
                    ));
                    json!({"path": path, "values": values})
                }
            };
            self.fields.insert("status".to_owned(), source);
            if !in_all {
                self.unsure.push(format!("status: an item without {path} is read as published; with \"values\" and \"missing\" it need not be"));
            }
            return;
        }
        let Some(found) = self.find(&FLAGS, is_flag) else {
            self.unsure.push(
                "status: no attribute says whether an item is published, so all are".to_owned(),
            );
            return;
        };
        let (path, in_all) = (found.path.clone(), self.is_in_all(found));
        let (yes, no) = flags(&found.values);
        let mut source = json!({"path": path, "values": {yes: "published", no: "draft"}});
        if let (false, Some(source)) = (in_all, source.as_object_mut()) {
            source.insert("missing".to_owned(), "draft".into());
            self.unsure
                .push(format!("status: items without {path} are read as drafts"));
        }
        self.fields.insert("status".to_owned(), source);
    }

    fn noindex(&mut self) {
        let found: Vec<(String, Option<(&str, &str)>)> = HIDDEN
            .iter()
            .filter_map(|name| self.find(&[name], is_flag))
            .map(|found| {
                let is_number = found.values.iter().any(|value| value.as_n().is_ok());
                (found.path.clone(), is_number.then(|| flags(&found.values)))
            })
            .collect();
        let last = found.len().saturating_sub(1);
        let sources: Vec<Value> = found
            .iter()
            .enumerate()
            .map(|(n, (path, numbers))| match numbers {
                None => Value::from(path.as_str()),
                Some((yes, no)) => {
                    let mut source = json!({"path": path, "values": {*yes: true, *no: false}});
                    if let (true, Some(source)) = (n == last, source.as_object_mut()) {
                        source.insert("missing".to_owned(), false.into());
                    }
                    source
                }
            })
            .collect();
        let source = match sources.as_slice() {
            [] => return,
            [one] => one.clone(),
            _ => json!({"first": sources}),
        };
        self.fields.insert("noindex".to_owned(), source);
        let guessed: Vec<&str> = found
            .iter()
            .map(|(path, _)| path.as_str())
            .filter(|path| !path.ends_with("noindex") && !path.ends_with("noIndex"))
            .collect();
        if !guessed.is_empty() {
            self.unsure.push(format!(
                "noindex: whether {} keeps a page out of search",
                guessed.join(", ")
            ));
        }
    }

    fn times(&mut self) {
        for (field, names) in TIMES {
            let Some(found) =
                self.find(names, |value| value.as_s().is_ok() || value.as_n().is_ok())
            else {
                continue;
            };
            let path = found.path.clone();
            match time(&found.values) {
                Some(Time::Text) => drop(self.fields.insert(field.to_owned(), path.into())),
                Some(Time::Count(unit)) => {
                    self.fields
                        .insert(field.to_owned(), json!({"path": path, "time": unit}));
                }
                Some(Time::Local) => {
                    self.fields.insert(
                        field.to_owned(),
                        json!({"path": path, "time": "text", "zone": "UTC"}),
                    );
                    self.unsure.push(format!(
                        "{field}: the zone of {path}, whose times have no offset"
                    ));
                }
                None => self.unsure.push(format!(
                    "{field}: {path} has values that are no times, so it is not used"
                )),
            }
        }
        if !self.fields.contains_key("modified_at") {
            self.unsure.push("modified_at: no attribute looks like the time of the last change, and a sitemap has no lastmod then".to_owned());
        }
        if !self.fields.contains_key("published_at")
            && let Some(found) = self.find(&CREATED, |value| {
                value.as_s().is_ok() || value.as_n().is_ok()
            })
        {
            let told = format!(
                "published_at: {} may be the time of publication; it is not used",
                found.path
            );
            self.unsure.push(told);
        }
    }

    fn texts(&mut self) {
        for (field, names) in TEXTS {
            if let Some(found) = self.find(names, |value| value.as_s().is_ok()) {
                let path = found.path.clone();
                self.fields.insert(field.to_owned(), path.into());
            }
        }
        let is_priority = |value: &AttributeValue| {
            number(value).is_some_and(|number| (0.0..=1.0).contains(&number))
        };
        if let Some(found) = self.find(&["priority"], is_priority) {
            let path = found.path.clone();
            self.fields.insert("priority".to_owned(), path.into());
        }
    }

    fn images(&mut self, origin: Option<&str>) {
        let found = self.find(&IMAGES, |value| {
            matches!(
                value,
                AttributeValue::L(_) | AttributeValue::Ss(_) | AttributeValue::S(_)
            )
        });
        let Some(found) = found else {
            return;
        };
        let path = found.path.clone();
        let mut elements: Vec<&AttributeValue> = Vec::new();
        let mut urls: Vec<String> = Vec::new();
        for value in &found.values {
            match value {
                AttributeValue::L(list) => elements.extend(list),
                AttributeValue::Ss(set) => urls.extend(set.iter().cloned()),
                value => urls.extend(text(value)),
            }
        }
        let is_one = found.values.iter().all(|value| value.as_s().is_ok());
        let inner = match elements.first() {
            Some(AttributeValue::M(first)) => {
                let Some(name) = IMAGE_URLS.iter().find(|name| first.contains_key(**name)) else {
                    self.unsure.push(format!(
                        "images: the elements of {path} have no url, so it is not used"
                    ));
                    return;
                };
                let maps = elements.iter().filter_map(|element| element.as_m().ok());
                urls.extend(maps.filter_map(|map| text(map.get(*name)?)));
                (*name).to_owned()
            }
            _ => {
                urls.extend(elements.iter().filter_map(|element| text(element)));
                ".".to_owned()
            }
        };
        if urls.is_empty() {
            return;
        }
        let is_absolute = urls
            .iter()
            .all(|url| url.is_empty() || url.starts_with("http://") || url.starts_with("https://"));
        let url = |path: String| match is_absolute {
            true => Value::from(path),
            false => {
                json!({"path": path, "base": format!("{}/", origin.unwrap_or(ORIGIN).trim_end_matches('/'))})
            }
        };
        let source = match is_one {
            true => json!({"list": [{"object": {"url": url(path.clone())}}]}),
            false => json!({"path": path, "each": {"object": {"url": url(inner)}}}),
        };
        self.fields.insert("images".to_owned(), source);
        if !is_absolute {
            self.unsure.push(format!(
                "images: the host of {path}, whose addresses are relative"
            ));
        }
    }

    fn terms(&mut self) {
        let mut terms = Map::new();
        for (taxonomy, names) in TERMS {
            let is_list = |value: &AttributeValue| {
                let in_list =
                    |list: &Vec<AttributeValue>| list.iter().all(|element| element.as_s().is_ok());
                matches!(value, AttributeValue::Ss(_) | AttributeValue::Ns(_))
                    || value.as_l().is_ok_and(in_list)
            };
            let is_text = |value: &AttributeValue| value.as_s().is_ok();
            let source = match (self.find(names, is_list), self.find(names, is_text)) {
                (Some(list), _) => Value::from(list.path.as_str()),
                (None, Some(one)) => json!({"list": [one.path]}),
                (None, None) => continue,
            };
            terms.insert(taxonomy.to_owned(), source);
        }
        if !terms.is_empty() {
            self.fields
                .insert("terms".to_owned(), json!({"object": terms}));
        }
    }
}
