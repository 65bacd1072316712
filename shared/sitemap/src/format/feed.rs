//! The feed of recent changes: Atom 1.0, <https://www.rfc-editor.org/rfc/rfc4287>.
//!
//! It is a delta of the sitemaps for engines that read feeds, such as Bing's, and an ordinary feed for people. Texts are plain
//! and limited in length, so that no entry is too large for the document.

use std::collections::BTreeSet;

use crate::format::xml::{self, is_xml_char};
use crate::loc::{MAX_LOC_BYTES, normalized};
use crate::time::When;

/// The most entries of a feed. A reader that missed more, for example after an edit of the whole site, has the sitemaps.
pub const MAX_FEED_ENTRIES: usize = 500;
/// The most bytes of a feed: the limit of FeedBurner, which is the lowest that a reader of feeds has published.
pub const MAX_FEED_BYTES: usize = 512 * 1_024;

/// The most characters of a title. A longer one is cut.
const MAX_TITLE_CHARS: usize = 200;
/// The most characters of a summary. A longer one is cut.
const MAX_SUMMARY_CHARS: usize = 1_000;
/// The most bytes of a character in XML: `&quot;`.
const MAX_CHAR_BYTES: usize = 6;
/// The most bytes of an entry: its address twice, its texts, and less than 300 bytes of tags and times.
const MAX_ENTRY_BYTES: usize =
    MAX_CHAR_BYTES * (2 * MAX_LOC_BYTES + MAX_TITLE_CHARS + MAX_SUMMARY_CHARS) + 300;
const _: () = assert!(
    10 * MAX_ENTRY_BYTES < MAX_FEED_BYTES,
    "the newest entries are in any feed"
);

const START: &[u8] = b"<feed xmlns=\"http://www.w3.org/2005/Atom\">\n";
const END: &[u8] = b"</feed>\n";

/// The feed's own data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feed<'a> {
    /// The feed's own URL. It is the feed's id too, so it must not change.
    pub url: &'a str,
    /// The site's first page.
    pub home: &'a str,
    /// The feed's title, which is also its author.
    pub title: &'a str,
}

/// A page that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its URL, which is its entry's id: ASCII, at most [`MAX_LOC_BYTES`] bytes.
    pub loc: String,
    /// Its title.
    pub title: Option<String>,
    /// The page's description.
    pub summary: Option<String>,
    /// When it was published.
    pub published: Option<When>,
    /// When it changed, in Unix seconds.
    pub at: i64,
}

/// Returns the document and its number of entries.
///
/// `changes` must be sorted, the newest first. The document has as many as its limits allow, and only the first of each address.
/// Atom requires a time even in a feed without entries: `empty_since`, in Unix seconds, is when it became empty.
///
/// ```
/// use sitemap::feed::{Change, Feed, render};
///
/// let feed = Feed { url: "https://a.example/feed.atom", home: "https://a.example/", title: "News & more" };
/// let change = Change {
///     loc: "https://a.example/x".to_owned(), title: None, summary: None, published: None, at: 1_800_000_000,
/// };
/// let (xml, entries) = render(&feed, &[change], 0);
/// assert!(xml.contains("<title>News &amp; more</title>"));
/// assert_eq!(entries, 1);
/// ```
#[must_use]
pub fn render(feed: &Feed<'_>, changes: &[Change], empty_since: i64) -> (String, usize) {
    let newest = changes.first().map_or(empty_since, |change| change.at);
    let mut out = xml::DECLARATION.to_vec();
    out.extend_from_slice(START);
    element("id", feed.url, &mut out);
    let name = plain(feed.title, MAX_TITLE_CHARS);
    element("title", &name, &mut out);
    element("updated", &When::at(newest).to_string(), &mut out);
    link("self\" type=\"application/atom+xml", feed.url, &mut out);
    link("alternate", feed.home, &mut out);
    out.extend_from_slice(b"<author>");
    element("name", &name, &mut out);
    out.extend_from_slice(b"</author>\n");
    let (mut listed, mut one) = (BTreeSet::new(), Vec::new());
    for change in changes {
        if listed.len() == MAX_FEED_ENTRIES {
            break;
        }
        let address = normalized(&change.loc);
        if listed.contains(&address) {
            continue;
        }
        one.clear();
        entry(change, &mut one);
        if out.len() + one.len() + END.len() > MAX_FEED_BYTES {
            break;
        }
        out.append(&mut one);
        listed.insert(address);
    }
    out.extend_from_slice(END);
    let text = String::from_utf8(out).expect("it is made of texts");
    (text, listed.len())
}

fn entry(change: &Change, out: &mut Vec<u8>) {
    let title = change
        .title
        .as_deref()
        .map(|title| plain(title, MAX_TITLE_CHARS));
    let title = title.filter(|title| !title.is_empty());
    let summary = change
        .summary
        .as_deref()
        .map(|text| plain(text, MAX_SUMMARY_CHARS));
    out.extend_from_slice(b"<entry>\n");
    element("id", &change.loc, out);
    // Atom requires a title for every entry.
    let title = title.unwrap_or_else(|| plain(&change.loc, MAX_TITLE_CHARS));
    element("title", &title, out);
    link("alternate", &change.loc, out);
    if let Some(published) = change.published {
        // Atom requires a time, so a date becomes its midnight.
        element("published", &When::at(published.seconds()).to_string(), out);
    }
    element("updated", &When::at(change.at).to_string(), out);
    if let Some(summary) = summary.filter(|summary| !summary.is_empty()) {
        element("summary", &summary, out);
    }
    out.extend_from_slice(b"</entry>\n");
}

fn element(name: &str, text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("<{name}>").as_bytes());
    xml::escape(text, out);
    out.extend_from_slice(format!("</{name}>\n").as_bytes());
}

fn link(rel: &str, href: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("<link rel=\"{rel}\" href=\"").as_bytes());
    xml::escape(href, out);
    out.extend_from_slice(b"\"/>\n");
}

/// Returns the words of a text without control characters, cut to a number of characters.
pub(crate) fn plain(text: &str, most: usize) -> String {
    let kept = |c: &char| c.is_whitespace() || (is_xml_char(*c) && !c.is_control());
    let text: String = text.chars().filter(kept).collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use quick_xml::Reader;
    use quick_xml::events::Event;

    use super::*;

    const FEED: Feed<'_> = Feed {
        url: "https://www.example.com/feed.atom",
        home: "https://www.example.com/",
        title: "Bread & Butter",
    };

    fn change(path: &str, at: i64) -> Change {
        Change {
            loc: format!("https://www.example.com{path}"),
            title: None,
            summary: None,
            published: None,
            at,
        }
    }

    /// Returns the feed as a parser reads it: each leaf's path and its text, and each link's path and its attributes.
    fn read(xml: &str) -> Vec<(String, String)> {
        let mut reader = Reader::from_str(xml);
        let (mut path, mut leaves, mut text): (Vec<String>, Vec<_>, _) =
            (Vec::new(), Vec::new(), String::new());
        loop {
            match reader.read_event().unwrap() {
                Event::Start(start) => {
                    path.push(start.name().as_ref().to_owned());
                    text.clear();
                }
                Event::Text(part) => text.push_str(&part),
                Event::GeneralRef(entity) => {
                    let entity = format!("&{};", &*entity);
                    text.push_str(&quick_xml::escape::unescape(&entity).unwrap());
                }
                Event::Empty(link) => {
                    let attribute = |attribute: quick_xml::events::attributes::Attribute<'_>| {
                        let value = quick_xml::escape::unescape(&attribute.value);
                        value.unwrap().into_owned()
                    };
                    let values = link.attributes().map(|found| attribute(found.unwrap()));
                    let values = values.collect::<Vec<_>>().join(" ");
                    leaves.push((format!("{}/link", path.join("/")), values));
                }
                Event::End(_) => {
                    let text = std::mem::take(&mut text);
                    if !text.trim().is_empty() {
                        leaves.push((path.join("/"), text));
                    }
                    path.pop();
                }
                Event::Eof => return leaves,
                _ => {}
            }
        }
    }

    fn values(xml: &str, path: &str) -> Vec<String> {
        let found = read(xml).into_iter().filter(|(found, _)| found == path);
        found.map(|(_, text)| text).collect()
    }

    #[test]
    fn a_feed_says_what_atom_asks_for() {
        let mut newest = change("/b?x=1&y='2'", 1_800_000_000);
        newest.title = Some("A \"title\" <b>\0 of\n\t two\u{b}lines\u{9f}".to_owned());
        newest.summary = Some("Less & more".to_owned());
        newest.published = Some(When::parse("2026-01-02").unwrap());
        let (xml, entries) = render(&FEED, &[newest, change("/a", 1_700_000_000)], 0);
        assert!(xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n"));
        assert!(xml.ends_with("</entry>\n</feed>\n"));
        assert_eq!(entries, 2);
        let expected = [
            ("feed/id", "https://www.example.com/feed.atom"),
            ("feed/title", "Bread & Butter"),
            ("feed/updated", "2027-01-15T08:00:00+00:00"),
            (
                "feed/link",
                "self application/atom+xml https://www.example.com/feed.atom",
            ),
            ("feed/link", "alternate https://www.example.com/"),
            ("feed/author/name", "Bread & Butter"),
            ("feed/entry/id", "https://www.example.com/b?x=1&y='2'"),
            ("feed/entry/title", "A \"title\" <b> of two lines"),
            (
                "feed/entry/link",
                "alternate https://www.example.com/b?x=1&y='2'",
            ),
            ("feed/entry/published", "2026-01-02T00:00:00+00:00"),
            ("feed/entry/updated", "2027-01-15T08:00:00+00:00"),
            ("feed/entry/summary", "Less & more"),
            ("feed/entry/id", "https://www.example.com/a"),
            ("feed/entry/title", "https://www.example.com/a"),
            ("feed/entry/link", "alternate https://www.example.com/a"),
            ("feed/entry/updated", "2023-11-14T22:13:20+00:00"),
        ];
        let expected = expected.map(|(path, text)| (path.to_owned(), text.to_owned()));
        assert_eq!(read(&xml), expected);
    }

    #[test]
    fn an_empty_feed_says_since_when_it_is() {
        let (xml, entries) = render(&FEED, &[], 1_800_000_000);
        assert_eq!(entries, 0);
        assert_eq!(values(&xml, "feed/updated"), ["2027-01-15T08:00:00+00:00"]);
    }

    #[test]
    fn an_address_stands_once_as_it_last_changed() {
        let changes = [change("/a", 3), change("/b", 2), change("/a", 1)];
        let (xml, entries) = render(&FEED, &changes, 0);
        assert_eq!(entries, 2);
        assert_eq!(
            values(&xml, "feed/entry/updated"),
            ["1970-01-01T00:00:03+00:00", "1970-01-01T00:00:02+00:00"]
        );
    }

    #[test]
    fn a_text_that_says_nothing_is_left_out() {
        let mut blank = change("/a", 1);
        blank.title = Some(" \u{1}\n".to_owned());
        blank.summary = Some("\u{fffe} ".to_owned());
        let (xml, _) = render(&FEED, &[blank], 0);
        assert_eq!(
            values(&xml, "feed/entry/title"),
            ["https://www.example.com/a"]
        );
        assert_eq!(values(&xml, "feed/entry/summary"), [""; 0]);
    }

    #[test]
    fn the_newest_are_kept_where_there_are_too_many() {
        let changes: Vec<_> = (0..600)
            .map(|n| change(&format!("/{n}"), 1_000 - n))
            .collect();
        let (xml, entries) = render(&FEED, &changes, 0);
        assert_eq!(entries, MAX_FEED_ENTRIES);
        let ids = values(&xml, "feed/entry/id");
        assert_eq!(ids.len(), MAX_FEED_ENTRIES);
        assert_eq!(ids[0], "https://www.example.com/0");
        assert_eq!(ids[499], "https://www.example.com/499");
    }

    #[test]
    fn no_texts_make_it_too_large() {
        let big = |n: i64| {
            let mut big = change(&format!("/{n:03}{}", "'".repeat(2_000)), 1_000 - n);
            big.title = Some("\"".repeat(300_000));
            big.summary = Some("\"".repeat(300_000));
            big
        };
        let changes: Vec<_> = (0..30).map(big).collect();
        let (xml, entries) = render(&FEED, &changes, 0);
        let one = xml.len() / entries;
        assert!(
            one <= MAX_ENTRY_BYTES && one > MAX_ENTRY_BYTES * 9 / 10,
            "{one}"
        );
        assert!(xml.len() <= MAX_FEED_BYTES && xml.len() + one > MAX_FEED_BYTES);
        assert_eq!(values(&xml, "feed/entry/id").len(), entries);
        assert_eq!(
            values(&xml, "feed/entry/title")[0].chars().count(),
            MAX_TITLE_CHARS
        );
    }

    proptest! {
        #[test]
        fn a_parser_reads_any_text(title in any::<String>(), summary in any::<String>()) {
            let mut change = change("/a", 1);
            (change.title, change.summary) = (Some(title.clone()), Some(summary));
            let (xml, _) = render(&FEED, &[change], 0);
            let read = values(&xml, "feed/entry/title");
            let expected = plain(&title, MAX_TITLE_CHARS);
            let expected = if expected.is_empty() { "https://www.example.com/a" } else { &expected };
            prop_assert_eq!(read, [expected]);
        }
    }
}
