//! Segments and summaries: what publishing reads, and what it leaves for the index.

use std::collections::{BTreeMap, BTreeSet};

use sitemap::member::{Directory, Segment};
use sitemap::plan::{Rendered, Slot};
use sitemap::time::When;
use table::{Condition, Item, Query, Update};

use crate::error::EngineError;
use crate::keys::{self, Key, ShardId};
use crate::sitemap_table::{SitemapTable, damaged};

/// Summaries that are read with those of some lines: the one that is behind them, and some without a line.
const MORE_SUMMARIES: u32 = 4;

/// The rows of a segment, put together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SegmentRows {
    /// The sum of their versions, which only rise: equal stamps mean equal rows.
    pub stamp: u64,
    /// How many hold an entry.
    pub entries: u32,
    /// The newest lastmod of them.
    pub newest: Option<When>,
    /// Their entries, rendered, in the order of the positions.
    pub xml: Vec<u8>,
    /// The positions that hold an entry.
    pub taken: BTreeSet<u32>,
    /// No row has this position or a higher one.
    pub end: u32,
}

impl SegmentRows {
    /// As a part of a member.
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

/// An entry's owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Where the entry is.
    pub slot: Slot,
    /// The record's id.
    pub id: String,
    /// Bytes of the entry.
    pub bytes: u64,
}

/// A published shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The sum of the shard's stamps: only rises.
    pub generation: u64,
    /// Its entries.
    pub entries: u64,
    /// The newest lastmod of them.
    pub lastmod: Option<When>,
    /// Their bytes, without the frame of the document, which does not depend on the rows: equal generations are equal summaries.
    pub bytes: u64,
}

impl Summary {
    /// What is to be said of a published member.
    #[must_use]
    pub fn of(directory: &Directory) -> Self {
        Self {
            generation: directory.generation(),
            entries: directory.entries(),
            lastmod: directory.newest(),
            bytes: directory.entry_bytes(),
        }
    }
}

/// What is rendered in an entry's row; nothing if the slot is empty.
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

/// A summary's row, with its shard.
fn read_summary_of(site: &str, item: &Item) -> Result<(ShardId, Summary), EngineError> {
    let part = |name| item.text(name).unwrap_or_default().to_owned();
    let (pk, sk) = (part("pk"), part("sk"));
    let key = Key { pk, sk };
    let shard = keys::summary_shard(site, &key.sk).ok_or_else(|| damaged(&key, "sk"))?;
    Ok((shard, read_summary(&key, item)?))
}

/// A summary's row.
pub(crate) fn read_summary(key: &Key, item: &Item) -> Result<Summary, EngineError> {
    let lastmod = item.text("lastmod").map(When::parse).transpose();
    let number = |name| item.number(name).ok_or_else(|| damaged(key, name));
    Ok(Summary {
        generation: number("generation")?,
        entries: number("entries")?,
        bytes: number("bytes")?,
        lastmod: lastmod.map_err(|_| damaged(key, "lastmod"))?,
    })
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// The rows of a segment, read consistently.
    pub async fn segment(&self, shard: &ShardId, segment: u32) -> Result<SegmentRows, EngineError> {
        let pk = keys::segment(shard, segment);
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

    /// The owners of a segment's entries: position, record id and bytes.
    pub async fn owners(&self, shard: &ShardId, segment: u32) -> Result<Vec<Owner>, EngineError> {
        let items = self.partition(&keys::segment(shard, segment)).await?;
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
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// All of a site, in the order of series and number, read consistently.
    pub async fn summaries(&self, site: &str) -> Result<BTreeMap<ShardId, Summary>, EngineError> {
        let items = self.partition(&keys::index_partition(site)).await?;
        let summaries = items.iter().map(|item| read_summary_of(site, item));
        summaries.collect()
    }

    /// Those behind `after`, up to `last`, in pages of about so many.
    pub(crate) async fn summaries_between(
        &self,
        site: &str,
        after: Option<&ShardId>,
        last: Option<&ShardId>,
        about: u32,
    ) -> Result<BTreeMap<ShardId, Summary>, EngineError> {
        let mut query = Query::of(keys::index_partition(site));
        query.after = after.map(|shard| Item::from(&keys::summary(shard)));
        // One behind the last says that it is the last.
        query.limit = last.map(|_| about + MORE_SUMMARIES);
        let mut summaries = BTreeMap::new();
        loop {
            let page = self.page(query.clone()).await?;
            for item in page.items {
                let (shard, summary) = read_summary_of(site, &item)?;
                if last.is_some_and(|last| shard > *last) {
                    return Ok(summaries);
                }
                summaries.insert(shard, summary);
            }
            query.after = page.next;
            if query.after.is_none() {
                return Ok(summaries);
            }
        }
    }

    /// Writes a summary if its generation is higher than the row's.
    pub async fn summarise(&self, shard: &ShardId, summary: &Summary) -> Result<(), EngineError> {
        let update = Update::new()
            .set("generation", summary.generation)
            .set("entries", summary.entries)
            .set("bytes", summary.bytes)
            .set_or_remove("lastmod", summary.lastmod.map(|at| at.to_string()));
        let older =
            Condition::lacks("generation").or(Condition::less("generation", summary.generation));
        // The condition fails if the generation is not higher. That is no error.
        self.update_if(&keys::summary(shard), update, older).await?;
        Ok(())
    }
}
