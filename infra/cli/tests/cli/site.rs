//! A sound site on loopback, as Waymark publishes one, with pages; and the places where it can be made unsound.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzEncoder;
use sitemap::time::When;

use crate::loopback::{Loopback, Request};

pub(crate) mod shapes;

const SITEMAP: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";
/// Namespaces of extensions, as Waymark declares them.
pub(crate) const EXTENSIONS: &str = " xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\" \
    xmlns:news=\"http://www.google.com/schemas/sitemap-news/0.9\" \
    xmlns:video=\"http://www.google.com/schemas/sitemap-video/1.1\" xmlns:xhtml=\"http://www.w3.org/1999/xhtml\"";

/// An entry of a sitemap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) loc: String,
    pub(crate) lastmod: Option<String>,
    /// What follows, as XML.
    pub(crate) rest: String,
}

/// A sitemap.
#[derive(Clone, Debug)]
pub(crate) struct Sitemap {
    pub(crate) path: String,
    pub(crate) entries: Vec<Entry>,
}

/// What is served at a path.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) status: u16,
    pub(crate) media: String,
    pub(crate) body: Vec<u8>,
    pub(crate) headers: Vec<(String, String)>,
    /// It is a sitemap or the index, with all that Waymark promises of them.
    is_document: bool,
}

/// A site. What is changed before it is served is served so.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) origin: String,
    pub(crate) robots: String,
    pub(crate) sitemaps: Vec<Sitemap>,
    /// Further entries of the index, as XML.
    pub(crate) more_index: String,
    /// The lastmod that the index has of each sitemap, if not the right one.
    pub(crate) index_lastmod: Option<String>,
    /// What is served at a path in place of what would be, or beside it.
    pub(crate) served: BTreeMap<String, Served>,
    /// What the server does wrong; the names are in [`answer`].
    pub(crate) quirk: &'static str,
    /// What replaces what in every page.
    pub(crate) page: (&'static str, &'static str),
}

fn page(path: &str, lastmod: &str, rest: &str) -> (String, Option<String>, String) {
    (path.to_owned(), Some(lastmod.to_owned()), rest.to_owned())
}

impl Site {
    /// Returns a sound site that will be served at this origin.
    fn new(origin: &str, now: i64) -> Self {
        let link = |language: &str, path: &str| {
            format!(
                "<xhtml:link rel=\"alternate\" hreflang=\"{language}\" href=\"{origin}{path}\"/>"
            )
        };
        let languages = link("de", "/de/schnee/") + &link("en", "/en/snow/");
        let hour_ago = When::at(now - 3_600).to_string();
        let news = format!(
            "<news:news><news:publication><news:name>N</news:name><news:language>en</news:language></news:publication>\
             <news:publication_date>{hour_ago}</news:publication_date><news:title>T</news:title></news:news>"
        );
        let video = "<video:video><video:thumbnail_loc>https://i.example/1.jpg</video:thumbnail_loc>\
            <video:title>A film</video:title><video:description>About it</video:description>\
            <video:content_loc>https://v.example/1.mp4</video:content_loc></video:video>";
        let image = "<image:image><image:loc>https://i.example/2.jpg</image:loc></image:image>";
        let sitemap = |path: &str, pages: Vec<(String, Option<String>, String)>| Sitemap {
            path: path.to_owned(),
            entries: pages
                .into_iter()
                .map(|(path, lastmod, rest)| Entry {
                    loc: format!("{origin}{path}"),
                    lastmod,
                    rest,
                })
                .collect(),
        };
        Self {
            origin: origin.to_owned(),
            robots: format!(
                "User-agent: *\nDisallow: /admin/\nContent-Signal: search=yes\n\nSitemap: {origin}/sitemap_index.xml\n"
            ),
            sitemaps: vec![
                sitemap(
                    "/page-sitemap.xml",
                    vec![
                        page("/", "2026-01-02T03:04:05+00:00", ""),
                        page("/about/", "2025-01-02", image),
                    ],
                ),
                sitemap(
                    "/post-sitemap.xml",
                    vec![
                        page("/de/schnee/", "2026-02-03T03:04:05+00:00", &languages),
                        page("/en/snow/", "2026-02-03T03:04:06+00:00", &languages),
                        page("/film/", "2026-02-01T00:00:00Z", video),
                    ],
                ),
                sitemap(
                    "/post-sitemap2.xml",
                    vec![page("/soup/", "2026-03-04T05:06:07+01:00", "")],
                ),
                sitemap("/news-sitemap.xml", vec![page("/today/", &hour_ago, &news)]),
            ],
            more_index: String::new(),
            index_lastmod: None,
            served: BTreeMap::new(),
            quirk: "",
            page: ("", ""),
        }
    }

    /// Returns the sitemap at this place.
    pub(crate) fn urlset(&self, at: usize) -> String {
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"{SITEMAP}\"{EXTENSIONS}>\n"
        );
        for Entry { loc, lastmod, rest } in &self.sitemaps[at].entries {
            let lastmod = lastmod
                .as_ref()
                .map(|lastmod| format!("<lastmod>{lastmod}</lastmod>"));
            let lastmod = lastmod.unwrap_or_default();
            writeln!(xml, "<url><loc>{loc}</loc>{lastmod}{rest}</url>").expect("a string");
        }
        xml + "</urlset>\n"
    }

    pub(crate) fn index(&self) -> String {
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex xmlns=\"{SITEMAP}\">\n"
        );
        for sitemap in &self.sitemaps {
            let entries = sitemap.entries.iter();
            let lastmods = entries.filter_map(|entry| entry.lastmod.as_deref());
            let newest = lastmods
                .filter_map(|lastmod| Some((When::parse(lastmod).ok()?, lastmod)))
                .max();
            let newest = newest.map(|(_, lastmod)| lastmod.to_owned());
            let lastmod = self.index_lastmod.clone().or(newest);
            let lastmod = lastmod.map(|lastmod| format!("<lastmod>{lastmod}</lastmod>"));
            writeln!(
                xml,
                "<sitemap><loc>{}{}</loc>{}</sitemap>",
                self.origin,
                sitemap.path,
                lastmod.unwrap_or_default()
            )
            .expect("a string");
        }
        xml + &self.more_index + "</sitemapindex>\n"
    }

    /// Serves something in place of what is at a path, or beside it.
    pub(crate) fn put(
        &mut self,
        path: &str,
        status: u16,
        media: &str,
        body: impl Into<Vec<u8>>,
    ) -> &mut Served {
        let served = Served {
            status,
            media: media.to_owned(),
            body: body.into(),
            headers: Vec::new(),
            is_document: false,
        };
        self.served
            .entry(path.to_owned())
            .insert_entry(served)
            .into_mut()
    }

    /// Serves a body in place of the second sitemap, whose index entry stays.
    pub(crate) fn put_xml(&mut self, path: &str, body: impl Into<Vec<u8>>) {
        self.put(path, 200, "application/xml", body);
    }

    fn at(&self, path: &str) -> Option<Served> {
        if let Some(served) = self.served.get(path) {
            return Some(served.clone());
        }
        let served = |media: &str, body: String, is_document| Served {
            status: 200,
            media: media.to_owned(),
            body: body.into_bytes(),
            headers: Vec::new(),
            is_document,
        };
        let redirect = |to: &str| Served {
            status: 301,
            headers: vec![("Location".to_owned(), format!("{}{to}", self.origin))],
            ..served("text/plain", String::new(), false)
        };
        match path {
            "/robots.txt" => {
                return Some(served(
                    "text/plain; charset=utf-8",
                    self.robots.clone(),
                    false,
                ));
            }
            "/sitemap_index.xml" => return Some(served("application/xml", self.index(), true)),
            "/sitemap.xml" if self.quirk != "no-sitemap-xml" => {
                return Some(redirect("/sitemap_index.xml"));
            }
            _ => {}
        }
        for (at, sitemap) in self.sitemaps.iter().enumerate() {
            if sitemap.path == path {
                return Some(served(
                    "application/xml; charset=utf-8",
                    self.urlset(at),
                    true,
                ));
            }
            let stem = sitemap.path.trim_end_matches(".xml");
            let numbers = [format!("{stem}0.xml"), format!("{stem}1.xml")];
            if numbers.iter().any(|number| number == path) && self.quirk != "page-one" {
                return Some(redirect(&sitemap.path));
            }
        }
        if self.quirk == "catch-all" && path.ends_with(".xml") {
            return Some(served("application/xml", self.urlset(0), true));
        }
        let url = format!("{}{path}", self.origin);
        let entries = self.sitemaps.iter().flat_map(|sitemap| &sitemap.entries);
        let entry = entries.into_iter().find(|entry| entry.loc == url)?;
        let modified = entry.lastmod.as_ref().map(|lastmod| {
            format!(
                "<script type=\"application/ld+json\">{{\"dateModified\": \"{lastmod}\"}}</script>"
            )
        });
        let html = format!(
            "<!doctype html><html><head><title>A page</title><link rel=\"canonical\" href=\"{url}\">{}</head>\
             <body>Hello</body></html>",
            modified.unwrap_or_default()
        );
        let (from, to) = self.page;
        let html = if from.is_empty() {
            html
        } else {
            html.replace(from, to)
        };
        Some(served("text/html; charset=utf-8", html, false))
    }
}

/// Serves a site until the test's process ends. `change` is told the origin in the site.
pub(crate) fn serve(change: impl FnOnce(&mut Site)) -> Arc<Site> {
    let server = Loopback::bind();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let mut site = Site::new(&server.origin, now.expect("after 1970").as_secs() as i64);
    change(&mut site);
    let site = Arc::new(site);
    let served = site.clone();
    server.serve(move |request, stream| answer(&served, request, stream));
    site
}

const MODIFIED: &str = "Tue, 24 Nov 2026 20:00:00 GMT";

/// Answers as Waymark does, but for the quirk.
fn answer(site: &Site, request: &Request, stream: &mut TcpStream) -> std::io::Result<()> {
    let quirk = site.quirk;
    let served = site.at(request.path()).unwrap_or_else(|| Served {
        status: 404,
        media: "text/plain".to_owned(),
        body: b"no".to_vec(),
        headers: Vec::new(),
        is_document: false,
    });
    let Served {
        mut status,
        mut media,
        mut body,
        mut headers,
        is_document,
    } = served;
    let is_head = request.method == "HEAD";
    if is_document {
        let is_view = request.header("sec-fetch-dest") == "document";
        let by_accept = quirk == "view-by-accept" && request.header("accept").contains("text/html");
        if (is_view && quirk != "no-view") || by_accept {
            media = "text/html; charset=utf-8".to_owned();
            body = b"<!doctype html><table></table>".to_vec();
        }
        if request.target.contains('?') && quirk == "query" {
            body.extend_from_slice(b"\n");
        }
        let accepts = request.header("accept-encoding").contains("gzip")
            && !request.header("accept-encoding").contains("q=0");
        let zips =
            accepts || (quirk == "always-gzip" && !request.headers.contains_key("accept-encoding"));
        if zips && !body.is_empty() {
            let mut packed = Vec::new();
            GzEncoder::new(&body[..], Compression::fast()).read_to_end(&mut packed)?;
            body = packed;
            headers.push(("Content-Encoding".to_owned(), "gzip".to_owned()));
        }
        let sum: u64 = body.iter().fold(7, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
        });
        let etag = match quirk {
            "one-etag" if !is_view => "\"1\"".to_owned(),
            "bad-etag" => format!("{sum:x}"),
            _ => format!("\"{sum:x}\""),
        };
        let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        add("ETag", &etag);
        if quirk != "no-last-modified" {
            add("Last-Modified", MODIFIED);
        }
        if quirk != "no-cache-control" {
            add("Cache-Control", "public, max-age=300");
        }
        if quirk != "no-robots-tag" && !(quirk == "head-differs" && is_head) {
            add("X-Robots-Tag", "noindex, follow");
        }
        if quirk != "no-nosniff" {
            add("X-Content-Type-Options", "nosniff");
        }
        add(
            "Vary",
            if quirk == "no-vary" {
                "Sec-Fetch-Dest"
            } else {
                "Accept-Encoding, Sec-Fetch-Dest"
            },
        );
        let wanted = request.header("if-none-match");
        let matches = wanted
            .split(',')
            .map(|tag| tag.trim().trim_start_matches("W/"))
            .any(|tag| tag == etag || tag == "*");
        let same = if wanted.is_empty() {
            request.header("if-modified-since") == MODIFIED
        } else {
            matches
        };
        if same && quirk != "no-304" {
            status = 304;
            body.clear();
        }
    }
    if !matches!(request.method.as_str(), "GET" | "HEAD") && quirk != "any-method" {
        (status, headers, body) = (
            405,
            vec![("Allow".to_owned(), "GET, HEAD".to_owned())],
            Vec::new(),
        );
    }
    if quirk == "slow" && request.path() == "/post-sitemap2.xml" {
        // The rule is about more than ten seconds.
        thread::sleep(Duration::from_secs(11));
    }
    let length = if quirk == "length" && request.path() == "/post-sitemap2.xml" {
        body.len() + 9
    } else {
        body.len()
    };
    let mut head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Type: {media}\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    if status != 304 {
        head += &format!("Content-Length: {length}\r\n");
    }
    stream.write_all((head + "\r\n").as_bytes())?;
    if !is_head {
        stream.write_all(&body)?;
    }
    Ok(())
}
