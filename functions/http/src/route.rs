//! Which document a path asks for, and in which form.
//!
//! Paths are compared as they arrive: nothing is percent-decoded, so an encoded slash or dot names nothing.

use crate::form::Form;

/// The path of the index, to which other systems' names for it lead.
pub(crate) const INDEX_PATH: &str = "/sitemap_index.xml";

/// The path of the stylesheet that the documents name.
const STYLESHEET_PATH: &str = "/sitemap.css";

/// Where other systems keep their index, and crawlers look without being told.
const INDEX_ALIASES: [&str; 4] = [
    "/sitemap.xml",
    "/wp-sitemap.xml",
    "/sitemap-index.xml",
    "/sitemapindex.xml",
];

/// What stands between a series' name and its shard's number.
const SHARD_INFIX: &str = "-sitemap";

/// The longest name of a series, which is a content type's.
const MAX_SERIES_BYTES: usize = 64;

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The index.
    Index(Form),
    /// A shard.
    Shard {
        /// `[A-Za-z0-9_-]{1,64}`.
        series: String,
        /// From 1.
        n: u32,
        /// What it is wanted as.
        form: Form,
    },
    /// robots.txt.
    Robots,
    /// The stylesheet.
    Stylesheet,
    /// Another path on the same host.
    Redirect(String),
}

impl Route {
    /// The route of a path, or nothing where there can be no document.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        match path {
            "/robots.txt" => return Some(Self::Robots),
            STYLESHEET_PATH => return Some(Self::Stylesheet),
            INDEX_PATH => return Some(Self::Index(Form::Xml)),
            _ if INDEX_ALIASES.contains(&path) => {
                return Some(Self::Redirect(INDEX_PATH.to_owned()));
            }
            _ => {}
        }
        let (stem, form) = split_extension(path.strip_prefix('/')?)?;
        if stem == "sitemap_index" {
            // Its text form would be a list of sitemaps, which a reader of text sitemaps takes for pages.
            return (form == Form::Gz).then_some(Self::Index(form));
        }
        // From the right: a series may itself be called `x-sitemap`.
        let (series, number) = stem.rsplit_once(SHARD_INFIX)?;
        if !is_series(series) {
            return None;
        }
        match Number::parse(number)? {
            Number::Redundant => Some(Self::Redirect(format!(
                "/{series}{SHARD_INFIX}{}",
                form.extension()
            ))),
            Number::Shard(n) => Some(Self::Shard {
                series: series.to_owned(),
                n,
                form,
            }),
        }
    }
}

/// The number in a shard's name.
enum Number {
    /// 0 or 1: the first shard, whose own name has none.
    Redundant,
    /// A shard, from 1.
    Shard(u32),
}

impl Number {
    /// One spelling a number: nothing for `02`, `+2` or one that no shard can have.
    fn parse(digits: &str) -> Option<Self> {
        match digits {
            "" => Some(Self::Shard(1)),
            "0" | "1" => Some(Self::Redundant),
            _ if digits.starts_with('0') || !digits.bytes().all(|b| b.is_ascii_digit()) => None,
            _ => digits.parse().ok().map(Self::Shard),
        }
    }
}

fn split_extension(file: &str) -> Option<(&str, Form)> {
    [Form::Xml, Form::Gz, Form::Text]
        .into_iter()
        .find_map(|form| Some((file.strip_suffix(form.extension())?, form)))
}

fn is_series(name: &str) -> bool {
    (1..=MAX_SERIES_BYTES).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let cases = [
            ("/robots.txt", Some(Route::Robots)),
            ("/sitemap.css", Some(Route::Stylesheet)),
            ("/sitemap_index.xml", Some(Route::Index(Form::Xml))),
            ("/sitemap_index.xml.gz", Some(Route::Index(Form::Gz))),
            ("/sitemap.xml", redirect("/sitemap_index.xml")),
            ("/wp-sitemap.xml", redirect("/sitemap_index.xml")),
            ("/sitemap-index.xml", redirect("/sitemap_index.xml")),
            ("/sitemapindex.xml", redirect("/sitemap_index.xml")),
            ("/post-sitemap.xml", shard("post", 1, Form::Xml)),
            ("/post-sitemap2.xml", shard("post", 2, Form::Xml)),
            ("/post-sitemap10.xml.gz", shard("post", 10, Form::Gz)),
            ("/post-sitemap2.txt", shard("post", 2, Form::Text)),
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
        ];
        for (path, route) in cases {
            assert_eq!(Route::parse(path), route, "{path}");
        }
    }

    #[test]
    fn other_paths_lead_nowhere() {
        let long = format!("/{}-sitemap.xml", "x".repeat(MAX_SERIES_BYTES + 1));
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
            "/sitemap_index1.xml",
            "/sitemap.xml.gz",
            "/-sitemap.xml",
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
