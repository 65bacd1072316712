//! Every row of the sitemap table, as the audit reads them, and the writes that make good what was lost.
//!
//! None of these writes is an entry, a claim or an object: records are repaired by a reconcile, and what is published
//! by the event of a version that has risen.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::{Put, TransactWriteItem, Update};
use serde::{Deserialize, Serialize};
use sitemap::member::SEGMENT_SLOTS;
use sitemap::plan::{Ledger, Series, Slot, Translation};

use crate::error::{StoreError, service};
use crate::keys::{self, Key, RowKey, ShardId};
use crate::ledgers::read_ledger;
use crate::relations::read_translation;
use crate::segments::{Summary, read_rendered, read_summary};
use crate::sites::{Job, SiteRow, read_job, read_site};
use crate::slots::{Extent, extent};
use crate::table::{
    Item, SitemapTable, batch_get, damaged, get_number, get_text, item_key, key_item, number, send,
    text,
};

/// A row.
#[derive(Debug)]
pub struct Row {
    /// Its primary key.
    pub key: Key,
    /// What its key says; nothing if no key of ours is so.
    pub kind: Option<RowKey>,
    /// What it holds, or which attribute is missing or wrong.
    pub holds: Result<Holds, StoreError>,
}

/// What a row holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Holds {
    /// A ledger; nothing but a fence's token if it is the default.
    Ledger(Ledger),
    /// An entry's owner and digest; nothing if the slot is empty.
    Entry(Option<(String, String)>),
    /// The owner of an address.
    Claim(String),
    /// How far a series has grown.
    Series(Extent),
    /// What a page is in a translation group.
    Translation(Translation),
    /// A published shard.
    Summary(Summary),
    /// A site.
    Site(SiteRow),
    /// The background scan.
    Scan(Job),
    /// Nothing beyond its key that the audit looks at.
    Key,
}

/// How far the audit is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditProgress {
    /// Unix seconds of its beginning.
    pub began: i64,
    /// What comes next; nothing once it has ended.
    pub step: Option<AuditStep>,
    /// The sites whose rows it has seen.
    pub sites: BTreeSet<String>,
    /// What it has found, and how often.
    pub found: std::collections::BTreeMap<String, u64>,
    /// How much it has repaired, without what was harmless.
    #[serde(default)]
    pub repaired: u64,
}

/// A place in an audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditStep {
    /// The sitemap table's rows behind this one.
    Rows {
        /// Partition key and sort key; nothing at the beginning.
        after: Option<(String, String)>,
    },
    /// The content table's records behind this id.
    Records {
        /// The last id of the page before; nothing at the beginning.
        after: Option<String>,
    },
    /// The sites' objects behind this one.
    Objects {
        /// The site and the path of the last shard; nothing at the beginning.
        after: Option<(String, String)>,
    },
}

/// The sitemap table, row by row.
pub trait Rows: Send + Sync {
    /// Up to `limit` rows behind a place, in the table's own order, and the next place; nothing at the end. Not read
    /// consistently: whoever finds something in it looks again.
    fn rows(
        &self,
        after: Option<&Key>,
        limit: i32,
    ) -> impl Future<Output = Result<(Vec<Row>, Option<Key>), StoreError>> + Send;

    /// The rows with these keys that exist, read consistently.
    fn rows_with(
        &self,
        keys: &BTreeSet<Key>,
    ) -> impl Future<Output = Result<HashMap<Key, Row>, StoreError>> + Send;

    /// The positions of a shard that were given back.
    fn free_positions(
        &self,
        shard: &ShardId,
    ) -> impl Future<Output = Result<BTreeSet<u32>, StoreError>> + Send;

    /// Deletes a row that says something untrue, or nothing.
    fn drop_row(&self, key: &Key) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Makes an entry's row that cannot be read an empty one, which its segment's publisher can add up.
    fn empty(&self, key: &Key) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Raises a segment's stamp: its event has the shard published, over whatever stands there with a lower one.
    fn lift(
        &self,
        shard: &ShardId,
        segment: u32,
        by: u64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Raises the version of a site's settings: its event has index, robots.txt and site file published.
    fn lift_site(&self, host: &str) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Gives back a slot that was offered and never used. False if it is used by now.
    fn give_back(
        &self,
        series: &Series,
        slot: Slot,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Makes a series at least so large: its counter goes on behind what has rows, and publishing reads them.
    fn grow(
        &self,
        series: &Series,
        least: Extent,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// How far the audit is; nothing if there was none yet, or its row cannot be read.
    fn audit(&self) -> impl Future<Output = Result<Option<AuditProgress>, StoreError>> + Send;

    /// Notes how far it is.
    fn note_audit(
        &self,
        progress: &AuditProgress,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}

fn read(item: &Item) -> Option<Row> {
    let key = item_key(item)?;
    let kind = RowKey::parse(&key.pk, &key.sk);
    let attribute = |name| {
        let value = get_text(item, name).ok_or_else(|| damaged(&key, name));
        value.map(str::to_owned)
    };
    let holds = match &kind {
        Some(RowKey::Ledger(_)) => {
            read_ledger(&key, item).map(|ledger| Holds::Ledger(ledger.unwrap_or_default()))
        }
        Some(RowKey::Entry(..)) => read_entry(&key, item).map(Holds::Entry),
        Some(RowKey::Claim) => attribute("loc").and_then(|_| Ok(Holds::Claim(attribute("owner")?))),
        Some(RowKey::Series(_)) => {
            let counts = ["next_n", "next_i", "positions"];
            let missing = counts
                .into_iter()
                .find(|name| get_number::<u32>(item, name).is_none());
            missing.map_or_else(
                || Ok(Holds::Series(extent(item))),
                |name| Err(damaged(&key, name)),
            )
        }
        Some(RowKey::GroupMember(_)) => {
            let translation = read_translation(item).ok_or_else(|| damaged(&key, "href"));
            translation.map(Holds::Translation)
        }
        Some(RowKey::Feed(..)) => attribute("loc").map(|_| Holds::Key),
        Some(RowKey::Notice(_)) => attribute("loc").and_then(|_| {
            let at = get_number::<i64>(item, "at").ok_or_else(|| damaged(&key, "at"));
            at.map(|_| Holds::Key)
        }),
        Some(RowKey::Summary(_)) => read_summary(&key, item).map(Holds::Summary),
        Some(RowKey::Site(host)) => read_site(host, item).map(Holds::Site),
        Some(RowKey::Scan) => read_job(&key, item).map(Holds::Scan),
        _ => Ok(Holds::Key),
    };
    Some(Row { key, kind, holds })
}

fn read_entry(key: &Key, item: &Item) -> Result<Option<(String, String)>, StoreError> {
    get_number::<u64>(item, "version").ok_or_else(|| damaged(key, "version"))?;
    match (get_text(item, "owner"), read_rendered(key, item)?) {
        (Some(owner), Some(rendered)) => Ok(Some((owner.to_owned(), rendered.digest()))),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(damaged(key, "owner")),
        (Some(_), None) => Err(damaged(key, "xml")),
    }
}

impl Rows for SitemapTable {
    async fn rows(
        &self,
        after: Option<&Key>,
        limit: i32,
    ) -> Result<(Vec<Row>, Option<Key>), StoreError> {
        let scan = self.aws.dynamodb().await.scan().table_name(&self.name);
        let output = scan
            .limit(limit)
            .set_exclusive_start_key(after.map(key_item))
            .send()
            .await
            .map_err(service("Scan"))?;
        let next = output.last_evaluated_key.as_ref().and_then(item_key);
        let rows = output.items.unwrap_or_default();
        Ok((rows.iter().filter_map(read).collect(), next))
    }

    async fn rows_with(&self, keys: &BTreeSet<Key>) -> Result<HashMap<Key, Row>, StoreError> {
        let items = batch_get(&self.aws, &self.name, keys.iter().map(key_item), None).await?;
        let rows = items.iter().filter_map(read);
        Ok(rows.map(|row| (row.key.clone(), row)).collect())
    }

    async fn free_positions(&self, shard: &ShardId) -> Result<BTreeSet<u32>, StoreError> {
        let query = self.aws.dynamodb().await.query().table_name(&self.name);
        let query = query
            .consistent_read(true)
            .key_condition_expression("pk = :pk AND begins_with(sk, :n)")
            .expression_attribute_values(":pk", text(keys::free_partition(&shard.series)))
            .expression_attribute_values(":n", text(keys::free_prefix(shard.n)));
        let mut pages = query.into_paginator().send();
        let mut positions = BTreeSet::new();
        while let Some(page) = pages.next().await {
            let items = page.map_err(service("Query"))?.items.unwrap_or_default();
            let slots = items
                .iter()
                .filter_map(|item| keys::free_slot(get_text(item, "sk")?));
            positions.extend(slots.map(|slot| slot.i));
        }
        Ok(positions)
    }

    async fn drop_row(&self, key: &Key) -> Result<(), StoreError> {
        self.delete(key).await
    }

    async fn empty(&self, key: &Key) -> Result<(), StoreError> {
        let mut item = key_item(key);
        // Lower than what it was, perhaps: the segment's stamp is compared with the object's after this.
        item.insert("version".to_owned(), number(1));
        self.put(item).await
    }

    async fn lift(&self, shard: &ShardId, segment: u32, by: u64) -> Result<(), StoreError> {
        let (n, i) = (shard.n, segment * SEGMENT_SLOTS);
        let update = self
            .update(&keys::entry(&shard.series, Slot { n, i }))
            .await
            .update_expression("ADD #version :by")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":by", number(by));
        send(update).await?;
        Ok(())
    }

    async fn lift_site(&self, host: &str) -> Result<(), StoreError> {
        let update = self
            .update(&keys::site(host))
            .await
            .update_expression("ADD #version :one")
            .condition_expression("attribute_exists(pk)")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":one", number(1));
        send(update).await?;
        Ok(())
    }

    async fn give_back(&self, series: &Series, slot: Slot) -> Result<bool, StoreError> {
        // The row's version rises, and if there was no row there is one: a run that was offered the slot by the counter
        // writes into it only if there is none.
        let stub = Update::builder()
            .table_name(&self.name)
            .set_key(Some(key_item(&keys::entry(series, slot))))
            .update_expression("ADD #version :one")
            .condition_expression("attribute_not_exists(#owner)")
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":one", number(1));
        let free = Put::builder()
            .table_name(&self.name)
            .set_item(Some(key_item(&keys::free(series, slot))));
        let action = TransactWriteItem::builder;
        self.transact(vec![
            action()
                .update(stub.build().expect("a complete action"))
                .build(),
            action()
                .put(free.build().expect("a complete action"))
                .build(),
        ])
        .await
    }

    async fn grow(&self, series: &Series, least: Extent) -> Result<(), StoreError> {
        let key = keys::series(series);
        let item = self.item(&key).await?.unwrap_or_default();
        let current: Option<(u32, u32)> =
            get_number(&item, "next_n").zip(get_number(&item, "next_i"));
        let now = extent(&item);
        let positions = now.positions.max(least.positions);
        let (n, i) = current.unwrap_or((1, 0)).max((least.shards, least.next));
        if current == Some((n, i)) && positions == now.positions {
            return Ok(());
        }
        let update = self
            .update(&key)
            .await
            .update_expression("SET next_n = :n, next_i = :i, positions = :positions")
            .expression_attribute_values(":n", number(n))
            .expression_attribute_values(":i", number(i))
            .expression_attribute_values(":positions", number(positions));
        let update = match current {
            Some((n, i)) => update
                .condition_expression("next_n = :old_n AND next_i = :old_i")
                .expression_attribute_values(":old_n", number(n))
                .expression_attribute_values(":old_i", number(i)),
            // Also if there is a row without a counter.
            None => update.condition_expression("attribute_not_exists(next_n)"),
        };
        // Lost to somebody who moves it on: the next audit looks again.
        send(update).await?;
        Ok(())
    }

    async fn audit(&self) -> Result<Option<AuditProgress>, StoreError> {
        let item = self.item(&keys::audit()).await?;
        let progress = item.as_ref().and_then(|item| get_text(item, "progress"));
        Ok(progress.and_then(|progress| serde_json::from_str(progress).ok()))
    }

    async fn note_audit(&self, progress: &AuditProgress) -> Result<(), StoreError> {
        let mut item = key_item(&keys::audit());
        let progress = serde_json::to_string(progress).expect("progress has text keys alone");
        item.insert("progress".to_owned(), text(progress));
        self.put(item).await
    }
}
