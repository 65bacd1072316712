//! For each rule of `waymark check` a site with that single fault, which gives that rule and no other. All sites are from one
//! generator (`site`), and differ from a sound one in the fault alone.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use check::rules::Rule;
use serde_json::{Value, json};
use sitemap::time::When;

mod limited;
mod loopback;
#[path = "site/shapes.rs"]
mod shapes;
mod site;

use limited::Limited as _;

use site::{Entry, Site, serve};

/// Checks that run together: they wait more than they compute.
const TOGETHER: usize = 4;

type Fault = (&'static str, fn(&mut Site));

/// The rules that a check of a site finds.
fn rules(site: &Site, more: &[&str]) -> BTreeSet<String> {
    let target = format!("{}/", site.origin);
    rules_of(&target, more)
}

fn rules_of(target: &str, more: &[&str]) -> BTreeSet<String> {
    let counts = report(target, more)["counts"].take();
    counts.as_object().unwrap().keys().cloned().collect()
}

/// What a check of a target reports.
fn report(target: &str, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_waymark"))
        .args(["check", target, "--json", "--rate", "0", "--retries", "0"])
        .args(more)
        .current_dir(folder.path())
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .output_in_time();
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    })
}

const ALL_PROFILES: [&str; 2] = ["--profile", "protocol,google,bing,yoast,waymark"];
/// More than the sound site has.
const USUAL: [&str; 2] = ["--pages", "20"];

/// Runs each fault's check; the names of those that do not give their rule alone.
fn check(faults: &[Fault], more: &[&str]) {
    let next = Mutex::new(faults.iter());
    let wrong = Mutex::new(String::new());
    thread::scope(|scope| {
        for _ in 0..TOGETHER {
            scope.spawn(|| {
                while let Some((rule, fault)) = { next.lock().unwrap().next() } {
                    assert!(Rule::named(rule).is_some(), "{rule}");
                    let found = rules(&serve(*fault), more);
                    if found.iter().ne([rule]) {
                        writeln!(wrong.lock().unwrap(), "{rule}: {found:?}").unwrap();
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{wrong}");
}

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

fn edit_robots(site: &mut Site, from: &str, to: &str) {
    assert!(site.robots.contains(from));
    site.robots = site.robots.replace(from, to);
}

const DOCUMENTS: &[Fault] = &[
    ("robots.status", |site| {
        let robots = site.robots.clone();
        site.put("/robots.txt", 200, "text/html", robots);
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
        site.more_index =
            "<sitemap><loc>https://other.example/a-sitemap.xml</loc></sitemap>".to_owned();
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
    ("file.dtd", |site| {
        replace(site, "<urlset", "<!DOCTYPE urlset><urlset")
    }),
    ("file.schema", |site| {
        first(site).rest = "<priority>2</priority>".replace("priority", "width")
    }),
    ("file.limits", |site| {
        many(site, 50_000, |n| format!("2025-01-{:02}", n % 28 + 1), "")
    }),
    ("file.near", |site| {
        many(site, 47_600, |n| format!("2025-01-{:02}", n % 28 + 1), "")
    }),
    ("file.slow", |site| site.quirk = "slow"),
    ("loc.host", |site| {
        // The page is there, on another host of this machine.
        let port = site.origin.rsplit(':').next().unwrap().to_owned();
        let html = "<html><head></head></html>";
        site.put("/elsewhere/", 200, "text/html", html);
        first(site).loc = format!("http://localhost:{port}/elsewhere/");
    }),
    ("loc.form", |site| {
        site.put("/a%20b/", 200, "text/html", "<html></html>");
        first(site).loc = format!("{}/a b/", site.origin);
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
    ("page.noindex", |site| {
        site.page = ("</head>", "<meta name=robots content=noindex></head>")
    }),
    ("page.canonical", |site| {
        site.page = (
            "rel=\"canonical\" href=\"",
            "rel=\"canonical\" href=\"https://x.example/?",
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
const PROMISES: &[Fault] = &[
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

/// These need an option, and have tests of their own here or in `check.rs`.
const WITH_OPTIONS: [&str; 9] = [
    "index.in_robots",
    "page.blocked",
    "set.missing",
    "set.extra",
    "set.lastmod",
    "set.images",
    "set.alternates",
    "check.limits",
    "check.allowance",
];

#[test]
fn a_sound_site_gives_nothing() {
    let site = serve(|_| {});
    let report = report(
        &format!("{}/", site.origin),
        &[&USUAL[..], &ALL_PROFILES].concat(),
    );
    assert_eq!(report["findings"], json!([]));
    // All of it was looked at.
    let totals = &report["totals"];
    assert_eq!(
        (&totals["sitemaps"], &totals["urls"], &totals["pages"]),
        (&json!(4), &json!(7), &json!(7))
    );
    assert!(totals["requests"].as_u64().unwrap() > 150, "{totals}");
}

#[test]
fn sound_sites_of_other_systems_give_nothing() {
    for (name, shape) in shapes::ALL {
        let mut report = report(&format!("{}/", serve(shape).origin), &[]);
        assert_eq!(report["counts"].take(), json!({}), "{name}");
        let totals = &report["totals"];
        assert!(
            totals["urls"].as_u64().unwrap() > 0 && totals["indexes"] == 1,
            "{name}: {totals}"
        );
    }
}

#[test]
fn each_rule_has_a_fault() {
    let known: BTreeSet<_> = DOCUMENTS
        .iter()
        .chain(PROMISES)
        .map(|(rule, _)| *rule)
        .chain(WITH_OPTIONS)
        .collect();
    let all: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    assert_eq!(known, all);
}

#[test]
fn each_fault_gives_its_rule_alone() {
    check(DOCUMENTS, &USUAL);
}

#[test]
fn each_broken_promise_gives_its_rule_alone() {
    check(PROMISES, &ALL_PROFILES);
}

#[test]
fn faults_that_need_an_option_give_their_rule_alone() {
    let one = |rule: &str| BTreeSet::from([rule.to_owned()]);
    // An index is asked for by its address, and robots.txt names another.
    let site = serve(|site| {
        let index = site.index();
        site.put_xml("/other-index.xml", index);
    });
    let found = rules_of(&format!("{}/other-index.xml", site.origin), &[]);
    assert_eq!(found, one("index.in_robots"));
    let found = rules_of(&format!("{}/sitemap_index.xml", site.origin), &[]);
    assert_eq!(found, BTreeSet::new());

    // A sitemap that came without its site's robots.txt: from a folder.
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let site = serve(|site| edit_robots(site, "/admin/", "/soup/"));
    write("a.xml", &site.urlset(2));
    let origin = ["--origin", &site.origin];
    let found = rules_of(&path("a.xml"), &[&origin[..], &USUAL].concat());
    assert_eq!(found, one("page.blocked"));

    let site = serve(|_| {});
    let all: Vec<Value> = site
        .sitemaps
        .iter()
        .flat_map(|sitemap| &sitemap.entries)
        .map(|entry| json!({"loc": entry.loc, "lastmod": entry.lastmod}))
        .collect();
    let about = |list: &mut Vec<Value>, name: &str, value: Value| list[1][name] = value;
    let image = json!(["https://i.example/2.jpg"]);
    let check = |rule: Option<&str>, change: &dyn Fn(&mut Vec<Value>)| {
        let mut list = all.clone();
        about(&mut list, "images", image.clone());
        list[2]["alternates"] = json!({
            "en": format!("{}/en/snow/", site.origin), "de": format!("{}/de/schnee/", site.origin),
        });
        change(&mut list);
        write("expected.json", &json!(list).to_string());
        let found = rules(&site, &["--expected", &path("expected.json")]);
        assert_eq!(found, rule.map(one).unwrap_or_default());
    };
    check(None, &|_| {});
    check(Some("set.missing"), &|list| {
        list.push(json!(format!("{}/more/", site.origin)));
    });
    check(Some("set.extra"), &|list| drop(list.pop()));
    check(Some("set.lastmod"), &|list| {
        about(list, "lastmod", json!("2025-01-03"))
    });
    check(Some("set.images"), &|list| {
        about(list, "images", json!(["https://i.example/3.jpg"]))
    });
    check(Some("set.alternates"), &|list| {
        list[2]["alternates"] = json!({"en": "https://x.example/"})
    });

    assert_eq!(rules(&site, &["--max-sitemaps", "2"]), one("check.limits"));
    write(
        "x.toml",
        "[[allow]]\nrule = \"loc.host\"\nuntil = \"2026-01-01\"\nwhy = \"x\"\n",
    );
    let found = rules(&site, &["--config", &path("x.toml")]);
    assert_eq!(found, one("check.allowance"));
}
