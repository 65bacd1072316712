//! Reads end, and nothing passes because it was not read.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{LIMIT, index, rules, send, serve, urlset, xml};
use crate::limited::waymark as run;

/// Makes something at a path.
#[cfg(unix)]
type Make = fn(&Path);

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
        assert!(told.contains("line"), "{told}");
        assert!(told.contains("is longer than 256 MiB"), "{told}");
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

#[test]
fn a_usual_name_that_cannot_be_read_is_not_passed_over_for_another() {
    let origin = serve(|path, origin, stream| match path {
        "/sitemap.xml" => send(stream, "503 Service Unavailable", "", b""),
        "/sitemap_index.xml" => xml(stream, &index(origin, &["/a.xml"])),
        "/a.xml" => xml(stream, &urlset(origin, &["/1"])),
        _ => send(stream, "403 Forbidden", "", b""),
    });
    let target = format!("{origin}/");
    let folder = tempfile::tempdir().unwrap();
    for verb in [
        &["check", &target][..],
        &["import", &target],
        &["diff", &target, &target],
    ] {
        let quick = ["--retries", "0", "--rate", "0"];
        let outcome = run(folder.path(), &[verb, &quick].concat());
        let told = format!("{verb:?}: {}{}", outcome.output, outcome.errors);
        assert_ne!(outcome.status, 0, "{told}");
        assert!(told.contains("/sitemap.xml: status 503"), "{told}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_called_as_a_sitemap_and_is_no_file_is_not_passed_over() {
    let site = "https://www.example.com";
    let make: [(&str, Make); 3] = [
        ("a pipe", |path| {
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        }),
        ("a folder", |path| fs::create_dir(path).unwrap()),
        ("a link to nowhere", |path| {
            std::os::unix::fs::symlink("nowhere", path).unwrap();
        }),
    ];
    for (what, make) in make {
        // A usual name before another one, and one beside others.
        for (good, bad) in [
            ("sitemap_index.xml", "sitemap.xml"),
            ("page-sitemap.xml", "post-sitemap.xml"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(good), urlset(site, &["/1"])).unwrap();
            make(&folder.path().join(bad));
            for verb in [
                &["check", ".", "--origin", site][..],
                &["import", "."],
                &["diff", ".", "."],
            ] {
                let outcome = run(folder.path(), verb);
                let told = format!("{what} {verb:?}: {}{}", outcome.output, outcome.errors);
                assert_ne!(outcome.status, 0, "{told}");
                assert!(told.contains(bad), "{told}");
            }
        }
    }
}

#[test]
fn what_is_held_of_json_has_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let long = "a".repeat(65 * 1024 * 1024);
    for begin in ["[{\"id\": \"", "{\""] {
        fs::write(folder.path().join("a.json"), format!("{begin}{long}")).unwrap();
        let outcome = run(folder.path(), &["import", "a.json", "--from", "json"]);
        let told = outcome.errors;
        assert_eq!(outcome.status, 2, "{told}");
        assert!(told.contains("an item is longer than 64 MiB"), "{told}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_that_the_user_names_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let record = "{\"id\": \"1\", \"url\": \"https://www.example.com/1\", \"type\": \"post\"}\n";
    let sitemap = urlset("https://www.example.com", &["/1"]);
    fs::write(folder.path().join("b.xml"), &sitemap).unwrap();
    for (arguments, content, expected) in [
        (
            &["load", "--dry-run", "pipe"][..],
            record.to_owned(),
            "records",
        ),
        (&["diff", "pipe", "b.xml"], sitemap.clone(), ""),
    ] {
        let path = pipe.clone();
        let writer = thread::spawn(move || fs::write(path, content).unwrap());
        let outcome = run(folder.path(), arguments);
        let told = format!("{arguments:?}: {}{}", outcome.output, outcome.errors);
        assert_eq!(outcome.status, 0, "{told}");
        assert!(told.contains(expected), "{told}");
        writer.join().unwrap();
    }
    let path = pipe.clone();
    let writer = thread::spawn(move || fs::write(path, record).unwrap());
    let outcome = run(folder.path(), &["load", "--dry-run", "pipe", "--json"]);
    writer.join().unwrap();
    let run: Value = serde_json::from_str(&outcome.output).unwrap();
    assert_eq!(run["listed"], 1, "{run}");
}
