//! `waymark crawl` as its users run it: on files, folders, patterns and standard input. It also holds `docs/cli/crawl.md` to what the
//! command prints. A bucket is in `on_aws`.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;

use crate::documented;
use crate::limited::{Limited as _, Outcome, waymark};

const PAGE: &str = "docs/cli/crawl.md";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn example(name: &str) -> String {
    fs::read_to_string(root().join("examples").join(name)).unwrap()
}

/// Returns a folder with the example's log in two halves, one of them packed, and its records.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs/older");
    fs::create_dir_all(&logs).unwrap();
    let log = example("crawl/access.log");
    let half = log.match_indices('\n').nth(6).unwrap().0 + 1;
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&log.as_bytes()[..half]).unwrap();
    fs::write(logs.join("access.log.1.gz"), packed.finish().unwrap()).unwrap();
    fs::write(folder.path().join("logs/access.log"), &log[half..]).unwrap();
    fs::write(
        folder.path().join("records.jsonl"),
        example("records.jsonl"),
    )
    .unwrap();
    folder
}

fn crawl(folder: &TempDir, arguments: &[&str]) -> Outcome {
    let usual = ["crawl", "--sitemaps", "records.jsonl"];
    waymark(folder.path(), &[&usual[..], arguments].concat())
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.output).unwrap_or_else(|_| panic!("{}", outcome.errors))
}

#[test]
fn the_documentation_shows_what_the_command_prints_and_has_each_option() {
    documented::check(PAGE);
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let help = waymark(root(), &["crawl", "--help"]).output;
    for flag in help
        .split_whitespace()
        .filter(|word| word.starts_with("--"))
    {
        let flag = flag.trim_matches([',', '.', ']']);
        let is_general = matches!(flag, "--color" | "--help" | "--");
        assert!(
            is_general || page.contains(flag),
            "{flag} is not in the documentation"
        );
    }
}

#[test]
fn a_folder_a_pattern_and_standard_input_are_the_same_log() {
    let folder = folder();
    let from_folder = crawl(&folder, &["logs", "--json"]);
    let of_folder = json(&from_folder);
    assert_eq!(
        (
            of_folder["logs"]["lines"].as_u64(),
            of_folder["logs"]["files"].as_u64()
        ),
        (Some(13), Some(2))
    );
    assert_eq!(of_folder["total"]["ever"], 2);
    let pattern = json(&crawl(&folder, &["logs/**/access.log*", "--json"]));
    assert_eq!(pattern, of_folder);
    // No address of a client, and no query.
    for secret in ["66.249", "198.51", "203.0.113", "utm_source"] {
        assert!(!from_folder.output.contains(secret), "{secret}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_waymark"));
    command
        .args(["crawl", "-", "--sitemaps", "records.jsonl", "--json"])
        .current_dir(folder.path())
        .stdin(Stdio::from(
            fs::File::open(root().join("examples/crawl/access.log")).unwrap(),
        ));
    let output = command.output_in_time();
    let from_stdin: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(from_stdin["total"], of_folder["total"]);
    assert_eq!(crawl(&folder, &["logs/*.zst"]).status, 2);
    let twice = crawl(&folder, &["-", "-"]);
    assert!(
        twice.errors.contains("can be read only once"),
        "{}",
        twice.errors
    );
}

#[test]
fn the_status_says_whether_all_was_read_and_enough_was_fetched() {
    let folder = folder();
    assert_eq!(crawl(&folder, &["logs", "--fail-under", "66%"]).status, 0);
    let under = crawl(&folder, &["logs", "--fail-under", "67%"]);
    assert_eq!(under.status, 1);
    assert!(
        under.errors.contains("2 of 3 listed pages were fetched"),
        "{}",
        under.errors
    );
    let logs = folder.path().join("logs");
    let packed = fs::read(logs.join("older/access.log.1.gz")).unwrap();
    fs::write(
        logs.join("older/access.log.1.gz"),
        &packed[..packed.len() - 9],
    )
    .unwrap();
    let cut = crawl(&folder, &["logs", "--json"]);
    assert_eq!(cut.status, 1, "{}", cut.errors);
    assert!(cut.errors.contains("access.log.1.gz: "), "{}", cut.errors);
    fs::write(logs.join("photo.png"), b"\x89PNG\n\n").unwrap();
    let other = crawl(&folder, &["logs/access.log", "logs/photo.png"]);
    assert_eq!(other.status, 1);
    assert!(
        other.errors.contains("photo.png") && other.errors.contains("left out"),
        "{}",
        other.errors
    );
    let alone = crawl(&folder, &["logs/photo.png"]);
    assert_eq!((alone.status, alone.output.as_str()), (2, ""));
    for (arguments, expected) in [
        (&["logs", "--bot", "Nobot"][..], "no bot of this name"),
        (&["logs", "--from", "iis"], "no form of log is called"),
        (&["logs", "--fail-under", "120%"], "percent"),
        (&["logs", "--bots", "logs"], "json"),
        (&["none.log"], "none.log"),
    ] {
        let refused = crawl(&folder, arguments);
        assert_eq!(refused.status, 2, "{arguments:?}");
        assert!(
            refused.errors.contains(expected),
            "{arguments:?}: {}",
            refused.errors
        );
    }
}

#[test]
fn bots_may_be_chosen_by_name_purpose_and_proof() {
    let folder = folder();
    let requests = |arguments: &[&str]| {
        let report = json(&crawl(&folder, &[&["logs", "--json"], arguments].concat()));
        report["logs"]["requests"].as_u64().unwrap()
    };
    assert_eq!(requests(&[]), 11);
    assert_eq!(requests(&["--bot", "claudebot"]), 2);
    assert_eq!(requests(&["--purpose", "search"]), 9);
    assert_eq!(
        requests(&["--purpose", "training", "--purpose", "search"]),
        11
    );
    assert_eq!(requests(&["--verified"]), 9);
    // With newer lists the log's address is not Googlebot's.
    let lists = folder.path().join("lists");
    fs::create_dir(&lists).unwrap();
    let list =
        r#"{"creationTime": "2026-11-20T00:00:00", "prefixes": [{"ipv4Prefix": "192.0.2.0/24"}]}"#;
    fs::write(lists.join("googlebot.json"), list).unwrap();
    assert_eq!(requests(&["--bots", "lists"]), 2);
    fs::write(lists.join("googlebot.json"), list.replace("/24", "/240")).unwrap();
    let bad = crawl(&folder, &["logs", "--bots", "lists"]);
    assert!(
        bad.errors.contains("googlebot.json") && bad.errors.contains("/240"),
        "{}",
        bad.errors
    );
}

#[test]
fn the_report_is_also_a_page_csv_and_addresses() {
    let folder = folder();
    let page = folder.path().join("report.html");
    assert_eq!(crawl(&folder, &["logs", "--html", "report.html"]).status, 0);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Content-Security-Policy") && page.contains("post-sitemap.xml"));
    assert!(!page.contains("198.51.100"), "no address of a client");
    let csv = crawl(&folder, &["logs", "--csv"]).output;
    let columns = |line: &str| line.split(',').count();
    let count = columns(csv.lines().next().unwrap());
    assert!(csv.lines().all(|line| columns(line) == count), "{csv}");
    let addresses =
        |arguments: &[&str]| crawl(&folder, &[&["logs", "--urls"], arguments].concat()).output;
    assert_eq!(
        addresses(&["never"]),
        "https://www.lantern.example/category/soup/\n"
    );
    assert_eq!(addresses(&["gone"]), "https://www.lantern.example/stew/\n");
    assert_eq!(addresses(&["stale"]), "");
    assert_eq!(addresses(&["never", "--changed-within", "1s"]), "");
}

#[test]
fn reasons_are_read_unless_the_user_says_no() {
    let folder = folder();
    let of = |arguments: &[&str]| json(&crawl(&folder, &[&["logs", "--json"], arguments].concat()));
    let (with, without) = (of(&[]), of(&["--no-reasons"]));
    let reasons = |report: &Value| {
        let rows = report["unlisted"].as_array().unwrap().iter();
        let reasons = rows.map(|row| row["reason"].as_str().unwrap().to_owned());
        reasons.collect::<Vec<_>>()
    };
    assert!(reasons(&with).contains(&"noindex".to_owned()), "{with}");
    assert!(
        reasons(&without).contains(&"unknown".to_owned()),
        "{without}"
    );
    assert!(
        !reasons(&without).contains(&"noindex".to_owned()),
        "{without}"
    );
    assert_eq!(with["total"], without["total"]);
}

#[test]
fn parquet_is_read_by_a_command_that_has_it_and_refused_with_the_remedy_by_others() {
    let folder = folder();
    let table = root().join("shared/crawl/tests/tables/snappy.parquet");
    fs::copy(&table, folder.path().join("logs/table.parquet")).unwrap();
    let others = json(&crawl(&folder, &["logs/access.log", "--json"]));
    let both = crawl(
        &folder,
        &["logs/access.log", "logs/table.parquet", "--json"],
    );
    let alone = crawl(&folder, &["logs/table.parquet", "--json"]);
    // `--from` is of lines, and Parquet has none.
    let said = crawl(
        &folder,
        &["logs/table.parquet", "--json", "--from", "combined"],
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_waymark"));
    command
        .args(["crawl", "-", "--sitemaps", "records.jsonl", "--json"])
        .current_dir(folder.path())
        .stdin(Stdio::from(fs::File::open(&table).unwrap()));
    let piped = command.output_in_time();
    if cfg!(feature = "parquet") {
        assert_eq!((both.status, alone.status), (0, 0), "{}", both.errors);
        let (alone, both) = (json(&alone), json(&both));
        assert_eq!(alone["logs"]["lines"], 7);
        assert_eq!(alone["logs"]["forms"][0]["form"], "cloudfront-parquet");
        assert_eq!(json(&said), alone);
        assert_eq!(both["logs"]["files"], 2);
        let piped: Value = serde_json::from_slice(&piped.stdout).unwrap();
        assert_eq!(piped["logs"]["lines"], 7);
    } else {
        let remedy = "build it with `cargo build --features parquet`, or choose JSON or text";
        assert_eq!((both.status, alone.status, said.status), (1, 2, 2));
        assert_eq!(json(&both)["total"], others["total"]);
        let piped = String::from_utf8(piped.stderr).unwrap();
        for errors in [&both.errors, &alone.errors, &said.errors, &piped] {
            assert!(errors.contains(remedy), "{errors}");
        }
    }
}

#[test]
fn the_script_for_cron_writes_a_page_and_is_a_gate() {
    let folder = folder();
    let program = Path::new(env!("CARGO_BIN_EXE_waymark")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let run = |logs: &str| {
        let mut command = Command::new(root().join("examples/crawl/weekly.sh"));
        command
            .args(["records.jsonl", logs, "."])
            .current_dir(folder.path())
            .env("PATH", format!("{}:{path}", program.display()))
            .stdin(Stdio::null());
        let output = command.output_in_time();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (status, errors) = run("logs/**/access.log*");
    assert_eq!(status, Some(1), "{errors}");
    assert!(errors.contains("2 of 3 listed pages"), "{errors}");
    let page = fs::read_to_string(folder.path().join("crawlers.html")).unwrap();
    assert!(page.contains("post-sitemap.xml"));
    fs::remove_file(folder.path().join("crawlers.html")).unwrap();
    assert_eq!(run("none/*.log").0, Some(2));
    assert!(!folder.path().join("crawlers.html").exists());
}
