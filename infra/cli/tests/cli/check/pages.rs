//! Listed pages, asked for with `--pages`: what a site with one fault gives, and what it is asked for.

use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::{send, urlset, waymark, xml};
use crate::loopback::Loopback;

/// A page's address and its words, as an answer on loopback.
type Answer = fn(path: &str, origin: &str, stream: &mut TcpStream);

/// What a check found, without the site's address, and what the site was asked for.
struct Checked {
    hints: Vec<Value>,
    findings: Vec<String>,
    asked: Vec<String>,
    status: i32,
}

/// Checks a site that lists these paths. `robots`: the status of its robots.txt and the rules in it.
fn check(paths: &[&str], robots: (&str, &str), answer: Answer) -> Checked {
    let server = Loopback::bind();
    let origin = server.origin.clone();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (body, seen, own) = (urlset(&origin, paths), asked.clone(), origin.clone());
    let (status, rules) = (robots.0.to_owned(), robots.1.to_owned());
    server.serve(move |request, stream| {
        seen.lock().unwrap().push(request.target.clone());
        match request.target.as_str() {
            "/robots.txt" => {
                let text = format!("User-agent: *\n{rules}Sitemap: {own}/sitemap.xml\n");
                let media = "content-type: text/plain\r\n";
                send(stream, &status, media, text.as_bytes());
            }
            "/sitemap.xml" => xml(stream, &body),
            path => answer(path, &own, stream),
        }
        Ok(())
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sitemap.xml");
    std::fs::write(&file, urlset(&origin, paths)).unwrap();
    // From a file, so that nothing else of the site is asked for.
    let usual = [
        "--pages",
        "all",
        "--rate",
        "0",
        "--retries",
        "0",
        "--timeout",
        "2s",
    ];
    let target = [file.to_str().unwrap(), "--origin", &origin, "--json"];
    let outcome = waymark(&[&target[..], &usual].concat());
    let report: Value = serde_json::from_str(&outcome.output)
        .unwrap_or_else(|error| panic!("{error}: {}{}", outcome.output, outcome.errors));
    let hints = report["hints"].as_array().unwrap().clone();
    let findings = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            let text = |name: &str| finding[name].as_str().unwrap();
            format!("{}: {}", text("rule"), text("message").replace(&origin, ""))
        });
    let mut findings: Vec<_> = findings.collect();
    findings.sort();
    let mut asked = asked.lock().unwrap().clone();
    asked.sort();
    Checked {
        findings,
        hints,
        asked,
        status: outcome.status,
    }
}

const OK: &str = "200 OK";

fn page(stream: &mut TcpStream, head: &str, text: &str) {
    let html = format!("<!doctype html><html><head>{head}</head><body>{text}</body></html>");
    send(stream, OK, "content-type: text/html\r\n", html.as_bytes());
}

fn lead(stream: &mut TcpStream, to: &str) {
    send(stream, "301 Moved", &format!("location: {to}\r\n"), b"");
}

fn gone(stream: &mut TcpStream) {
    send(stream, "404 Not Found", "", b"no");
}

/// The address that a site is asked for to see what it answers where it has nothing.
const NONSENSE: &str = "/waymark-check-no-such-page-";

#[test]
fn a_page_that_answers_as_nonsense_does_is_a_soft_404() {
    let paths = [
        "/",
        "/soup/",
        "/gone/?a=1&amp;b=2",
        "/home/",
        "/index.html",
        "/error/",
    ];
    let found = check(&paths, (OK, ""), |path, _, stream| match path {
        "/" => page(stream, "<title>Home</title>", "Welcome"),
        "/soup/" => page(stream, "<title>Soup</title>", "Hot"),
        "/home/" => lead(stream, "/soup/"),
        "/index.html" | "/error/" => lead(stream, "/"),
        path => {
            let nonce = format!("<script nonce=\"a1b2c3d4e5f6a7b8{}\"></script>", path.len());
            page(
                stream,
                &nonce,
                &format!("No page {} here", path.replace('&', "&amp;")),
            );
        }
    });
    let begins = |at: usize, begin: &str| {
        let line = &found.findings[at];
        assert!(line.starts_with(begin), "{:#?}", found.findings);
    };
    assert_eq!(found.findings.len(), 4, "{:#?}", found.findings);
    begins(0, "page.redirect: \"/home/\" leads to \"/soup/\"");
    // Two pages redirect, and the hint is there once.
    assert_eq!(found.hints.len(), 1, "{:?}", found.hints);
    let hint = found.hints[0].as_str().unwrap();
    assert!(hint.contains("with moved_to"), "{hint}");
    begins(1, "page.redirect: \"/index.html\" leads to \"/\"");
    begins(2, "page.soft_404: \"/error/\" leads to \"/\", a home page");
    begins(
        3,
        &format!("page.soft_404: \"/gone/?a=1&b=2\" answers like \"{NONSENSE}"),
    );
    // It is a warning: a browser may make a page of it.
    assert_eq!(found.status, 0);
    let nonsense = found.asked.iter().filter(|path| path.starts_with(NONSENSE));
    assert_eq!(nonsense.count(), 1, "{:?}", found.asked);
}

#[test]
fn a_site_that_answers_404_for_nonsense_has_no_soft_404() {
    // All pages are alike, and it is for the site to be so.
    let found = check(&["/1/", "/2/"], (OK, ""), |path, _, stream| match path {
        "/1/" | "/2/" => page(stream, "", "Hello"),
        _ => gone(stream),
    });
    assert_eq!(found.findings, [""; 0]);
}

#[test]
fn nonsense_is_not_asked_for_where_robots_txt_disallows_it() {
    let rules = "Disallow: /waymark\n";
    let found = check(&["/1/"], (OK, rules), |_, _, stream| {
        page(stream, "", "Hello")
    });
    assert_eq!(found.findings, [""; 0]);
    assert_eq!(found.asked, ["/1/", "/robots.txt"]);
}

#[test]
fn a_canonical_page_is_asked_for_once_and_told_with_what_it_is() {
    let paths = ["/1/", "/2/", "/3/", "/4/", "/5/", "/6/", "/%7e7/"];
    let found = check(&paths, (OK, "Disallow: /private/\n"), |path, _, stream| {
        let named = |stream: &mut TcpStream, to: &str| {
            page(stream, &format!("<link rel=canonical href=\"{to}\">"), path);
        };
        match path {
            "/1/" | "/2/" => named(
                stream,
                if path == "/1/" {
                    "/dead/%7e"
                } else {
                    "/dead/~"
                },
            ),
            "/3/" => named(stream, "/moved/"),
            "/4/" => named(stream, "/fine/"),
            "/5/" => named(stream, "/private/"),
            "/6/" => named(stream, "/back/"),
            // It is the page itself.
            "/%7e7/" => named(stream, "/~7/"),
            "/moved/" => lead(stream, "/fine/"),
            "/back/" => lead(stream, "/6/"),
            "/fine/" => page(stream, "", "fine"),
            _ => gone(stream),
        }
    });
    let names = "names another canonical page:";
    let expected = [
        format!("page.canonical: \"/1/\" {names} \"/dead/%7e\", which answers 404: it is gone"),
        format!("page.canonical: \"/2/\" {names} \"/dead/~\", which answers 404: it is gone"),
        format!("page.canonical: \"/3/\" {names} \"/moved/\", which leads to \"/fine/\""),
        format!("page.canonical: \"/4/\" {names} \"/fine/\""),
        format!(
            "page.canonical: \"/5/\" {names} \"/private/\", which is disallowed for * by \"/private/\""
        ),
        format!("page.canonical: \"/6/\" {names} \"/back/\", which leads back to it"),
    ];
    assert_eq!(found.findings, expected);
    let count = |path: &str| found.asked.iter().filter(|asked| *asked == path).count();
    assert_eq!(
        count("/dead/%7e") + count("/dead/~"),
        1,
        "{:?}",
        found.asked
    );
    assert_eq!(count("/private/"), 0, "{:?}", found.asked);
    assert_eq!(count("/robots.txt"), 1, "{:?}", found.asked);
}

#[test]
fn nothing_is_asked_for_past_robots_txt() {
    let found = check(
        &["/1/", "/private/"],
        (OK, "Disallow: /private/\n"),
        |path, _, stream| match path {
            "/1/" => lead(stream, "/private/login"),
            path if path.starts_with("/private/") => page(stream, "", "secret"),
            _ => gone(stream),
        },
    );
    let [blocked, refused] = &found.findings[..] else {
        panic!("{:?}", found.findings);
    };
    assert!(
        blocked.starts_with("page.blocked: \"/private/\" is disallowed for *"),
        "{blocked}"
    );
    let says = "page.status: \"/1/\" has no answer: redirects to /private/login, which is disallowed for * by /private/";
    assert_eq!(refused, says);
    assert!(
        !found.asked.iter().any(|path| path.starts_with("/private/")),
        "{:?}",
        found.asked
    );
}

#[test]
fn where_robots_txt_cannot_be_read_nothing_is_asked_for() {
    for status in ["503 Service Unavailable", "429 Too Many Requests"] {
        let found = check(&["/1/", "/2/"], (status, ""), |_, _, stream| {
            page(stream, "", "")
        });
        let number = &status[..3];
        let expected = format!(
            "robots.status: cannot be read: status {number}: 2 pages of --pages not fetched"
        );
        assert_eq!((found.findings, found.status), (vec![expected], 1));
        assert_eq!(found.asked, ["/robots.txt"]);
    }
    // What is not there allows all (RFC 9309, 2.3.1.3).
    for status in ["404 Not Found", "403 Forbidden"] {
        let robots = (status, "Disallow: /\n");
        let found = check(&["/1/"], robots, |path, _, stream| match path {
            "/1/" => page(stream, "", ""),
            _ => gone(stream),
        });
        assert_eq!(found.findings, [""; 0]);
        assert_eq!(found.asked.iter().filter(|path| *path == "/1/").count(), 1);
    }
}

#[test]
fn statuses_and_headers_are_told_apart() {
    let paths = ["/1/", "/2/", "/3/", "/4/", "/5/", "/6/"];
    let found = check(&paths, (OK, ""), |path, _, stream| match path {
        "/1/" => send(stream, "403 Forbidden", "", b""),
        "/2/" => send(stream, "503 Service Unavailable", "", b""),
        "/3/" => gone(stream),
        "/4/" => {
            let tags = "x-robots-tag: otherbot: nofollow\r\nx-robots-tag: noindex\r\n";
            send(stream, OK, tags, b"");
        }
        "/5/" => {
            let tags = "x-robots-tag: googlebot: nofollow\r\nx-robots-tag: otherbot: noindex\r\n";
            send(stream, OK, tags, b"");
        }
        "/6/" => {
            let tags = "x-robots-tag: unavailable_after: Friday, 25-Jun-10 15:00:00 UTC\r\n";
            send(stream, OK, tags, b"");
        }
        _ => gone(stream),
    });
    let expected = [
        "page.noindex: \"/4/\" is not to be indexed, says X-Robots-Tag",
        "page.noindex: \"/6/\" is not to be indexed after \"Friday, 25-Jun-10 15:00:00 UTC\", says X-Robots-Tag",
        "page.status: \"/1/\" answers 403: access is forbidden, or bot protection blocks this command",
        "page.status: \"/2/\" answers 503: the server failed, perhaps temporarily",
        "page.status: \"/3/\" answers 404: it is gone",
    ];
    assert_eq!(found.findings, expected);
}
