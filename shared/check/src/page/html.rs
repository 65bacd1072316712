//! The few tags of a page that crawlers look for, found without building a document.

use super::links::Link;
use super::robots::is_for_crawlers;

/// Elements whose content is text, whatever it looks like (HTML, 13.1.2).
const RAW: [&str; 6] = [
    "script", "style", "title", "textarea", "noscript", "template",
];
/// Links of a page that are kept: a set of alternates may have hundreds.
const MAX_LINKS: usize = 1_000;

/// What a page says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Html {
    /// The names and contents of `<meta name="robots">`, and of those for one crawler.
    pub(super) robots: Vec<(String, String)>,
    pub(super) links: Vec<Link>,
    /// The address of `<base>`.
    pub(super) base: Option<String>,
    /// When it was modified, in its own words.
    pub(super) modified: Option<String>,
}

impl Html {
    /// Reads a page: its head, and JSON-LD wherever it is.
    pub(super) fn read(text: &str) -> Self {
        let mut html = Self::default();
        let mut in_head = true;
        let mut rest = text;
        while let Some(at) = rest.find('<') {
            rest = &rest[at + 1..];
            if let Some(comment) = rest.strip_prefix("!--") {
                rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
                continue;
            }
            let is_end = rest.starts_with('/');
            let name_at = usize::from(is_end);
            let length = rest[name_at..]
                .bytes()
                .take_while(u8::is_ascii_alphanumeric)
                .count();
            if length == 0 {
                continue;
            }
            let name = rest[name_at..name_at + length].to_ascii_lowercase();
            let (attributes, after) = attributes(&rest[name_at + length..]);
            rest = after;
            if (name == "head" && is_end) || name == "body" {
                in_head = false;
            }
            if is_end {
                continue;
            }
            if RAW.contains(&name.as_str()) {
                let (content, after) = until_end(rest, &name);
                rest = after;
                if name == "script" && value(&attributes, "type").is_some_and(is_json_ld) {
                    html.json_ld(content);
                }
            } else if in_head {
                html.tag(&name, &attributes);
            }
        }
        html
    }

    fn tag(&mut self, name: &str, attributes: &[(String, String)]) {
        let value = |name| value(attributes, name);
        match name {
            "base" if self.base.is_none() => self.base = value("href").map(str::to_owned),
            "link" if self.links.len() < MAX_LINKS => {
                if let (Some(rel), Some(href)) = (value("rel"), value("href")) {
                    self.links.push(Link {
                        rel: rel.to_owned(),
                        href: href.to_owned(),
                        language: value("hreflang").map(str::to_owned),
                        is_variant: ["lang", "media", "type"]
                            .iter()
                            .any(|one| value(one).is_some()),
                    });
                }
            }
            "meta" => {
                let Some(content) = value("content") else {
                    return;
                };
                let name = value("name").or_else(|| value("property"));
                let name = name.unwrap_or_default().trim().to_ascii_lowercase();
                if is_for_crawlers(&name) {
                    self.robots.push((name, content.to_owned()));
                } else if name == "article:modified_time" && self.modified.is_none() {
                    self.modified = Some(content.to_owned());
                }
            }
            _ => {}
        }
    }

    /// The first `"dateModified": "…"`. Which of several things it is of, crawlers guess, too.
    fn json_ld(&mut self, text: &str) {
        if self.modified.is_some() {
            return;
        }
        self.modified = text.split("\"dateModified\"").skip(1).find_map(|rest| {
            let rest = rest.trim_start().strip_prefix(':')?.trim_start();
            let (value, _) = rest.strip_prefix('"')?.split_once('"')?;
            Some(value.to_owned())
        });
    }
}

fn is_json_ld(media: &str) -> bool {
    media.trim().eq_ignore_ascii_case("application/ld+json")
}

fn value<'a>(attributes: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = attributes.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

/// The text up to an element's end, and what is behind its name there.
fn until_end<'a>(text: &'a str, name: &str) -> (&'a str, &'a str) {
    let ends = |at: &usize| {
        let end = text.get(at + 2..at + 2 + name.len());
        end.is_some_and(|end| end.eq_ignore_ascii_case(name))
    };
    match text.match_indices("</").map(|(at, _)| at).find(ends) {
        Some(at) => (&text[..at], &text[at..]),
        None => (text, ""),
    }
}

/// A tag's attributes, the first of a name, and what is behind the tag.
fn attributes(text: &str) -> (Vec<(String, String)>, &str) {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return (found, rest);
        }
        if let Some(after) = rest.strip_prefix('>') {
            return (found, after);
        }
        let is_end = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>' | '=');
        // An attribute may begin with what else would end it.
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let end = rest[first..]
            .find(is_end)
            .map_or(rest.len(), |at| at + first);
        let name = rest[..end].to_ascii_lowercase();
        rest = rest[end..].trim_start();
        let mut value = "";
        if let Some(after) = rest.strip_prefix('=') {
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
            (value, rest) = match quote {
                Some(quote) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
                None => {
                    let is_end = |c: char| c.is_ascii_whitespace() || c == '>';
                    after.split_at(after.find(is_end).unwrap_or(after.len()))
                }
            };
        }
        if found.iter().all(|(known, _)| *known != name) {
            found.push((name, unescaped(value)));
        }
    }
}

/// A value with the references that addresses have in them resolved.
fn unescaped(value: &str) -> String {
    if !value.contains('&') {
        return value.to_owned();
    }
    match quick_xml::escape::unescape(value) {
        Ok(value) => value.into_owned(),
        // HTML lets a & stand for itself, and has more names.
        Err(_) => value.replace("&amp;", "&"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_or_odd_ends() {
        for text in [
            "<",
            "<!--",
            "<meta",
            "<meta name",
            "<meta name=",
            "<meta name='",
            "<script>",
            "<a =",
            "<a =>",
            "</",
            "<ä",
            "<meta ä=ä",
            "< meta>",
            "<script></scrip",
            "<meta / / = / >",
        ] {
            assert_eq!(Html::read(text), Html::default(), "{text}");
        }
    }

    #[test]
    fn attributes_may_be_quoted_or_not() {
        let html = Html::read(
            "<link href = '/?a=1&amp;b=2' rel=\"x canonical\"/><link rel=alternate href=/c?d=e&f hreflang=de>",
        );
        assert_eq!(html.links[0].href, "/?a=1&b=2");
        assert!(html.links[0].is("Canonical"));
        assert_eq!(html.links[1].href, "/c?d=e&f");
        assert_eq!(html.links[1].language.as_deref(), Some("de"));
    }
}
