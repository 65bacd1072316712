//! A test world: the whole stack on loopback, and a crawler that reads its published files.
//!
//! - Content is changed as by any client, through DynamoDB's endpoint. Published files are read over HTTP.
//! - `sim::scenarios` test the engine without these servers.
//! - The crawler is strict: a document that violates the schemas fails the test.

mod answers;
pub mod calls;
pub mod chaos;
pub mod fuse;
pub mod poison;
pub mod public;
mod waits;
pub mod watching;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws::environment::{content, sitemap_table};
use aws::{Aws, Clock, S3Objects};
use aws_sdk_dynamodb::types::{AttributeValue, Delete, TransactWriteItem};
use cli::deployment::target::Sizes;
use cli::deployment::target::Target;
use engine::keys::prefix;
use engine::metrics::Metrics;
use engine::reconcile::{KnownSites, Reconciler};
use engine::regenerate::Regenerator;
use engine::regenerate::index::IndexLimits;
use local::stack::{Options, Stack};
use local::tables::{BUCKET, CONTENT_TABLE, SITEMAP_TABLE};
use serde_json::Value;
use table::MAX_ACTIONS;

pub use calls::Calls;
pub use chaos::Chaos;
pub use fuse::Fuse;

pub use poison::Poison;
pub use public::Http;
pub use sim::crawler::{Crawler, Entry};
pub use sim::records::{SITE, post, settings, with};
pub use waits::{PATIENCE, until, within};

/// The time limit of [`World::settle`]: far longer than it takes until everything is published.
const SETTLES: Duration = Duration::from_secs(180);
/// The most tries of [`World::drop_sitemap_table`], because a sweep runs once a second.
const DROPS: u32 = 20;

/// Returns the functions' state with these clients, for direct calls.
#[must_use]
pub fn functions(aws: &Aws, clock: &Clock) -> Regenerator {
    let env = clock.env();
    Regenerator {
        reconciler: Reconciler {
            content: content(aws, CONTENT_TABLE.to_owned(), None, &env),
            table: sitemap_table(aws, SITEMAP_TABLE.to_owned(), &env),
            known: KnownSites::Any,
            env,
            metrics: Metrics::default(),
        },
        objects: Arc::new(S3Objects::new(aws.clone(), BUCKET.to_owned())),
        limits: IndexLimits::default(),
    }
}

/// A running stack with one site, and its crawler.
pub struct World {
    /// The stack.
    pub stack: Stack,
    /// The functions' clock.
    pub clock: Clock,
    /// Reads the published files.
    pub crawler: Crawler,
    /// A client of the user's, without injected faults.
    client: aws_sdk_dynamodb::Client,
}

impl World {
    /// Starts a stack that was never loaded.
    pub async fn start() -> Self {
        Self::with(Options::default(), &[]).await
    }

    /// Starts a stack with these records in its content table.
    pub async fn with(options: Options, records: &[Value]) -> Self {
        let mut world = Self::idle(options).await;
        for record in records {
            world.put(record).await;
        }
        world.begin().await;
        world.settle().await;
        world
    }

    /// Starts a stack whose functions do not run yet.
    pub async fn idle(options: Options) -> Self {
        let clock = options.clock.clone();
        let started = within("the stack to start", Stack::start(options));
        let stack = started.await.expect("the stack starts");
        let aws = Aws::on_loopback(&stack.dynamodb_endpoint, &stack.s3_endpoint, Vec::new());
        let client = aws.dynamodb().await.clone();
        let crawler = Http::at(&stack.site_endpoint).crawler(SITE);
        Self {
            stack,
            clock,
            crawler,
            client,
        }
    }

    /// Returns the target of an operator's commands.
    #[must_use]
    pub fn target(&self) -> Target {
        Target {
            reconciler: self.stack.reconciler.clone(),
            objects: self.stack.objects.clone(),
            content_table: CONTENT_TABLE.to_owned(),
            sitemap_table: SITEMAP_TABLE.to_owned(),
            sizes: Sizes::default(),
        }
    }

    /// Starts the functions of an idle stack.
    pub async fn begin(&mut self) {
        let begun = within("the functions to start", self.stack.run());
        begun.await.expect("the functions start");
    }

    /// Writes a record into the content table.
    pub async fn put(&self, record: &Value) {
        self.put_into(CONTENT_TABLE, record).await;
    }

    /// Writes an item into a table.
    pub async fn put_into(&self, table: &str, item: &Value) {
        let item = serde_dynamo::to_item(item).expect("an item");
        self.client
            .put_item()
            .table_name(table)
            .set_item(Some(item))
            .send()
            .await
            .expect("put");
    }

    /// Deletes a record of the content table.
    pub async fn delete(&self, id: &str) {
        let id = AttributeValue::S(id.to_owned());
        self.client
            .delete_item()
            .table_name(CONTENT_TABLE)
            .key("id", id)
            .send()
            .await
            .expect("deleted");
    }

    /// Waits until all changes are published.
    ///
    /// # Panics
    ///
    /// If that takes longer than three minutes, or a function has panicked meanwhile.
    pub async fn settle(&self) {
        match tokio::time::timeout(SETTLES, self.stack.settled()).await {
            Ok(settled) => settled.expect("the stack settles"),
            Err(_) => {
                let what = within("the scan's row", self.stack.waits_for()).await;
                panic!("not settled after {SETTLES:?}: {what}");
            }
        }
        self.stack.check_panics().expect("no function panics");
    }

    /// Waits until the stack has settled, and returns the listed entries by loc.
    pub async fn listed(&self) -> BTreeMap<String, Entry> {
        self.settle().await;
        self.crawler.entries().await
    }

    /// Waits until the stack has settled, and returns the listed paths, in order.
    pub async fn paths(&self) -> Vec<String> {
        let prefix = format!("https://{SITE}");
        self.listed()
            .await
            .into_keys()
            .map(|loc| loc.strip_prefix(&prefix).expect("on the site").to_owned())
            .collect()
    }

    /// Waits until the stack has settled, and returns the names of the sitemaps that the index lists.
    pub async fn sitemaps(&self) -> Vec<String> {
        self.settle().await;
        let name = |(loc, _): (String, _)| loc.rsplit('/').next().unwrap_or_default().to_owned();
        self.crawler.index().await.into_iter().map(name).collect()
    }

    /// Deletes a row of the sitemap table.
    pub async fn delete_row(&self, pk: &str, sk: &str) {
        let request = self.client.delete_item().table_name(SITEMAP_TABLE);
        let text = |part: &str| AttributeValue::S(part.to_owned());
        let request = request.key("pk", text(pk)).key("sk", text(sk));
        request.send().await.expect("deleted");
    }

    /// Deletes an object, cuts it, or overwrites it, as `how` selects.
    pub async fn lose_object(&self, key: &str, how: usize) {
        let s3 = self.stack.aws.s3().await;
        if how.is_multiple_of(3) {
            let request = s3.delete_object().bucket(BUCKET).key(key);
            request.send().await.expect("deleted");
            return;
        }
        let request = s3.get_object().bucket(BUCKET).key(key);
        let object = request.send().await.expect("there");
        let metadata = object.metadata().cloned();
        let bytes = object.body.collect().await.expect("read").into_bytes();
        let bytes = match how % 3 {
            1 => bytes.slice(..bytes.len() / 2),
            _ => vec![b'#'; bytes.len()].into(),
        };
        let request = s3.put_object().bucket(BUCKET).key(key).body(bytes.into());
        let request = request.set_metadata(metadata);
        request.send().await.expect("written");
    }

    /// Replaces an attribute of a row by a text, or removes it.
    pub async fn damage(&self, (pk, sk): (&str, &str), name: &str, text: Option<&str>) {
        let update = self
            .client
            .update_item()
            .table_name(SITEMAP_TABLE)
            .key("pk", AttributeValue::S(pk.to_owned()))
            .key("sk", AttributeValue::S(sk.to_owned()))
            .condition_expression("attribute_exists(#name)")
            .expression_attribute_names("#name", name);
        let update = match text {
            Some(text) => update
                .update_expression("SET #name = :text")
                .expression_attribute_values(":text", AttributeValue::S(text.to_owned())),
            None => update.update_expression("REMOVE #name"),
        };
        update.send().await.expect("damaged");
    }

    /// Deletes every item of the sitemap table, those of the sites first. After a real drop, the table is empty when a function
    /// finds no site's row. Here a sweep may find none while items are still being deleted. Then the deletion starts again. An
    /// operator who drops the table waits until no function runs.
    pub async fn drop_sitemap_table(&self) {
        for _ in 0..DROPS {
            self.settle().await;
            let mut keys: Vec<_> = self.rows("").await.into_keys().collect();
            keys.sort_by_key(|(pk, _)| !pk.starts_with(prefix::SITE));
            for keys in keys.chunks(MAX_ACTIONS) {
                let deletes = keys.iter().map(delete).collect();
                let client = self.stack.aws.dynamodb().await;
                let request = client.transact_write_items();
                let request = request.set_transact_items(Some(deletes));
                request.send().await.expect("deleted");
            }
            if self.rows(prefix::SITE).await.is_empty() {
                return;
            }
        }
        panic!("after {DROPS} tries the sitemap table still has a site's row");
    }

    /// Returns the items of the sitemap table whose partition key begins with `prefix`, by key.
    pub async fn rows(&self, prefix: &str) -> BTreeMap<(String, String), BTreeMap<String, String>> {
        let mut rows = BTreeMap::new();
        let scan = self
            .client
            .scan()
            .table_name(SITEMAP_TABLE)
            .consistent_read(true);
        let mut pages = scan.into_paginator().send();
        while let Some(page) = pages.next().await {
            for item in page.expect("scanned").items.unwrap_or_default() {
                let text = |value: &AttributeValue| match value {
                    AttributeValue::S(text) | AttributeValue::N(text) => text.clone(),
                    other => format!("{other:?}"),
                };
                let row: BTreeMap<String, String> = item
                    .iter()
                    .map(|(name, value)| (name.clone(), text(value)))
                    .collect();
                if row["pk"].starts_with(prefix) {
                    rows.insert((row["pk"].clone(), row["sk"].clone()), row);
                }
            }
        }
        rows
    }

    /// Returns the name of the reason why a record's page is excluded.
    pub async fn refusal(&self, id: &str) -> Option<String> {
        self.settle().await;
        let ledger = self.stack.reconciler.table.ledger(id).await.expect("read");
        ledger
            .and_then(|ledger| ledger.refused)
            .map(|(name, _)| name)
    }

    /// Ends the world.
    ///
    /// # Panics
    ///
    /// If a batch was given up, or a function has panicked.
    pub async fn stop(self) {
        let failed = self.stack.failed.clone();
        self.stack.check_panics().expect("no function panics");
        let stopped = within("the stack to stop", self.stack.stop());
        stopped.await.expect("the stack stops");
        assert_eq!(failed.len(), 0, "no batch was given up");
    }
}

fn delete((pk, sk): &(String, String)) -> TransactWriteItem {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let delete = Delete::builder()
        .table_name(SITEMAP_TABLE)
        .key("pk", text(pk))
        .key("sk", text(sk));
    let delete = delete.build().expect("a complete action");
    TransactWriteItem::builder().delete(delete).build()
}
