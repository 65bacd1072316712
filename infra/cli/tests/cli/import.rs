//! `waymark import` as a process: what it makes of sitemaps and of what other systems export.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

mod exports;
mod feeds;
mod redirects;
mod site;
mod sitemaps;
mod told;
mod wordpress;

use crate::limited::Limited as _;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn waymark(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waymark"));
    command.args(arguments).env_remove("RUST_LOG");
    command.current_dir(root());
    command.stdin(Stdio::null());
    command
}

/// Runs an import, and returns its records, report and status.
fn import(arguments: &[&str]) -> (Vec<Value>, Value, i32) {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let mut all = vec!["import", "--report", report.to_str().unwrap()];
    all.extend(arguments);
    let output = waymark(&all).output_in_time();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let records = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let report = fs::read_to_string(&report);
    let report = report.unwrap_or_else(|_| panic!("{}", errors(&output)));
    let report = serde_json::from_str(&report).unwrap();
    (records.collect(), report, output.status.code().unwrap())
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Writes a document into a folder, and returns its path.
fn write(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Returns the counts of what is reported by reason.
fn counts(tallies: &Value) -> BTreeMap<String, u64> {
    let tallies = tallies.as_object().unwrap();
    let count = |tally: &Value| tally["count"].as_u64().unwrap();
    tallies
        .iter()
        .map(|(reason, tally)| (reason.clone(), count(tally)))
        .collect()
}

fn expected<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    counts
        .into_iter()
        .map(|(reason, count)| (reason.to_owned(), count))
        .collect()
}

/// Returns the record with this id.
#[track_caller]
fn find<'r>(records: &'r [Value], id: &str) -> &'r Value {
    let found = records.iter().find(|record| record["id"] == id);
    found.unwrap_or_else(|| panic!("no {id} in {records:#?}"))
}

const NAMESPACES: &str = "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
    xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\" \
    xmlns:video=\"http://www.google.com/schemas/sitemap-video/1.1\" \
    xmlns:news=\"http://www.google.com/schemas/sitemap-news/0.9\" xmlns:xhtml=\"http://www.w3.org/1999/xhtml\" \
    xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"";

fn urlset(entries: &str) -> String {
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?><urlset {NAMESPACES}>\n{entries}</urlset>")
}

#[test]
fn a_file_has_its_name_once_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("records.jsonl.gz");
    let arguments = [
        "--json",
        "import",
        "examples/wordpress/posts.csv",
        "--output",
        out.to_str().unwrap(),
    ];
    let output = waymark(&arguments).output_in_time();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["records"], errors(&output).as_str()),
        (&json!(4), "")
    );
    let mut text = String::new();
    let gzip = flate2::read::GzDecoder::new(fs::File::open(&out).unwrap());
    std::io::Read::read_to_string(&mut { gzip }, &mut text).unwrap();
    assert_eq!(text.lines().count(), 4);
    let names = fs::read_dir(folder.path()).unwrap();
    assert_eq!(names.count(), 1);
    // Records and report cannot both go to standard output.
    let output = waymark(&["--json", "import", "examples/wordpress/posts.csv"]).output_in_time();
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("--output"), "{}", errors(&output));
}

#[cfg(unix)]
#[test]
fn no_link_beside_a_file_is_followed_and_a_pipe_is_written_as_it_is() {
    use std::os::unix::fs::{FileTypeExt as _, symlink};
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (out, target) = (path("records.jsonl"), path("target"));
    fs::write(&target, "mine").unwrap();
    symlink(&target, path("records.jsonl.partial")).unwrap();
    symlink(&target, path("records.jsonl.abcdef.partial")).unwrap();
    // A killed import left this one, which is nobody's any more.
    fs::write(path("records.jsonl.ghijkl.partial"), "half").unwrap();
    let run = |to: &Path| {
        let arguments = [
            "import",
            "examples/wordpress/posts.csv",
            "--output",
            to.to_str().unwrap(),
        ];
        waymark(&arguments).output_in_time()
    };
    let output = run(&out);
    assert!(output.status.success(), "{}", errors(&output));
    assert_eq!(fs::read_to_string(&out).unwrap().lines().count(), 4);
    assert_eq!(fs::read(&target).unwrap(), b"mine");
    assert!(path("records.jsonl.abcdef.partial").is_symlink());
    assert!(!path("records.jsonl.ghijkl.partial").exists());
    // One that fails leaves nothing, and what was there is as it was.
    fs::create_dir(path("folder")).unwrap();
    let count = || fs::read_dir(folder.path()).unwrap().count();
    let before = count();
    let output = run(&path("folder"));
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    assert_eq!(count(), before);

    let pipe = path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let reader = Command::new("cat")
        .arg(&pipe)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = run(&pipe);
    assert!(output.status.success(), "{}", errors(&output));
    let read = reader.output_in_time().stdout;
    assert_eq!(String::from_utf8(read).unwrap().lines().count(), 4);
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let many: String = (0..50_000).fold(String::new(), |mut text, at| {
        writeln!(text, "https://www.example.com/{at}").unwrap();
        text
    });
    let file = write(&folder, "urls.txt", &many);
    let mut child = waymark(&["import", &file])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    let output = child.output_in_time();
    assert_eq!(
        (output.status.code(), first.starts_with('{')),
        (Some(0), true),
        "{}",
        errors(&output)
    );
}

#[test]
fn what_the_documentation_shows_is_what_happens() {
    crate::documented::check("docs/cli/import.md");
}
