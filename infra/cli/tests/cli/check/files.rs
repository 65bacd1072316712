//! Folders, files, and what a repository says.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{LIMIT, index, rules, urlset, waymark, waymark_in};
use crate::limited::Limited as _;

#[test]
fn a_folder_is_checked_as_what_it_will_be_served_as() {
    let folder = tempfile::tempdir().unwrap();
    let origin = "https://www.example.com";
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("robots.txt", &format!("Sitemap: {origin}/sitemap.xml\n"));
    write("sitemap.xml", &index(origin, &["/a.xml", "/b.xml"]));
    write("a.xml", &urlset(origin, &["/1"]));
    write("b.xml", &urlset(origin, &["/1", "/2"]));
    let path = folder.path().to_str().unwrap();
    let found = rules(path, &["--origin", origin]);
    assert_eq!(found, (vec!["loc.dup_across".to_owned()], 0));
    let file = format!("{path}/a.xml");
    assert_eq!(rules(&file, &[]), (Vec::new(), 0));
    write("urls.txt", &format!("{origin}/1\n{origin}/9\n"));
    let expected = format!("{path}/urls.txt");
    let (found, status) = rules(
        path,
        &[
            "--origin",
            origin,
            "--expected",
            &expected,
            "--only",
            "set.",
        ],
    );
    assert_eq!(
        (found, status),
        (vec!["set.extra".to_owned(), "set.missing".to_owned()], 1)
    );

    let outcome = waymark(&[path]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.errors.contains("--origin"), "{}", outcome.errors);
    assert_eq!(waymark(&["no-such-file.xml"]).status, 2);
    let report = format!("{path}/report.json");
    let format = format!("json={report}");
    // What goes into files goes to people, too.
    let outcome = waymark(&[&file, "--format", &format]);
    assert!(
        outcome.output.starts_with("1 sitemap, 1 URL, 0 errors"),
        "{}",
        outcome.output
    );
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!(report["totals"]["urls"], 1);
    for two in [
        &["--format", "text", "--format", "json"][..],
        &["--format", "junit", "--json"],
    ] {
        let outcome = waymark(&[&[&*file][..], two].concat());
        assert_eq!((outcome.status, &*outcome.output), (2, ""));
        assert!(
            outcome.errors.contains("two report formats"),
            "{}",
            outcome.errors
        );
    }
    assert_eq!(waymark(&[&file, "--format", "pdf"]).status, 2);
    assert_eq!(waymark(&[&file, "--format", "json="]).status, 2);
}

#[test]
fn a_repositorys_file_and_a_baseline_say_what_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let page = |path: &str| {
        let body = urlset("https://www.example.com", &["/1", path, "/?utm_source=1"]);
        write("a.xml", &body);
    };
    std::fs::create_dir_all(folder.path().join(".git")).unwrap();
    std::fs::create_dir_all(folder.path().join("sub")).unwrap();
    page("/b c");
    let sub = format!("{path}/sub");
    let check = |more: &[&str]| {
        let usual = ["../a.xml", "--origin", "https://www.example.com", "--json"];
        let outcome = waymark_in(&sub, &[&usual[..], more].concat());
        let json: Value = serde_json::from_str(&outcome.output)
            .unwrap_or_else(|error| panic!("{error}: {}{}", outcome.output, outcome.errors));
        let mut counts = json["counts"].as_object().unwrap().clone();
        counts.insert("known".to_owned(), json["totals"]["known"].clone());
        (Value::Object(counts), outcome.status)
    };
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(
        check(&[]),
        (json(r#"{"loc.form": 1, "loc.tracking": 1, "known": 0}"#), 1)
    );
    write(
        "waymark-check.toml",
        "[rules]\n\"loc.tracking\" = \"off\"\n\
         [[allow]]\nrule = \"loc.form\"\nmatch = \"/b c\"\nuntil = \"9999-01-01\"\nwhy = \"The old CMS.\"\n",
    );
    assert_eq!(check(&[]), (json(r#"{"known": 1}"#), 0));
    // The command line has the last word.
    let outcome = check(&["--rule", "loc.tracking=error"]);
    assert_eq!(outcome, (json(r#"{"loc.tracking": 1, "known": 1}"#), 1));
    write(
        "other.toml",
        "[[allow]]\nrule = \"loc.\"\nuntil = \"2026-01-31\"\nwhy = \"The old CMS.\"\n",
    );
    let outcome = check(&["--config", "../other.toml"]);
    let expected = r#"{"check.allowance": 1, "loc.form": 1, "loc.tracking": 1, "known": 0}"#;
    assert_eq!(outcome, (json(expected), 1));
    write("other.toml", "[rules]\n\"loc.\" = \"bad\"\n");
    let outcome = waymark_in(path, &["a.xml", "--config", "other.toml"]);
    assert_eq!((outcome.status, &*outcome.output), (2, ""));
    assert!(
        outcome.errors.contains("[rules] loc."),
        "{}",
        outcome.errors
    );

    write("waymark-check.toml", "");
    let outcome = check(&["--baseline", "b.json", "--write-baseline"]);
    assert_eq!(outcome.1, 0);
    assert_eq!(
        check(&["--baseline", "b.json"]),
        (json(r#"{"known": 2}"#), 0)
    );
    page("/b d");
    assert_eq!(
        check(&["--baseline", "b.json"]),
        (json(r#"{"loc.form": 1, "known": 1}"#), 1)
    );
    let outcome = waymark_in(path, &["a.xml", "--baseline", "no-such.json"]);
    assert_eq!(outcome.status, 2);
}

#[test]
fn rules_are_listed_and_explained() {
    let outcome = waymark(&["--list-rules"]);
    assert!(outcome.output.contains("\nloc.host "), "{}", outcome.output);
    let outcome = waymark(&["--explain", "loc.host"]);
    assert!(
        outcome.output.contains("source: sitemaps.org"),
        "{}",
        outcome.output
    );
    assert_eq!(waymark(&["--explain", "no.such"]).status, 2);
    assert_eq!(waymark(&[]).status, 2);
}

/// Returns whether the process has a file open that has no name any more in this folder.
#[cfg(target_os = "linux")]
fn unnamed(process: u32, folder: &std::path::Path) -> bool {
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let links = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    let mut links = links.map(|link| link.display().to_string());
    links.any(|link| link.starts_with(folder.to_str().unwrap()) && link.ends_with("(deleted)"))
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_sorted_on_disk_is_found_and_leaves_no_file() {
    use std::os::unix::process::ExitStatusExt as _;

    // Lists of URLs that are more than memory is given for.
    const LISTS: usize = 8;
    const URLS: usize = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let sorted = tempfile::tempdir().unwrap();
    let (origin, long) = ("https://www.example.com", "long-".repeat(40));
    let mut robots = String::new();
    for list in 0..LISTS {
        let page = |at: usize| format!("{origin}/{long}/{list}/{at}\n");
        let text: String = (0..URLS).map(page).collect();
        std::fs::write(folder.path().join(format!("{list}.txt")), text).unwrap();
        writeln!(robots, "Sitemap: {origin}/{list}.txt").unwrap();
    }
    writeln!(robots, "Sitemap: {origin}/last.txt").unwrap();
    std::fs::write(folder.path().join("robots.txt"), robots).unwrap();
    let last = folder.path().join("last.txt");
    let check = |sorted: &std::path::Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_waymark"));
        command.args(["check", folder.path().to_str().unwrap(), "--origin", origin]);
        command.args(["--jobs", "1", "--json", "--skip", "lastmod."]);
        command.env("TMPDIR", sorted).stdin(Stdio::null());
        command
    };
    let is_empty = || std::fs::read_dir(sorted.path()).unwrap().count() == 0;

    // Interrupted while it waits for the last one, of which nobody ever writes the end.
    let made = Command::new("mkfifo").arg(&last).status().unwrap();
    assert!(made.success());
    let mut process = check(sorted.path()).stdout(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while !unnamed(process.id(), sorted.path()) {
        assert_eq!(process.try_wait().unwrap(), None);
        assert!(
            began.elapsed() < LIMIT,
            "nothing is sorted within {LIMIT:?}"
        );
        thread::sleep(Duration::from_millis(20));
    }
    assert!(is_empty());
    let id = process.id().to_string();
    // As Ctrl-C would end it. That signal may be ignored here: a shell has what it starts in the background ignore it.
    let killed = Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert!(killed.success());
    let interrupted = process.output_in_time();
    assert_eq!(interrupted.status.signal(), Some(15), "{interrupted:?}");
    assert!(is_empty());

    // To its end. The last list has a page of the first one, and another form of one.
    std::fs::remove_file(&last).unwrap();
    std::fs::write(
        &last,
        format!("{origin}/{long}/0/7\n{origin}/{long}/0/8/\n"),
    )
    .unwrap();
    let output = check(sorted.path()).output_in_time();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = serde_json::json!({"loc.dup_across": 1, "loc.variants": 1});
    assert_eq!(
        (&report["counts"], output.status.code()),
        (&expected, Some(0))
    );
    assert_eq!(report["totals"]["urls"], LISTS * URLS + 2);
    let message = report["findings"][0]["message"].as_str().unwrap();
    assert!(
        message.ends_with(&format!(" is in {origin}/0.txt, too")),
        "{message}"
    );
    assert!(is_empty());

    // Where it may write nothing.
    let output = check(&folder.path().join("none")).output_in_time();
    let errors = String::from_utf8(output.stderr).unwrap();
    // On a slow machine there are lines of progress before it.
    let fault = errors.lines().next_back().unwrap_or_default();
    assert!(
        fault.starts_with("waymark: failed to sort the URLs in "),
        "{errors}"
    );
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
}

#[test]
fn nothing_passes_because_it_was_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let origin = "https://www.example.com";
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| std::fs::write(at(name), text).unwrap();
    let check = |more: &[&str]| rules(path, &[&["--origin", origin], more].concat());
    let one = |rule: &str| (vec![rule.to_owned()], 1);
    // Nothing, and then a folder with the name of a sitemap.
    assert_eq!(check(&[]), one("index.reachable"));
    std::fs::create_dir(at("sitemap.xml")).unwrap();
    std::fs::write(at("sitemap.xml").join("index.html"), "<html>").unwrap();
    assert_eq!(check(&[]), one("index.reachable"));
    let outcome = waymark(&[path, "--origin", origin, "--only", "lastmod."]);
    assert_eq!(outcome.status, 2);
    assert!(
        outcome.errors.contains("no sitemap was read"),
        "{}",
        outcome.errors
    );
    let quiet = waymark(&[
        path,
        "--origin",
        origin,
        "--only",
        "lastmod.",
        "--fail-on",
        "never",
    ]);
    assert_eq!(quiet.status, 0);
    write("robots.txt", &format!("Sitemap: {origin}/sitemap.xml\n"));
    assert_eq!(check(&[]), one("index.reachable"));
    // A child that is a folder, and one on a host whose name begins so.
    write("robots.txt", &format!("Sitemap: {origin}/all.xml\n"));
    write("all.xml", &index(origin, &["/sitemap.xml"]));
    assert_eq!(check(&[]), one("file.status"));
    assert_eq!(
        rules(&format!("{path}/all.xml"), &["--origin", origin]),
        one("file.status")
    );
    write("robots.txt", &format!("Sitemap: {origin}.evil/a.xml\n"));
    std::fs::create_dir(at(".evil")).unwrap();
    write(".evil/a.xml", &urlset(origin, &["/1"]));
    assert_eq!(check(&[]), one("index.reachable"));
    // A robots.txt that cannot be read may disallow all.
    std::fs::remove_file(at("robots.txt")).unwrap();
    std::fs::create_dir(at("robots.txt")).unwrap();
    std::fs::remove_dir_all(at("sitemap.xml")).unwrap();
    write("sitemap.xml", &urlset(origin, &["/1"]));
    assert_eq!(check(&[]), one("robots.status"));
}

#[test]
fn a_folder_is_looked_through_where_nothing_names_its_sitemaps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let origin = "https://www.example.com";
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("feed.xml", "<rss version=\"2.0\"><channel/></rss>");
    write("a/part.xml", &urlset(origin, &["/a/1", "/a/2"]));
    write("a/whole.xml", &index(origin, &["/a/part.xml"]));
    write("b/alone.xml", &urlset(origin, &["/b/1", "/c"]));
    let outcome = waymark(&[path, "--origin", origin]);
    let lines: Vec<_> = outcome.output.lines().collect();
    // The index, what it lists, and then what nothing lists, below its own folder.
    assert_eq!(outcome.status, 1);
    assert!(
        lines[0].contains("/b/alone.xml:1:") && lines[0].contains("loc.host"),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("2 sitemaps, 4 URLs, 1 error,"),
        "{lines:?}"
    );
}
