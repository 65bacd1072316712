//! A double of DynamoDB that takes little, and whose stream nobody reads.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use aws::Aws;
use cli::content::Source;
use cli::load::Loader;
use serde_json::{Value, json};

use crate::limited::Limited as _;
use crate::load::{LIMIT, errors, page, waymark};
use crate::loopback::{Loopback, respond};

/// A table that takes one in ten, and says so in both ways that DynamoDB has.
#[derive(Default)]
struct Throttling {
    items: BTreeMap<String, Value>,
    calls: u64,
    under_way: usize,
    /// How many calls were under way at once, of the last few.
    most: Vec<usize>,
}

fn throttle(table: &Mutex<Throttling>, request: &Value) -> (&'static str, Value) {
    let Some(puts) = request["RequestItems"]["t"].as_array() else {
        // Whatever else is asked for is not there, and whatever else is written is taken.
        return ("200 OK", json!({}));
    };
    let answer = {
        let mut table = table.lock().unwrap();
        table.calls += 1;
        table.under_way += 1;
        let most = table.under_way;
        table.most.push(most);
        if table.calls.is_multiple_of(40) {
            let kind = "com.amazonaws.dynamodb.v20120810#ThrottlingException";
            let error = json!({"__type": kind, "message": "later"});
            ("400 Bad Request", error)
        } else {
            let (taken, left) = puts.split_at(puts.len().min(2));
            for put in taken {
                let item = &put["PutRequest"]["Item"];
                let id = item["id"]["S"].as_str().unwrap().to_owned();
                table.items.insert(id, item.clone());
            }
            let left = if left.is_empty() {
                json!({})
            } else {
                json!({"t": left})
            };
            ("200 OK", json!({"UnprocessedItems": left}))
        }
    };
    thread::sleep(Duration::from_millis(2));
    table.lock().unwrap().under_way -= 1;
    answer
}

/// Serves such a table, called `t`, until the test's process ends; returns its URL.
fn throttling(table: &Arc<Mutex<Throttling>>) -> String {
    let table = table.clone();
    Loopback::bind().serve(move |request, stream| {
        let (status, answer) = throttle(&table, &serde_json::from_slice(&request.body)?);
        let kind = "content-type: application/x-amz-json-1.0\r\n";
        respond(stream, status, kind, answer.to_string().as_bytes())
    })
}

#[test]
fn a_load_that_nobody_publishes_ends_at_its_timeout() {
    // Nothing reads the stream of this table.
    let url = throttling(&Arc::default());
    let folder = tempfile::tempdir().unwrap();
    for (name, text, awaited) in [
        (
            "one.jsonl",
            page("1", "a"),
            "`ingest` to read what was loaded",
        ),
        (
            "none.jsonl",
            String::new(),
            "www.example.com to be published",
        ),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        let mut arguments = vec!["load", file.to_str().unwrap(), "--deployment"];
        arguments.extend(["--publish", "www.example.com", "--timeout", "1s"]);
        let mut command = waymark(&arguments);
        command.envs([
            ("AWS_ENDPOINT_URL_DYNAMODB", url.as_str()),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
            ("AWS_REGION", "us-east-1"),
            ("CONTENT_TABLE", "t"),
            ("SITEMAP_TABLE", "s"),
            ("BUCKET_NAME", "b"),
            ("SITES", "*"),
            ("SOURCE_TABLE", ""),
            ("SOURCE_MAPPING", ""),
        ]);
        let output = command.output_in_time();
        let expected = format!(
            "waymark: gave up waiting for {awaited} after 1s (--timeout): see `waymark status`, and run the same \
             command again to wait longer\n"
        );
        assert_eq!((errors(&output), output.status.code()), (expected, Some(2)));
        assert_eq!(output.stdout, b"");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_takes_a_tenth_gets_everything_in_the_end() {
    let table = Arc::new(Mutex::new(Throttling::default()));
    let url = throttling(&table);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    // Each id comes twice, thirty lines apart: the later line stands.
    let mut expected = BTreeMap::new();
    for at in 0..960 {
        let (id, title) = ((at / 60 * 30 + at % 30).to_string(), at.to_string());
        writeln!(file, "{}", page(&id, &title)).unwrap();
        expected.insert(id, title);
    }
    let aws = Aws::on_loopback(&url, &url, Vec::new());
    let mut loader = Loader::new(aws.dynamodb().await, "t");
    loader.concurrency = 16;
    let source = Source::File(file.path().to_owned());
    let loaded = tokio::time::timeout(LIMIT, loader.load(&source))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((loaded.records, loaded.malformed), (960, 0));
    let table = table.lock().unwrap();
    let found: BTreeMap<String, String> = table
        .items
        .iter()
        .map(|(id, item)| (id.clone(), item["title"]["S"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(found, expected);
    // It has given way: at the end no more than a few are under way.
    let last = &table.most[table.most.len() * 3 / 4..];
    assert!(last.iter().all(|most| *most <= 4), "{last:?}");
}
