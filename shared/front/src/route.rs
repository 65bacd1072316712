//! The routes of paths: a document and its form.
//!
//! Paths are compared as they arrive. Nothing is percent-decoded, so a path with an encoded slash or dot has no route.

use objects::{FILES, Form, ObjectKey, PublishedFile};
use sitemap::site::{is_indexnow_key, is_series_name};

use crate::asset::Asset;

/// The forms that differ by their extensions.
const FORMS: [Form; 4] = [Form::Xml, Form::Gz, Form::Text, Form::TextGz];

/// The paths of the index in other systems, which crawlers try by themselves. They redirect to the first index.
const INDEX_ALIASES: [&str; 4] = [
    "/sitemap.xml",
    "/wp-sitemap.xml",
    "/sitemap-index.xml",
    "/sitemapindex.xml",
];

/// The route of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// A published object, and the requested form.
    Object(ObjectKey, Form),
    /// The file that proves the site's ownership of an IndexNow key, if this is its key: `[A-Za-z0-9-]{8,128}`.
    KeyFile(String),
    /// A file that every site has.
    Asset(Asset),
    /// A redirect to another path on the same host.
    Redirect(String),
}

impl Route {
    /// Returns the route of a path on a site. Returns `None` if there can be no document.
    #[must_use]
    pub fn parse(site: &str, path: &str) -> Option<Self> {
        if INDEX_ALIASES.contains(&path) {
            let (site, n) = (site.to_owned(), 1);
            let first = ObjectKey::Index { site, n }.file_name();
            return Some(Self::Redirect(format!("/{first}")));
        }
        if let Some(asset) = Asset::parse(path) {
            return Some(Self::Asset(asset));
        }
        let file = path.strip_prefix('/')?;
        if let Some(key) = PublishedFile::named(site, file) {
            let form = *key.file().forms.first()?;
            return Some(Self::Object(key, form));
        }
        let (stem, form) = split_extension(file)?;
        let is_key = || form == Form::Text && is_indexnow_key(stem);
        Self::numbered(site, stem, form)
            .or_else(|| is_key().then(|| Self::KeyFile(stem.to_owned())))
    }

    /// Returns the route of a shard or an index. Each number has one spelling: `02`, `+2` or a number that is too large has no
    /// route.
    fn numbered(site: &str, stem: &str, form: Form) -> Option<Self> {
        let key = ObjectKey::from_stem(site, stem)?;
        if let ObjectKey::Shard { series, .. } = &key
            && !is_series_name(series)
        {
            return None;
        }
        if !key.file().forms.contains(&form) {
            return None;
        }
        let own = key.stem();
        match stem.strip_prefix(&own)? {
            "" => Some(Self::Object(key, form)),
            // The first one has no number.
            "0" | "1" => Some(Self::Redirect(format!("/{own}{}", form.extension()))),
            _ => None,
        }
    }

    /// Returns paths of all kinds, except the file of an IndexNow key.
    pub(crate) fn examples(site: &str) -> Vec<String> {
        let mut paths: Vec<String> = INDEX_ALIASES.map(str::to_owned).into();
        paths.extend(Asset::ALL.map(|asset| asset.path().to_owned()));
        for key in FILES.iter().flat_map(|file| file.examples(site)) {
            let path = |form: &Form| format!("/{}{}", key.stem(), form.extension());
            paths.extend(key.file().forms.iter().map(path));
        }
        paths
    }
}

fn split_extension(file: &str) -> Option<(&str, Form)> {
    FORMS
        .into_iter()
        .find_map(|form| Some((file.strip_suffix(form.extension())?, form)))
}

#[cfg(test)]
mod tests {
    use sitemap::site::MAX_SERIES_BYTES;

    use super::*;

    const SITE: &str = "www.example.com";

    fn parse(path: &str) -> Option<Route> {
        Route::parse(SITE, path)
    }

    fn index(n: u32, form: Form) -> Option<Route> {
        let site = SITE.to_owned();
        Some(Route::Object(ObjectKey::Index { site, n }, form))
    }

    fn key_file(key: &str) -> Option<Route> {
        Some(Route::KeyFile(key.to_owned()))
    }

    fn shard(series: &str, n: u32, form: Form) -> Option<Route> {
        let (site, series) = (SITE.to_owned(), series.to_owned());
        let key = ObjectKey::Shard { site, series, n };
        Some(Route::Object(key, form))
    }

    fn redirect(path: &str) -> Option<Route> {
        Some(Route::Redirect(path.to_owned()))
    }

    #[test]
    fn paths_lead_to_their_documents() {
        let site = || SITE.to_owned();
        let robots = ObjectKey::Robots { site: site() };
        let feed = ObjectKey::Feed { site: site() };
        let llms = ObjectKey::Llms { site: site() };
        let long_key = "k".repeat(128);
        let cases = [
            ("/robots.txt", Some(Route::Object(robots, Form::Stored))),
            ("/feed.atom", Some(Route::Object(feed, Form::Compressed))),
            ("/llms.txt", Some(Route::Object(llms, Form::Compressed))),
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
            // A sitemap's name with an invalid number. No site may have it as its key.
            ("/a-sitemap02.txt", None),
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
            assert_eq!(parse(path), route, "{path}");
        }
    }

    #[test]
    fn every_published_file_that_is_served_has_a_route() {
        let paths = Route::examples(SITE);
        for path in &paths {
            assert!(parse(path).is_some(), "{path}");
        }
        for path in [
            "/robots.txt",
            "/feed.atom",
            "/llms.txt",
            "/sitemap_index.xml",
            "/sitemap_index12.xml.gz",
            "/post-sitemap12.txt.gz",
            "/sitemap-view.js",
            "/wp-sitemap.xml",
        ] {
            assert!(paths.iter().any(|example| example == path), "{path}");
        }
        assert!(!paths.iter().any(|path| path.contains("site.json")));
    }

    #[test]
    fn no_sitemap_is_hidden_behind_a_name_for_the_index() {
        for alias in INDEX_ALIASES {
            let (stem, form) = split_extension(&alias[1..]).unwrap();
            assert_eq!(Route::numbered(SITE, stem, form), None, "{alias}");
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
                    for form in FORMS {
                        let path = format!("/{name}-sitemap{number}{}", form.extension());
                        assert_eq!(parse(&path), shard(name, n, form), "{path}");
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
            assert_eq!(parse(path), None, "{path}");
        }
    }
}
