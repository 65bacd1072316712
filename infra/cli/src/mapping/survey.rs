//! `waymark mapping --items`: what a mapping makes of a sample of items, field by field.

use std::collections::BTreeMap;

use serde::Serialize;

use super::MappedItem;
use crate::terminal::text::{Text, Tone, counted};

/// The most characters of an example.
const MAX_EXAMPLE_CHARS: usize = 60;

/// What becomes of a sample of items.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Survey {
    /// The items of the sample.
    pub items: u64,
    /// Those that are pages.
    pub pages: u64,
    /// Those that are no pages, by reason.
    pub no_pages: BTreeMap<String, Count>,
    /// The mapped fields, in the mapping's order by name.
    pub fields: BTreeMap<String, FieldCounts>,
    /// Pages that would be listed, unless their site's settings or another page forbid.
    pub listed: Count,
    /// Pages that would be left out, by reason.
    pub left_out: BTreeMap<String, Count>,
}

/// A number of items, and one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The number.
    pub count: u64,
    /// The first of them; `null` if there is none.
    pub example: Option<String>,
}

/// What a field of the record became.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FieldCounts {
    /// Pages for which it has a value.
    pub mapped: Count,
    /// Pages that lack what it is made of.
    pub missing: Count,
    /// Pages whose value cannot be used. One whose list has a bad element counts here, too.
    pub bad: Count,
}

impl Count {
    fn add(&mut self, example: impl FnOnce() -> String) {
        self.count += 1;
        self.example.get_or_insert_with(example);
    }
}

/// Counts what became of items. `fields` are the names of the mapping's fields.
#[must_use]
pub fn survey<'a>(fields: impl Iterator<Item = &'a str>, mapped: &[MappedItem]) -> Survey {
    let fields = fields.map(|name| (name.to_owned(), FieldCounts::default()));
    let mut survey = Survey {
        items: mapped.len() as u64,
        fields: fields.collect(),
        ..Survey::default()
    };
    for item in mapped {
        let id = || item.id.clone().unwrap_or_default();
        if let Some(reason) = &item.no_page {
            survey.no_pages.entry(reason.clone()).or_default().add(id);
            continue;
        }
        survey.pages += 1;
        for (name, counts) in &mut survey.fields {
            let is_of = |problem: &&String| root(problem) == name;
            if let Some(problem) = item.problems.iter().find(is_of) {
                counts.bad.add(|| format!("{}: {problem}", id()));
                continue;
            }
            match item.fields.as_ref().and_then(|fields| fields.get(name)) {
                Some(value) if !value.is_null() => counts.mapped.add(|| cut(&value.to_string())),
                _ => counts.missing.add(id),
            }
        }
        match (&item.loc, &item.left_out) {
            (Some(loc), _) => survey.listed.add(|| loc.clone()),
            (None, Some(reason)) => {
                let count = survey.left_out.entry(reason.name.clone()).or_default();
                count.add(|| format!("{}: {}", id(), reason.reason));
            }
            (None, None) => {}
        }
    }
    survey
}

/// Returns the field at the root of a problem: `images` of `images[3].url: …`.
fn root(problem: &str) -> &str {
    let end = problem.find(['[', '.', ':']).unwrap_or(problem.len());
    &problem[..end]
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_EXAMPLE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Survey {
    /// Returns whether the mapping makes no whole record of some item.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        self.left_out.contains_key(super::BAD_FIELD)
    }

    /// Formats it for people.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        let pages = counted(self.pages, "page");
        text.line(format!("{}: {pages}", counted(self.items, "item")));
        for (reason, count) in &self.no_pages {
            let line = format!("  {} no page: {reason}{}", count.count, such_as(count));
            text.toned(Tone::Notable, line);
        }
        if self.pages == 0 {
            return text;
        }
        let names = self.fields.keys().map(String::len).max().unwrap_or(0);
        let width = names.max("field".len());
        text.line("");
        let head = "field";
        text.line(format!("{head:width$}  mapped  missing  bad  example"));
        for (name, counts) in &self.fields {
            let FieldCounts {
                mapped,
                missing,
                bad,
            } = counts;
            let numbers = format!(
                "{name:width$}  {:6}  {:7}  {:3}",
                mapped.count, missing.count, bad.count
            );
            let example = [bad, mapped].into_iter().find_map(|of| of.example.as_ref());
            let line = example.map_or_else(|| numbers.clone(), |said| format!("{numbers}  {said}"));
            let tone = if bad.count > 0 {
                Tone::Bad
            } else {
                Tone::Notable
            };
            match (bad.count, mapped.count) {
                (0, 1..) => text.line(line),
                _ => text.toned(tone, line),
            }
        }
        text.line("");
        let example = such_as(&self.listed);
        text.line(format!("listed: {}{example}", self.listed.count));
        for (reason, count) in &self.left_out {
            let line = format!("left out, {reason}: {}{}", count.count, such_as(count));
            text.toned(Tone::Notable, line);
        }
        text
    }
}

fn such_as(Count { example, .. }: &Count) -> String {
    let example = example.as_ref().filter(|example| !example.is_empty());
    example.map_or_else(String::new, |example| format!(", such as {example}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{map_items, read};
    use super::*;

    const MAPPING: &str = r#"{"key": [{"id": "S"}], "only": {"kind": "post"}, "fields": {"type": {"constant": "post"},
        "url": {"template": "https://www.example.com/{slug}/"}, "title": "title", "images": {"path": "images", "each": {"object": {"url": "."}}}}}"#;

    #[test]
    fn each_field_is_counted_with_an_example() {
        let item = |id: &str, more: serde_json::Value| {
            let mut item = json!({"id": id, "kind": "post", "slug": id});
            let fields = item.as_object_mut().unwrap();
            fields.extend(more.as_object().unwrap().clone());
            item
        };
        let items = json!({"Items": [
            item("a", json!({"title": "A", "images": ["https://i.example/1.jpg", "::"]})),
            item("b", json!({})),
            item("c", json!({"slug": true})),
            item("d", json!({"kind": "user"})),
            {"kind": "post"},
        ]});
        let source = read("posts", MAPPING).unwrap();
        let (mapped, _) = map_items(&source, &items.to_string(), 1_800_000_000).unwrap();
        let survey = survey(source.mapping().field_names(), &mapped);
        assert_eq!((survey.items, survey.pages), (5, 3));
        let counts = |name: &str| {
            let FieldCounts {
                mapped,
                missing,
                bad,
            } = &survey.fields[name];
            [mapped.count, missing.count, bad.count]
        };
        assert_eq!(counts("type"), [3, 0, 0]);
        assert_eq!(counts("url"), [2, 0, 1]);
        assert_eq!(counts("title"), [1, 2, 0]);
        assert_eq!(counts("images"), [0, 2, 1]);
        assert_eq!(survey.listed.count, 2);
        let example = survey.left_out["bad_field"].example.as_deref();
        assert!(example.unwrap().starts_with("@c: url: "), "{example:?}");
        assert!(survey.is_bad());
        let text = survey.text().to_string();
        for line in [
            "5 items: 3 pages\n",
            "  1 no page: its kind is \"user\", such as @d\n",
            "  1        2    0  \"A\"\n",
            "listed: 2, such as https://www.example.com/a/\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
