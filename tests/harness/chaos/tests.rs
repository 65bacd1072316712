use std::collections::BTreeSet;

use aws::Aws;
use aws::environment::{content, sitemap_table};
use aws::{Clock, S3Objects};
use aws_sdk_dynamodb::types::AttributeValue;
use bytes::Bytes;
use engine::keys;
use local::stack::{Options, Stack};
use local::tables::{BUCKET, CONTENT_TABLE, SITEMAP_TABLE};
use objects::{Document, ObjectKey, Objects, Precondition, Put};

use super::*;

/// The number of calls of each kind: enough for each fault to happen, most of them many times.
const CALLS: u32 = 400;

fn document() -> Document {
    Document {
        digest: String::new(),
        changed: 0,
        bytes: 0,
        entries: 0,
        stamp: String::new(),
    }
}

fn object(n: u32) -> ObjectKey {
    let (site, series) = ("www.example.com".to_owned(), "post".to_owned());
    ObjectKey::Shard { site, series, n }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_fail_before_and_after_their_effect_and_those_that_succeed_have_had_it() {
    let stack = Stack::start(Options::default()).await.expect("started");
    let chaos = Chaos::seeded(7, 0.04);
    let (dynamodb, s3) = (&stack.dynamodb_endpoint, &stack.s3_endpoint);
    let aws = Aws::on_loopback(dynamodb, s3, vec![chaos.interceptor()]);
    let (table, objects) = (
        content(&aws, CONTENT_TABLE.to_owned(), None, &Clock::system().env()),
        S3Objects::new(aws.clone(), BUCKET.to_owned()),
    );
    let (mut put, mut failed_and_put, mut failed) = (BTreeSet::new(), 0, 0);
    for n in 1..=CALLS {
        let id = format!("r{n}");
        let client = aws.dynamodb().await;
        let update = client.update_item().table_name(CONTENT_TABLE);
        let answer = update.key("id", AttributeValue::S(id.clone())).send().await;
        let there = stack.reconciler.content.item(&id).await.expect("read");
        match (answer.is_ok(), there.is_some()) {
            (true, there) => assert!(there, "{id} was put"),
            (false, true) => failed_and_put += 1,
            (false, false) => failed += 1,
        }
        if there.is_some() {
            put.insert(id);
        }
    }
    assert!(
        failed_and_put > 10 && failed > 10,
        "{failed_and_put}, {failed}"
    );

    let (mut lost_and_put, mut lost) = (0, 0);
    for n in 1..=CALLS {
        let body = Bytes::from_static(b"body");
        let key = object(n);
        let answer = objects
            .put(&key, body, &document(), &Precondition::Absent)
            .await;
        let there = stack.objects.head(&key).await.expect("read");
        match (answer, there.is_some()) {
            (Ok(Put::Done), there) => assert!(there, "{n} was put"),
            (Ok(Put::Lost), true) => lost_and_put += 1,
            (Ok(Put::Lost), false) => lost += 1,
            (Err(_), _) => {}
        }
    }
    assert!(lost_and_put > 10 && lost > 10, "{lost_and_put}, {lost}");

    let ids: Vec<String> = (1..=CALLS).map(|n| format!("r{n}")).collect();
    let (mut read, mut unread) = (0, 0);
    for ids in ids.chunks(10) {
        match table.records(ids).await {
            Ok(records) => {
                let there = ids.iter().filter(|id| put.contains(*id)).count();
                assert_eq!(records.len(), there, "a part is no whole");
                read += 1;
            }
            Err(_) => unread += 1,
        }
    }
    assert!(read > 10 && unread > 0, "{read}, {unread}");

    // The keys of the sitemap table have other names. The rest of a batch can be requested again.
    let keys: BTreeSet<_> = ids[..20].iter().map(|id| keys::ledger(id)).collect();
    for id in &ids[..20] {
        stack.reconciler.table.fence(id).await.expect("written");
    }
    let sitemap_table = sitemap_table(&aws, SITEMAP_TABLE.to_owned(), &Clock::system().env());
    let (partial, mut read) = (chaos.faults()["partial batch"], 0);
    for _ in 0..CALLS {
        if let Ok(rows) = sitemap_table.rows_with(&keys).await {
            let rows: BTreeSet<_> = rows.into_keys().collect();
            assert_eq!(rows, keys, "a part is no whole");
            read += 1;
        }
    }
    assert!(read > CALLS / 2, "{read}");
    assert!(
        chaos.faults()["partial batch"] > partial,
        "no part was left"
    );

    let names: BTreeSet<&str> = chaos.faults().into_keys().collect();
    let expected = [
        "409 before effect",
        "412 after effect",
        "412 before effect",
        "5xx after effect",
        "5xx before effect",
        "answer lost",
        "held up",
        "not sent",
        "over capacity",
        "partial batch",
        "throttled",
        "transaction in the way",
    ];
    assert_eq!(names, BTreeSet::from(expected));
    assert_eq!(chaos.injected(), chaos.faults().values().sum::<u64>());
    stack.stop().await.expect("stopped");
}
