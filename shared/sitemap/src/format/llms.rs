//! llms.txt: a Markdown list of a site's newest pages, <https://llmstxt.org/>.
//!
//! A title, a summary in a quote, and for each type a heading and a list of links. Texts are plain and limited in length, and the
//! syntax of Markdown and HTML in them is escaped. Readers of this format look for the next `]` and `)`. So both are references
//! or percent-encoded within a link.

use crate::format::feed::plain;
use crate::site::Llms;

/// The most bytes of llms.txt. A reader takes all of it into a context, of which this is a small part (25,000 tokens or so).
pub const MAX_LLMS_BYTES: usize = 100_000;
/// The most pages of llms.txt: about as many as fit, at 200 bytes each. As many rows are read to publish it.
pub const MAX_LLMS_PAGES: usize = 500;

/// The most characters of a page's title. A longer one is cut.
pub const MAX_TITLE_CHARS: usize = 200;
/// The most characters of a page's description. A longer one is cut.
pub const MAX_DESCRIPTION_CHARS: usize = 300;

/// A page that may be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its URL.
    pub loc: String,
    /// Its type.
    pub type_name: String,
    /// Its title.
    pub title: Option<String>,
    /// Its description.
    pub description: Option<String>,
}

/// Returns the document and the number of listed pages. `pages` must be sorted, the newest first, and as many are listed as fit.
/// `host` is the title if the settings give none.
///
/// ```
/// use sitemap::llms::{Page, render};
/// use sitemap::site::Llms;
///
/// let settings = Llms { title: Some("Bread".to_owned()), summary: None, types: vec!["post".to_owned()] };
/// let page = Page {
///     loc: "https://a.example/x".to_owned(), type_name: "post".to_owned(), title: Some("Rye".to_owned()), description: None,
/// };
/// let (text, listed) = render(&settings, "a.example", &[page]);
/// assert_eq!(text, "# Bread\n\n## post\n\n- [Rye](https://a.example/x)\n");
/// assert_eq!(listed, 1);
/// ```
#[must_use]
pub fn render(settings: &Llms, host: &str, pages: &[Page]) -> (String, usize) {
    let mut head = format!("# {}\n", text(settings.title.as_deref().unwrap_or(host)));
    if let Some(summary) = &settings.summary {
        head += &format!("\n> {}\n", text(summary));
    }
    let mut sections = vec![String::new(); settings.types.len()];
    let (mut bytes, mut listed) = (head.len(), 0);
    for page in pages.iter().take(MAX_LLMS_PAGES) {
        let mut types = settings.types.iter();
        let Some(at) = types.position(|name| *name == page.type_name) else {
            continue;
        };
        let mut added = String::new();
        if sections[at].is_empty() {
            added = format!("\n## {}\n\n", text(&page.type_name));
        }
        added += &line(page);
        bytes += added.len();
        if bytes > MAX_LLMS_BYTES {
            break;
        }
        sections[at] += &added;
        listed += 1;
    }
    (head + &sections.concat(), listed)
}

fn line(page: &Page) -> String {
    let given = |text: &Option<String>, most| {
        let text = plain(text.as_deref()?, most);
        (!text.is_empty()).then_some(text)
    };
    let title = given(&page.title, MAX_TITLE_CHARS);
    let title = escape(&title.unwrap_or_else(|| plain(&page.loc, MAX_TITLE_CHARS)));
    let loc = target(&page.loc);
    match given(&page.description, MAX_DESCRIPTION_CHARS) {
        Some(description) => format!("- [{title}]({loc}): {}\n", escape(&description)),
        None => format!("- [{title}]({loc})\n"),
    }
}

/// Returns a text for the beginning of a block.
fn text(text: &str) -> String {
    let escaped = escape(&plain(text, usize::MAX));
    // A list, or the underline of a heading, could begin here.
    let number = escaped.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = escaped.len() - number.len();
    let begins_list = match number.chars().next() {
        Some('-' | '+' | '=') => digits == 0,
        Some('.' | ')') => digits > 0,
        _ => false,
    };
    if begins_list {
        format!("{}\\{number}", &escaped[..digits])
    } else {
        escaped
    }
}

/// Returns one line of text as Markdown that is displayed literally.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for (at, c) in text.char_indices() {
        match c {
            '\\' | '`' | '*' | '_' | '~' | '#' | '|' => escaped.extend(['\\', c]),
            // `![` would begin an image, but the bracket is escaped.
            '[' => escaped += "&#91;",
            ']' => escaped += "&#93;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' if begins_reference(&text[at..]) => escaped += "&amp;",
            c => escaped.push(c),
        }
    }
    escaped
}

/// Returns whether `&` at the beginning of a text would be read as a character reference.
fn begins_reference(text: &str) -> bool {
    let name = text[1..].split(';').next().unwrap_or_default();
    let is_closed = text[1..].len() > name.len();
    let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'#');
    is_closed && !name.is_empty() && is_name(name)
}

/// Returns a URL as the target of a link, from an ASCII text without white space. The result has no parenthesis, bracket or
/// reference.
fn target(loc: &str) -> String {
    let mut target = String::new();
    for (at, c) in loc.char_indices() {
        match c {
            '(' | ')' | '[' | ']' | '<' | '>' | '\\' => target += &format!("%{:02X}", c as u32),
            '&' if begins_reference(&loc[at..]) => target += "&amp;",
            c => target.push(c),
        }
    }
    target
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn settings(types: &[&str]) -> Llms {
        Llms {
            title: Some("Bread & Butter".to_owned()),
            summary: Some("A bakery.".to_owned()),
            types: types.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn page(path: &str, type_name: &str) -> Page {
        Page {
            loc: format!("https://www.example.com{path}"),
            type_name: type_name.to_owned(),
            title: Some("Rye".to_owned()),
            description: None,
        }
    }

    #[test]
    fn each_type_has_a_section_in_the_order_of_the_settings() {
        let mut described = page("/b", "post");
        described.description = Some("Slow\n\tand sour.".to_owned());
        let mut bare = page("/c", "page");
        bare.title = Some(" \u{1}\n".to_owned());
        let pages = [page("/a", "page"), described, bare, page("/d", "other")];
        let (text, listed) = render(&settings(&["post", "page", "none"]), "h", &pages);
        assert_eq!(
            text,
            "# Bread & Butter\n\n> A bakery.\n\n\
             ## post\n\n- [Rye](https://www.example.com/b): Slow and sour.\n\n\
             ## page\n\n- [Rye](https://www.example.com/a)\n\
             - [https://www.example.com/c](https://www.example.com/c)\n"
        );
        assert_eq!(listed, 3);
        let none = Llms {
            title: None,
            summary: None,
            types: vec!["post".to_owned()],
        };
        assert_eq!(render(&none, "h.example", &[]).0, "# h.example\n");
    }

    #[test]
    fn what_markdown_or_html_would_read_is_escaped() {
        for (title, expected) in [
            ("a [b](c) d", "a &#91;b&#93;(c) d"),
            ("![x", "!&#91;x"),
            ("<script>", "&lt;script&gt;"),
            (r"C:\ `*_~#|", r"C:\\ \`\*\_\~\#\|"),
            ("AT&T &amp; &#91; & &;", r"AT&T &amp;amp; &amp;\#91; & &;"),
            ("a\n# b\r\n- c\u{2028}d", r"a \# b - c d"),
            ("\u{202e}x\0", "\u{202e}x"),
        ] {
            let page = Page {
                title: Some(title.to_owned()),
                description: Some(title.to_owned()),
                ..page("/a", "post")
            };
            let expected = format!("- [{expected}](https://www.example.com/a): {expected}\n");
            assert_eq!(line(&page), expected, "{title:?}");
        }
    }

    #[test]
    fn no_block_begins_within_title_or_summary() {
        for (given, expected) in [
            ("- a", r"\- a"),
            ("+ a", r"\+ a"),
            ("===", r"\==="),
            ("# a", r"\# a"),
            ("> a", "&gt; a"),
            ("```", r"\`\`\`"),
            ("2026. A year", r"2026\. A year"),
            ("1) a", r"1\) a"),
            ("2026 a.", "2026 a."),
            (". a", ". a"),
        ] {
            assert_eq!(text(given), expected);
        }
    }

    #[test]
    fn no_url_ends_its_link() {
        let odd = page("/a_(b)?x=[1]&lt;&y=2", "post");
        let expected = "- [Rye](https://www.example.com/a_%28b%29?x=%5B1%5D&amp;lt;&y=2)\n";
        assert_eq!(line(&odd), expected);
    }

    #[test]
    fn the_newest_are_kept_where_there_are_too_many() {
        let all: Vec<_> = (0..MAX_LLMS_PAGES + 9)
            .map(|n| page(&format!("/{n:04}"), "post"))
            .collect();
        let (text, listed) = render(&settings(&["post"]), "h", &all);
        assert_eq!(listed, MAX_LLMS_PAGES);
        assert!(text.contains("/0000)") && text.contains("/0499)") && !text.contains("/0500)"));

        let large = |n: usize| Page {
            description: Some("[".repeat(1_000)),
            ..page(&format!("/{n:04}"), "post")
        };
        let (text, listed) = render(
            &settings(&["post"]),
            "h",
            &(0..500).map(large).collect::<Vec<_>>(),
        );
        let one = line(&large(0)).len();
        assert!(text.len() <= MAX_LLMS_BYTES && text.len() + one > MAX_LLMS_BYTES);
        assert!(listed > 40 && text.matches("\n- ").count() == listed);
    }

    proptest! {
        /// Parses a line as readers of the format do.
        #[test]
        fn a_line_is_one_link_whatever_its_texts(title in any::<String>(), description in any::<String>(), path in "[!-~]{0,20}") {
            let page = Page { title: Some(title), description: Some(description), ..page(&format!("/{path}"), "post") };
            let line = line(&page);
            let rest = line.strip_prefix("- [").unwrap();
            let (shown, rest) = rest.split_once("](").unwrap();
            prop_assert!(!shown.contains(['[', ']', '<']));
            let (target, rest) = rest.split_once(')').unwrap();
            prop_assert!(target.starts_with("https://www.example.com/") && !target.contains(['(', ' ', '<']));
            let described = rest.strip_prefix(": ").or((rest == "\n").then_some("\n")).unwrap();
            prop_assert!(!described.contains(['[', ']', '<']));
            prop_assert_eq!(line.lines().count(), 1);
            prop_assert_eq!(line.find(|c: char| c.is_control()), Some(line.len() - 1));
        }
    }
}
