//! What a site, a folder or a file may try to make of the command: requests inside its network, commands of a CI, reads that never
//! end.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{index, send, serve, urlset, xml};
use crate::limited::waymark as run;

/// What stands where nobody should look.
const SECRET: &str = "s3cret-of-the-network";

/// Starts a server of the network. Returns how often it was asked, and its origin.
fn inside() -> (Arc<AtomicU64>, String) {
    let asked = Arc::new(AtomicU64::new(0));
    let count = asked.clone();
    let origin = serve(move |_, _, stream| {
        count.fetch_add(1, Ordering::Relaxed);
        send(
            stream,
            "200 OK",
            "content-type: text/plain\r\n",
            SECRET.as_bytes(),
        );
    });
    (asked, origin)
}

/// Serves a site that names addresses of the network in each way that it has.
fn site(way: &'static str, inside: String) -> String {
    serve(move |path, origin, stream| {
        let inside = match way {
            // By a name, which has to be resolved.
            "name" => inside.replace("127.0.0.1", "localhost"),
            _ => inside.clone(),
        };
        let redirect = |stream: &mut _, path: &str| {
            let location = format!("location: {inside}{path}\r\n");
            send(stream, "302 Found", &location, b"");
        };
        match (way, path) {
            ("robots", "/robots.txt") => redirect(stream, "/robots.txt"),
            ("named" | "name", "/robots.txt") => {
                let text = format!("Sitemap: {inside}/sitemap.xml\n");
                send(
                    stream,
                    "200 OK",
                    "content-type: text/plain\r\n",
                    text.as_bytes(),
                );
            }
            (_, "/robots.txt") => {
                let text = format!("Sitemap: {origin}/sitemap.xml\n");
                send(
                    stream,
                    "200 OK",
                    "content-type: text/plain\r\n",
                    text.as_bytes(),
                );
            }
            ("redirect", "/sitemap.xml") => redirect(stream, "/latest/meta-data/"),
            ("index", "/sitemap.xml") => xml(stream, &index(&inside, &["/a.xml"])),
            ("child", "/sitemap.xml") => xml(stream, &index(origin, &["/a.xml"])),
            ("child", "/a.xml") => redirect(stream, "/a.xml"),
            ("page", "/sitemap.xml") => xml(stream, &urlset(origin, &["/1"])),
            ("page", "/1") => redirect(stream, "/1"),
            _ => send(stream, "404 Not Found", "", b""),
        }
    })
}

#[test]
fn what_a_site_names_inside_the_network_is_not_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let usual = ["--rate", "0", "--retries", "0", "--timeout", "5s"];
    for way in [
        "robots", "named", "name", "redirect", "index", "child", "page",
    ] {
        for verb in ["check", "diff", "import"] {
            let (asked, inside) = inside();
            let origin = site(way, inside);
            let target = format!("{origin}/");
            let arguments: &[&str] = match verb {
                "check" => &["check", &target, "--pages", "all"],
                "diff" => &["diff", &target, &target],
                _ => &["import", &target],
            };
            let outcome = run(folder.path(), &[arguments, &usual].concat());
            let told = format!("{verb} {way}: {}{}", outcome.output, outcome.errors);
            assert_eq!(asked.load(Ordering::Relaxed), 0, "{told}");
            assert!(!told.contains(SECRET), "{told}");
            // A child of another host is not followed by `check` and `import`; nor does anything but `check` look at pages.
            let is_never = matches!(
                (verb, way),
                ("check" | "import", "index") | ("diff" | "import", "page")
            );
            if !is_never {
                assert!(told.contains("not fetched: "), "{told}");
                assert!(told.contains("--allow-private"), "{told}");
                assert_ne!(outcome.status, 0, "{told}");
            }
        }
    }
}

#[test]
fn what_is_allowed_is_asked_and_not_quoted() {
    let folder = tempfile::tempdir().unwrap();
    for (way, verb) in [
        ("named", "check"),
        ("redirect", "check"),
        ("child", "check"),
        ("index", "diff"),
        ("redirect", "diff"),
    ] {
        let (asked, inside) = inside();
        let target = format!("{}/", site(way, inside));
        let arguments: &[&str] = match verb {
            "check" => &["check", &target, "--allow-private", "--rate", "0"],
            _ => &["diff", &target, &target, "--allow-private", "--rate", "0"],
        };
        let outcome = run(folder.path(), arguments);
        let told = format!("{verb} {way}: {}{}", outcome.output, outcome.errors);
        assert_ne!(asked.load(Ordering::Relaxed), 0, "{told}");
        assert!(!told.contains(SECRET), "{told}");
        assert_ne!(outcome.status, 0, "{told}");
    }
    // Of what the user named, the report says what it is.
    let (_, inside) = inside();
    let outcome = run(folder.path(), &["check", &format!("{inside}/x")]);
    assert!(outcome.output.contains(SECRET), "{}", outcome.output);
}

#[test]
fn no_line_of_a_report_is_a_command_of_a_ci() {
    let folder = tempfile::tempdir().unwrap();
    let hostile =
        "::error::x ##[group]y ##vso[task.z]\u{1b}[2J\u{ad}\u{2060}\u{e0041}\r\n::stop-commands::t";
    let address = format!("https://www.example.com/{}", hostile.replace(' ', "%20"));
    let name = "::warning::a##[b].xml";
    let loc = "https://www.example.com/\u{e9}#a##[group]x";
    fs::write(
        folder.path().join(name),
        format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><url><loc>::error::##[x]&#xad;&#xE0041;</loc>\
             <lastmod>::set-env name=a::b</lastmod></url><url><loc>{loc}</loc></url></urlset>"
        ),
    )
    .unwrap();
    let record = serde_json::json!({"id": hostile, "type": "post", "url": "::error::x"});
    let good = serde_json::json!({"id": format!("::notice::{loc}"), "type": "post", "url": "https://www.example.com/"});
    fs::write(
        folder.path().join("::a.jsonl"),
        format!("{record}\n{good}\n::error::no json\n"),
    )
    .unwrap();
    fs::write(
        folder.path().join("::b.txt"),
        format!("{address}\n::error::c\n"),
    )
    .unwrap();
    fs::write(folder.path().join("a.txt"), format!("{loc}\n")).unwrap();
    fs::write(
        folder.path().join("b.txt"),
        "https://www.example.com/\u{0}##[x]\n",
    )
    .unwrap();
    fs::write(folder.path().join("c.csv"), "url,title\n::error::x,##[y]\n").unwrap();
    for arguments in [
        &["check", name][..],
        &["check", name, "--format", "json"],
        &["check", name, "--format", "jsonl"],
        &["check", name, "--format", "sarif"],
        &["check", name, "--format", "junit"],
        &["check", name, "--format", "markdown"],
        &["check", "::b.txt"],
        &["check", "::missing.xml"],
        &["diff", name, "a.txt"],
        &["diff", name, "b.txt", "--format", "csv"],
        &["diff", name, "b.txt", "--format", "markdown"],
        &["diff", name, "b.txt", "--json"],
        &["import", name],
        &["import", "::a.jsonl"],
        &["import", "c.csv"],
        &["import", "::b.txt", "--output", "out.jsonl", "--json"],
        &["build", "::a.jsonl", "--out", "out"],
        &["explain", "--from", "::b.txt", "::a.jsonl"],
        &["::error::verb"],
        &["check", name, "--only", "a\n::error::x ##[y]"],
        &["diff", name, name, "--fields", "\u{85}\n  ::error::x\u{ad}"],
    ] {
        let outcome = run(folder.path(), arguments);
        assert!(
            (0..=2).contains(&outcome.status),
            "{arguments:?}: {}",
            outcome.errors
        );
        for line in outcome.output.lines().chain(outcome.errors.lines()) {
            let told = format!("{arguments:?}: {line:?}");
            assert!(!line.trim_start().starts_with("::"), "{told}");
            assert!(
                !["##[", "##vso["]
                    .iter()
                    .any(|command| line.contains(command)),
                "{told}"
            );
            let acts = |c: char| c.is_control() || ['\u{ad}', '\u{2060}', '\u{e0041}'].contains(&c);
            assert!(!line.contains(acts), "{told}");
        }
    }
}

#[test]
fn what_cannot_be_asked_is_status_2_and_shows_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["check", "https://jane:pass-w0rd@www.example.com/"][..],
        &["check", "HTTPS://jane:pass-w0rd@www.example.com/a.xml"],
        &["diff", "https://jane:pass-w0rd@www.example.com/", "."],
        &["import", "https://jane:pass-w0rd@www.example.com/"],
        &[
            "check",
            "http://127.0.0.1:1/",
            "--header",
            "Bad name: pass-w0rd",
        ],
        &[
            "diff",
            "http://127.0.0.1:1/",
            ".",
            "--header",
            "Authorization pass-w0rd",
        ],
        &[
            "check",
            "http://127.0.0.1:1/",
            "--header",
            "no colon, pass-w0rd",
        ],
        &[
            "check",
            "http://127.0.0.1:1/",
            "--map",
            "https://www.example.com=https://jane:pass-w0rd@a.example",
        ],
        &["import", ".", "--map-url", "https://a:pass-w0rd@a.example"],
        &[
            "serve",
            "--indexnow-endpoint",
            "https://jane:pass-w0rd@a.example/b c",
        ],
        &["--https://jane:pass-w0rd@a.example/"],
        &[
            "build",
            "https://jane:pass-w0rd@a.example/x.jsonl",
            "--out",
            "o",
        ],
        &["check", " https://jane:pass-w0rd@a.example/"],
        &["check", "s3://jane:pass-w0rd@a/b"],
        &["mapping", "https://jane:pass-w0rd@a.example/x"],
    ] {
        let outcome = run(folder.path(), arguments);
        assert_eq!((outcome.status, &*outcome.output), (2, ""), "{arguments:?}");
        assert!(!outcome.errors.contains("pass-w0rd"), "{}", outcome.errors);
    }
}

#[test]
fn a_robots_txt_of_another_host_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    for media in ["text/plain", "x/s3cret"] {
        let inside = serve(move |_, _, stream| {
            let headers = format!("content-type: {media}\r\n");
            send(
                stream,
                "200 OK",
                &headers,
                format!("password={SECRET}\n").as_bytes(),
            );
        });
        let target = site("robots", inside);
        let arguments = [
            "check",
            &format!("{target}/"),
            "--allow-private",
            "--rate",
            "0",
        ];
        let outcome = run(folder.path(), &arguments);
        let told = outcome.output + &outcome.errors;
        assert!(!told.contains("s3cret"), "{told}");
    }
}

#[test]
fn nothing_of_another_host_is_shown_that_a_redirect_leads_to() {
    let folder = tempfile::tempdir().unwrap();
    let empty = urlset("https://www.example.com", &[]);
    let answers = [
        ("", "<s3cret token='t'/>".to_owned()),
        ("", "s3cret_a,s3cret_b\n1,2\n".to_owned()),
        ("", "{\"s3cret\": 1}".to_owned()),
        ("", "\u{1}s3cret".to_owned()),
        (
            "",
            "<?xml version='1.0' encoding='x-s3cret'?><urlset/>".to_owned(),
        ),
        ("content-type: x/s3cret\r\n", empty.clone()),
        ("content-encoding: s3cret\r\n", empty),
    ];
    for (headers, body) in answers {
        let shown = format!("{headers}{body}");
        let root = serve(move |path, origin, stream| match path {
            "/robots.txt" => super::robots(stream, origin),
            "/sitemap.xml" => {
                let other = origin.replace("127.0.0.1", "localhost");
                let location = format!("location: {other}/x\r\n");
                send(stream, "302 Found", &location, b"");
            }
            _ => send(stream, "200 OK", headers, body.as_bytes()),
        });
        let target = format!("{root}/");
        let document = format!("{root}/sitemap.xml");
        for arguments in [
            &["check", &target][..],
            &["diff", &target, &target],
            &["import", &target],
            &["import", &document],
        ] {
            let outcome = run(folder.path(), &[arguments, &["--allow-private"]].concat());
            let told = format!("{arguments:?}: {}{}", outcome.output, outcome.errors);
            assert!(!told.contains("s3cret"), "{shown}: {told}");
            // `check` only warns of a sitemap's headers.
            assert!(outcome.status > 0 || !headers.is_empty(), "{shown}: {told}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_report_does_not_follow_a_link_at_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.xml"), urlset("https://www.example.com", &["/1"])).unwrap();
    fs::write(path("keep"), "mine").unwrap();
    for arguments in [
        &["check", "a.xml", "--format", "json=out"][..],
        &["check", "a.xml", "--baseline", "out", "--write-baseline"],
        &["import", "a.xml", "--report", "out"],
    ] {
        std::os::unix::fs::symlink("keep", path("out")).unwrap();
        let outcome = run(folder.path(), arguments);
        assert_eq!(outcome.status, 0, "{arguments:?}: {}", outcome.errors);
        assert_eq!(
            fs::read_to_string(path("keep")).unwrap(),
            "mine",
            "{arguments:?}"
        );
        assert!(!path("out").is_symlink(), "{arguments:?}");
        fs::remove_file(path("out")).unwrap();
    }
}

#[test]
fn a_page_of_another_host_is_not_shown() {
    let origin = serve(|path, origin, stream| {
        let other = origin.replace("127.0.0.1", "localhost");
        match path {
            "/robots.txt" => super::robots(stream, origin),
            "/sitemap.xml" => xml(stream, &urlset(&other, &["/1"])),
            _ => {
                let page = "<html><head><link rel=canonical href=/s3cret>\
                            <meta name=robots content='unavailable_after: 2010-01-01 s3cret'>\
                            <link rel=alternate hreflang=s3cret href=/x></head></html>";
                let headers = "content-type: text/html\r\nlink: </s3cret>; rel=canonical\r\n\
                               x-robots-tag: unavailable_after: 25 Jun 2010 15:00:00 s3cret\r\n";
                send(stream, "200 OK", headers, page.as_bytes());
            }
        }
    });
    let arguments = [
        "check",
        &format!("{origin}/"),
        "--pages",
        "all",
        "--allow-private",
        "--rate",
        "0",
    ];
    let outcome = run(Path::new("."), &arguments);
    let told = outcome.output + &outcome.errors;
    assert!(told.contains("page.canonical"), "{told}");
    assert!(!told.contains("s3cret"), "{told}");
}

#[test]
fn a_report_in_a_file_is_escaped() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("a.csv"),
        "id,url\n\u{202e}##vso[task.setvariable]x,https://www.example.com/#a\n",
    )
    .unwrap();
    let arguments = ["import", "a.csv", "--output", "o", "--report", "r.json"];
    run(folder.path(), &arguments);
    let report = fs::read_to_string(folder.path().join("r.json")).unwrap();
    assert!(report.contains("vso["), "{report}");
    assert!(
        !report.contains("##") && !report.contains('\u{202e}'),
        "{report}"
    );
}
