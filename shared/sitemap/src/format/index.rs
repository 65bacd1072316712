//! The lines of a sitemap index, and the comment with the number of URLs of each line.
//!
//! An index has no element for a number of URLs, and its schema allows no other attribute. So the numbers are in a comment, which
//! only the view for people reads. It is before the root element, because some readers take each child of the root for a sitemap.

use std::io::Write;

use crate::format::member::Frame;
use crate::format::xml;
use crate::time::When;

/// One `<sitemap>` of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexLine<'a> {
    /// The sitemap's absolute URL.
    pub loc: &'a str,
    /// The time of the last change among its entries.
    pub lastmod: Option<When>,
}

/// Appends `<sitemap>…</sitemap>` and a newline.
pub fn render(line: &IndexLine<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<sitemap><loc>");
    xml::escape(line.loc, out);
    out.extend_from_slice(b"</loc>");
    if let Some(lastmod) = line.lastmod {
        out.extend_from_slice(b"<lastmod>");
        lastmod.write(out);
        out.extend_from_slice(b"</lastmod>");
    }
    out.extend_from_slice(b"</sitemap>\n");
}

const COUNTS_BEGIN: &str = "<!-- Index ";
const COUNTS_TEXT: &str = ". URLs of each sitemap, in brackets those that another one lists, too:";
const COUNTS_END: &str = " -->\n";

/// The most bytes that [`with_counts`] adds, besides the counts: two numbers of ten digits.
pub const COUNTS_BYTES: usize =
    COUNTS_BEGIN.len() + 10 + " of ".len() + 10 + COUNTS_TEXT.len() + COUNTS_END.len();

/// The number of URLs that a sitemap lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of URLs.
    pub urls: u64,
    /// Whether other sitemaps list the same URLs: sitemaps of videos and of news.
    pub is_repeated: bool,
}

/// Appends a sitemap's count, in the order of the lines. `None` for a sitemap of others, of which it is not known.
pub fn render_count(count: Option<Count>, out: &mut Vec<u8>) {
    let written = match count {
        None => write!(out, " ?"),
        Some(Count { urls, is_repeated }) if is_repeated => write!(out, " [{urls}]"),
        Some(Count { urls, .. }) => write!(out, " {urls}"),
    };
    written.expect("a vector takes any bytes");
}

/// Returns the frame of the `n`-th index of `of`, with the counts that [`render_count`] wrote of its lines. Without counts there
/// is no comment.
#[must_use]
pub fn with_counts(mut frame: Frame, n: usize, of: usize, counts: &[u8]) -> Frame {
    let start_tag = frame.prolog.iter().rposition(|byte| *byte == b'<');
    if let (Some(at), false) = (start_tag, counts.is_empty()) {
        let mut comment = format!("{COUNTS_BEGIN}{n} of {of}{COUNTS_TEXT}").into_bytes();
        comment.extend_from_slice(counts);
        comment.extend_from_slice(COUNTS_END.as_bytes());
        frame.prolog.splice(at..at, comment);
    }
    frame
}

/// Returns the prolog of an index without its counts.
#[must_use]
pub fn without_counts(prolog: &str) -> String {
    around_counts(prolog).map_or_else(
        || prolog.to_owned(),
        |[before, _, after]| before.to_owned() + after,
    )
}

/// Returns the count of each line that [`render_count`] wrote, from the prolog of an index.
#[must_use]
pub fn counts(prolog: &str) -> Vec<&str> {
    let comment = around_counts(prolog).map(|[_, comment, _]| comment);
    let counts = comment.and_then(|comment| comment.split_once(COUNTS_TEXT));
    counts.map_or_else(Vec::new, |(_, counts)| counts.split_whitespace().collect())
}

/// Returns the texts before, in and after the comment.
fn around_counts(prolog: &str) -> Option<[&str; 3]> {
    let (before, rest) = prolog.split_once(COUNTS_BEGIN)?;
    let (comment, after) = rest.split_once(COUNTS_END)?;
    Some([before, comment, after])
}

/// Returns the address in the last of these lines.
#[must_use]
pub fn last_loc(lines: &[u8]) -> Option<&str> {
    let (_, last) = std::str::from_utf8(lines).ok()?.rsplit_once("<loc>")?;
    Some(last.split_once("</loc>")?.0)
}

/// Returns the addresses in these lines.
pub fn locs(lines: &[u8]) -> impl Iterator<Item = &str> {
    let lines = std::str::from_utf8(lines).unwrap_or_default();
    let behind = lines.split("<loc>").skip(1);
    behind.filter_map(|rest| Some(rest.split_once("</loc>")?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_stand_in_front_of_the_root() {
        for stylesheet in [None, Some("/sitemap.css")] {
            let frame = Frame::index(stylesheet);
            let plain = String::from_utf8(frame.prolog.clone()).unwrap();
            let mut counts = Vec::new();
            for (urls, is_repeated) in [(50_000, false), (0, false), (7, true)] {
                render_count(Some(Count { urls, is_repeated }), &mut counts);
            }
            render_count(None, &mut counts);
            let (before, root) = plain.split_at(plain.find("<sitemapindex").unwrap());
            let frame = with_counts(frame, 2, 3, &counts);
            assert_eq!(
                String::from_utf8(frame.prolog.clone()).unwrap(),
                format!(
                    "{before}<!-- Index 2 of 3. URLs of each sitemap, in brackets those that another one lists, too: \
                     50000 0 [7] ? -->\n{root}"
                )
            );
            assert_eq!(frame.epilogue, Frame::index(stylesheet).epilogue);
            let prolog = String::from_utf8(frame.prolog).unwrap();
            assert_eq!(without_counts(&prolog), plain);
            assert_eq!(super::counts(&prolog), ["50000", "0", "[7]", "?"]);
        }
    }

    #[test]
    fn an_index_without_lines_has_no_counts() {
        let frame = with_counts(Frame::index(None), 1, 0, b"");
        assert_eq!(frame, Frame::index(None));
        let prolog = String::from_utf8(frame.prolog).unwrap();
        assert_eq!(without_counts(&prolog), prolog);
        assert_eq!(counts(&prolog), [""; 0]);
    }

    #[test]
    fn the_counts_take_no_more_bytes_than_are_kept_for_them() {
        let most = u32::MAX as usize;
        let frame = with_counts(Frame::index(None), most, most, b" 1");
        let added = frame.prolog.len() - Frame::index(None).prolog.len();
        assert_eq!(added, COUNTS_BYTES + b" 1".len());
    }

    #[track_caller]
    fn check(line: IndexLine<'_>, expected: &str) {
        let mut out = b"<sitemap><loc>another</loc></sitemap>\n".to_vec();
        let before = out.len();
        render(&line, &mut out);
        assert_eq!(Vec::from_iter(locs(&out)), ["another", line.loc]);
        assert_eq!(last_loc(&out), Some(line.loc));
        assert_eq!(String::from_utf8_lossy(&out[before..]), expected);
    }

    #[test]
    fn a_line_holds_the_address_and_the_newest_lastmod() {
        let loc = "https://www.example.com/post-sitemap.xml";
        check(
            IndexLine {
                loc,
                lastmod: Some(When::at(0)),
            },
            "<sitemap><loc>https://www.example.com/post-sitemap.xml</loc>\
             <lastmod>1970-01-01T00:00:00+00:00</lastmod></sitemap>\n",
        );
        check(
            IndexLine { loc, lastmod: None },
            "<sitemap><loc>https://www.example.com/post-sitemap.xml</loc></sitemap>\n",
        );
    }
}
