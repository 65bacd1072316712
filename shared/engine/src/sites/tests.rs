//! The list of sites that wait for the scan, when calls come twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Job, Pass, Step};
use crate::{Env, Environment, SitemapTable};
use futures::future::BoxFuture;
use table::{Action, Condition, Item, MemoryTable, Name, Page, Query, Reply, Scan, Schema, Table};

/// Time stands still, and random numbers count on.
#[derive(Debug, Default)]
struct Still(AtomicU64);

impl Environment for Still {
    fn now(&self) -> i64 {
        1_800_000_000
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }

    fn random(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// A table that keeps the last transaction, to do it once more.
#[derive(Clone, Debug)]
struct Repeating {
    table: MemoryTable,
    last: Arc<std::sync::Mutex<Vec<Action>>>,
}

impl Table for Repeating {
    fn get(&self, key: Item) -> Reply<'_, Option<Item>> {
        self.table.get(key)
    }

    fn batch_get(
        &self,
        keys: Vec<Item>,
        attributes: Option<Vec<Name>>,
    ) -> Reply<'_, (Vec<Item>, Vec<Item>)> {
        self.table.batch_get(keys, attributes)
    }

    fn query(&self, query: Query) -> Reply<'_, Page> {
        self.table.query(query)
    }

    fn scan(&self, scan: Scan) -> Reply<'_, Page> {
        self.table.scan(scan)
    }

    fn put(&self, item: Item, condition: Option<Condition>) -> Reply<'_, ()> {
        self.table.put(item, condition)
    }

    fn update(
        &self,
        key: Item,
        update: table::Update,
        condition: Option<Condition>,
    ) -> Reply<'_, Item> {
        self.table.update(key, update, condition)
    }

    fn delete(&self, key: Item, condition: Option<Condition>) -> Reply<'_, ()> {
        self.table.delete(key, condition)
    }

    fn transact(&self, actions: Vec<Action>) -> Reply<'_, ()> {
        *self.last.lock().unwrap() = actions.clone();
        self.table.transact(actions)
    }
}

fn scanning(job: &Job) -> Job {
    Job {
        pass: Some(Pass {
            sites: job.waiting.clone(),
            step: Step::Scan { after: None },
            records: 0,
            at: 0,
        }),
        ..Job::default()
    }
}

fn table(repeating: &Repeating) -> SitemapTable {
    SitemapTable::new(Arc::new(repeating.clone()), Env::new(Still::default()))
}

fn repeating() -> Repeating {
    Repeating {
        table: MemoryTable::new(Schema::of_texts(&["pk", "sk"])),
        last: Arc::default(),
    }
}

/// A slice reads the row, and others do their work; the request that had the first site wait comes once more, since its
/// answer was lost. The slice that has read the row as it was must not end with what it knows.
async fn check(second_is_scanned: bool) {
    let repeating = repeating();
    let table = table(&repeating);
    let job = async || table.job().await.unwrap().unwrap();
    table.enqueue_site("a.example").await.unwrap();
    let first = repeating.last.lock().unwrap().clone();
    let read = job().await;
    assert!(
        table
            .advance_job(&read, Some(&scanning(&read)))
            .await
            .unwrap()
    );
    table.enqueue_site("b.example").await.unwrap();
    if second_is_scanned {
        let second = job().await;
        assert!(
            table
                .advance_job(&second, Some(&scanning(&second)))
                .await
                .unwrap()
        );
    }
    repeating.table.transact(first).await.unwrap();
    assert!(
        !table
            .advance_job(&read, Some(&scanning(&read)))
            .await
            .unwrap()
    );
    let left = job().await;
    let pass = left.pass.iter().flat_map(|pass| &pass.sites);
    assert!(
        pass.chain(&left.waiting).any(|site| site == "b.example"),
        "{left:?}"
    );
    // The slices of what is under way go on.
    assert!(table.advance_job(&left, None).await.unwrap());
}

#[tokio::test]
async fn a_site_is_not_forgotten_when_an_older_request_comes_twice() {
    check(false).await;
    check(true).await;
}

#[tokio::test]
async fn a_slice_loses_to_a_site_that_begins_to_wait() {
    let table = table(&repeating());
    table.enqueue_site("a.example").await.unwrap();
    let read = table.job().await.unwrap().unwrap();
    table.enqueue_site("b.example").await.unwrap();
    let advanced = table.advance_job(&read, Some(&scanning(&read))).await;
    assert!(!advanced.unwrap(), "b.example would be forgotten");
    assert!(!table.advance_job(&read, None).await.unwrap());
    // A site that waits already changes nothing.
    let read = table.job().await.unwrap().unwrap();
    table.enqueue_site("b.example").await.unwrap();
    assert!(
        table
            .advance_job(&read, Some(&scanning(&read)))
            .await
            .unwrap()
    );
}
