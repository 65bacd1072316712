//! What robots.txt says of a site's pages and of another host's sitemaps, and where nobody knows what it says.

use std::sync::{Arc, Mutex};

use super::{index, rules, send, serve, urlset, waymark, xml};

const TEXT: &str = "content-type: text/plain\r\n";

/// Serves a site with this robots.txt, in which `{o}` is the origin, and one page. Returns the origin and what was asked for.
fn site(status: &'static str, robots: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    let origin = serve(move |path, origin, stream| {
        seen.lock().unwrap().push(path.to_owned());
        match path {
            "/robots.txt" => send(
                stream,
                status,
                TEXT,
                robots.replace("{o}", origin).as_bytes(),
            ),
            "/sitemap.xml" => xml(stream, &urlset(origin, &["/b%C3%BCcher/1"])),
            "/b%C3%BCcher/1" => {
                let page = b"<!doctype html><html><head></head><body></body></html>";
                send(stream, "200 OK", "content-type: text/html\r\n", page);
            }
            _ => send(stream, "404 Not Found", "", b""),
        }
    });
    (origin, asked)
}

const ALL_PAGES: [&str; 2] = ["--pages", "all"];

/// Checks it as a site and as a sitemap, with its page; returns what was found of the site, and whether the page was asked for.
fn found(site: &(String, Arc<Mutex<Vec<String>>>), more: &[&str]) -> (Vec<String>, i32, bool) {
    let (origin, asked) = site;
    asked.lock().unwrap().clear();
    let (found, status) = rules(&format!("{origin}/"), &[&ALL_PAGES, more].concat());
    let is_asked = asked
        .lock()
        .unwrap()
        .iter()
        .any(|path| path.ends_with("/1"));
    (found, status, is_asked)
}

#[test]
fn what_is_disallowed_in_another_spelling_is_not_asked_for() {
    const SITEMAP: &str = "Sitemap: {o}/sitemap.xml\n";
    for rule in ["/b%c3%bccher/", "/bücher/", "/*%C3*1$"] {
        let robots = format!("User-agent: *\nDisallow: {rule}\n{SITEMAP}").leak();
        let (found, status, is_asked) =
            found(&site("200 OK", robots), &["--skip", "robots.encoding"]);
        assert_eq!(
            (&found[..], status, is_asked),
            (&["robots.blocks".to_owned()][..], 1, false)
        );
    }
    // The group of all goes on behind Crawl-delay.
    let robots =
        "User-agent: *\nCrawl-delay: 9\n\nUser-agent: Bad\nDisallow: /\nSitemap: {o}/sitemap.xml\n";
    let (rules, status, is_asked) = found(&site("200 OK", robots), &[]);
    assert_eq!(
        (rules, status, is_asked),
        (
            vec!["robots.blocks".to_owned(), "robots.split".to_owned()],
            1,
            false
        )
    );
    for robots in [
        "User-agent: *\nDisallow: /*%2F*\nSitemap: {o}/sitemap.xml\n",
        "User-agent: GPTBot\nDisallow: /\nSitemap: {o}/sitemap.xml\n",
    ] {
        assert_eq!(
            found(&site("200 OK", robots), &[]),
            (Vec::new(), 0, true),
            "{robots}"
        );
    }
}

#[test]
fn engines_are_not_shut_out_and_this_command_obeys_too() {
    let robots = "User-agent: *\nDisallow: /\nUser-agent: Googlebot\nUser-agent: Bingbot\nAllow: /\nSitemap: {o}/sitemap.xml\n";
    let both = site("200 OK", robots);
    // Nothing is wrong, but the pages are not looked at.
    let limits = vec!["check.limits".to_owned()];
    assert_eq!(found(&both, &[]), (limits, 0, false));
    let google = site(
        "200 OK",
        "User-agent: Googlebot\nDisallow: /\nSitemap: {o}/sitemap.xml\n",
    );
    let blocks = vec!["robots.blocks".to_owned()];
    for (profile, expected) in [
        ("google", &blocks[..]),
        ("bing", &[]),
        ("protocol", &blocks),
    ] {
        let (found, ..) = found(&google, &["--rules", profile, "--skip", "page."]);
        assert_eq!(found, expected, "{profile}");
    }
}

#[test]
fn what_nobody_knows_is_an_error_and_no_page_is_asked_for() {
    let robots = "User-agent: *\nDisallow:\nSitemap: {o}/sitemap.xml\n";
    let unknown = vec!["robots.status".to_owned()];
    for status in [
        "500 Internal Server Error",
        "503 Service Unavailable",
        "429 Too Many Requests",
        "304 Not Modified",
    ] {
        let site = site(status, robots);
        assert_eq!(found(&site, &[]), (unknown.clone(), 1, false), "{status}");
        let (rules, status) = rules(&format!("{}/sitemap.xml", site.0), &ALL_PAGES);
        assert_eq!((rules, status), (unknown.clone(), 1));
    }
    // There is none, so that nothing is disallowed.
    let absent = vec!["robots.absent".to_owned()];
    for status in ["404 Not Found", "403 Forbidden", "410 Gone"] {
        let site = site(status, robots);
        assert_eq!(found(&site, &[]), (absent.clone(), 0, true), "{status}");
        let sitemap = format!("{}/sitemap.xml", site.0);
        assert_eq!(rules(&sitemap, &ALL_PAGES), (Vec::new(), 0), "{status}");
    }
    // It may be a web page by its type, and is obeyed.
    let origin = serve(|path, origin, stream| match path {
        "/robots.txt" => {
            let text = format!("User-agent: *\nDisallow: /1\nSitemap: {origin}/sitemap.xml\n");
            send(
                stream,
                "200 OK",
                "content-type: text/html\r\n",
                text.as_bytes(),
            );
        }
        _ => xml(stream, &urlset(origin, &["/1"])),
    });
    let (found, _) = rules(&format!("{origin}/"), &[]);
    assert_eq!(found, ["robots.blocks", "robots.status"]);
    // Five redirects are followed, and what they lead to speaks for the host that was asked.
    let origin = serve(|path, origin, stream| match path {
        "/robots.txt" => send(stream, "302 Found", "location: /r1\r\n", b""),
        "/r5" => {
            let text = format!("User-agent: *\nDisallow: /1\nSitemap: {origin}/sitemap.xml\n");
            send(stream, "200 OK", TEXT, text.as_bytes());
        }
        path if path.starts_with("/r") => {
            let next: u32 = path[2..].parse::<u32>().unwrap() + 1;
            send(stream, "302 Found", &format!("location: /r{next}\r\n"), b"");
        }
        _ => xml(stream, &urlset(origin, &["/1"])),
    });
    let (found, _) = rules(&format!("{origin}/"), &[]);
    assert_eq!(found, ["robots.blocks"]);
}

#[test]
fn a_sitemap_that_another_hosts_robots_names_may_list_its_pages() {
    let own = |origin: &str| origin.replace("127.0.0.1", "localhost");
    // Pages on `localhost`, and their sitemaps on 127.0.0.1.
    let pages = serve(|path, origin, stream| match path {
        "/robots.txt" => {
            // The other server's origin follows.
            let text = SITEMAPS.lock().unwrap().replace("{pages}", origin);
            send(stream, "200 OK", TEXT, text.as_bytes());
        }
        _ => send(stream, "404 Not Found", "", b""),
    });
    static SITEMAPS: Mutex<String> = Mutex::new(String::new());
    let pages = own(&pages);
    let listed = pages.clone();
    let origin = serve(move |path, origin, stream| match path {
        "/index.xml" => xml(stream, &index(origin, &["/a.xml"])),
        "/deep/a.xml" | "/a.xml" => xml(stream, &urlset(&listed, &["/1", "/2"])),
        _ => send(stream, "404 Not Found", "", b""),
    });
    let name = |paths: &[&str]| {
        let lines = paths
            .iter()
            .map(|path| format!("Sitemap: {origin}{path}\n"));
        *SITEMAPS.lock().unwrap() = lines.collect();
    };
    let check = |path: &str| rules(&format!("{origin}{path}"), &[]);
    let none = (Vec::new(), 0);
    let wrong = (vec!["loc.host".to_owned()], 1);
    name(&["/a.xml"]);
    assert_eq!(check("/a.xml"), none);
    assert_eq!(check("/index.xml"), none);
    name(&["/index.xml"]);
    assert_eq!(check("/index.xml"), none);
    assert_eq!(check("/a.xml"), wrong);
    name(&["/deep/a%2exml"]);
    assert_eq!(check("/deep/a.xml"), none);
    assert_eq!(check("/index.xml"), wrong);
    // What other hosts say is asked for once.
    let target = format!("{origin}/index.xml");
    let outcome = waymark(&[&target, "--rate", "0", "--allow-private"]);
    let summary = outcome.output.lines().last().unwrap();
    assert!(summary.contains("(4 requests, "), "{summary}");
    // An index on one host, its sitemap on the other.
    let inner = pages.clone();
    let origin = serve(move |path, _, stream| match path {
        "/index.xml" => xml(stream, &index(&inner, &["/none.xml"])),
        _ => send(stream, "404 Not Found", "", b""),
    });
    *SITEMAPS.lock().unwrap() = format!("Sitemap: {origin}/index.xml\n");
    let found = rules(&format!("{origin}/index.xml"), &[]);
    assert_eq!(found, (vec!["index.dead".to_owned()], 1));
    *SITEMAPS.lock().unwrap() = String::new();
    let found = rules(&format!("{origin}/index.xml"), &[]);
    assert_eq!(found, (vec!["index.scope".to_owned()], 1));
}

#[test]
fn a_sitemap_on_a_host_that_does_not_answer_was_not_read() {
    let origin = serve(|path, _, stream| match path {
        "/index.xml" => xml(stream, &index("http://localhost:1", &["/a.xml"])),
        _ => send(stream, "404 Not Found", "", b""),
    });
    let (found, status) = rules(&format!("{origin}/index.xml"), &[]);
    assert_eq!(found, ["file.status", "scope.unknown"]);
    assert_eq!(status, 1);
}

#[test]
fn a_host_that_only_leads_to_the_sitemaps_own_proves_nothing() {
    let origin = serve(|path, origin, stream| {
        let port = origin.rsplit(':').next().unwrap();
        match path {
            "/robots.txt" => {
                let text = format!("Sitemap: {origin}/sitemap.xml\n");
                send(stream, "200 OK", TEXT, text.as_bytes());
            }
            _ => xml(
                stream,
                &urlset(&format!("http://localhost:{port}"), &["/1"]),
            ),
        }
    });
    // Served by the other name itself, it is that host's word.
    assert_eq!(rules(&format!("{origin}/"), &[]), (Vec::new(), 0));
    let to = origin.clone();
    let other = serve(move |path, _, stream| {
        let location = format!("location: {to}{path}\r\n");
        send(stream, "301 Moved", &location, b"");
    });
    let other = other.replace("127.0.0.1", "localhost");
    let origin = serve(move |path, origin, stream| match path {
        "/robots.txt" => {
            let text = format!("Sitemap: {origin}/sitemap.xml\n");
            send(stream, "200 OK", TEXT, text.as_bytes());
        }
        _ => xml(stream, &urlset(&other, &["/1"])),
    });
    assert_eq!(
        rules(&format!("{origin}/"), &[]),
        (vec!["loc.host".to_owned()], 1)
    );
}

#[test]
fn a_robots_that_names_no_sitemap_is_a_warning_where_one_was_given() {
    let (origin, _) = site("200 OK", "User-agent: *\nDisallow:\n");
    let found = rules(&format!("{origin}/sitemap.xml"), &[]);
    assert_eq!(found, (vec!["index.in_robots".to_owned()], 0));
    let (origin, _) = site("200 OK", "Sitemap: {o}/other.xml\n");
    assert_eq!(
        rules(&format!("{origin}/sitemap.xml"), &[]),
        (Vec::new(), 0)
    );
}
