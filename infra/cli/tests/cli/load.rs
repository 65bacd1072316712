//! `waymark load` and `waymark export` as processes, against the local stack, and the loader against a table that throttles.

#![cfg(feature = "serve")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use aws::Aws;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType,
    ScalarAttributeType,
};
use serde_json::{Value, json};

mod dry_run;
mod throttling;

use crate::documented::Running;
use crate::limited::Limited as _;

type Item = HashMap<String, AttributeValue>;

/// Far longer than anything here takes, also on a loaded machine.
const LIMIT: Duration = Duration::from_secs(240);

fn waymark(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waymark"));
    command
        .args(arguments)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null());
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command
}

/// The local stack, without content.
struct Stack {
    _process: Running,
    dynamodb: String,
    ports: [String; 4],
    aws: Aws,
    folder: tempfile::TempDir,
}

impl Stack {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty.jsonl");
        fs::write(&empty, "").unwrap();
        let mut arguments = vec!["--json", "serve", "--content", empty.to_str().unwrap()];
        arguments.extend(["--port", "0", "--dynamodb-port", "0", "--s3-port", "0"]);
        let mut process = Running(waymark(&arguments).stdout(Stdio::piped()).spawn().unwrap());
        let out = process.0.stdout.take().unwrap();
        let mut served = serde_json::Deserializer::from_reader(out).into_iter::<Value>();
        let served = served.next().unwrap().unwrap();
        let text = |name: &str| served[name].as_str().unwrap().to_owned();
        let (dynamodb, s3) = (text("dynamodb"), text("s3"));
        let port = |url: &str| url.rsplit_once(':').unwrap().1.to_owned();
        Self {
            _process: process,
            ports: [
                "--dynamodb-port".to_owned(),
                port(&dynamodb),
                "--s3-port".to_owned(),
                port(&s3),
            ],
            aws: Aws::on_loopback(&dynamodb, &s3, Vec::new()),
            dynamodb,
            folder,
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = waymark(arguments);
        command.args(&self.ports);
        command
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    async fn create(&self, table: &str) {
        let client = self.aws.dynamodb().await;
        let key = KeySchemaElement::builder()
            .attribute_name("id")
            .key_type(KeyType::Hash);
        let id = AttributeDefinition::builder()
            .attribute_name("id")
            .attribute_type(ScalarAttributeType::S);
        client
            .create_table()
            .table_name(table)
            .key_schema(key.build().unwrap())
            .attribute_definitions(id.build().unwrap())
            .billing_mode(BillingMode::PayPerRequest)
            .send()
            .await
            .unwrap();
    }

    async fn items(&self, table: &str) -> BTreeMap<String, Item> {
        let client = self.aws.dynamodb().await;
        let mut items = BTreeMap::new();
        let mut after = None;
        loop {
            let scan = client
                .scan()
                .table_name(table)
                .set_exclusive_start_key(after);
            let page = scan.send().await.unwrap();
            for item in page.items.unwrap_or_default() {
                items.insert(item["id"].as_s().unwrap().clone(), item);
            }
            after = page.last_evaluated_key;
            if after.is_none() {
                return items;
            }
        }
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[track_caller]
fn status(mut command: Command, expected: i32) -> String {
    let output = command.output_in_time();
    assert_eq!(
        output.status.code(),
        Some(expected),
        "{command:?}: {}",
        errors(&output)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn page(id: &str, title: &str) -> String {
    json!({"id": id, "type": "post", "url": format!("https://www.example.com/{id}"), "title": title}).to_string()
}

/// Waits for a process, no longer than `limit`.
fn ends_within(child: &mut Child, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_killed_at_ten_points_goes_on_and_loses_no_line() {
    let stack = Stack::start();
    stack.create("bulk").await;
    let (mut text, mut malformed) = (String::new(), String::new());
    for at in 0..6_000 {
        // Some ids come twice, near and far: the later one stands.
        let id = match at % 100 {
            7 => at - 1,
            50 if at > 3_000 => at - 3_000,
            _ => at,
        };
        let line = if at % 1_000 == 500 {
            format!("{{\"id\": {at}, oops")
        } else {
            page(&id.to_string(), &format!("title {at}"))
        };
        if at % 1_000 == 500 {
            writeln!(malformed, "{line}").unwrap();
        }
        writeln!(text, "{line}").unwrap();
    }
    let mut expected: BTreeMap<String, Value> = BTreeMap::new();
    for line in text.lines() {
        if let Ok(record) = serde_json::from_str::<Value>(line) {
            expected.insert(record["id"].as_str().unwrap().to_owned(), record);
        }
    }
    let file = stack.file("records.jsonl", &text);
    let journal = stack.folder.path().join("records.jsonl.journal");
    let arguments = [
        "load",
        file.to_str().unwrap(),
        "--table",
        "bulk",
        "--rate",
        "300",
    ];
    let seed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .subsec_nanos();
    println!("seed {seed}");
    let mut random = u64::from(seed) | 1;
    let noted = || {
        let text = fs::read(&journal).ok()?;
        serde_json::from_slice::<Value>(&text).unwrap()["line"].as_u64()
    };
    let mut last = 0;
    for round in 0..10 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let mut command = stack.command(&arguments);
        let mut process = Running(command.stderr(Stdio::null()).spawn().unwrap());
        // Some are killed before they have begun, the others once they went on.
        let deadline = Instant::now() + LIMIT;
        while round % 3 != 0 && noted().unwrap_or(0) <= last {
            assert!(
                Instant::now() < deadline,
                "it does not go on from line {last}"
            );
            thread::sleep(Duration::from_millis(5));
        }
        let pause = Duration::from_millis((random >> 33) % 1_000);
        assert!(
            !ends_within(&mut process.0, pause),
            "it ended before it was killed"
        );
        drop(process); // SIGKILL
        let line = noted().unwrap_or(0);
        assert!(line >= last, "the journal went back from {last} to {line}");
        last = line;
    }
    assert!(last > 0 && last < 6_000, "up to line {last}");
    // Ctrl-C ends it, too, and it says how to go on.
    let mut command = stack.command(&arguments);
    let mut process = Running(command.stderr(Stdio::piped()).spawn().unwrap());
    let deadline = Instant::now() + LIMIT;
    while noted().unwrap_or(0) <= last {
        assert!(
            Instant::now() < deadline,
            "it does not go on from line {last}"
        );
        thread::sleep(Duration::from_millis(5));
    }
    let id = process.0.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    assert!(ends_within(&mut process.0, LIMIT), "Ctrl-C does not end it");
    let mut told = String::new();
    let mut err = process.0.stderr.take().unwrap();
    err.read_to_string(&mut told).unwrap();
    let status_of = process.0.wait().unwrap().code();
    assert!(
        told.contains("run the same command again to resume") && status_of == Some(2),
        "{status_of:?} {told}"
    );
    let mut arguments = arguments;
    arguments[5] = "0";
    let printed = status(stack.command(&arguments), 1);
    assert!(printed.contains("malformed 6 lines"), "{printed}");
    let found = stack.items("bulk").await;
    let found: BTreeMap<String, Value> = found
        .into_iter()
        .map(|(id, item)| (id, serde_dynamo::from_item(item).unwrap()))
        .collect();
    assert!(found == expected, "{} of {}", found.len(), expected.len());
    let beside = fs::read_to_string(stack.folder.path().join("records.jsonl.malformed.jsonl"));
    assert_eq!(beside.unwrap(), malformed);
    assert!(!journal.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_loaded_into_another_table_gives_equal_items() {
    let stack = Stack::start();
    let client = stack.aws.dynamodb().await;
    for table in ["table-a", "table-b", "table-c"] {
        stack.create(table).await;
    }
    let s = |text: &str| AttributeValue::S(text.to_owned());
    let n = |text: &str| AttributeValue::N(text.to_owned());
    for at in 0..300 {
        let mut item = Item::from([
            ("id".to_owned(), s(&format!("post/{at}"))),
            (
                "type".to_owned(),
                s(if at % 2 == 0 { "post" } else { "page" }),
            ),
            (
                "url".to_owned(),
                s(&format!("https://www.example.com/{at}/ü\u{202e}\u{1b}")),
            ),
            (
                "modified_at".to_owned(),
                s(&format!("2026-{:02}-01", at % 12 + 1)),
            ),
            ("weight".to_owned(), n("0.25")),
            ("count".to_owned(), n("-12")),
            ("noindex".to_owned(), AttributeValue::Bool(false)),
            ("nothing".to_owned(), AttributeValue::Null(true)),
            (
                "list".to_owned(),
                AttributeValue::L(vec![
                    s("a"),
                    AttributeValue::M(Item::from([("b".to_owned(), n("1"))])),
                ]),
            ),
        ]);
        if at < 10 {
            item.insert(
                "texts".to_owned(),
                AttributeValue::Ss(vec!["x".to_owned(), "y".to_owned()]),
            );
            item.insert(
                "numbers".to_owned(),
                AttributeValue::Ns(vec!["1".to_owned(), "2.5".to_owned()]),
            );
            item.insert(
                "binary".to_owned(),
                AttributeValue::B(Blob::new([0, 255, 7])),
            );
            item.insert(
                "long".to_owned(),
                n("3.1415926535897932384626433832795028841"),
            );
        }
        let put = client.put_item().table_name("table-a").set_item(Some(item));
        put.send().await.unwrap();
    }
    let original = stack.items("table-a").await;
    // Typed, through a gzipped file.
    let file = stack.folder.path().join("a.jsonl.gz");
    let file = file.to_str().unwrap();
    status(
        stack.command(&["export", "--table", "table-a", "--typed", "--output", file]),
        0,
    );
    status(stack.command(&["load", file, "--table", "table-b"]), 0);
    assert!(stack.items("table-b").await == original);
    // Plain, through a pipe: all but those that it says.
    let mut export = stack.command(&["export", "--table", "table-a"]);
    let mut export = export
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut load = stack.command(&["load", "-", "--table", "table-c"]);
    load.stdin(export.stdout.take().unwrap());
    status(load, 0);
    let exported = export.output_in_time();
    let told = errors(&exported);
    assert!(
        told.contains("exported 300 records") && told.contains("10 of them"),
        "{told}"
    );
    let plain = stack.items("table-c").await;
    let differ = original
        .iter()
        .filter(|(id, item)| plain.get(*id) != Some(item));
    assert_eq!((differ.count(), plain.len()), (10, 300));
    // A part.
    let arguments = [
        "export",
        "--table",
        "table-a",
        "--type",
        "page",
        "--since",
        "2026-10-01",
    ];
    let printed = status(stack.command(&arguments), 0);
    assert_eq!(printed.lines().count(), 50); // 10 and 12 have odd numbers
    let arguments = ["export", "--table", "table-a", "--site", "other.example"];
    assert_eq!(status(stack.command(&arguments), 0), "");
    let output = stack
        .command(&["export", "--table", "nowhere"])
        .output_in_time();
    assert_eq!(output.status.code(), Some(2));
    let told = errors(&output);
    assert!(
        told.ends_with("Scan failed: there is no table nowhere\n"),
        "{told}"
    );
    // Control characters are escaped, and it is the same text.
    assert!(!printed.contains(['\u{202e}', '\u{1b}']));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_deleted_in_its_scope_and_within_limits() {
    let stack = Stack::start();
    stack.create("bulk").await;
    let mut text: String = (0..20).fold(String::new(), |mut text, at| {
        writeln!(text, "{}", page(&at.to_string(), "a")).unwrap();
        text
    });
    text += "{\"id\": \"site/www.example.com\", \"type\": \"site\"}\n";
    text += "{\"id\": \"other\", \"type\": \"page\", \"url\": \"https://www.example.com/other\"}\n";
    let all = stack.file("all.jsonl", &text);
    let load = |file: &Path, more: &[&str]| {
        let mut arguments = vec!["load", file.to_str().unwrap(), "--table", "bulk"];
        arguments.extend(more);
        stack.command(&arguments)
    };
    status(load(&all, &[]), 0);
    // Again: nothing is written.
    let printed = status(load(&all, &["--if-changed"]), 0);
    assert_eq!(printed, "loaded 0 records\n  22 were there already\n");
    let fewer: Vec<&str> = text.lines().take(18).collect();
    let fewer = stack.file("fewer.jsonl", &fewer.join("\n"));
    let scope = [
        "--delete-missing",
        "--scope",
        "type=post,site=www.example.com",
    ];
    let printed = status(load(&fewer, &scope), 1);
    assert!(
        printed.contains("the files lack 2 of 20 records in the scope, and --max-deletes allows 1"),
        "{printed}"
    );
    assert_eq!(stack.items("bulk").await.len(), 22);
    let wider = [&scope[..], &["--max-deletes", "10%"]].concat();
    let printed = status(load(&fewer, &wider), 0);
    assert!(printed.contains("deleted 2 of 20 records"), "{printed}");
    let left = stack.items("bulk").await;
    assert!(
        left.len() == 20 && left.contains_key("other") && left.contains_key("site/www.example.com")
    );
    // With a malformed line nothing is deleted.
    let bad = stack.file("bad.jsonl", &format!("{}\noops\n", page("1", "a")));
    let wider = [&scope[..], &["--max-deletes", "100%"]].concat();
    status(load(&bad, &wider), 1);
    assert_eq!(stack.items("bulk").await.len(), 20);
    let csv = stack.file("pages.csv", "url\nhttps://www.example.com/\n");
    let output = load(&csv, &[]).output_in_time();
    let (told, csv) = (errors(&output), csv.display());
    let expected = format!(
        "nothing was loaded: {csv}: not JSON Lines: no line is a record. Convert CSV, sitemaps or another system's \
         export first: `waymark import {csv} | waymark load -`"
    );
    assert!(told.contains(&expected), "{told}");
    assert_eq!(output.status.code(), Some(1), "{told}");
}

#[test]
fn a_site_is_published_with_its_settings_last() {
    let stack = Stack::start();
    let mut text = "{\"id\": \"site/www.example.com\", \"type\": \"site\", \"entries_per_sitemap\": 2, \"name\": \"X\"}\n".to_owned();
    for at in 0..5 {
        writeln!(text, "{}", page(&at.to_string(), "a")).unwrap();
    }
    let file = stack.file("site.jsonl", &text);
    let file = file.to_str().unwrap();
    let printed = status(
        stack.command(&["load", file, "--publish", "www.example.com"]),
        0,
    );
    assert_eq!(printed, "loaded 5 records\npublished www.example.com\n");
    let listed = status(
        stack.command(&["--json", "explain", "https://www.example.com/4"]),
        0,
    );
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["pages"][0]["state"], "listed", "{listed:#}");
    // It is so again at once, since nothing has changed.
    let arguments = ["load", file, "--publish", "www.example.com", "--if-changed"];
    let printed = status(stack.command(&arguments), 0);
    assert_eq!(
        printed,
        "loaded 0 records\n  5 were there already\npublished www.example.com\n"
    );
    // A site of which nothing was loaded has the settings that every site has.
    let other = stack.file("other.jsonl", "");
    let arguments = [
        "load",
        other.to_str().unwrap(),
        "--publish",
        "other.example",
    ];
    let printed = status(stack.command(&arguments), 0);
    assert_eq!(printed, "loaded 0 records\npublished other.example\n");
    let kept = status(stack.command(&["export", "--site", "other.example"]), 0);
    assert_eq!(kept, "{\"id\":\"site/other.example\",\"type\":\"site\"}\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_documentation_shows_is_what_happens() {
    let stack = Stack::start();
    assert!(stack.dynamodb.starts_with("http://127.0.0.1:"));
    let ports: Vec<&str> = stack.ports.iter().map(String::as_str).collect();
    crate::documented::check_with("docs/cli/load.md", &ports);
    crate::documented::check_with("docs/cli/export.md", &ports);
}
