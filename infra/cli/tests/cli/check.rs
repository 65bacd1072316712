//! `waymark check` against servers on loopback, sound ones and such as misbehave: each ends, with its finding.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::net::TcpSocket;

mod files;
mod harm;
mod hosts;
mod left;
mod pages;
mod reads;

use crate::limited::Limited as _;
use crate::loopback::{Loopback, respond};

/// Far longer than any check here takes, also on a loaded machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Serves on loopback until the test's process ends; returns the origin. `answer` gets the target, the origin and the stream.
fn serve(answer: impl Fn(&str, &str, &mut TcpStream) + Send + Sync + 'static) -> String {
    let server = Loopback::bind();
    let own = server.origin.clone();
    server.serve(move |request, stream| {
        answer(&request.target, &own, stream);
        Ok(())
    })
}

/// Sends a response. A client that has left is no failure of the server's.
fn send(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    drop(respond(stream, status, headers, body));
}

fn xml(stream: &mut TcpStream, body: &str) {
    send(
        stream,
        "200 OK",
        "content-type: text/xml\r\n",
        body.as_bytes(),
    );
}

fn robots(stream: &mut TcpStream, origin: &str) {
    let text = format!("User-agent: *\nDisallow: /admin/\nSitemap: {origin}/sitemap.xml\n");
    send(
        stream,
        "200 OK",
        "content-type: text/plain\r\n",
        text.as_bytes(),
    );
}

fn urlset(origin: &str, paths: &[&str]) -> String {
    let mut xml = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">".to_owned();
    for path in paths {
        write!(
            xml,
            "<url><loc>{origin}{path}</loc><lastmod>2026-01-02</lastmod></url>"
        )
        .unwrap();
    }
    xml + "</urlset>"
}

fn index(origin: &str, paths: &[&str]) -> String {
    let mut xml = "<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">".to_owned();
    for path in paths {
        write!(xml, "<sitemap><loc>{origin}{path}</loc></sitemap>").unwrap();
    }
    xml + "</sitemapindex>"
}

struct Outcome {
    status: i32,
    output: String,
    errors: String,
}

fn waymark(arguments: &[&str]) -> Outcome {
    waymark_in(".", arguments)
}

fn waymark_in(folder: &str, arguments: &[&str]) -> Outcome {
    let began = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_waymark"))
        .arg("check")
        .args(arguments)
        .current_dir(folder)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .output_in_time();
    assert!(
        began.elapsed() < LIMIT,
        "{arguments:?} took {:?}",
        began.elapsed()
    );
    Outcome {
        status: output.status.code().unwrap(),
        output: String::from_utf8(output.stdout).unwrap(),
        errors: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns the rules that a check of a target finds, each once, and its status.
fn rules(target: &str, more: &[&str]) -> (Vec<String>, i32) {
    let usual = [
        "--format",
        "json",
        "--rate",
        "0",
        "--retries",
        "0",
        "--timeout",
        "2s",
        // All of these servers are on loopback.
        "--allow-private",
    ];
    let outcome = waymark(&[&[target][..], &usual, more].concat());
    let json: Value = serde_json::from_str(&outcome.output)
        .unwrap_or_else(|error| panic!("{error}: {}{}", outcome.output, outcome.errors));
    let counts = json["counts"].as_object().unwrap();
    (counts.keys().cloned().collect(), outcome.status)
}

#[track_caller]
fn check(expected: &[&str], answer: impl Fn(&str, &str, &mut TcpStream) + Send + Sync + 'static) {
    let origin = serve(move |path, origin, stream| match path {
        "/robots.txt" => robots(stream, origin),
        path => answer(path, origin, stream),
    });
    // What has no end ends sooner so, on a slow machine too.
    let limits = ["--max-sitemaps", "20", "--max-bytes", "3000000"];
    let (found, _) = rules(&format!("{origin}/"), &limits);
    assert_eq!(found, expected);
}

#[test]
fn a_sound_site_gives_nothing() {
    let origin = serve(|path, origin, stream| match path {
        "/robots.txt" => robots(stream, origin),
        "/sitemap.xml" => xml(stream, &index(origin, &["/a.xml", "/b.xml"])),
        "/a.xml" => xml(stream, &urlset(origin, &["/1", "/2"])),
        "/b.xml" => xml(stream, &urlset(origin, &["/3"])),
        _ => send(stream, "404 Not Found", "", b""),
    });
    assert_eq!(rules(&format!("{origin}/"), &[]), (Vec::new(), 0));
    assert_eq!(
        rules(&format!("{origin}/sitemap.xml"), &[]),
        (Vec::new(), 0)
    );
    let outcome = waymark(&[&format!("{origin}/"), "--rate", "100/s"]);
    let summary = outcome.output.lines().last().unwrap();
    assert!(
        summary.starts_with("2 sitemaps, 3 URLs, 0 errors, 0 warnings, 0 notes in "),
        "{summary}"
    );
    assert!(summary.contains("(4 requests, "), "{summary}");
}

#[test]
fn a_robots_txt_may_be_compressed_and_speaks_for_its_own_host() {
    let origin = serve(|path, origin, stream| match path {
        "/robots.txt" => {
            let port = origin.rsplit(':').next().unwrap();
            let text = format!(
                "User-agent: *\nDisallow: /2\nSitemap: {origin}/sitemap.xml\nSitemap: http://localhost:{port}/other.xml\n"
            );
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text.as_bytes()).unwrap();
            let headers = "content-type: text/plain\r\ncontent-encoding: gzip\r\n";
            send(stream, "200 OK", headers, &encoder.finish().unwrap());
        }
        "/other.xml" => {
            let port = origin.rsplit(':').next().unwrap();
            xml(
                stream,
                &urlset(&format!("http://localhost:{port}"), &["/2"]),
            );
        }
        _ => xml(stream, &urlset(origin, &["/1"])),
    });
    let (found, _) = rules(&format!("{origin}/"), &[]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_mapped_origin_is_asked_elsewhere_with_its_own_host() {
    let origin = serve(|path, _, stream| {
        let public = "https://www.example.com";
        match path {
            "/robots.txt" => robots(stream, public),
            _ => xml(stream, &urlset(public, &["/1", "/b c"])),
        }
    });
    let map = format!("https://www.example.com={origin}");
    let outcome = waymark(&["https://www.example.com/", "--map", &map]);
    assert_eq!(outcome.status, 1, "{}", outcome.errors);
    let first = outcome.output.lines().next().unwrap();
    assert!(
        first.starts_with("https://www.example.com/sitemap.xml:1:")
            && first.contains(": error loc.form: \"https://www.example.com/b c\" has a character"),
        "{first}"
    );
    let outcome = waymark(&["https://www.example.com/", "--map", &map, "--skip", "loc."]);
    assert_eq!(outcome.status, 0);
    let options = [
        "https://www.example.com/",
        "--map",
        &map,
        "--rule",
        "loc.form=note",
    ];
    assert_eq!(waymark(&options).status, 0);
    assert_eq!(
        waymark(&[&options[..], &["--fail-on", "note"]].concat()).status,
        1
    );
}

#[test]
fn a_server_on_this_machine_that_names_public_addresses_is_told_how_to_be_asked() {
    // No name server knows a host of .invalid.
    let public = "https://www.example.invalid";
    let origin = serve(move |path, _, stream| match path {
        "/robots.txt" => robots(stream, public),
        _ => xml(stream, &urlset(public, &["/1"])),
    });
    let target = format!("{origin}/");
    let map = format!("{public}={origin}");
    let outcome = waymark(&[&target, "--retries", "0", "--fail-on", "never"]);
    let begin = format!("{public}/sitemap.xml: error index.reachable: cannot be read: ");
    assert!(outcome.output.starts_with(&begin), "{}", outcome.output);
    let hint = outcome
        .output
        .lines()
        .find(|line| line.starts_with("hint: "));
    let end = format!("waymark check {public}/ --map {map}");
    assert!(
        hint.is_some_and(|hint| hint.ends_with(&end)),
        "{}",
        outcome.output
    );
    // What it says is right, and is not said to who did it.
    assert_eq!(rules(&target, &["--map", &map]), (Vec::new(), 0));
    let dead = format!("{public}=http://127.0.0.1:1");
    let outcome = waymark(&[&target, "--retries", "0", "--map", &dead]);
    let first = outcome.output.lines().next().unwrap();
    assert!(
        first.contains("index.reachable") && !first.contains("--map"),
        "{first}"
    );
}

#[test]
fn a_dead_host_is_a_finding() {
    // Bound and not listening: it refuses, and no other test is given the port.
    let held = TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = held.local_addr().unwrap();
    let found = rules(&format!("http://{address}/"), &[]);
    assert_eq!(found, (vec!["index.reachable".to_owned()], 1));
}

#[test]
fn a_server_that_sends_a_byte_a_second_is_a_finding() {
    check(&["file.truncated"], |_, origin, stream| {
        let body = urlset(origin, &["/1"]);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if stream.write_all(head.as_bytes()).is_err() {
            return;
        }
        for byte in body.bytes() {
            if stream.write_all(&[byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_secs(1));
        }
    });
}

#[test]
fn an_endless_index_is_a_finding() {
    // One that lists indexes for ever.
    check(&["check.limits", "index.nested"], |path, origin, stream| {
        xml(stream, &index(origin, &[&format!("{path}x")]));
    });
    // One that does not end.
    check(&["file.limits", "index.dead"], |path, origin, stream| {
        if path != "/sitemap.xml" {
            return send(stream, "404 Not Found", "", b"");
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\nconnection: close\r\n\r\n";
        let begin = index(origin, &["/a.xml"]).replace("</sitemapindex>", "");
        let comments = "<!-- -->".repeat(8_192);
        let mut sent = stream.write_all(head.as_bytes());
        sent = sent.and_then(|()| stream.write_all(begin.as_bytes()));
        while sent.is_ok() {
            sent = stream.write_all(comments.as_bytes());
        }
    });
}

#[test]
fn a_redirect_loop_is_a_finding() {
    check(&["index.reachable"], |path, origin, stream| {
        let to = if path == "/sitemap.xml" {
            "/a"
        } else {
            "/sitemap.xml"
        };
        let location = format!("location: {origin}{to}\r\n");
        send(stream, "302 Found", &location, b"");
    });
    check(&["index.reachable"], |path, origin, stream| {
        send(
            stream,
            "302 Found",
            &format!("location: {origin}{path}x\r\n"),
            b"",
        );
    });
    check(&["index.reachable"], |_, _, stream| {
        send(stream, "302 Found", "location: file:///etc/passwd\r\n", b"");
    });
}

#[test]
fn a_gzip_bomb_is_a_finding() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder
        .write_all(urlset("", &[]).replace("</urlset>", "").as_bytes())
        .unwrap();
    let comments = "<!-- -->".repeat(131_072);
    for _ in 0..80 {
        encoder.write_all(comments.as_bytes()).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 1_000_000);
    check(&["file.limits"], move |_, _, stream| {
        let headers = "content-type: text/xml\r\ncontent-encoding: gzip\r\n";
        send(stream, "200 OK", headers, &bomb);
    });
}

#[test]
fn other_answers_than_a_sitemap_are_findings() {
    check(&["index.reachable"], |_, _, stream| {
        send(stream, "401 Unauthorized", "", b"who are you?");
    });
    check(&["file.html"], |_, _, stream| {
        let page = b"<!doctype html><html><body>Welcome</body></html>";
        send(stream, "200 OK", "content-type: text/html\r\n", page);
    });
    // The connection ends before the length is reached, or the file itself is cut.
    check(&["file.truncated"], |_, origin, stream| {
        let body = urlset(origin, &["/1", "/2"]);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\ncontent-length: 9999\r\n\r\n";
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&body.as_bytes()[..150]);
    });
    check(&["file.truncated"], |_, origin, stream| {
        xml(stream, &urlset(origin, &["/1", "/2"])[..150]);
    });
    check(&["file.status"], |path, origin, stream| match path {
        "/sitemap.xml" => xml(stream, &index(origin, &["/a.xml"])),
        _ => send(stream, "403 Forbidden", "", b""),
    });
    check(&["index.dead"], |path, origin, stream| match path {
        "/sitemap.xml" => xml(stream, &index(origin, &["/a.xml"])),
        _ => send(stream, "410 Gone", "", b""),
    });
    check(&["robots.blocks"], |_, origin, stream| {
        xml(stream, &urlset(origin, &["/1", "/admin/2"]));
    });
    check(&["file.redirect"], |path, origin, stream| match path {
        "/sitemap.xml" => {
            send(
                stream,
                "301 Moved",
                &format!("location: {origin}/a.xml\r\n"),
                b"",
            );
        }
        _ => xml(stream, &urlset(origin, &["/1"])),
    });
}

#[test]
fn a_site_without_a_named_sitemap_is_looked_at_by_the_usual_names() {
    let origin = serve(|path, origin, stream| match path {
        "/wp-sitemap.xml" => xml(stream, &urlset(origin, &["/1"])),
        _ => send(stream, "404 Not Found", "", b""),
    });
    let found = rules(&format!("{origin}/"), &[]);
    assert_eq!(found, (vec!["robots.absent".to_owned()], 0));
    // Each of them, where every other address answers with a page.
    for name in [
        "/sitemap-index.xml",
        "/sitemapindex.xml",
        "/?sitemap=index",
        "/sitemap.txt",
    ] {
        let origin = serve(move |path, origin, stream| match path {
            "/robots.txt" => send(stream, "200 OK", "content-type: text/plain\r\n", b""),
            path if path == name && name.ends_with("txt") => {
                let list = format!("{origin}/1\n");
                send(
                    stream,
                    "200 OK",
                    "content-type: text/plain\r\n",
                    list.as_bytes(),
                );
            }
            path if path == name => xml(stream, &urlset(origin, &["/1"])),
            _ => {
                let page = b"<!doctype html><html><body>Welcome</body></html>";
                send(stream, "200 OK", "content-type: text/html\r\n", page);
            }
        });
        let found = rules(&format!("{origin}/"), &["--skip", "lastmod."]);
        assert_eq!(found, (vec!["robots.sitemap".to_owned()], 1), "{name}");
    }
    // A page is no sitemap, and what is broken is told.
    let origin = serve(|path, _, stream| match path {
        "/robots.txt" => send(stream, "404 Not Found", "", b""),
        _ => send(
            stream,
            "200 OK",
            "content-type: text/html\r\n",
            b"<html></html>",
        ),
    });
    let found = rules(&format!("{origin}/"), &["--skip", "robots."]);
    assert_eq!(found, (vec!["index.reachable".to_owned()], 1));
    let origin = serve(|path, _, stream| match path {
        "/sitemap-index.xml" => xml(stream, "nonsense"),
        _ => send(stream, "404 Not Found", "", b""),
    });
    let found = rules(&format!("{origin}/"), &["--skip", "robots."]);
    assert_eq!(found, (vec!["file.wellformed".to_owned()], 1));
}

#[test]
fn headers_of_the_users_stay_with_the_target() {
    let seen = Arc::new(std::sync::Mutex::new(String::new()));
    let collected = seen.clone();
    let other = Loopback::bind().serve(move |request, stream| {
        let mut seen = collected.lock().unwrap();
        write!(seen, "{} {:?}", request.target, request.headers).unwrap();
        respond(stream, "200 OK", "content-type: text/xml\r\n", b"<urlset/>")
    });
    let target = serve(move |_, _, stream| {
        send(
            stream,
            "302 Found",
            &format!("location: {other}/x\r\n"),
            b"",
        );
    });
    let target = format!("{target}/sitemap.xml");
    rules(&target, &["--header", "Authorization: secret"]);
    let seen = seen.lock().unwrap();
    assert!(seen.contains("/x") && !seen.contains("secret"), "{seen}");
}
