//! The little XML that sitemaps need: text, and the parts before and after the elements.
//!
//! - Nothing precedes the XML declaration, and the document has no padding, because some readers fail on either.
//! - Only the five predefined entities are used; there is no CDATA.
//! - Each element of the list is one line.

use crate::loc::Loc;

/// The end of a urlset.
pub const URLSET_EPILOGUE: &[u8] = b"</urlset>\n";
/// The end of a sitemap index.
pub const INDEX_EPILOGUE: &[u8] = b"</sitemapindex>\n";

pub(crate) const DECLARATION: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
/// Namespaces are compared as texts, so each must be exactly that of sitemaps.org, Google and XHTML 1. All sitemaps declare all
/// of them, so that an entry can begin to use one.
const URLSET: &[u8] = b"<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
    xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\" \
    xmlns:news=\"http://www.google.com/schemas/sitemap-news/0.9\" \
    xmlns:video=\"http://www.google.com/schemas/sitemap-video/1.1\" \
    xmlns:xhtml=\"http://www.w3.org/1999/xhtml\">\n";
const INDEX: &[u8] = b"<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n";

/// Returns the document up to the first `<url>`: declaration, stylesheet instruction, start tag. `stylesheet` is the style
/// sheet's URL. If it ends in `.xsl`, its type is XSLT, otherwise CSS.
#[must_use]
pub fn urlset_prolog(stylesheet: Option<&str>) -> Vec<u8> {
    prolog(stylesheet, URLSET)
}

/// Returns the document up to the first `<sitemap>`, as [`urlset_prolog`] does for `<url>`.
#[must_use]
pub fn index_prolog(stylesheet: Option<&str>) -> Vec<u8> {
    prolog(stylesheet, INDEX)
}

fn prolog(stylesheet: Option<&str>, start: &[u8]) -> Vec<u8> {
    let mut out = DECLARATION.to_vec();
    if let Some(href) = stylesheet {
        let kind: &[u8] = if href.ends_with(".xsl") {
            b"text/xsl"
        } else {
            b"text/css"
        };
        out.extend_from_slice(b"<?xml-stylesheet type=\"");
        out.extend_from_slice(kind);
        out.extend_from_slice(b"\" href=\"");
        escape(href, &mut out); // no `>` is left, so that no `?>` ends the instruction early
        out.extend_from_slice(b"\"?>\n");
    }
    out.extend_from_slice(start);
    out
}

/// Returns whether XML 1.0 allows the character at all, even escaped: <https://www.w3.org/TR/xml/#charsets>.
#[must_use]
pub const fn is_xml_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

/// Returns whether only white space would be left of a text in a document.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    !text.chars().any(|c| is_xml_char(c) && !c.is_whitespace())
}

/// Appends a text as element content or attribute value. Markup becomes predefined entities, and characters that XML 1.0 forbids
/// are dropped, because one of them would make the whole sitemap unreadable.
pub fn escape(text: &str, out: &mut Vec<u8>) {
    let mut copied = 0;
    for (at, c) in text.char_indices() {
        if let Some(replacement) = replacement(c) {
            out.extend_from_slice(&text.as_bytes()[copied..at]);
            out.extend_from_slice(replacement.as_bytes());
            copied = at + c.len_utf8();
        }
    }
    out.extend_from_slice(&text.as_bytes()[copied..]);
}

/// Appends a URL as [`escape`] appends a text. This version is faster: URLs are most of a sitemap, and the only markup characters
/// in a [`Loc`] are `&` and `'`.
pub fn escape_loc(loc: &Loc, out: &mut Vec<u8>) {
    let mut rest = loc.as_str().as_bytes();
    while let Some(at) = memchr::memchr2(b'&', b'\'', rest) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(if rest[at] == b'&' {
            b"&amp;"
        } else {
            b"&apos;"
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Returns how many bytes [`escape`] appends.
#[must_use]
pub fn escaped_len(text: &str) -> usize {
    let len = |c: char| replacement(c).map_or(c.len_utf8(), str::len);
    text.chars().map(len).sum()
}

/// Returns how many bytes [`escape_loc`] appends.
#[must_use]
pub fn escaped_loc_len(loc: &Loc) -> usize {
    let bytes = loc.as_str().as_bytes();
    let added = memchr::memchr2_iter(b'&', b'\'', bytes).map(|at| match bytes[at] {
        b'&' => "amp;".len(),
        _ => "&apos".len(),
    });
    bytes.len() + added.sum::<usize>()
}

fn replacement(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&apos;"),
        c if is_xml_char(c) => None,
        _ => Some(""),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escaped(text: &str) -> String {
        let mut out = Vec::new();
        escape(text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn markup_becomes_entities() {
        assert_eq!(escaped("a&b<c>d\"e'f"), "a&amp;b&lt;c&gt;d&quot;e&apos;f");
        assert_eq!(escaped("&amp;"), "&amp;amp;");
        assert_eq!(escaped("Grüße 🦀\tok\n"), "Grüße 🦀\tok\n");
    }

    #[test]
    fn what_xml_forbids_is_removed() {
        assert_eq!(
            escaped("a\0b\u{8}c\u{1f}d\u{FFFE}e\u{FFFF}f\u{FFFD}"),
            "abcdef\u{FFFD}"
        );
        for (c, allowed) in [
            ('\u{b}', false),
            ('\u{7f}', true),
            ('\u{85}', true),
            ('\u{10FFFF}', true),
        ] {
            assert_eq!(is_xml_char(c), allowed, "{c:?}");
        }
    }

    #[test]
    fn a_prolog_begins_with_the_declaration() {
        let text = String::from_utf8(urlset_prolog(Some("/sitemap.css"))).unwrap();
        assert_eq!(
            text,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <?xml-stylesheet type=\"text/css\" href=\"/sitemap.css\"?>\n\
             <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
             xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\" \
             xmlns:news=\"http://www.google.com/schemas/sitemap-news/0.9\" \
             xmlns:video=\"http://www.google.com/schemas/sitemap-video/1.1\" \
             xmlns:xhtml=\"http://www.w3.org/1999/xhtml\">\n"
        );
        assert_eq!(
            String::from_utf8(index_prolog(None)).unwrap(),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
        );
    }

    #[test]
    fn a_stylesheet_cannot_end_its_instruction() {
        let text = String::from_utf8(index_prolog(Some("/a?><b>\".xsl"))).unwrap();
        assert!(
            text.contains(
                "<?xml-stylesheet type=\"text/xsl\" href=\"/a?&gt;&lt;b&gt;&quot;.xsl\"?>\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_url_is_escaped_as_any_text() {
        for raw in [
            "https://a.example/",
            "https://a.example/'&''&&x&",
            "http://a.example/\"<>&amp;?'",
        ] {
            let loc = Loc::parse_any(raw).unwrap();
            let mut out = Vec::new();
            escape_loc(&loc, &mut out);
            assert_eq!(out.len(), escaped_loc_len(&loc));
            assert_eq!(String::from_utf8(out).unwrap(), escaped(loc.as_str()));
        }
    }

    proptest! {
        #[test]
        fn a_parser_reads_what_was_allowed(text in any::<String>()) {
            let mut kept = text.clone();
            kept.retain(is_xml_char);
            let escaped = escaped(&text);
            prop_assert_eq!(escaped.len(), escaped_len(&text));
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
            prop_assert_eq!(quick_xml::escape::unescape(&escaped).unwrap(), kept);
        }
    }
}
