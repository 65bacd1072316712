//! The `<url>` elements of a sitemap.
//!
//! Elements are in the schemas' order, and extensions follow the core's elements. Otherwise validators refuse the file.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::format::video::Video;
use crate::format::xml;
use crate::loc::Loc;
use crate::time::When;

/// One `<url>`, borrowed from a record and the site's decisions about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The page's address.
    pub loc: &'a Loc,
    /// The time of the last change. `None` to omit it.
    pub lastmod: Option<When>,
    /// How often the page changes. `None` to omit it.
    pub changefreq: Option<ChangeFreq>,
    /// The page's importance among the site's pages. `None` to omit it.
    pub priority: Option<Priority>,
    /// Its videos, in a video sitemap.
    pub videos: &'a [Video],
    /// The page as news, in a news sitemap.
    pub news: Option<&'a News<'a>>,
    /// Its images. Search engines read at most 1,000.
    pub images: &'a [Loc],
    /// The page in other languages, and in its own.
    pub alternates: &'a [Alternate],
}

/// A page as a piece of news: `<news:news>`
/// ([Google](https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News<'a> {
    /// The publication's name.
    pub publication: &'a str,
    /// The publication's language, as [`news_language`](crate::language::news_language) writes it.
    pub language: &'a str,
    /// When the page was published.
    pub published: When,
    /// Its title.
    pub title: &'a str,
}

/// The page in another language: `<xhtml:link rel="alternate" …/>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Alternate {
    /// The language tag, or `x-default`.
    pub hreflang: String,
    /// The address, on any host.
    pub href: Loc,
}

/// How often a page changes: <https://www.sitemaps.org/protocol.html#changefreqdef>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeFreq {
    /// At each access.
    Always,
    /// Every hour.
    Hourly,
    /// Every day.
    Daily,
    /// Every week.
    Weekly,
    /// Every month.
    Monthly,
    /// Every year.
    Yearly,
    /// Archived permanently.
    Never,
}

impl ChangeFreq {
    const ALL: [Self; 7] = [
        Self::Always,
        Self::Hourly,
        Self::Daily,
        Self::Weekly,
        Self::Monthly,
        Self::Yearly,
        Self::Never,
    ];

    /// Returns all words for a message.
    pub(crate) fn names() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }

    /// Reads the protocol's own word, in lower case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|frequency| frequency.as_str() == text)
    }

    /// Returns the protocol's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Hourly => "hourly",
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
            Self::Yearly => "yearly",
            Self::Never => "never",
        }
    }
}

impl fmt::Display for ChangeFreq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A page's importance among the site's pages, 0.0 to 1.0, to one decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority {
    tenths: u8,
}

impl Priority {
    /// Returns the nearest priority with one decimal. Returns `None` for a number outside 0.0 to 1.0.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then(|| Self {
            tenths: (value * 10.0).round() as u8,
        })
    }

    fn as_str(self) -> &'static str {
        const TEXTS: [&str; 11] = [
            "0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0",
        ];
        TEXTS[usize::from(self.tenths)]
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Priority {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.tenths) / 10.0)
    }
}

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Self::new(value)
            .ok_or_else(|| de::Error::custom(format_args!("{value} is not within 0.0 to 1.0")))
    }
}

const IMAGE_START: &str = "<image:image><image:loc>";
const IMAGE_END: &str = "</image:loc></image:image>";
const LINK_START: &str = "<xhtml:link rel=\"alternate\" hreflang=\"";
const LINK_HREF: &str = "\" href=\"";
const LINK_END: &str = "\"/>";

/// Appends `<url>…</url>` and a newline.
pub fn render(entry: &Entry<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<url><loc>");
    xml::escape_loc(entry.loc, out);
    out.extend_from_slice(b"</loc>");
    if let Some(lastmod) = entry.lastmod {
        out.extend_from_slice(b"<lastmod>");
        lastmod.write(out);
        out.extend_from_slice(b"</lastmod>");
    }
    if let Some(frequency) = entry.changefreq {
        out.extend_from_slice(b"<changefreq>");
        out.extend_from_slice(frequency.as_str().as_bytes());
        out.extend_from_slice(b"</changefreq>");
    }
    if let Some(priority) = entry.priority {
        out.extend_from_slice(b"<priority>");
        out.extend_from_slice(priority.as_str().as_bytes());
        out.extend_from_slice(b"</priority>");
    }
    if let Some(news) = entry.news {
        out.extend_from_slice(b"<news:news><news:publication><news:name>");
        xml::escape(news.publication, out);
        out.extend_from_slice(b"</news:name><news:language>");
        xml::escape(news.language, out);
        out.extend_from_slice(b"</news:language></news:publication><news:publication_date>");
        news.published.write(out);
        out.extend_from_slice(b"</news:publication_date><news:title>");
        xml::escape(news.title, out);
        out.extend_from_slice(b"</news:title></news:news>");
    }
    for video in entry.videos {
        video.render(out);
    }
    for image in entry.images {
        out.extend_from_slice(IMAGE_START.as_bytes());
        xml::escape_loc(image, out);
        out.extend_from_slice(IMAGE_END.as_bytes());
    }
    for alternate in entry.alternates {
        out.extend_from_slice(LINK_START.as_bytes());
        xml::escape(&alternate.hreflang, out);
        out.extend_from_slice(LINK_HREF.as_bytes());
        xml::escape_loc(&alternate.href, out);
        out.extend_from_slice(LINK_END.as_bytes());
    }
    out.extend_from_slice(b"</url>\n");
}

/// Returns the bytes that one image adds to an entry.
#[must_use]
pub fn image_len(image: &Loc) -> usize {
    IMAGE_START.len() + xml::escaped_loc_len(image) + IMAGE_END.len()
}

/// Returns the bytes that one alternate adds to an entry.
#[must_use]
pub fn alternate_len(alternate: &Alternate) -> usize {
    let texts = xml::escaped_len(&alternate.hreflang) + xml::escaped_loc_len(&alternate.href);
    LINK_START.len() + LINK_HREF.len() + LINK_END.len() + texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loc(raw: &str) -> Loc {
        Loc::parse_any(raw).unwrap()
    }

    fn rendered(entry: &Entry<'_>) -> String {
        let mut out = Vec::new();
        render(entry, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn bare(loc: &Loc) -> Entry<'_> {
        Entry {
            loc,
            lastmod: None,
            changefreq: None,
            priority: None,
            videos: &[],
            news: None,
            images: &[],
            alternates: &[],
        }
    }

    #[test]
    fn news_say_who_has_published_them_and_when() {
        let page = loc("https://www.example.com/");
        let news = News {
            publication: "The <Lantern>",
            language: "en",
            published: When::at(1),
            title: "Now & then",
        };
        let entry = Entry {
            news: Some(&news),
            ..bare(&page)
        };
        assert_eq!(
            rendered(&entry),
            "<url><loc>https://www.example.com/</loc><news:news><news:publication><news:name>The &lt;Lantern&gt;</news:name>\
             <news:language>en</news:language></news:publication><news:publication_date>1970-01-01T00:00:01+00:00\
             </news:publication_date><news:title>Now &amp; then</news:title></news:news></url>\n"
        );
    }

    #[test]
    fn elements_stand_in_the_schemas_order() {
        let page = loc("https://www.example.com/?a=1&b='2'");
        let entry = Entry {
            lastmod: Some(When::at(1)),
            changefreq: Some(ChangeFreq::Weekly),
            priority: Priority::new(0.8),
            images: &[
                loc("https://img.example/a.png"),
                loc("https://img.example/b.png?x&y"),
            ],
            alternates: &[Alternate {
                hreflang: "de".to_owned(),
                href: loc("https://www.example.de/ü"),
            }],
            ..bare(&page)
        };
        assert_eq!(
            rendered(&entry),
            "<url><loc>https://www.example.com/?a=1&amp;b=%272%27</loc>\
             <lastmod>1970-01-01T00:00:01+00:00</lastmod>\
             <changefreq>weekly</changefreq><priority>0.8</priority>\
             <image:image><image:loc>https://img.example/a.png</image:loc></image:image>\
             <image:image><image:loc>https://img.example/b.png?x&amp;y</image:loc></image:image>\
             <xhtml:link rel=\"alternate\" hreflang=\"de\" href=\"https://www.example.de/%C3%BC\"/></url>\n"
        );
    }

    #[test]
    fn what_is_absent_leaves_no_trace() {
        let page = loc("https://www.example.com/it's");
        assert_eq!(
            rendered(&bare(&page)),
            "<url><loc>https://www.example.com/it&apos;s</loc></url>\n"
        );
    }

    #[test]
    fn lengths_are_those_rendered() {
        let page = loc("https://www.example.com/");
        let images = [loc("https://img.example/?a&b")];
        let alternates = [Alternate {
            hreflang: "\"&\u{1}".to_owned(),
            href: loc("https://www.example.de/'"),
        }];
        let without = rendered(&bare(&page)).len();
        let with = Entry {
            images: &images,
            alternates: &alternates,
            ..bare(&page)
        };
        let added = image_len(&images[0]) + alternate_len(&alternates[0]);
        assert_eq!(rendered(&with).len() - without, added);
    }

    #[test]
    fn priorities_have_one_decimal() {
        for (value, expected) in [
            (0.0, Some("0.0")),
            (0.04, Some("0.0")),
            (0.3, Some("0.3")),
            (0.76, Some("0.8")),
            (1.0, Some("1.0")),
            (1.7, None),
            (1.000_001, None),
            (-0.1, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ] {
            let text = Priority::new(value).map(|priority| priority.to_string());
            assert_eq!(text.as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn serde_uses_the_protocols_own_values() {
        let priority: Priority = serde_json::from_str("0.8").unwrap();
        assert_eq!(serde_json::to_string(&priority).unwrap(), "0.8");
        assert_eq!(
            serde_json::from_str::<Priority>("1").unwrap().to_string(),
            "1.0"
        );
        assert!(serde_json::from_str::<Priority>("1.7").is_err());
        for frequency in ChangeFreq::ALL {
            assert_eq!(ChangeFreq::parse(frequency.as_str()), Some(frequency));
            let json = serde_json::to_string(&frequency).unwrap();
            assert_eq!(json, format!("\"{frequency}\""));
        }
        assert_eq!(ChangeFreq::parse("Weekly"), None);
    }
}
