//! RSS, Atom and JSON Feed: addresses, titles and dates.

use check::document::elements::{Element, Elements, Oddities};
use check::document::input::Input;
use serde_json::Value;
use sitemap::time::When;

use super::entry::time;
use super::json;
use super::options::ImportError;
use super::sink::{Fields, Id, Sink};
use super::source::HEAD_BYTES;

/// The type of a feed's items.
const POST: &str = "post";

/// Reads a feed. Returns why it could not be read to its end.
pub(super) fn read(
    mut input: Input<'_>,
    sink: &mut Sink<'_>,
) -> Result<Option<String>, ImportError> {
    if input.head(HEAD_BYTES).trim_ascii_start().starts_with(b"{") {
        let items = ["items".to_owned()];
        return json::walk(input, Some(&items), |item| of_json(&item, sink));
    }
    let mut elements = match Elements::open(input, Oddities::Kept) {
        Ok(elements) => elements,
        Err(broken) => return Ok(Some(broken.to_string())),
    };
    let mut language = None;
    loop {
        let element = match elements.next() {
            Ok(Some(element)) => element,
            Ok(None) => return Ok(None),
            Err(broken) => return Ok(Some(broken.to_string())),
        };
        let fields = match element.name() {
            "item" => of_rss(&element, sink),
            "atom:entry" => of_atom(&element, sink),
            "language" => {
                language = Some(element.text().to_owned());
                continue;
            }
            _ => continue,
        };
        let Some(mut fields) = fields else {
            sink.skip("it has no address", || {
                let title = element.get("title").or(element.get("atom:title"));
                title.unwrap_or("an item without a title").to_owned()
            });
            continue;
        };
        if let Some(language) = &language {
            fields.insert("language".to_owned(), language.as_str().into());
        }
        sink.record(fields, Id::Entry)?;
    }
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

fn of_rss(item: &Element, sink: &mut Sink<'_>) -> Option<Fields> {
    let permalink = item.all("guid").next();
    let permalink = permalink.filter(|guid| {
        guid.attribute("isPermaLink") != Some("false") && guid.text().starts_with("http")
    });
    let url = item.get("link").or(permalink.map(Element::text))?;
    let mut fields = post(url, item.get("title"));
    if let Some(date) = item.get("pubDate").or(item.get("dc:date")) {
        match rfc2822(date).or_else(|| time(date).ok()) {
            Some(date) => drop(fields.insert("published_at".to_owned(), date.into())),
            None => sink.note("a date that cannot be read", || format!("{url}: {date:?}")),
        }
    }
    Some(fields)
}

fn of_atom(entry: &Element, sink: &mut Sink<'_>) -> Option<Fields> {
    let mut links = entry.all("atom:link");
    let link = links.find(|link| matches!(link.attribute("rel"), None | Some("alternate")))?;
    let url = link.attribute("href")?;
    let mut fields = post(url, entry.get("atom:title"));
    for (name, field) in [
        ("atom:published", "published_at"),
        ("atom:updated", "modified_at"),
    ] {
        match entry.get(name).map(|text| (text, time(text))) {
            Some((_, Ok(date))) => drop(fields.insert(field.to_owned(), date.into())),
            Some((text, Err(_))) => {
                sink.note("a date that cannot be read", || format!("{url}: {text:?}"));
            }
            None => {}
        }
    }
    Some(fields)
}

fn of_json(item: &Value, sink: &mut Sink<'_>) -> Result<(), ImportError> {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    let Some(url) = text("url") else {
        let title = text("title").unwrap_or("an item without a title");
        sink.skip("it has no address", || title.to_owned());
        return Ok(());
    };
    let mut fields = post(url, text("title"));
    let known = [
        ("date_published", "published_at"),
        ("date_modified", "modified_at"),
    ];
    for (name, field) in known {
        match text(name).map(time) {
            Some(Ok(date)) => drop(fields.insert(field.to_owned(), date.into())),
            Some(Err(reason)) => {
                sink.note("a date that cannot be read", || format!("{url}: {reason}"));
            }
            None => {}
        }
    }
    if let Some(language) = text("language") {
        fields.insert("language".to_owned(), language.into());
    }
    sink.record(fields, Id::Entry)
}

/// A date as RSS has it: `Tue, 10 Nov 2026 09:00:00 +0000`.
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
