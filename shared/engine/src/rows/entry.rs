//! Entries, 500 slots to a partition, and the segments that publishing reads. `SEGMENT#<site>#<series>#<n>#<k>`, position.

use std::collections::BTreeSet;

use sitemap::member::{MAX_SEGMENTS, SEGMENT_SLOTS, Segment};
use sitemap::plan::{Rendered, Series, Slot};
use sitemap::time::When;
use table::{Item, Update};

use super::key::{Key, RowKey, ShardId, escape, key, read_series};
use super::table::{SitemapTable, damaged};
use crate::error::EngineError;

/// Prefix of the partitions of entries.
pub const PREFIX: &str = "SEGMENT#";

/// Returns the partition of a segment: `SEGMENT#<site>#<series>#<n>#<k>`.
#[must_use]
pub fn segment(shard: &ShardId, segment: u32) -> String {
    let ShardId { series, n } = shard;
    format!(
        "{}{}#{}#{n}#{segment}",
        PREFIX,
        escape(&series.site),
        escape(&series.name)
    )
}

/// Returns the key of an entry: its segment's partition, and its position.
#[must_use]
pub fn entry(series: &Series, slot: Slot) -> Key {
    let shard = ShardId {
        series: series.clone(),
        n: slot.n,
    };
    key(segment(&shard, slot.segment()), format!("{:05}", slot.i))
}

pub(super) fn parse(rest: &str, sk: &str) -> Option<RowKey> {
    let mut parts = rest.split('#');
    let series = read_series(parts.next()?, parts.next()?)?;
    let n = parts.next()?.parse().ok()?;
    let k: u32 = parts.next()?.parse().ok()?;
    let i = sk.parse().ok()?;
    let slot = Slot { n, i };
    let is_ours = (k as usize) < MAX_SEGMENTS && slot.segment() == k;
    is_ours.then_some(RowKey::Entry(series, slot))
}

/// The rows of a segment, combined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SegmentRows {
    /// The sum of their versions, which only rise: equal stamps mean equal rows.
    pub stamp: u64,
    /// The number of rows with an entry.
    pub entries: u32,
    /// The newest lastmod of the entries.
    pub newest: Option<When>,
    /// The rendered entries, in the order of the positions.
    pub xml: Vec<u8>,
    /// The positions of rows with an entry.
    pub taken: BTreeSet<u32>,
    /// The position after the last row.
    pub end: u32,
}

impl SegmentRows {
    /// Returns the segment as a part of a member.
    #[must_use]
    pub fn segment(&self) -> Segment<'_> {
        Segment {
            stamp: self.stamp,
            entries: self.entries,
            newest: self.newest,
            xml: &self.xml,
        }
    }
}

/// The owner of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The entry's slot.
    pub slot: Slot,
    /// The record's id.
    pub id: String,
    /// The entry's size in bytes.
    pub bytes: u64,
}

/// Reads an entry's owner and digest. Returns `None` if the slot is empty.
pub(super) fn read_entry(key: &Key, item: &Item) -> Result<Option<(String, String)>, EngineError> {
    item.number::<u64>("version")
        .ok_or_else(|| damaged(key, "version"))?;
    match (item.text("owner"), read_rendered(key, item)?) {
        (Some(owner), Some(rendered)) => Ok(Some((owner.to_owned(), rendered.digest()))),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(damaged(key, "owner")),
        (Some(_), None) => Err(damaged(key, "xml")),
    }
}

/// Returns the rendered entry of a row, or `None` if the slot is empty.
pub(crate) fn read_rendered(key: &Key, item: &Item) -> Result<Option<Rendered>, EngineError> {
    let Some(xml) = item.text("xml") else {
        return Ok(None);
    };
    let lastmod = item.get("lastmod").map(|lastmod| {
        let lastmod = lastmod.as_text().and_then(|text| When::parse(text).ok());
        lastmod.ok_or_else(|| damaged(key, "lastmod"))
    });
    Ok(Some(Rendered {
        xml: xml.to_owned(),
        lastmod: lastmod.transpose()?,
    }))
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// Returns the rows of a segment, read consistently.
    pub async fn segment(&self, shard: &ShardId, segment: u32) -> Result<SegmentRows, EngineError> {
        let pk = self::segment(shard, segment);
        let mut rows = SegmentRows::default();
        for item in self.partition(&pk).await? {
            let sk = item.text("sk").unwrap_or_default().to_owned();
            let key = Key { pk: pk.clone(), sk };
            let position: u32 = key.sk.parse().map_err(|_| damaged(&key, "sk"))?;
            rows.end = position + 1;
            let version = item.number::<u64>("version");
            rows.stamp = version
                .and_then(|version| rows.stamp.checked_add(version))
                .ok_or_else(|| damaged(&key, "version"))?;
            if let Some(Rendered { xml, lastmod }) = read_rendered(&key, &item)? {
                rows.taken.insert(position);
                rows.entries += 1;
                rows.xml.extend_from_slice(xml.as_bytes());
                rows.newest = rows.newest.max(lastmod);
            }
        }
        Ok(rows)
    }

    /// Returns the owners of a segment's entries: position, record id and bytes.
    pub async fn owners(&self, shard: &ShardId, segment: u32) -> Result<Vec<Owner>, EngineError> {
        let items = self.partition(&self::segment(shard, segment)).await?;
        let owner = |item: &Item| {
            let slot = Slot {
                n: shard.n,
                i: item.text("sk")?.parse().ok()?,
            };
            let bytes = item.text("xml")?.len() as u64;
            Some(Owner {
                slot,
                id: item.text("owner")?.to_owned(),
                bytes,
            })
        };
        Ok(items.iter().filter_map(owner).collect())
    }

    /// Replaces an entry's unreadable row by an empty one, so that its segment can be published.
    pub async fn empty(&self, key: &Key) -> Result<(), EngineError> {
        // The version may be lower than before. The segment's stamp is compared with the object's later.
        self.put(Item::from(key).with("version", 1)).await
    }

    /// Raises a segment's stamp. The event of the write has the shard published over an object with a lower stamp.
    pub async fn lift(&self, shard: &ShardId, segment: u32, by: u64) -> Result<(), EngineError> {
        let (n, i) = (shard.n, segment * SEGMENT_SLOTS);
        let key = self::entry(&shard.series, Slot { n, i });
        let update = Update::new().add("version", by);
        self.update(&key, update).await.map(drop)
    }
}
