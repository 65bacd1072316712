//! Which document a path asks for, and in which form.
//!
//! Paths are compared as they arrive: nothing is percent-decoded, so an encoded slash or dot names nothing.

use objects::{FEED_FILE, INDEX_STEM, ROBOTS_FILE, SHARD_INFIX};
use sitemap::site::{FOREIGN_INDEX_SERIES, MAX_SERIES_BYTES};

use crate::asset::Asset;
use crate::form::Form;

/// Where other systems keep their index, and crawlers look without being told. They redirect to the first index.
const INDEX_ALIASES: [&str; 4] = [
    "/sitemap.xml",
    "/wp-sitemap.xml",
    "/sitemap-index.xml",
    "/sitemapindex.xml",
];

/// How long an IndexNow key is (<https://www.indexnow.org/documentation>).
const INDEXNOW_KEY_BYTES: std::ops::RangeInclusive<usize> = 8..=128;

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// An index.
    Index {
        /// From 1.
        n: u32,
        /// What it is wanted as.
        form: Form,
    },
    /// A shard.
    Shard {
        /// Of `A-Z a-z 0-9 _ -`, at most [`MAX_SERIES_BYTES`].
        series: String,
        /// From 1.
        n: u32,
        /// What it is wanted as.
        form: Form,
    },
    /// robots.txt.
    Robots,
    /// What has changed of late.
    Feed,
    /// The file that proves an IndexNow key to be the site's, if this is its key: `[A-Za-z0-9-]{8,128}`.
    KeyFile(String),
    /// A file that every site has.
    Asset(Asset),
    /// Another path on the same host.
    Redirect(String),
}

impl Route {
    /// The route of a path, or nothing where there can be no document.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        if INDEX_ALIASES.contains(&path) {
            return Some(Self::to_first_index(Form::Xml));
        }
        if let Some(asset) = Asset::parse(path) {
            return Some(Self::Asset(asset));
        }
        let file = path.strip_prefix('/')?;
        match file {
            ROBOTS_FILE => return Some(Self::Robots),
            FEED_FILE => return Some(Self::Feed),
            _ => {}
        }
        let (stem, form) = split_extension(file)?;
        let document = Self::index(stem, form).or_else(|| Self::shard(stem, form));
        let is_key = || form == Form::Text && is_indexnow_key(stem);
        document.or_else(|| is_key().then(|| Self::KeyFile(stem.to_owned())))
    }

    fn index(stem: &str, form: Form) -> Option<Self> {
        let number = Number::parse(stem.strip_prefix(INDEX_STEM)?)?;
        // Its text form would be a list of sitemaps, which a reader of text sitemaps takes for pages.
        if form.is_text() {
            return None;
        }
        Some(match number {
            Number::Redundant => Self::to_first_index(form),
            Number::Own(n) => Self::Index { n, form },
        })
    }

    fn to_first_index(form: Form) -> Self {
        Self::Redirect(format!("/{INDEX_STEM}{}", form.extension()))
    }

    fn shard(stem: &str, form: Form) -> Option<Self> {
        // From the right: a series may itself be called `x-sitemap`.
        let (series, number) = stem.rsplit_once(SHARD_INFIX)?;
        if !is_series(series) {
            return None;
        }
        Some(match Number::parse(number)? {
            Number::Redundant => {
                Self::Redirect(format!("/{series}{SHARD_INFIX}{}", form.extension()))
            }
            Number::Own(n) => Self::Shard {
                series: series.to_owned(),
                n,
                form,
            },
        })
    }
}

/// The number in a shard's or an index's name.
enum Number {
    /// 0 or 1: the first, whose own name has none.
    Redundant,
    /// From 1.
    Own(u32),
}

impl Number {
    /// One spelling a number: nothing for `02`, `+2` or one that nothing can have.
    fn parse(digits: &str) -> Option<Self> {
        match digits {
            "" => Some(Self::Own(1)),
            "0" | "1" => Some(Self::Redundant),
            _ if digits.starts_with('0') || !digits.bytes().all(|b| b.is_ascii_digit()) => None,
            _ => digits.parse().ok().map(Self::Own),
        }
    }
}

fn split_extension(file: &str) -> Option<(&str, Form)> {
    [Form::Xml, Form::Gz, Form::Text, Form::TextGz]
        .into_iter()
        .find_map(|form| Some((file.strip_suffix(form.extension())?, form)))
}

fn is_series(name: &str) -> bool {
    (1..=MAX_SERIES_BYTES).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        && name != FOREIGN_INDEX_SERIES
}

fn is_indexnow_key(name: &str) -> bool {
    INDEXNOW_KEY_BYTES.contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(n: u32, form: Form) -> Option<Route> {
        Some(Route::Index { n, form })
    }

    fn key_file(key: &str) -> Option<Route> {
        Some(Route::KeyFile(key.to_owned()))
    }

    fn shard(series: &str, n: u32, form: Form) -> Option<Route> {
        Some(Route::Shard {
            series: series.to_owned(),
            n,
            form,
        })
    }

    fn redirect(path: &str) -> Option<Route> {
        Some(Route::Redirect(path.to_owned()))
    }

    #[test]
    fn paths_lead_to_their_documents() {
        let long_key = "k".repeat(128);
        let cases = [
            ("/robots.txt", Some(Route::Robots)),
            ("/feed.atom", Some(Route::Feed)),
            ("/sitemap.css", Some(Route::Asset(Asset::Css))),
            ("/sitemap.xsl", Some(Route::Asset(Asset::Xsl))),
            ("/video-sitemap.xsl", Some(Route::Asset(Asset::VideoXsl))),
            ("/news-sitemap.xsl", Some(Route::Asset(Asset::NewsXsl))),
            ("/sitemap-view.css", Some(Route::Asset(Asset::ViewCss))),
            ("/sitemap-view.js", Some(Route::Asset(Asset::ViewScript))),
            ("/sitemap_index.xml", index(1, Form::Xml)),
            ("/sitemap_index.xml.gz", index(1, Form::Gz)),
            ("/sitemap_index2.xml", index(2, Form::Xml)),
            ("/sitemap_index10.xml.gz", index(10, Form::Gz)),
            ("/sitemap_index0.xml", redirect("/sitemap_index.xml")),
            ("/sitemap_index1.xml", redirect("/sitemap_index.xml")),
            ("/sitemap_index1.xml.gz", redirect("/sitemap_index.xml.gz")),
            ("/0123-abYZ.txt", key_file("0123-abYZ")),
            (&format!("/{long_key}.txt"), key_file(&long_key)),
            ("/a-sitemap2.txt", shard("a", 2, Form::Text)),
            ("/-sitemap.txt", key_file("-sitemap")),
            ("/a-sitemap02.txt", key_file("a-sitemap02")),
            ("/sitemap.xml", redirect("/sitemap_index.xml")),
            ("/wp-sitemap.xml", redirect("/sitemap_index.xml")),
            ("/sitemap-index.xml", redirect("/sitemap_index.xml")),
            ("/sitemapindex.xml", redirect("/sitemap_index.xml")),
            ("/post-sitemap.xml", shard("post", 1, Form::Xml)),
            ("/post-sitemap2.xml", shard("post", 2, Form::Xml)),
            ("/post-sitemap10.xml.gz", shard("post", 10, Form::Gz)),
            ("/post-sitemap2.txt", shard("post", 2, Form::Text)),
            ("/post-sitemap.txt.gz", shard("post", 1, Form::TextGz)),
            ("/post-sitemap10.txt.gz", shard("post", 10, Form::TextGz)),
            (
                "/post-sitemap4294967295.xml",
                shard("post", u32::MAX, Form::Xml),
            ),
            ("/x-sitemap-sitemap3.xml", shard("x-sitemap", 3, Form::Xml)),
            ("/x-sitemap2-sitemap.xml", shard("x-sitemap2", 1, Form::Xml)),
            ("/-x_Y9-sitemap.xml", shard("-x_Y9", 1, Form::Xml)),
            ("/post-sitemap0.xml", redirect("/post-sitemap.xml")),
            ("/post-sitemap1.xml", redirect("/post-sitemap.xml")),
            ("/post-sitemap1.xml.gz", redirect("/post-sitemap.xml.gz")),
            ("/post-sitemap0.txt", redirect("/post-sitemap.txt")),
            ("/post-sitemap1.txt.gz", redirect("/post-sitemap.txt.gz")),
        ];
        for (path, route) in cases {
            assert_eq!(Route::parse(path), route, "{path}");
        }
    }

    #[test]
    fn no_sitemap_is_hidden_behind_a_name_for_the_index() {
        for alias in INDEX_ALIASES {
            let (stem, form) = split_extension(&alias[1..]).unwrap();
            assert_eq!(Route::index(stem, form), None, "{alias}");
            assert_eq!(Route::shard(stem, form), None, "{alias}");
        }
    }

    #[test]
    fn every_types_series_has_a_path_of_its_own() {
        let longest = format!("{}{}", "x".repeat(52), "-pages".repeat(2));
        let types = [
            "sitemap_index",
            "sitemap",
            "robots",
            "feed",
            "x-sitemap",
            "x-sitemap2",
            "sitemap-view",
            "wp",
            "news",
            "news-pages",
            "-",
            &longest,
        ];
        for series in ["clips", "sitemap_index", "x-sitemap2", &"x".repeat(52)] {
            let item = serde_json::json!({"video_series": series, "news_series": "wp-pages"});
            let settings = sitemap::site::SiteSettings::parse("www.example.com", &item).unwrap();
            assert_eq!(settings.problems, []);
            let own = types.map(|name| settings.series_of(name).name);
            for name in own
                .iter()
                .chain([&settings.video_series, &settings.news_series])
            {
                for (n, number) in [(1, ""), (2, "2"), (u32::MAX, "4294967295")] {
                    for form in [Form::Xml, Form::Gz, Form::Text, Form::TextGz] {
                        let path = format!("/{name}-sitemap{number}{}", form.extension());
                        assert_eq!(Route::parse(&path), shard(name, n, form), "{path}");
                    }
                }
            }
        }
    }

    #[test]
    fn other_paths_lead_nowhere() {
        let long = format!("/{}-sitemap.xml", "x".repeat(MAX_SERIES_BYTES + 1));
        let long_key = format!("/{}.txt", "k".repeat(129));
        let paths = [
            "",
            "/",
            "*",
            "robots.txt",
            "//robots.txt",
            "/site.json",
            "/sitemap_index.txt",
            "/sitemap_index.xml/x",
            "/sitemap_index.xml/",
            "/sitemap_index2.txt",
            "/sitemap_index.txt.gz",
            "/0123abcd.txt.gz",
            "/robots.txt.gz",
            "/post-sitemap.txt.gz.gz",
            "/sitemap_index02.xml",
            "/sitemap_index-1.xml",
            "/sitemap_index4294967296.xml",
            "/xsitemap_index2.xml",
            "/sitemap.xml.gz",
            "/feed.atom.gz",
            "/feed.xml",
            "/0123456.txt",
            "/0123_abcd.txt",
            "/0123.abcd.txt",
            "/0123abcd.txt.txt",
            "/a/0123abcd.txt",
            "/0123abcd.xml",
            "/page-sitemap.xsl",
            "/sitemap-view.html",
            &long_key,
            "/-sitemap.xml",
            "/wp-sitemap1.xml",
            "/wp-sitemap2.xml",
            "/wp-sitemap.xml.gz",
            "/-sitemap2.xml",
            "/post-sitemap",
            "/post-sitemap.xml.gz.gz",
            "/post-sitemap.xml.txt",
            "/post-sitemap.XML",
            "/post-sitemap00.xml",
            "/post-sitemap01.xml",
            "/post-sitemap02.xml",
            "/post-sitemap-1.xml",
            "/post-sitemap+2.xml",
            "/post-sitemap2 .xml",
            "/post-sitemapx.xml",
            "/post-sitemap2x.xml",
            "/post-sitemap٢.xml",
            "/post-sitemap4294967296.xml",
            "/post-sitemap99999999999999999999.xml",
            "/../post-sitemap.xml",
            "/..-sitemap.xml",
            "/./post-sitemap.xml",
            "//post-sitemap.xml",
            "/a/post-sitemap.xml",
            "/..%2f..%2fetc-sitemap.xml",
            "/%70ost-sitemap.xml",
            "/post%2dsitemap.xml",
            "/post-sitemap%32.xml",
            "/post\\-sitemap.xml",
            "/post\0-sitemap.xml",
            "/pöst-sitemap.xml",
            &long,
        ];
        for path in paths {
            assert_eq!(Route::parse(path), None, "{path}");
        }
    }
}
