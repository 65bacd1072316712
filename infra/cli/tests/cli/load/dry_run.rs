//! What a dry run foretells.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::limited::Limited as _;
use crate::load::waymark;

/// Compares what a dry run says and what a stack then lists: pages, parts, and those left out by reason.
#[track_caller]
fn foretold(file: &Path) {
    let file = file.to_str().unwrap();
    let printed = waymark(&["--json", "load", "--dry-run", file]).output_in_time();
    let run: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let mut arguments = vec!["--json", "serve", "--once", "--content", file];
    arguments.extend(["--port", "0", "--dynamodb-port", "0", "--s3-port", "0"]);
    let printed = waymark(&arguments).output_in_time();
    let served: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let left_out = &served["report"]["left_out"];
    let counts = |reasons: &Value| -> BTreeMap<String, u64> {
        let reasons = reasons.as_object().unwrap().iter();
        let count = |tally: &Value| tally["count"].as_u64().unwrap();
        reasons
            .map(|(name, tally)| (name.clone(), count(tally)))
            .collect()
    };
    assert_eq!(run["listed"], left_out["listed"], "{run:#} {left_out:#}");
    assert_eq!(run["parts"], left_out["parts"]);
    assert_eq!(counts(&run["left_out"]), counts(&left_out["reasons"]));
    let series = served["report"]["series"].as_array().unwrap();
    let sitemaps = series.iter().map(|series| {
        let name = format!(
            "{} {}",
            series["site"].as_str().unwrap(),
            series["series"].as_str().unwrap()
        );
        (name, series["sitemaps"].clone())
    });
    let sitemaps: BTreeMap<String, Value> = sitemaps.filter(|(_, n)| *n != 0).collect();
    assert_eq!(run["sitemaps"], json!(sitemaps));
}

#[test]
fn a_dry_run_foretells_what_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let sample = folder.path().join("sample.jsonl");
    fs::write(&sample, waymark(&["sample"]).output_in_time().stdout).unwrap();
    foretold(&sample);
    let records = folder.path().join("wordpress.jsonl");
    let out = records.to_str().unwrap();
    let arguments = [
        "import",
        "examples/wordpress/export.xml",
        "--archives",
        "--settings",
        "--output",
        out,
    ];
    assert!(waymark(&arguments).output_in_time().status.success());
    // A record again with another address, and settings that come last.
    let mut text = fs::read_to_string(&records).unwrap();
    text += "{\"id\":\"www.lantern.example/post/11\",\"type\":\"post\",\"url\":\"https://www.lantern.example/older/\"}\n";
    text += "{\"id\":\"site/www.lantern.example\",\"type\":\"site\",\"types\":{\"page\":{\"public\":false}}}\n";
    fs::write(&records, text).unwrap();
    foretold(&records);
}
