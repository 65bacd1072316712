//! The faults, one a rule.

use std::time::{SystemTime, UNIX_EPOCH};

use sitemap::time::When;

use super::Fault;
use crate::site::{Entry, Site, serve};

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap().as_secs() as i64
}

fn first(site: &mut Site) -> &mut Entry {
    &mut site.sitemaps[2].entries[0]
}

/// Adds pages to the third sitemap.
fn many(site: &mut Site, count: usize, lastmod: impl Fn(usize) -> String, rest: &str) {
    for n in 0..count {
        let entry = Entry {
            loc: format!("{}/n/{n}/", site.origin),
            lastmod: Some(lastmod(n)),
            rest: rest.to_owned(),
        };
        site.sitemaps[2].entries.push(entry);
    }
}

/// Replaces text of the third sitemap, as it is served.
fn replace(site: &mut Site, from: &str, to: &str) {
    let body = site.urlset(2);
    assert!(body.contains(from), "{body}");
    site.put_xml("/post-sitemap2.xml", body.replace(from, to));
}

fn link(site: &Site, language: &str, path: &str) -> String {
    let origin = &site.origin;
    format!("<xhtml:link rel=\"alternate\" hreflang=\"{language}\" href=\"{origin}{path}\"/>")
}

/// Serves a sound site on another host, and returns its origin.
fn elsewhere(change: impl FnOnce(&mut Site)) -> String {
    serve(change).origin.replace("127.0.0.1", "localhost")
}

pub(super) fn edit_robots(site: &mut Site, from: &str, to: &str) {
    assert!(site.robots.contains(from));
    site.robots = site.robots.replace(from, to);
}

pub(super) const DOCUMENTS: &[Fault] = &[
    ("robots.status", |site| {
        let robots = site.robots.clone();
        site.put("/robots.txt", 200, "text/html", robots);
    }),
    ("robots.absent", |site| {
        site.put("/robots.txt", 404, "text/html", "<p>nothing here");
    }),
    ("robots.sitemap", |site| {
        site.robots = "User-agent: *\nDisallow: /admin/\n".to_owned()
    }),
    ("robots.form", |site| {
        edit_robots(site, "_index.xml\n", "_index.xml # all\n")
    }),
    ("robots.unknown", |site| {
        edit_robots(site, "Disallow:", "Disalow:")
    }),
    ("robots.group", |site| {
        edit_robots(site, "User-agent: *\n", "")
    }),
    ("robots.encoding", |site| {
        edit_robots(site, "/admin/", "/käse/")
    }),
    ("robots.split", |site| {
        edit_robots(
            site,
            "User-agent: *\n",
            "User-agent: a\nCrawl-delay: 1\nUser-agent: *\n",
        )
    }),
    ("robots.signal", |site| {
        edit_robots(site, "search=yes", "search=maybe")
    }),
    ("robots.proposal", |site| {
        edit_robots(
            site,
            "Content-Signal: search=yes",
            "Content-Usage: train-ai=n",
        )
    }),
    ("robots.blocks", |site| {
        edit_robots(site, "/admin/", "/soup/")
    }),
    ("index.reachable", |site| {
        edit_robots(site, "/sitemap_index.xml", "/no-such-index.xml")
    }),
    ("index.nested", |site| {
        let inner = site.index();
        site.more_index = format!("<sitemap><loc>{}/inner.xml</loc></sitemap>", site.origin);
        site.put_xml("/inner.xml", inner);
    }),
    ("index.lastmod", |site| {
        site.index_lastmod = Some("2026-01-03".to_owned());
        site.sitemaps.truncate(3);
        site.sitemaps.remove(1);
        first_of(site, 0).lastmod = Some("2026-01-03".to_owned());
    }),
    ("index.dup", |site| {
        site.more_index = format!(
            "<sitemap><loc>{}/page-sitemap.xml</loc></sitemap>",
            site.origin
        );
    }),
    ("index.scope", |site| {
        // Its robots.txt does not name the index.
        let other = elsewhere(|_| {});
        site.more_index = format!("<sitemap><loc>{other}/a-sitemap.xml</loc></sitemap>");
    }),
    ("index.dead", |site| {
        site.more_index = format!(
            "<sitemap><loc>{}/gone-sitemap.xml</loc></sitemap>",
            site.origin
        );
    }),
    ("index.empty", |site| site.sitemaps[2].entries.clear()),
    ("file.status", |site| {
        site.put("/post-sitemap2.xml", 403, "text/plain", "no");
    }),
    ("file.redirect", |site| {
        let (body, to) = (site.urlset(2), format!("{}/new.xml", site.origin));
        site.put_xml("/new.xml", body);
        let served = site.put("/post-sitemap2.xml", 302, "text/plain", "");
        served.headers.push(("Location".to_owned(), to));
    }),
    ("file.ctype", |site| {
        let body = site.urlset(2);
        site.put("/post-sitemap2.xml", 200, "text/plain", body);
    }),
    ("file.html", |site| {
        site.put(
            "/post-sitemap2.xml",
            200,
            "text/html",
            "<!doctype html><html><body>Hello</body></html>",
        );
    }),
    ("file.gzip", |site| {
        let body = site.urlset(2);
        let served = site.put("/post-sitemap2.xml", 200, "application/xml", body);
        served
            .headers
            .push(("Content-Encoding".to_owned(), "gzip".to_owned()));
    }),
    ("file.truncated", |site| replace(site, "</urlset>\n", "")),
    ("file.length", |site| site.quirk = "length"),
    ("file.wellformed", |site| replace(site, "<?xml", "\n<?xml")),
    ("file.bom", |site| {
        let body = format!("\u{feff}{}", site.urlset(2));
        site.put_xml("/post-sitemap2.xml", body);
    }),
    ("file.dtd", |site| {
        replace(site, "<urlset", "<!DOCTYPE urlset><urlset")
    }),
    ("file.entity", |site| {
        let doctype = "<!DOCTYPE urlset [<!ENTITY a \"\">]><urlset";
        let body = site.urlset(2).replace("<urlset", doctype);
        site.put_xml("/post-sitemap2.xml", body.replace("/soup/", "/&a;soup/"));
    }),
    ("file.schema", |site| {
        first(site).rest = "<priority>2</priority>".replace("priority", "width")
    }),
    ("file.prefix", |site| {
        let mut body = site.urlset(2).replace("xmlns=", "xmlns:sm=");
        for name in ["urlset", "url", "loc", "lastmod"] {
            for (from, to) in [("<", "<sm:"), ("</", "</sm:")] {
                for end in [">", " "] {
                    let name = |start: &str| format!("{start}{name}{end}");
                    body = body.replace(&name(from), &name(to));
                }
            }
        }
        site.put_xml("/post-sitemap2.xml", body);
    }),
    ("file.limits", |site| {
        many(site, 50_000, |n| format!("2025-01-{:02}", n % 28 + 1), "")
    }),
    ("file.near", |site| {
        many(site, 47_600, |n| format!("2025-01-{:02}", n % 28 + 1), "")
    }),
    ("file.slow", |site| site.quirk = "slow"),
    ("loc.host", |site| {
        // The page is there, on another host of this machine, whose robots.txt names another sitemap.
        let html = "<html><head></head></html>";
        let other = elsewhere(|other| {
            other.put("/elsewhere/", 200, "text/html", html);
        });
        first(site).loc = format!("{other}/elsewhere/");
    }),
    ("loc.form", |site| {
        site.put("/a%20b/", 200, "text/html", "<html></html>");
        first(site).loc = format!("{}/a b/", site.origin);
    }),
    ("loc.spelling", |site| {
        site.put("/%C3%A9t%C3%A9/", 200, "text/html", "<html></html>");
        first(site).loc = format!("{}/été/", site.origin);
    }),
    ("loc.absent", |site| {
        site.more_index = format!("<sitemap><loc>{}/feed.xml</loc></sitemap>", site.origin);
        let item = "<item><title>a</title></item>";
        let feed = format!("<rss version=\"2.0\"><channel>{item}</channel></rss>");
        site.put_xml("/feed.xml", feed);
    }),
    ("loc.sitemap", |site| {
        // The one that is listed has no header that says noindex.
        let loc = format!("{}/more.xml", site.origin);
        site.more_index = format!("<sitemap><loc>{loc}</loc></sitemap>");
        let body = site.urlset(2).replace("/soup/", "/stew/");
        site.put_xml("/more.xml", body);
        site.put("/stew/", 200, "text/html", "<html></html>");
        first(site).loc = loc;
    }),
    ("loc.escape", |site| replace(site, "/soup/", "/&#115;oup/")),
    ("loc.double_encoded", |site| {
        site.put("/a%2520b/", 200, "text/html", "<html></html>");
        first(site).loc = format!("{}/a%2520b/", site.origin);
    }),
    ("loc.length", |site| {
        let path = format!("/{}/", "a".repeat(2_100));
        site.put(&path, 200, "text/html", "<html></html>");
        first(site).loc = format!("{}{path}", site.origin);
    }),
    ("loc.dup", |site| {
        let again = first(site).clone();
        site.sitemaps[2].entries.push(again);
    }),
    ("loc.dup_across", |site| {
        let again = site.sitemaps[0].entries[0].clone();
        site.sitemaps[2].entries.push(again);
    }),
    ("loc.variants", |site| {
        let mut again = site.sitemaps[0].entries[1].clone();
        again.loc = again.loc.replace("/about/", "/about");
        site.sitemaps[2].entries.push(again);
    }),
    ("loc.tracking", |site| {
        site.put("/soup/", 200, "text/html", "<html></html>");
        first(site).loc += "?utm_source=x";
    }),
    ("lastmod.w3c", |site| {
        first(site).lastmod = Some("2026-01".to_owned())
    }),
    ("lastmod.future", |site| {
        let later = When::at(now() + 200_000).to_string();
        first(site).lastmod = Some(later);
    }),
    ("lastmod.zone", |site| {
        replace(site, "+01:00</lastmod>", "</lastmod>");
    }),
    ("lastmod.same", |site| {
        many(site, 60, |_| "2026-01-01".to_owned(), "")
    }),
    ("lastmod.now", |site| {
        let now = When::at(now()).to_string();
        first(site).lastmod = Some(now.clone());
        many(site, 2, |_| now.clone(), "");
    }),
    ("lastmod.absent", |site| {
        for entry in site
            .sitemaps
            .iter_mut()
            .flat_map(|sitemap| &mut sitemap.entries)
        {
            entry.lastmod = None;
        }
    }),
    ("ext.image", |site| {
        first(site).rest = "<image:image><image:loc>/1.jpg</image:loc></image:image>".to_owned()
    }),
    ("ext.image_dead", |site| {
        first(site).rest =
            "<image:image><image:loc>https://i.example/1</image:loc><image:title>t</image:title></image:image>".to_owned();
    }),
    ("ext.order", |site| {
        let entry = first(site);
        let lastmod = entry.lastmod.take().unwrap();
        entry.rest = format!(
            "<image:image><image:loc>https://i.example/1</image:loc></image:image><lastmod>{lastmod}</lastmod>"
        );
    }),
    ("ext.video_required", |site| {
        let entry = &mut site.sitemaps[1].entries[2];
        entry.rest = entry.rest.replace("<video:title>A film</video:title>", "");
    }),
    ("ext.video_dead", |site| {
        let entry = &mut site.sitemaps[1].entries[2];
        entry.rest = entry.rest.replace(
            "</video:video>",
            "<video:category>a</video:category></video:video>",
        );
    }),
    ("ext.news_age", |site| {
        let entry = &mut site.sitemaps[3].entries[0];
        let (before, rest) = entry.rest.split_once("_date>").unwrap();
        let (_, after) = rest.split_once("</").unwrap();
        entry.rest = format!("{before}_date>{}</{after}", When::at(now() - 400_000));
    }),
    ("ext.news_count", |site| {
        let rest = site.sitemaps[3].entries[0].rest.clone();
        many(site, 1_001, |n| format!("2025-01-{:02}", n % 28 + 1), &rest);
    }),
    ("ext.news_language", |site| {
        let entry = &mut site.sitemaps[3].entries[0];
        entry.rest = entry.rest.replace(">en<", ">en-GB<");
    }),
    ("ext.hreflang_code", |site| {
        let links = link(site, "de", "/soup/") + &link(site, "en_GB", "/en/soup/");
        first(site).rest = links;
    }),
    ("ext.link", |site| {
        let href = format!("href=\"{}/en/soup/\"", site.origin);
        let links = link(site, "de", "/soup/") + &link(site, "en", "/en/soup/").replace(&href, "");
        first(site).rest = links;
    }),
    ("ext.hreflang_self", |site| {
        let links = link(site, "de", "/de/suppe/");
        first(site).rest = links;
    }),
    ("ext.hreflang_return", |site| {
        let links = link(site, "de", "/de/schnee/") + &link(site, "en", "/soup/");
        first(site).rest = links;
    }),
    ("ext.hreflang_two", |site| {
        let links = link(site, "de", "/soup/") + &link(site, "de", "/de/suppe/");
        first(site).rest = links;
    }),
    ("ext.foreign", |site| {
        replace(site, "<url>", "<a xmlns=\"urn:x\"/><url>")
    }),
    ("page.status", |site| {
        site.put("/soup/", 404, "text/html", "no");
    }),
    ("page.redirect", |site| {
        let to = format!("{}/about/", site.origin);
        let served = site.put("/soup/", 301, "text/plain", "");
        served.headers.push(("Location".to_owned(), to));
    }),
    ("page.soft_404", |site| {
        let served = site.put("/soup/", 301, "text/plain", "");
        served.headers.push(("Location".to_owned(), "/".to_owned()));
    }),
    ("page.noindex", |site| {
        site.page = ("</head>", "<meta name=robots content=noindex></head>")
    }),
    ("page.canonical", |site| {
        site.page = (
            "rel=\"canonical\" href=\"",
            "rel=\"canonical\" href=\"/elsewhere?",
        )
    }),
    ("page.alternates", |site| {
        site.page = (
            "</head>",
            "<link rel=alternate hreflang=fr href=/fr/></head>",
        );
    }),
    ("page.older", |site| {
        let html = "<html><head><meta property='article:modified_time' content='2026-11-01'></head></html>";
        site.put("/soup/", 200, "text/html", html);
    }),
];

fn first_of(site: &mut Site, at: usize) -> &mut Entry {
    &mut site.sitemaps[at].entries[0]
}

/// Only with the profiles of Yoast and of Waymark.
pub(super) const PROMISES: &[Fault] = &[
    ("index.naming", |site| {
        site.sitemaps[2].path = "/posts.xml".to_owned()
    }),
    ("ext.ignored", |site| {
        first(site).rest = "<priority>0.5</priority>".to_owned()
    }),
    ("hdr.robots_tag", |site| site.quirk = "no-robots-tag"),
    ("hdr.validators", |site| site.quirk = "no-last-modified"),
    ("hdr.cache", |site| site.quirk = "no-cache-control"),
    ("hdr.304", |site| site.quirk = "no-304"),
    ("hdr.head", |site| site.quirk = "head-differs"),
    ("hdr.identity", |site| site.quirk = "no-vary"),
    ("hdr.etag_variants", |site| site.quirk = "one-etag"),
    ("hdr.crawler_accept", |site| site.quirk = "view-by-accept"),
    ("hdr.browser_view", |site| site.quirk = "no-view"),
    ("hdr.nosniff", |site| site.quirk = "no-nosniff"),
    ("route.sitemap_xml", |site| site.quirk = "no-sitemap-xml"),
    ("route.page01", |site| site.quirk = "page-one"),
    ("route.404", |site| site.quirk = "catch-all"),
    ("route.405", |site| site.quirk = "any-method"),
    ("route.query", |site| site.quirk = "query"),
];
