//! The files that are the same for every site: style sheets of the XML, and the parts of the view for people.

use flate2::Crc;
use sitemap::time::When;

/// A file of the front's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asset {
    /// The CSS style sheet of every document, for a browser that opens it directly.
    Css,
    /// The XSLT style sheet for indexes and pages.
    Xsl,
    /// The XSLT style sheet for videos.
    VideoXsl,
    /// The XSLT style sheet for news.
    NewsXsl,
    /// The style of the view, and of the pages that the XSLT makes.
    ViewCss,
    /// The script of the view.
    ViewScript,
}

impl Asset {
    pub(crate) const ALL: [Self; 6] = [
        Self::Css,
        Self::Xsl,
        Self::VideoXsl,
        Self::NewsXsl,
        Self::ViewCss,
        Self::ViewScript,
    ];

    /// Returns the asset of a path.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|asset| asset.path() == path)
    }

    /// Returns its path on every site.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Css => "/sitemap.css",
            Self::Xsl => "/sitemap.xsl",
            Self::VideoXsl => "/video-sitemap.xsl",
            Self::NewsXsl => "/news-sitemap.xsl",
            Self::ViewCss => "/sitemap-view.css",
            Self::ViewScript => "/sitemap-view.js",
        }
    }

    /// Returns the Content-Type.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Css | Self::ViewCss => "text/css; charset=utf-8",
            Self::Xsl | Self::VideoXsl | Self::NewsXsl => "application/xslt+xml; charset=utf-8",
            Self::ViewScript => "text/javascript; charset=utf-8",
        }
    }

    /// Returns the file.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Css => include_str!("assets/sitemap.css"),
            Self::Xsl => include_str!("assets/sitemap.xsl"),
            Self::VideoXsl => include_str!("assets/video-sitemap.xsl"),
            Self::NewsXsl => include_str!("assets/news-sitemap.xsl"),
            Self::ViewCss => include_str!("assets/sitemap-view.css"),
            Self::ViewScript => include_str!("assets/sitemap-view.js"),
        }
    }

    /// Returns the time of its last change, in Unix seconds. The time is written in the code, because the build's time would
    /// change without the text, and instances of one deployment must not differ.
    #[must_use]
    pub fn changed(self) -> Option<i64> {
        let at = match self {
            Self::Css | Self::Xsl | Self::VideoXsl | Self::NewsXsl => "2026-11-21T08:22:56Z",
            Self::ViewCss => "2026-11-28T21:55:00Z",
            Self::ViewScript => "2026-11-29T03:55:00Z",
        };
        When::parse(at).ok().map(When::seconds)
    }

    /// Returns the digest from which its ETag is made.
    #[must_use]
    pub fn digest(self) -> String {
        let mut crc = Crc::new();
        crc.update(self.text().as_bytes());
        format!("{:08x}-{}", crc.sum(), crc.amount())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests that a changed text has a new time in [`Asset::changed`]. If it has, replace its digest here.
    #[test]
    fn the_time_of_an_asset_is_that_of_its_text() {
        let texts = Asset::ALL.map(|asset| (asset.digest(), asset.changed()));
        let at = |text| Some(When::parse(text).expect("a time").seconds());
        let sheets = at("2026-11-21T08:22:56Z");
        let expected = [
            ("eeca0a72-3254", sheets),
            ("646aaf55-3395", sheets),
            ("5c5f145d-2422", sheets),
            ("e29d1ae6-2007", sheets),
            ("6d4760a5-7958", at("2026-11-28T21:55:00Z")),
            ("50fc3eb1-30541", at("2026-11-29T03:55:00Z")),
        ];
        let expected = expected.map(|(digest, changed)| (digest.to_owned(), changed));
        assert_eq!(texts, expected);
    }
}
