//! Every row of the sitemap table, as the audit reads it, and the writes that repair what was lost.
//!
//! None of these writes is an entry, a claim or an object: records are repaired by a reconcile, and what is published
//! by the event of a version that has risen.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sitemap::member::SEGMENT_SLOTS;
use sitemap::plan::{Ledger, Series, Slot, Translation};
use table::{Action, Condition, Item, Query, Update, Value};

use crate::error::EngineError;
use crate::feed;
use crate::keys::{self, Key, RowKey, ShardId};
use crate::ledgers::read_ledger;
use crate::llms;
use crate::relations::read_translation;
use crate::scans::{ContentScan, SiteScan, read_content_scan, read_site_scan};
use crate::segments::{Summary, read_rendered, read_summary};
use crate::sitemap_table::{SitemapTable, damaged, item_key};
use crate::sites::{SiteRow, read_site};
use crate::slots::{Extent, extent};
use crate::sweep::audit::sums::{SumNumber, Sums};

/// A row.
#[derive(Debug)]
pub struct Row {
    /// Its primary key.
    pub key: Key,
    /// What its key says; nothing if no key of ours is so.
    pub kind: Option<RowKey>,
    /// The record that it belongs to, if it names one itself.
    pub owner: Option<String>,
    /// What it holds, or which attribute is missing or wrong.
    pub holds: Result<Holds, EngineError>,
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
    /// The digest of what llms.txt may say of a page.
    Llms(String),
    /// A published shard.
    Summary(Summary),
    /// A site.
    Site(SiteRow),
    /// The scan of all content.
    ContentScan(ContentScan),
    /// A site's scan.
    SiteScan(SiteScan),
    /// Nothing beyond its key that the audit looks at.
    Key,
}

/// How far the audit is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditProgress {
    /// Unix seconds of its beginning.
    pub began: i64,
    /// What comes next; nothing once it has ended.
    pub step: Option<AuditStep>,
    /// The sites whose rows it has seen.
    pub sites: BTreeSet<String>,
    /// What it has found, and how often.
    pub found: BTreeMap<String, u64>,
    /// How much it has repaired, without what was harmless.
    #[serde(default)]
    pub repaired: u64,
    /// The rows and records that are looked at, by their sums; all of them without.
    #[serde(default)]
    pub suspected: Option<BTreeSet<SumNumber>>,
    /// The sums as far as they are. They have a row of their own.
    #[serde(skip)]
    pub(crate) sums: Option<Sums>,
    /// Rows, records and sitemaps that this process has read.
    #[serde(skip)]
    pub read: u64,
}

/// What an audit reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The sitemap table.
    Rows,
    /// The content table, and the user's.
    Records,
    /// The sites' sitemaps.
    Sitemaps,
}

impl AuditProgress {
    /// What comes next; nothing once it has ended.
    #[must_use]
    pub fn reading(&self) -> Option<Reading> {
        Some(match self.step.as_ref()? {
            AuditStep::Sums if self.sums.as_ref().is_some_and(Sums::is_at_records) => {
                Reading::Records
            }
            AuditStep::Sums | AuditStep::Rows { .. } => Reading::Rows,
            AuditStep::Records { .. } => Reading::Records,
            AuditStep::Objects { .. } => Reading::Sitemaps,
        })
    }
}

/// A place in an audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditStep {
    /// The sums of both tables.
    Sums,
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

fn read(item: &Item) -> Option<Row> {
    let key = item_key(item)?;
    let kind = RowKey::parse(&key.pk, &key.sk);
    let attribute = |name| {
        let value = item.text(name).ok_or_else(|| damaged(&key, name));
        value.map(str::to_owned)
    };
    let holds = match &kind {
        Some(RowKey::Ledger(_)) => {
            read_ledger(&key, item).map(|ledger| Holds::Ledger(ledger.unwrap_or_default()))
        }
        Some(RowKey::Entry(..)) => read_entry(&key, item).map(Holds::Entry),
        Some(RowKey::Claim) => match item.text("loc") {
            Some(loc) if keys::is_claim_of(&key, loc) => attribute("owner").map(Holds::Claim),
            _ => Err(damaged(&key, "loc")),
        },
        Some(RowKey::Series(_)) => {
            let counts = ["next_n", "next_i", "positions"];
            let missing = counts
                .into_iter()
                .find(|name| item.number::<u32>(name).is_none());
            missing.map_or_else(
                || Ok(Holds::Series(extent(item))),
                |name| Err(damaged(&key, name)),
            )
        }
        Some(RowKey::GroupMember(_)) => {
            let translation = read_translation(item).ok_or_else(|| damaged(&key, "href"));
            translation.map(Holds::Translation)
        }
        Some(RowKey::Feed(..)) => match feed::read(item) {
            Some(_) => Ok(Holds::Key),
            None => Err(damaged(&key, "digest")),
        },
        Some(RowKey::Llms(..)) => match llms::read(item) {
            Some((_, digest)) => Ok(Holds::Llms(digest)),
            None => Err(damaged(&key, "digest")),
        },
        Some(RowKey::Notice(_)) => attribute("loc").and_then(|_| {
            let at = item.number::<i64>("at").ok_or_else(|| damaged(&key, "at"));
            at.map(|_| Holds::Key)
        }),
        Some(RowKey::Summary(_)) => read_summary(&key, item).map(Holds::Summary),
        Some(RowKey::Site(host)) => read_site(host, item).map(Holds::Site),
        Some(RowKey::ContentScan) => read_content_scan(&key, item).map(Holds::ContentScan),
        Some(RowKey::SiteScan(_)) => read_site_scan(&key, item).map(Holds::SiteScan),
        _ => Ok(Holds::Key),
    };
    let owner = item.text("owner").map(str::to_owned);
    Some(Row {
        key,
        kind,
        owner,
        holds,
    })
}

fn read_entry(key: &Key, item: &Item) -> Result<Option<(String, String)>, EngineError> {
    item.number::<u64>("version")
        .ok_or_else(|| damaged(key, "version"))?;
    match (item.text("owner"), read_rendered(key, item)?) {
        (Some(owner), Some(rendered)) => Ok(Some((owner.to_owned(), rendered.digest()))),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(damaged(key, "owner")),
        (Some(_), None) => Err(damaged(key, "xml")),
    }
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Up to `limit` rows behind a place, in the table's own order, and the next place; nothing at the end. Not read
    /// consistently: callers look again at what they find in it.
    pub async fn rows(
        &self,
        after: Option<&Key>,
        limit: u32,
    ) -> Result<(Vec<Row>, Option<Key>), EngineError> {
        let (items, next) = self.scan(after, limit, None).await?;
        Ok((items.iter().filter_map(read).collect(), next))
    }

    /// The rows with these keys that exist, read consistently.
    pub async fn rows_with(
        &self,
        keys: impl IntoIterator<Item = &Key>,
    ) -> Result<BTreeMap<Key, Row>, EngineError> {
        let items = self.items(keys).await?;
        let rows = items.iter().filter_map(read);
        Ok(rows.map(|row| (row.key.clone(), row)).collect())
    }

    /// The positions of a shard that were given back.
    pub async fn free_positions(&self, shard: &ShardId) -> Result<BTreeSet<u32>, EngineError> {
        let query = Query::of(keys::free_partition(&shard.series));
        let items = self.all(query.beginning_with(keys::free_prefix(shard.n)));
        let items = items.await?;
        let slots = items
            .iter()
            .filter_map(|item| keys::free_slot(item.text("sk")?));
        Ok(slots.map(|slot| slot.i).collect())
    }

    /// Deletes a row that is untrue or cannot be read.
    pub async fn drop_row(&self, key: &Key) -> Result<(), EngineError> {
        self.delete(key).await
    }

    /// Replaces an entry's unreadable row by an empty one, so that its segment can be published.
    pub async fn empty(&self, key: &Key) -> Result<(), EngineError> {
        // The version may be lower than it was. The segment's stamp is compared with the object's after this.
        self.put(Item::from(key).with("version", 1)).await
    }

    /// Raises a segment's stamp. The event has the shard published over an object with a lower stamp.
    pub async fn lift(&self, shard: &ShardId, segment: u32, by: u64) -> Result<(), EngineError> {
        let (n, i) = (shard.n, segment * SEGMENT_SLOTS);
        let key = keys::entry(&shard.series, Slot { n, i });
        let update = Update::new().add("version", by);
        self.update(&key, update).await.map(drop)
    }

    /// Raises the version of a site's settings: its event has index, robots.txt and site file published.
    pub async fn lift_site(&self, host: &str) -> Result<(), EngineError> {
        let (key, update) = (keys::site(host), Update::new().add("version", 1));
        let lifted = self.update_if(&key, update, Condition::has("pk"));
        lifted.await.map(drop)
    }

    /// Gives back a slot that was offered and never used. Returns `false` if it is used by now.
    pub async fn give_back(&self, series: &Series, slot: Slot) -> Result<bool, EngineError> {
        // The row's version rises; if there was no row, it is created. A run that was offered the slot by the counter writes into it
        // only if there is no row.
        let raise = Update::new().add("version", 1);
        let stub =
            Action::update(&keys::entry(series, slot), raise).when(Condition::lacks("owner"));
        let free = Action::put(Item::from(&keys::free(series, slot)));
        self.transact_once(vec![stub, free]).await
    }

    /// Raises a series' extent to at least `least`, so that the counter goes on behind all rows, and publishing reads all of them.
    pub async fn grow(&self, series: &Series, least: Extent) -> Result<(), EngineError> {
        let key = keys::series(series);
        let item = self.item(&key).await?.unwrap_or_default();
        let current: Option<(u32, u32)> = item.number("next_n").zip(item.number("next_i"));
        let now = extent(&item);
        let positions = now.positions.max(least.positions);
        let (n, i) = current.unwrap_or((1, 0)).max((least.shards, least.next));
        if current == Some((n, i)) && positions == now.positions {
            return Ok(());
        }
        let update = Update::new()
            .set("next_n", n)
            .set("next_i", i)
            .set("positions", positions);
        let unmoved = match current {
            Some((n, i)) => Condition::equals("next_n", n).and(Condition::equals("next_i", i)),
            // Also if there is a row without a counter.
            None => Condition::lacks("next_n"),
        };
        // Another run has moved the counter on: the next audit looks again.
        self.update_if(&key, update, unmoved).await.map(drop)
    }

    /// The sums as a slice of the audit has left them; nothing if there are none, or they cannot be read.
    pub(crate) async fn sums(&self) -> Result<Option<Sums>, EngineError> {
        let item = self.item(&keys::sums()).await?.unwrap_or_default();
        let Some(Value::Bytes(sums)) = item.get("sums") else {
            return Ok(None);
        };
        Ok(item.text("place").and_then(|place| Sums::read(place, sums)))
    }

    /// Stores the sums for the next slice.
    pub(crate) async fn note_sums(&self, sums: &Sums) -> Result<(), EngineError> {
        let (place, sums) = sums.store();
        let item = Item::from(&keys::sums()).with("place", place);
        self.put(item.with("sums", Value::Bytes(sums))).await
    }

    /// How far the audit is; nothing if there was none yet, or its row cannot be read.
    pub async fn audit(&self) -> Result<Option<AuditProgress>, EngineError> {
        let item = self.item(&keys::audit()).await?;
        let progress = item.as_ref().and_then(|item| item.text("progress"));
        Ok(progress.and_then(|progress| serde_json::from_str(progress).ok()))
    }

    /// Notes how far it is.
    pub async fn note_audit(&self, progress: &AuditProgress) -> Result<(), EngineError> {
        let progress = serde_json::to_string(progress).expect("progress has text keys alone");
        let item = Item::from(&keys::audit()).with("progress", progress);
        self.put(item).await
    }
}
