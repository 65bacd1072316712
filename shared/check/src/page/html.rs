//! Reads the few tags of a page that crawlers use, without building a document.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer};

use super::links::Link;
use super::robots::is_for_crawlers;

/// The element whose tags are not in the document until a script copies them. The content of `noscript` is one text, as in a
/// browser.
const UNSEEN: &[u8] = b"template";
/// The most links of a page that are kept. A set of alternates may have hundreds.
pub(super) const MAX_LINKS: usize = 1_000;

/// The data of a page for crawlers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Html {
    /// The names and contents of `<meta name="robots">`, and of similar tags for single crawlers.
    pub(super) robots: Vec<(String, String)>,
    pub(super) links: Vec<Link>,
    /// Whether there are more links than are kept.
    pub(super) has_more_links: bool,
    /// The address of `<base>`.
    pub(super) base: Option<String>,
    /// The date of its modification, as it is written.
    pub(super) modified: Option<String>,
}

impl Html {
    /// Reads the head of a page, and JSON-LD anywhere.
    pub(super) fn read(text: &str) -> Self {
        let mut html = Self::default();
        let mut emitter = DefaultEmitter::default();
        // The content of a script, a style or a title is text, whatever it looks like.
        emitter.naively_switch_states(true);
        let (mut in_head, mut is_seen, mut in_json) = (true, true, false);
        for Ok(token) in Tokenizer::new_with_emitter(text, emitter) {
            match token {
                Token::EndTag(tag) if !is_seen => is_seen = *tag.name == UNSEEN,
                _ if !is_seen => {}
                Token::StartTag(tag) => {
                    in_head &= *tag.name != b"body";
                    is_seen = *tag.name != UNSEEN;
                    in_json = *tag.name == b"script"
                        && value(&tag, "type").is_some_and(|media| is_json_ld(&media));
                    if in_head {
                        html.tag(&tag);
                    }
                }
                Token::EndTag(tag) => in_head &= *tag.name != b"head",
                Token::String(text) if in_json => {
                    html.json_ld(&String::from_utf8_lossy(&text));
                }
                _ => {}
            }
        }
        html
    }

    fn tag(&mut self, tag: &StartTag<()>) {
        let value = |name| value(tag, name);
        match tag.name.as_slice() {
            b"base" if self.base.is_none() => self.base = value("href"),
            b"link" if self.links.len() < MAX_LINKS => {
                if let (Some(rel), Some(href)) = (value("rel"), value("href")) {
                    self.links.push(Link {
                        rel,
                        href,
                        language: value("hreflang"),
                        is_variant: ["lang", "media", "type"]
                            .iter()
                            .any(|one| value(one).is_some()),
                    });
                }
            }
            b"link" => self.has_more_links = true,
            b"meta" => {
                let Some(content) = value("content") else {
                    return;
                };
                let name = value("name").or_else(|| value("property"));
                let name = name.unwrap_or_default().trim().to_ascii_lowercase();
                if is_for_crawlers(&name) {
                    self.robots.push((name, content));
                } else if name == "article:modified_time" && self.modified.is_none() {
                    self.modified = Some(content);
                }
            }
            _ => {}
        }
    }

    /// Reads the first `"dateModified": "…"`. If a page describes several things, crawlers have to guess which one is meant, too.
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

/// Returns the value of an attribute. The first one with the name counts.
fn value(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
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
        assert!(!html.has_more_links);
        let html = Html::read(&"<link rel=alternate href=/a>".repeat(MAX_LINKS + 1));
        assert_eq!((html.links.len(), html.has_more_links), (MAX_LINKS, true));
    }

    #[test]
    fn what_a_browser_does_not_show_as_tags_is_none() {
        for around in [
            ["<noscript>", "</noscript>"],
            ["<template>", "</template>"],
            ["<template><script>'</template>'</script>", "</template>"],
            ["<script><!--<script>'</script>'", "--></script>"],
            ["<textarea>", "</textarea>"],
            ["<iframe>", "</iframe>"],
            ["<![CDATA[<a", "]]>"],
        ] {
            let [begin, end] = around;
            let text = format!("{begin}<meta name=robots content=noindex>{end}<base href=/b>");
            let html = Html::read(&text);
            assert_eq!(html.robots, [], "{text}");
            assert_eq!(html.base.as_deref(), Some("/b"), "{text}");
        }
        let html = Html::read("<base href='/caf&eacute;?a&amp;b&c'>");
        assert_eq!(html.base.as_deref(), Some("/café?a&b&c"));
    }
}
