//! The file of `--expected`: the pages that the sitemaps should list.
//!
//! One URL a line; or a JSON list of URLs or of `{"loc", "lastmod"?, "images"?, "alternates"?}`, perhaps as the `urls` of an
//! object; or such objects one a line, where `url` will do for `loc`. What is not given may be anything.

use check::document::expected::{Details, Expected};
use check::url::origin_of;
use serde_json::Value;
use sitemap::site::SITE_TYPE;

/// What is shown of something that is not understood.
const SHOWN: usize = 100;

/// Reads a file's text.
///
/// # Errors
///
/// What is wrong, and in which line or entry.
pub fn read(text: &str) -> Result<Expected, String> {
    let mut expected = Expected::default();
    let whole = serde_json::from_str::<Value>(text).ok();
    let list = match &whole {
        Some(Value::Array(list)) => Some(list),
        Some(Value::Object(object)) => object.get("urls").and_then(Value::as_array),
        _ => None,
    };
    if let Some(list) = list {
        for (at, item) in list.iter().enumerate() {
            add(&mut expected, item).map_err(|problem| format!("entry {}: {problem}", at + 1))?;
        }
        return some(expected);
    }
    for (at, line) in text.lines().map(str::trim).enumerate() {
        let item = match line.chars().next() {
            None => continue,
            Some('{') => serde_json::from_str(line).map_err(|error| error.to_string()),
            Some(_) => Ok(Value::String(line.to_owned())),
        };
        let added = item.and_then(|item| add(&mut expected, &item));
        added.map_err(|problem| format!("line {}: {problem}", at + 1))?;
    }
    some(expected)
}

/// Refuses a list of no URLs: a step before that failed leaves one, and every URL would be one too many.
fn some(expected: Expected) -> Result<Expected, String> {
    match expected.is_empty() {
        true => Err("has no URL: give those that should be listed".to_owned()),
        false => Ok(expected),
    }
}

fn add(expected: &mut Expected, item: &Value) -> Result<(), String> {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    let loc = item
        .as_str()
        .or_else(|| text("loc"))
        .or_else(|| text("url"));
    // A file of records may begin with a site's settings, which are no page.
    if text("type") == Some(SITE_TYPE) {
        return Ok(());
    }
    let Some(loc) = loc else {
        let shown: String = item.to_string().chars().take(SHOWN).collect();
        return Err(format!("{shown} is not a URL and has no loc"));
    };
    if origin_of(loc).is_none() {
        let shown: String = loc.chars().take(SHOWN).collect();
        return Err(format!("{shown:?} is not a URL"));
    }
    let texts = |value: &Value| value.as_str().map(str::to_owned);
    let images = item.get("images").and_then(Value::as_array);
    let alternates = item.get("alternates").and_then(Value::as_object);
    let details = Details {
        lastmod: text("lastmod").map(str::to_owned),
        // A content record has objects here: what it makes of them is not for this file to say.
        images: images.and_then(|images| images.iter().map(texts).collect()),
        alternates: alternates.and_then(|alternates| {
            let pair = |(language, href): (&String, &Value)| Some((language.clone(), texts(href)?));
            alternates.iter().map(pair).collect()
        }),
    };
    expected.add(loc.to_owned(), details);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        for text in [
            "https://a.example/1\r\n\n https://a.example/2 \n",
            "[\"https://a.example/1\", {\"loc\": \"https://a.example/2\"}]",
            "{\"urls\": [{\"loc\": \"https://a.example/1\", \"images\": []}, \"https://a.example/2\"]}",
            "{\"id\": \"site/a.example\", \"type\": \"site\"}\n\
             {\"id\": 1, \"url\": \"https://a.example/1\"}\n{\"loc\": \"https://a.example/2\", \"images\": [{}]}",
        ] {
            let expected = read(text).unwrap();
            assert_eq!(expected.len(), 2, "{text}");
        }
        for (text, problem) in [
            ("https://a.example/1\n/2\n", "line 2: \"/2\" is not a URL"),
            ("[\"x\"]", "entry 1: \"x\" is not a URL"),
            ("[{}]", "entry 1: {} is not a URL and has no loc"),
            ("{\"a\n", "line 1: EOF"),
            ("", "has no URL"),
            ("\n \n", "has no URL"),
            ("{\"urls\": []}", "has no URL"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
