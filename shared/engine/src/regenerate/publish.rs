//! Publishing a shard: object, rows, splice, put, summary, in this order.
//!
//! - The rows are read after the object, and their versions only rise: what would be written is never older than what
//!   it would replace, and equal stamps mean equal rows.
//! - So is the site's row. What stands around the entries follows its settings, and its epoch is another one whenever
//!   that changes: a run that would write what older settings say holds an ETag of an earlier epoch, however often they
//!   went to and fro, or reads the settings that are true.
//! - Only the segments named by the events are read, unless there is no object of this epoch to splice on.
//! - Nothing over a limit is written: entries that do not fit are moved first, and the next event publishes.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::EngineError;
use crate::keys::ShardId;
use crate::metrics;
use crate::segments::Summary;
use crate::sites::{Hold, SiteRow};
use futures::stream::{self, StreamExt};
use objects::{Document, ObjectKey, ObjectMeta, Precondition, Put, stamp};
use sitemap::member::{Builder, Built, Directory, Member, SEGMENT_SLOTS, splice};
use sitemap::plan::Slot;
use sitemap::stylesheet::shard_frame;
use tracing::{info, warn};

use super::Regenerator;
use crate::SitemapTable;

/// Tries to put one object. A lost one has been overtaken by another publisher.
const TRIES: u32 = 10;
/// Segments read at the same time for a whole build.
const READ_AHEAD: usize = 4;
/// A shard over its byte limit is brought down to this share of it, in percent.
///
/// It needs not be closed to new entries before that. What has to leave is offered no slot of it, which moves the series'
/// counter on to the next shard for good, and the slots that are left are not given back: so a full shard passes on what
/// the batch that filled it brought, and later one entry for each slot that a removal has freed.
const EVICT_TO_PERCENT: u64 = 90;

/// What came of one try.
enum Outcome {
    /// Nothing was ever placed in the shard, or the site is not to be published.
    Nothing,
    /// The shard's object is as it should be: its summary, and whether it was written.
    Published(Summary, bool),
    /// Another publisher was faster.
    Lost,
    /// Entries have to leave first: their owners and slots.
    TooLarge(BTreeMap<String, Slot>),
}

impl Regenerator {
    /// Publishes a shard, and says whether its object was written. `touched` are the segments that may have changed;
    /// without them every one is read.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails, or every try was lost.
    pub async fn publish(
        &self,
        shard: &ShardId,
        touched: Option<&BTreeSet<u32>>,
    ) -> Result<bool, EngineError> {
        let mut touched = touched;
        for _ in 0..TRIES {
            match self.try_publish(shard, touched).await? {
                Outcome::Nothing => return Ok(false),
                Outcome::Published(summary, written) => {
                    // Also when nothing was written: a run that wrote the object may have ended before this.
                    self.reconciler.table.summarise(shard, &summary).await?;
                    if written {
                        info!(%shard, entries = summary.entries, bytes = summary.bytes, "published {shard}");
                    } else {
                        self.note(&metrics::SHARDS_SKIPPED, 1);
                    }
                    return Ok(written);
                }
                Outcome::Lost => {}
                Outcome::TooLarge(slots) => {
                    warn!(%shard, entries = slots.len(), "too many bytes: moving entries");
                    let ids: Vec<String> = slots.keys().cloned().collect();
                    for outcome in self
                        .reconciler
                        .reconcile(&ids, Some((&shard.series, &slots)))
                        .await
                    {
                        outcome?;
                    }
                    // What was moved stood in other segments than those of the events.
                    touched = None;
                }
            }
        }
        Err(EngineError::Contended {
            what: format!("shard {shard}"),
            tries: TRIES,
        })
    }

    async fn try_publish(
        &self,
        shard: &ShardId,
        touched: Option<&BTreeSet<u32>>,
    ) -> Result<Outcome, EngineError> {
        let key = shard.object();
        let table = &self.reconciler.table;
        let current = self.objects.get(&key).await?;
        let row = table.site(&shard.series.site).await?;
        // While the site loads, the scan publishes every shard when its time comes.
        let Some(site) = row.filter(|row| row.hold != Hold::Loading) else {
            return Ok(Outcome::Nothing);
        };
        let frame = shard_frame(&site.settings, &shard.series.name);
        let old = current
            .as_ref()
            .and_then(|(meta, bytes)| readable(&key, meta, bytes, site.epoch));
        let mut spliced = 0;
        let built = match &old {
            Some(old) => {
                let every = old.directory().segments.len();
                let touched: Vec<u32> = match touched {
                    Some(touched) => touched.iter().copied().collect(),
                    None => (0..segments_of(table, shard)
                        .await?
                        .max(u32::try_from(every).unwrap_or(u32::MAX)))
                        .collect(),
                };
                let stamps = &old.directory().segments;
                let mut changed = BTreeMap::new();
                for k in touched {
                    let rows = table.segment(shard, k).await?;
                    if rows.stamp != stamps.get(k as usize).map_or(0, |segment| segment.stamp) {
                        changed.insert(k, rows);
                    }
                }
                if changed.is_empty() {
                    // The limit may have been lowered since it was published.
                    let too_large = self.too_large(&site, shard, old.directory()).await?;
                    return Ok(too_large.unwrap_or_else(|| {
                        Outcome::Published(Summary::of(old.directory()), false)
                    }));
                }
                spliced = changed.len() as u64;
                splice(
                    old,
                    &frame,
                    &changed
                        .iter()
                        .map(|(k, rows)| (*k, rows.segment()))
                        .collect(),
                )
            }
            None => {
                let count = segments_of(table, shard).await?;
                let reads = stream::iter(0..count)
                    .map(|k| table.segment(shard, k))
                    .buffered(READ_AHEAD);
                let mut reads = std::pin::pin!(reads);
                let mut builder = Builder::new(&frame, site.epoch);
                while let Some(rows) = reads.next().await {
                    builder.push(&rows?.segment());
                }
                builder.finish()
            }
        };
        if built.directory.generation() == 0 && current.is_none() {
            return Ok(Outcome::Nothing);
        }
        if let Some(too_large) = self.too_large(&site, shard, &built.directory).await? {
            return Ok(too_large);
        }
        let summary = Summary::of(&built.directory);
        let document = document(
            &built,
            current.as_ref().map(|(meta, _)| meta),
            self.reconciler.env.now(),
        );
        let precondition = precondition(current.as_ref().map(|(meta, _)| meta));
        Ok(
            match self
                .put(&key, built.bytes.into(), &document, &precondition)
                .await?
            {
                Put::Done => {
                    self.note(&metrics::SEGMENTS_SPLICED, spliced);
                    Outcome::Published(summary, true)
                }
                Put::Lost => Outcome::Lost,
            },
        )
    }

    /// What has to leave, if a document is over the site's limit.
    async fn too_large(
        &self,
        site: &SiteRow,
        shard: &ShardId,
        directory: &Directory,
    ) -> Result<Option<Outcome>, EngineError> {
        let (bytes, limit) = (directory.document_bytes(), site.settings.byte_limit);
        if bytes <= limit {
            return Ok(None);
        }
        let excess = bytes - limit * EVICT_TO_PERCENT / 100;
        Ok(Some(Outcome::TooLarge(
            self.highest(shard, directory.segments.len(), excess)
                .await?,
        )))
    }

    /// The entries at a shard's highest positions that make up `excess` bytes.
    async fn highest(
        &self,
        shard: &ShardId,
        segments: usize,
        excess: u64,
    ) -> Result<BTreeMap<String, Slot>, EngineError> {
        let mut slots = BTreeMap::new();
        let mut bytes = 0;
        for k in (0..u32::try_from(segments).unwrap_or(u32::MAX)).rev() {
            for owner in self
                .reconciler
                .table
                .owners(shard, k)
                .await?
                .into_iter()
                .rev()
            {
                if bytes >= excess {
                    return Ok(slots);
                }
                bytes += owner.bytes;
                slots.insert(owner.id, owner.slot);
            }
        }
        Ok(slots)
    }
}

/// How many segments a shard can have.
async fn segments_of(table: &SitemapTable, shard: &ShardId) -> Result<u32, EngineError> {
    Ok(table
        .extent(&shard.series)
        .await?
        .positions
        .div_ceil(SEGMENT_SLOTS))
}

/// The object as a member that may be spliced on: ours, whole, and of this epoch.
pub(crate) fn readable<'a>(
    key: &ObjectKey,
    meta: &ObjectMeta,
    bytes: &'a [u8],
    epoch: u64,
) -> Option<Member<'a>> {
    match Member::parse(bytes) {
        // Without its metadata `http` cannot serve it.
        Ok(member) => {
            (member.directory().epoch == epoch && meta.document.is_some()).then_some(member)
        }
        Err(error) => {
            warn!(object = %key, %error, "not a member of ours: building it again");
            None
        }
    }
}

/// What the metadata of a built member says. The time of change stays while the document does.
pub(crate) fn document(built: &Built, current: Option<&ObjectMeta>, now: i64) -> Document {
    let digest = built.directory.digest();
    let before = current
        .and_then(|meta| meta.document.as_ref())
        .filter(|document| document.digest == digest);
    Document {
        changed: before.map_or(now, |document| document.changed),
        digest,
        bytes: built.directory.document_bytes(),
        entries: built.directory.entries(),
        stamp: stamp(built.directory.epoch, built.directory.generation()),
    }
}

/// That the object is still as it was read.
pub(crate) fn precondition(current: Option<&ObjectMeta>) -> Precondition {
    current.map_or(Precondition::Absent, |meta| {
        Precondition::Unchanged(meta.etag.clone())
    })
}
