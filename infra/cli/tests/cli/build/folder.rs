//! What a build does to the folder that it writes into, and to what is there already.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use serde_json::{Value, json};

use super::{AT, LIMIT, OWN, files, pages};
use crate::limited::{Limited as _, Outcome, waymark};

/// Returns pages of a site, of which some are drafts.
pub(super) fn content(host: &str, pages: &[(&str, &str)]) -> String {
    let line = |(id, status): &(&str, &str)| {
        let url = format!("https://{host}/{id}");
        let line =
            json!({"id": format!("{host}/{id}"), "type": "post", "url": url, "status": status});
        line.to_string() + "\n"
    };
    pages.iter().map(line).collect()
}

pub(super) fn build(folder: &Path, options: &[&str]) -> Outcome {
    waymark(
        folder,
        &[
            &["build", "content.jsonl", "--out", "out", "--at", &AT],
            options,
        ]
        .concat(),
    )
}

/// Runs a build that succeeds, and returns what it says on stderr.
pub(super) fn built(folder: &Path, content: &str, options: &[&str]) -> String {
    fs::write(folder.join("content.jsonl"), content).unwrap();
    let outcome = build(folder, options);
    assert_eq!(outcome.status, 0, "{}{}", outcome.output, outcome.errors);
    outcome.errors
}

/// Runs a build that is refused, after which all is as it was, and returns what it says.
pub(super) fn refused(folder: &Path, content: &str, options: &[&str]) -> String {
    fs::write(folder.join("content.jsonl"), content).unwrap();
    let out = folder.join("out");
    let state = || out.exists().then(|| (files(&out), manifest(&out)));
    let before = state();
    let outcome = build(folder, options);
    assert_eq!(
        (outcome.status, outcome.output.as_str()),
        (2, ""),
        "{}",
        outcome.errors
    );
    let after = state();
    assert!(before == after || before.is_none() && after == Some(Default::default()));
    assert!(!out.join(OWN).join("new").exists());
    outcome.errors
}

/// Returns what the builds say that they have made.
pub(super) fn manifest(out: &Path) -> Vec<String> {
    let Ok(text) = fs::read(out.join(OWN).join("files.json")) else {
        return Vec::new();
    };
    let manifest: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(manifest["version"], 1);
    let names = manifest["files"].as_array().unwrap().iter();
    names
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

fn names(files: BTreeMap<String, Vec<u8>>) -> Vec<String> {
    files.into_keys().collect()
}

#[test]
fn the_content_never_decides_the_layout() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let a = content("a.example", &[("1", "published"), ("2", "draft")]);
    built(folder, &a, &[]);
    let one = files(&folder.join("out"));
    assert!(one.contains_key("post-sitemap.xml"));
    assert_eq!(manifest(&folder.join("out")), names(one.clone()));

    // Drafts of another site, and pages whose URL is refused, make no site.
    let long = "x".repeat(3_000);
    for other in [
        content("b.example", &[("1", "draft")]),
        json!({"id": "b", "type": "post", "url": format!("https://b.example/{long}")}).to_string(),
        json!({"id": "b", "type": "post", "url": "https://b.example/1", "noindex": true})
            .to_string(),
        json!({"id": "b", "type": "post", "url": "https://b.example/1", "site": "a.example"})
            .to_string(),
    ] {
        fs::write(folder.join("content.jsonl"), a.clone() + &other).unwrap();
        let outcome = build(folder, &[]);
        // A refused URL is a malformed line.
        let expected = i32::from(other.contains(&long));
        assert_eq!(outcome.status, expected, "{}", outcome.errors);
        assert_eq!(files(&folder.join("out")), one, "{other:.200}");
    }
    // One page of another site does, and so do its settings. They are refused, and nothing is changed.
    let b = content("b.example", &[("1", "published"), ("2", "published")]);
    let said = refused(folder, &(a.clone() + &b), &[]);
    assert_eq!(
        said,
        "waymark: nothing was written: the content has several sites: a.example (1 page, such as a.example/1), \
         b.example (2 pages, \
         such as b.example/1). Build each site from its own records, or give --per-site for one folder per site\n"
    );
    let settings = json!({"id": "site/b.example", "type": "site", "public": false}).to_string();
    let said = refused(folder, &(a.clone() + &settings), &[]);
    assert!(
        said.contains("(1 page, such as a.example/1), b.example. Build"),
        "{said}"
    );

    // Of drafts alone there is a site if they are of one, as ever.
    let drafts = content("c.example", &[("1", "draft")]);
    let other = tempfile::tempdir().unwrap();
    built(other.path(), &drafts, &[]);
    assert!(files(&other.path().join("out")).contains_key("sitemap_index.xml"));
    let drafts = drafts + &content("d.example", &[("1", "draft")]);
    assert!(refused(other.path(), &drafts, &[]).contains("c.example, d.example. Build"));

    // With --per-site even one has a folder.
    let said = built(folder, &a, &["--per-site"]);
    assert!(
        said.contains("out has files that only earlier builds wrote: "),
        "{said}"
    );
    let both = content("a.example:8443", &[("1", "published")])
        + &a
        + &content("b.example", &[("1", "draft")])
        + &settings;
    let said = built(folder, &both, &["--per-site", "--prune"]);
    assert!(
        said.starts_with("waymark: deleted in out: feed.atom, post-sitemap.xml, "),
        "{said}"
    );
    let all = files(&folder.join("out"));
    let text = |name: &str| String::from_utf8(all[name].clone()).unwrap();
    assert!(text("a.example/post-sitemap.xml").contains("<loc>https://a.example/1</loc>"));
    assert!(
        text("a.example_8443/post-sitemap.xml").contains("<loc>https://a.example:8443/1</loc>")
    );
    assert!(text("b.example/robots.txt").contains("Disallow: /"));
    assert_eq!(all["a.example/post-sitemap.xml"], one["post-sitemap.xml"]);
    assert!(all.keys().all(|name| name.contains('/')));
    assert_eq!(manifest(&folder.join("out")), names(all));

    // And back: the folders are stale, and they go with their last file.
    fs::write(folder.join("out/b.example/mine.html"), "mine").unwrap();
    let said = built(folder, &a, &[]);
    assert!(
        said.contains("earlier builds wrote: a.example/")
            && said.contains("Delete them with --prune"),
        "{said}"
    );
    built(folder, &a, &["--prune"]);
    let mut expected = one.clone();
    expected.insert("b.example/mine.html".to_owned(), b"mine".to_vec());
    assert_eq!(files(&folder.join("out")), expected);
    assert!(!folder.join("out/a.example").exists());
}

#[test]
fn what_no_build_made_is_not_replaced_and_what_one_made_can_be_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let out = folder.join("out");
    fs::create_dir(&out).unwrap();
    let settings = json!({"id": "site/a.example", "type": "site", "indexnow_key": "0123456789abcdef", "stylesheet": "css"});
    let one = content("a.example", &[("1", "published")]) + &settings.to_string();
    for (name, text) in [
        ("robots.txt", "User-agent: *\n"),
        ("sitemap.css", "p {}"),
        ("index.html", "<p>"),
    ] {
        fs::write(out.join(name), text).unwrap();
    }
    let said = refused(folder, &one, &[]);
    assert!(
        said.contains("nothing was written: out has files that no build wrote: sitemap.css, robots.txt. Move them \
                       away"),
        "{said}"
    );
    built(folder, &one, &["--force"]);
    let first = files(&out);
    assert_eq!(first["index.html"], b"<p>");
    assert!(first["robots.txt"].ends_with(b"Sitemap: https://a.example/sitemap_index.xml\n"));
    // What a build made the next one replaces, and a lost list is made again while nothing has changed.
    assert_eq!(built(folder, &one, &[]), "");
    fs::remove_file(out.join(OWN).join("files.json")).unwrap();
    assert_eq!(built(folder, &one, &[]), "");
    assert_eq!(files(&out), first);

    // Another type, no key and no style sheet: the old files are named until they are deleted. Those that no build made stay.
    fs::write(out.join("old-sitemap.xml"), "mine").unwrap();
    let two = content("a.example", &[("1", "published")]).replace("\"post\"", "\"page\"");
    let arguments = ["--json"];
    fs::write(folder.join("content.jsonl"), &two).unwrap();
    let outcome = build(folder, &arguments);
    let stale = [
        "0123456789abcdef.txt",
        "post-sitemap.xml",
        "post-sitemap.xml.gz",
    ];
    let told: Value = serde_json::from_str(&outcome.output).unwrap();
    assert_eq!(
        (&told["stale"], &told["pruned"]),
        (&json!(stale), &json!([]))
    );
    assert_eq!(
        told["sites"][0]["stale"],
        json!([
            "0123456789abcdef.txt",
            "old-sitemap.xml",
            "post-sitemap.xml",
            "post-sitemap.xml.gz"
        ])
    );
    for said in [
        "out has files that only earlier builds wrote: 0123456789abcdef.txt, post-sitemap.xml, post-sitemap.xml.gz. \
         Delete them with --prune",
        "out has sitemaps that this build neither wrote nor lists in an index: old-sitemap.xml. Delete them",
    ] {
        assert!(outcome.errors.contains(said), "{}", outcome.errors);
    }
    let told: Value = serde_json::from_str(&build(folder, &["--json", "--prune"]).output).unwrap();
    assert_eq!(
        (&told["stale"], &told["pruned"]),
        (&json!([]), &json!(stale))
    );
    let left = files(&out);
    assert!(stale.iter().all(|name| !left.contains_key(*name)));
    assert_eq!(
        (&left["old-sitemap.xml"], &left["index.html"]),
        (&b"mine".to_vec(), &b"<p>".to_vec())
    );
    // What the user has deleted is not missed, and a file of the user's under its name is theirs.
    let three = content("a.example", &[("1", "published")]);
    built(folder, &three, &[]);
    fs::remove_file(out.join("page-sitemap.xml")).unwrap();
    built(folder, &three, &[]);
    fs::write(out.join("page-sitemap.xml"), "mine").unwrap();
    built(folder, &three, &["--prune"]);
    assert_eq!(fs::read(out.join("page-sitemap.xml")).unwrap(), b"mine");
}

#[test]
fn a_list_that_is_not_the_builds_is_refused_and_leads_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let one = content("a.example", &[("1", "published")]);
    let victims = ["robots.txt", "out/index.html", "out/.htaccess"];
    built(folder, &one, &[]);
    for name in victims {
        fs::write(folder.join(name), "mine").unwrap();
    }
    let absolute = folder.join("robots.txt");
    for name in [
        "../robots.txt",
        "a/../../robots.txt",
        "./robots.txt",
        "a//robots.txt",
        "index.html",
        ".htaccess",
        "a/b/robots.txt",
        "a\\robots.txt",
        "C:robots.txt",
        "..",
        "",
        absolute.to_str().unwrap(),
    ] {
        let list = json!({"about": "", "version": 1, "files": ["robots.txt", name]});
        let list_path = folder.join("out").join(OWN).join("files.json");
        fs::write(&list_path, list.to_string()).unwrap();
        let outcome = build(folder, &["--prune", "--force"]);
        assert_eq!(outcome.status, 2, "{name}");
        assert!(
            outcome
                .errors
                .contains("the list of files that builds wrote"),
            "{name}: {}",
            outcome.errors
        );
    }
    for list in ["", "{", "{}", r#"{"about": "", "version": 2, "files": []}"#] {
        fs::write(folder.join("out").join(OWN).join("files.json"), list).unwrap();
        let outcome = build(folder, &["--prune"]);
        assert_eq!(outcome.status, 2, "{list}");
        assert!(
            outcome.errors.contains("Delete it, and give --force once"),
            "{}",
            outcome.errors
        );
    }
    for name in victims {
        assert_eq!(fs::read(folder.join(name)).unwrap(), b"mine", "{name}");
    }
}

#[test]
fn types_that_differ_in_case_alone_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let one = content("a.example", &[("1", "published")]);
    let two = content("a.example", &[("2", "published")]).replace("\"post\"", "\"Post\"");
    fs::write(folder.join("content.jsonl"), one + &two).unwrap();
    let outcome = build(folder, &["--json"]);
    let clashes = [
        ["Post-sitemap.xml", "post-sitemap.xml"],
        ["Post-sitemap.xml.gz", "post-sitemap.xml.gz"],
    ];
    // A disk that ignores case cannot hold both.
    if folder.join("OUT").exists() {
        assert_eq!(outcome.status, 2, "{}", outcome.errors);
        assert!(
            outcome.errors.contains("ignores case"),
            "{}",
            outcome.errors
        );
        return;
    }
    assert_eq!(outcome.status, 0, "{}", outcome.errors);
    let told: Value = serde_json::from_str(&outcome.output).unwrap();
    assert_eq!(told["case_clashes"], json!(clashes));
    let said = "file names in out differ only in case: Post-sitemap.xml, post-sitemap.xml, Post-sitemap.xml.gz, \
                post-sitemap.xml.gz. On a disk that ignores case one overwrites the other: rename a type";
    assert!(outcome.errors.contains(said), "{}", outcome.errors);
}

#[test]
fn two_builds_at_once_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sides = ["2026-01-", "2026-02-"].map(|month| pages(1_500).replace("2026-01-", month));
    let mut expected = Vec::new();
    for (n, side) in sides.iter().enumerate() {
        fs::write(folder.join(format!("{n}.jsonl")), side).unwrap();
        super::build(folder, &format!("{n}.jsonl"), &format!("alone{n}"));
        expected.push(files(&folder.join(format!("alone{n}"))));
    }
    assert_ne!(expected[0], expected[1]);
    for _ in 0..4 {
        let start = |n: usize| {
            let content = format!("{n}.jsonl");
            let mut command = Command::new(env!("CARGO_BIN_EXE_waymark"));
            command.args(["build", &content, "--out", "both", "--at", &AT]);
            command.current_dir(folder).stdin(Stdio::null());
            command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let running = [start(0), start(1)];
        for process in running {
            let output = process.output_in_time();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        assert!(expected.contains(&files(&folder.join("both"))));
    }
}

#[test]
fn a_build_waits_for_another_that_writes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let one = content("a.example", &[("1", "published")]);
    built(folder, &one, &[]);
    let lock = File::options()
        .write(true)
        .open(folder.join("out").join(OWN).join("lock"))
        .unwrap();
    lock.lock().unwrap();
    let before = files(&folder.join("out"));
    fs::write(folder.join("content.jsonl"), one.replace("/1", "/2")).unwrap();
    let mut process = Command::new(env!("CARGO_BIN_EXE_waymark"))
        .args(["build", "content.jsonl", "--out", "out", "--at", &AT])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, lines) = mpsc::channel();
    let errors = BufReader::new(process.stderr.take().unwrap());
    let reading = std::thread::spawn(move || {
        for line in errors.lines() {
            sender.send(line.unwrap()).unwrap();
        }
    });
    let line = lines.recv_timeout(LIMIT).unwrap();
    assert_eq!(
        line,
        "waymark: waiting for another build that is writing into out"
    );
    assert_eq!(files(&folder.join("out")), before);
    lock.unlock().unwrap();
    assert!(process.output_in_time().status.success());
    assert_ne!(files(&folder.join("out")), before);
    reading.join().unwrap();
}
