//! RSS, Atom and JSON Feed: addresses, titles and dates.

use check::document::elements::{Element, Elements, Entries, Oddities};
use check::document::feed::{Base, entry_of, page_of};
use check::document::input::Input;
use check::url::path_of;
use serde_json::Value;
use sitemap::time::When;

use super::fields::Fields;
use super::options::ImportError;
use super::sitemap_entry::time;
use super::source::HEAD_BYTES;
use super::writer::{Id, Sink};
use super::{html, json};

/// The type of a feed's items.
const POST: &str = "post";
/// Where the times of an entry are. Atom 0.3 has other names.
const TIMES: [(&str, [&str; 3]); 2] = [
    (
        "published_at",
        ["atom:published", "atom:issued", "atom:created"],
    ),
    ("modified_at", ["atom:updated", "atom:modified", ""]),
];

/// Reads a feed. `name`: its address, if it has one. Returns why it could not be read to its end.
pub(super) fn read(
    mut input: Input<'_>,
    name: &str,
    sink: &mut Sink<'_>,
) -> Result<Option<String>, ImportError> {
    if input.head(HEAD_BYTES).trim_ascii_start().starts_with(b"{") {
        let items = ["items".to_owned()];
        let base = sink.base(name);
        return json::walk(input, Some(&items), |item| of_json(&item, &base, sink));
    }
    match Elements::open(input, Oddities::Kept) {
        Ok(mut elements) => entries(&mut elements, name, sink),
        Err(broken) => Ok(Some(broken.to_string())),
    }
}

/// Reads the entries of a feed in XML, as [`read`].
pub(super) fn entries(
    elements: &mut Elements<'_>,
    name: &str,
    sink: &mut Sink<'_>,
) -> Result<Option<String>, ImportError> {
    let Some(entry_name) = entry_of(elements.root()) else {
        let root = elements.root();
        return Ok(Some(format!("it is not a feed: its root is <{root}>")));
    };
    let (document, mut found) = (sink.base(name), Entries::new(entry_name));
    let mut language = None;
    loop {
        let entry = match elements.next() {
            Ok(Some(entry)) => entry,
            Ok(None) => return Ok(found.lacking().map(|what| format!("it has {what}"))),
            Err(broken) => return Ok(Some(broken.to_string())),
        };
        let inside = |base: Base, own| base.inside(Some(own));
        let base = elements.bases().fold(document.clone(), inside);
        let page = page_of(&entry, &base);
        if !found.add(&entry, page.is_some()) {
            if found.passes_over(&entry) {
                sink.pass_over(&entry, name, elements.line());
            } else if entry.name() == "language" {
                language = Some(entry.text().to_owned());
            }
            continue;
        }
        let title = title(&entry, sink);
        let Some(page) = page else {
            sink.skip("it has no address", || shown(title.as_deref()));
            continue;
        };
        let mut fields = post(&page, title.as_deref());
        times(&entry, &page, &mut fields, sink);
        if let Some(language) = &language {
            fields.insert("language".to_owned(), language.as_str().into());
        }
        take(fields, &page, sink)?;
    }
}

/// Takes an item, unless nothing says where it is.
fn take(fields: Fields, page: &str, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    if path_of(&sink.address(page)).is_some() {
        return sink.record(fields, Id::Entry);
    }
    let reason = "its address is relative, and nothing says to what: --site does";
    sink.skip(reason, || page.to_owned());
    Ok(())
}

/// Returns the name that messages use for an item without an address.
fn shown(title: Option<&str>) -> String {
    title.unwrap_or("an item without a title").to_owned()
}

fn post(url: &str, title: Option<&str>) -> Fields {
    let mut fields = Fields::new();
    fields.insert("type".to_owned(), POST.into());
    fields.insert("url".to_owned(), url.into());
    if let Some(title) = title {
        fields.insert("title".to_owned(), title.into());
    }
    fields
}

/// Returns the title of an item as plain text. A title of Atom may be HTML, and say so in one of two ways (RFC 4287, 3.1; Atom 0.3, 3.1).
fn title(entry: &Element, sink: &mut Sink<'_>) -> Option<String> {
    let text = if let Some(title) = entry.all("atom:title").next() {
        let kind = title.attribute("type").unwrap_or_default();
        match title.attribute("mode") {
            Some("base64") => {
                sink.note("a title in base64", || title.text().to_owned());
                return None;
            }
            Some("escaped") if kind.contains("html") => html::text(title.text()),
            None if kind == "html" => html::text(title.text()),
            _ => title.whole_text(),
        }
    } else {
        entry.get("title")?.to_owned()
    };
    (!text.is_empty()).then_some(text)
}

/// Adds the times of an item.
fn times(entry: &Element, page: &str, fields: &mut Fields, sink: &mut Sink<'_>) {
    let wrong = |text: &str, sink: &mut Sink<'_>| {
        sink.note("a date that cannot be read", || format!("{page}: {text:?}"));
    };
    if let Some(date) = entry.get("pubDate").or(entry.get("dc:date")) {
        match rfc2822(date).or_else(|| time(date).ok()) {
            Some(date) => drop(fields.insert("published_at".to_owned(), date.into())),
            None => wrong(date, sink),
        }
    }
    for (field, names) in TIMES {
        let Some(text) = names.iter().find_map(|name| entry.get(name)) else {
            continue;
        };
        match time(text) {
            Ok(date) => drop(fields.insert(field.to_owned(), date.into())),
            Err(_) => wrong(text, sink),
        }
    }
}

fn of_json(item: &Value, base: &Base, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    let Some(page) = text("url").map(|url| base.resolve(url)) else {
        sink.skip("it has no address", || shown(text("title")));
        return Ok(());
    };
    let mut fields = post(&page, text("title"));
    let known = [
        ("date_published", "published_at"),
        ("date_modified", "modified_at"),
    ];
    for (name, field) in known {
        match text(name).map(time) {
            Some(Ok(date)) => drop(fields.insert(field.to_owned(), date.into())),
            Some(Err(reason)) => {
                sink.note("a date that cannot be read", || format!("{page}: {reason}"));
            }
            None => {}
        }
    }
    if let Some(language) = text("language") {
        fields.insert("language".to_owned(), language.into());
    }
    take(fields, &page, sink)
}

/// Parses a date as RSS has it: `Tue, 10 Nov 2026 09:00:00 +0000`.
pub(super) fn rfc2822(text: &str) -> Option<String> {
    let at = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(When::at(at.timestamp().as_second()).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dates_of_feeds_are_read() {
        for (text, expected) in [
            (
                "Tue, 10 Nov 2026 09:00:00 +0100",
                Some("2026-11-10T08:00:00+00:00"),
            ),
            (
                "10 Nov 2026 09:00:00 GMT",
                Some("2026-11-10T09:00:00+00:00"),
            ),
            ("Mon, 30 Nov -0001 00:00:00 +0000", None),
            ("yesterday", None),
        ] {
            assert_eq!(rfc2822(text).as_deref(), expected, "{text}");
        }
    }
}
