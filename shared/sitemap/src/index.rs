//! The lines of a sitemap index.

use crate::time::When;
use crate::xml;

/// One `<sitemap>` of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexLine<'a> {
    /// The sitemap's absolute URL.
    pub loc: &'a str,
    /// When what it lists last changed.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: IndexLine<'_>, expected: &str) {
        let mut out = Vec::new();
        render(&line, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
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
