//! Publishing a shard: object, rows, splice, put, summary, in this order.
//!
//! - The rows are read after the object, and their versions only rise. So a put is never older than the object it replaces, and
//!   equal stamps mean equal rows.
//! - The site's row is read after the object too. The part of the document around the entries depends on its settings, and the
//!   site gets a new epoch when that part changes. So the put of a run with older settings has the ETag of an earlier epoch and
//!   fails, even if the settings changed back meanwhile.
//! - Only the segments named by the events are read, unless there is no object of this epoch to splice on.
//! - No document over a limit is written. Entries that do not fit are moved first, and the next event publishes the shard.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::EngineError;
use crate::metrics;
use crate::rows::entry::SegmentRows;
use crate::rows::keys::{Mark, ShardId};
use crate::rows::series::FULL_PERCENT;
use crate::rows::site::{Hold, SiteRow};
use crate::rows::summary::Summary;
use futures::stream::{self, StreamExt};
use objects::{Document, ObjectKey, ObjectMeta, stamp};
use sitemap::member::{Builder, Built, Directory, Member, splice};
use sitemap::plan::Slot;
use sitemap::stylesheet::shard_frame;
use tracing::warn;

use super::put::{Build, Stored};
use super::regenerator::Regenerator;

/// Segments that are read concurrently when a shard is built whole.
const READ_AHEAD: usize = 4;
/// The segments that may have changed. `None` means all of them.
type Touched<'a> = Option<&'a BTreeSet<u32>>;

/// The result of publishing a shard.
struct Published {
    summary: Summary,
    /// How many segments were spliced in. `None` if the object was not written.
    spliced: Option<u64>,
    /// Whether search engines may have to be notified.
    is_told: bool,
}

impl Regenerator {
    /// Publishes a shard. Returns whether its object was written. `touched` are the segments that may have changed. If it is
    /// `None`, every segment is read.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails, or every try was lost.
    pub async fn publish(
        &self,
        shard: &ShardId,
        touched: Touched<'_>,
    ) -> Result<bool, EngineError> {
        let key = &shard.object();
        let build = |touched, stored| self.build_shard(shard, key, touched, stored);
        let Some(published) = self.compare_and_put(key, touched, build).await? else {
            return Ok(false);
        };
        let Published {
            summary,
            spliced,
            is_told,
        } = published;
        match spliced {
            Some(spliced) => self.note(&metrics::SEGMENTS_SPLICED, spliced),
            None => self.note(&metrics::SHARDS_SKIPPED, 1),
        }
        // Also if nothing was written, because a run that wrote the object may have died before this step.
        let table = &self.reconciler.table;
        table.summarise(shard, &summary).await?;
        if is_told && touched.is_some() {
            let now = self.reconciler.env.now();
            let site = &shard.series.site;
            table.mark(Mark::Notices, site, now).await?;
        }
        Ok(spliced.is_some())
    }

    /// Builds a shard's object from its rows, spliced into the stored object if that is of this epoch. Builds nothing if no slot
    /// of the shard was ever used, or if the site is not published yet. After entries were moved, the next try reads all
    /// segments, because their old segments may not be among those of the events.
    async fn build_shard<'a>(
        &self,
        shard: &ShardId,
        key: &ObjectKey,
        touched: Touched<'a>,
        stored: Option<Stored>,
    ) -> Result<Build<Touched<'a>, Option<Published>>, EngineError> {
        let table = &self.reconciler.table;
        let row = table.site(&shard.series.site).await?;
        // While the site is loading, its shards are published later by the scan.
        let Some(site) = row.filter(|row| row.hold != Hold::Loading) else {
            return Ok(Build::Keep(None));
        };
        let frame = shard_frame(&site.settings, &shard.series.name);
        let is_told = site.settings.indexnow_key.is_some();
        let old = stored.as_ref();
        let old = old.and_then(|(meta, bytes)| readable(key, meta, bytes, site.epoch));
        let mut spliced = 0;
        let built = match &old {
            Some(old) => {
                let changed = self
                    .changed_segments(shard, old.directory(), touched)
                    .await?;
                if changed.is_empty() {
                    // The limit may have been lowered since the shard was published.
                    if self.moved_out(&site, shard, old.directory()).await? {
                        return Ok(Build::Again(None));
                    }
                    let changed = stored.as_ref().and_then(|(meta, _)| meta.document.as_ref());
                    let changed = changed.map_or(0, |document| document.changed);
                    let summary = Summary::of(old.directory(), changed);
                    let spliced = None;
                    return Ok(Build::Keep(Some(Published {
                        summary,
                        spliced,
                        is_told,
                    })));
                }
                spliced = changed.len() as u64;
                let segments = changed.iter().map(|(k, rows)| (*k, rows.segment()));
                splice(old, &frame, &segments.collect())
            }
            None => {
                let count = table.extent(&shard.series).await?.segments();
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
        if built.directory.generation() == 0 && stored.is_none() {
            return Ok(Build::Keep(None));
        }
        if self.moved_out(&site, shard, &built.directory).await? {
            return Ok(Build::Again(None));
        }
        let spliced = Some(spliced);
        let document = self.member_document(&built, stored.as_ref().map(|(meta, _)| meta));
        let summary = Summary::of(&built.directory, document.changed);
        let published = Some(Published {
            summary,
            spliced,
            is_told,
        });
        Ok(Build::Put(built.bytes.into(), document, published))
    }

    /// Returns the rows of the touched segments whose stamps differ from the published ones.
    async fn changed_segments(
        &self,
        shard: &ShardId,
        published: &Directory,
        touched: Touched<'_>,
    ) -> Result<BTreeMap<u32, SegmentRows>, EngineError> {
        let table = &self.reconciler.table;
        let stamps = &published.segments;
        let touched: Vec<u32> = match touched {
            Some(touched) => touched.iter().copied().collect(),
            None => {
                let every = u32::try_from(stamps.len()).unwrap_or(u32::MAX);
                let grown = table.extent(&shard.series).await?.segments();
                (0..grown.max(every)).collect()
            }
        };
        let mut changed = BTreeMap::new();
        for k in touched {
            let rows = table.segment(shard, k).await?;
            if rows.stamp != stamps.get(k as usize).map_or(0, |segment| segment.stamp) {
                changed.insert(k, rows);
            }
        }
        Ok(changed)
    }

    /// Moves entries out of a shard whose document is over the site's limit. Returns whether it was.
    ///
    /// The moved entries are offered slots of other shards, so the series' counter moves on to the next shard permanently. Their
    /// old slots are not given back. So later the shard has to move at most one entry for each slot that a removal frees.
    async fn moved_out(
        &self,
        site: &SiteRow,
        shard: &ShardId,
        directory: &Directory,
    ) -> Result<bool, EngineError> {
        let (bytes, limit) = (directory.document_bytes(), site.settings.byte_limit);
        if bytes <= limit {
            return Ok(false);
        }
        let excess = bytes - limit * FULL_PERCENT / 100;
        let segments = directory.segments.len();
        let slots = self.highest(shard, segments, excess).await?;
        warn!(%shard, entries = slots.len(), "too many bytes: moving entries");
        for outcome in self.reconciler.evict(&slots, &shard.series).await {
            outcome?;
        }
        Ok(true)
    }

    /// Returns what the metadata of a built member says. The time of change stays while the document does.
    pub(crate) fn member_document(&self, built: &Built, stored: Option<&ObjectMeta>) -> Document {
        let digest = built.directory.digest();
        let stored = stored.and_then(|meta| meta.document.as_ref());
        Document {
            changed: self.changed(&digest, stored),
            digest,
            bytes: built.directory.document_bytes(),
            entries: built.directory.entries(),
            stamp: stamp(built.directory.epoch, built.directory.generation()),
        }
    }

    /// Returns the entries at a shard's highest positions that make up `excess` bytes.
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

/// Returns the object as a member that may be spliced. Returns `None` unless it is Waymark's, complete, and of this epoch.
pub(super) fn readable<'a>(
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
            warn!(object = %key, %error, "the stored sitemap is damaged: it is built again");
            None
        }
    }
}
