//! What a site, a folder or a file may try to make of the command: requests inside its network, commands of a CI, reads that never
//! end.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::limited::waymark as run;
use super::{LIMIT, index, rules, send, serve, urlset, xml};

/// What stands where nobody should look.
const SECRET: &str = "s3cret-of-the-network";

/// A server of the network: how often it was asked, and its origin.
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

/// A site that names addresses of the network in each way that it has.
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
                assert!(told.contains("not asked: "), "{told}");
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
fn a_robots_txt_that_cannot_be_read_is_not_taken_for_none() {
    let folder = tempfile::tempdir().unwrap();
    let origin = "https://www.example.com";
    fs::write(folder.path().join("sitemap.xml"), urlset(origin, &["/1"])).unwrap();
    let robots = folder.path().join("robots.txt");
    let path = folder.path().to_str().unwrap();
    fs::create_dir(&robots).unwrap();
    assert_eq!(rules(path, &["--origin", origin]).1, 1);
    assert_eq!(run(folder.path(), &["diff", path, path]).status, 2);
    fs::remove_dir(&robots).unwrap();
    let made = Command::new("mkfifo").arg(&robots).status().unwrap();
    assert!(made.success());
    assert_eq!(rules(path, &["--origin", origin]).1, 1);
    assert_eq!(run(folder.path(), &["diff", path, path]).status, 2);
}

#[test]
fn a_pipe_that_is_named_as_a_sitemap_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let origin = "https://www.example.com";
    fs::write(
        folder.path().join("sitemap.xml"),
        index(origin, &["/a.xml"]),
    )
    .unwrap();
    let made = Command::new("mkfifo")
        .arg(folder.path().join("a.xml"))
        .status();
    assert!(made.unwrap().success());
    let path = folder.path().to_str().unwrap();
    let outcome = run(folder.path(), &["check", path, "--origin", origin]);
    assert_eq!(outcome.status, 1);
    assert!(
        outcome.output.contains("is not a file"),
        "{}",
        outcome.output
    );
    let outcome = run(folder.path(), &["diff", path, path]);
    assert_eq!(outcome.status, 2);
    assert!(
        outcome.errors.contains("is not a file"),
        "{}",
        outcome.errors
    );
    let made = Command::new("mkfifo")
        .arg(folder.path().join("a-sitemap.xml"))
        .status();
    assert!(made.unwrap().success());
    let outcome = run(folder.path(), &["import", path]);
    assert_ne!(outcome.status, 0, "{}", outcome.errors);
    assert!(
        outcome.errors.contains("is not a file"),
        "{}",
        outcome.errors
    );
}

#[test]
fn a_check_ends_in_its_time_and_says_so() {
    let origin = serve(|path, origin, stream| match path {
        "/robots.txt" => super::robots(stream, origin),
        "/sitemap.xml" => xml(stream, &index(origin, &["/a.xml", "/b.xml"])),
        "/a.xml" => xml(stream, &urlset(origin, &["/1"])),
        // It never answers.
        _ => thread::sleep(LIMIT * 2),
    });
    let check = |target: &str, more: &[&str]| {
        let usual = [
            "check",
            target,
            "--json",
            "--max-time",
            "2s",
            "--timeout",
            "100s",
        ];
        let outcome = run(Path::new("."), &[&usual, more].concat());
        let report: Value = serde_json::from_str(&outcome.output).unwrap();
        let counts = report["counts"].as_object().unwrap();
        (counts.keys().cloned().collect::<Vec<_>>(), outcome.status)
    };
    let over = || (vec!["check.limits".to_owned()], 0);
    assert_eq!(check(&format!("{origin}/"), &["--jobs", "1"]), over());
    // Its pages, too.
    let found = check(
        &format!("{origin}/a.xml"),
        &["--pages", "all", "--skip", "robots.,index."],
    );
    assert_eq!(found, over());
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

#[test]
fn a_check_whose_time_ends_at_robots_txt_says_so() {
    let origin = serve(|_, _, _| thread::sleep(LIMIT * 2));
    let target = format!("{origin}/");
    let outcome = run(Path::new("."), &["check", &target, "--max-time", "1s"]);
    assert_eq!(outcome.status, 2, "{}{}", outcome.output, outcome.errors);
    let output = outcome.output;
    assert!(output.contains("check.limits"), "{output}");
    assert!(!output.contains("index.reachable"), "{output}");
}

#[cfg(unix)]
#[test]
fn a_device_or_a_pipe_in_a_files_place_is_not_read_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        &["build", "/dev/zero", "--out", "out"][..],
        &["load", "--dry-run", "/dev/zero"],
    ] {
        let outcome = run(folder.path(), arguments);
        assert_eq!(outcome.status, 2, "{arguments:?}: {}", outcome.errors);
        let told = &outcome.errors;
        assert!(told.contains("line 1 has no end within 256 MiB"), "{told}");
    }
    let pipe = Command::new("mkfifo")
        .arg(folder.path().join("samconfig.toml"))
        .status();
    assert!(pipe.unwrap().success());
    let outcome = run(folder.path(), &["status", "--config-env", "default"]);
    let told = &outcome.errors;
    assert_eq!(outcome.status, 2, "{told}");
    assert!(
        told.contains("failed to read samconfig.toml: is not a file"),
        "{told}"
    );
}

#[test]
fn an_index_alone_is_no_check_when_a_limit_ends_it() {
    let origin = serve(|path, origin, stream| match path {
        "/robots.txt" => super::robots(stream, origin),
        "/sitemap.xml" => xml(stream, &index(origin, &["/a.xml"])),
        _ => thread::sleep(LIMIT * 2),
    });
    let target = format!("{origin}/");
    for limit in [["--max-time", "2s"], ["--max-sitemaps", "1"]] {
        let outcome = run(Path::new("."), &[&["check", &target][..], &limit].concat());
        assert_eq!(outcome.status, 2, "{}{}", outcome.output, outcome.errors);
        assert!(
            outcome.output.contains("check.limits"),
            "{}",
            outcome.output
        );
    }
}

#[test]
fn a_pause_that_a_server_asks_for_is_not_longer_than_the_check() {
    let origin = serve(|_, _, stream| {
        send(
            stream,
            "503 Service Unavailable",
            "retry-after: 29\r\n",
            b"",
        );
    });
    let began = Instant::now();
    let outcome = run(
        Path::new("."),
        &["check", &format!("{origin}/a.xml"), "--max-time", "3s"],
    );
    assert!(
        began.elapsed() < Duration::from_secs(25),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(outcome.status, 1, "{}{}", outcome.output, outcome.errors);
}

#[cfg(unix)]
#[test]
fn a_file_of_rules_that_cannot_be_read_is_no_absent_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("a.xml"),
        urlset("https://www.example.com", &["/1"]),
    )
    .unwrap();
    let rules = folder.path().join("waymark-check.toml");
    let fails = |what: &str| {
        let outcome = run(folder.path(), &["check", "a.xml"]);
        assert_eq!(
            outcome.status, 2,
            "{what}: {}{}",
            outcome.output, outcome.errors
        );
        assert!(
            outcome.errors.contains("waymark-check.toml"),
            "{}",
            outcome.errors
        );
    };
    fs::create_dir(&rules).unwrap();
    fails("a folder");
    fs::remove_dir(&rules).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(&rules)
            .status()
            .unwrap()
            .success()
    );
    fails("a pipe");
    fs::remove_file(&rules).unwrap();
    for target in ["nowhere", "/dev/zero"] {
        std::os::unix::fs::symlink(target, &rules).unwrap();
        fails(target);
        fs::remove_file(&rules).unwrap();
    }
    assert_eq!(run(folder.path(), &["check", "a.xml"]).status, 0);
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
