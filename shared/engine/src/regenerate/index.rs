//! A site's indexes: one, or as many as its sitemaps need.
//!
//! - They are published in the steps of a shard: read the objects, then the rows that they are made from, then put under the
//!   objects' ETags. All have the same stamp: the sum of the version of the site's row and the summaries' generations. It also
//!   rises in indexes that do not change.
//! - Where a site has one index and a sitemap changes, only some lines are read and put: see `blocks.rs`.
//! - The site's row has two counts. `index_objects` rises before a further index is put, so that later runs know of it. `indexes`
//!   changes after all are put, so that robots.txt names only indexes that exist. Each change is an event, whose run publishes what
//!   is true then.
//! - An index that is no longer needed is published empty. `http` answers 404 for it once no cache can name it.
//! - Each has a comment that says how many URLs its sitemaps list, by their summaries.

use std::collections::BTreeSet;

use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::metrics;
use crate::rows::keys::ShardId;
use crate::rows::site::SiteRow;
use futures::future::join;
use objects::{ObjectKey, Put, stamp};
use sitemap::index::{first_loc, with_counts};
use sitemap::member::{Builder, Member, Part, Segment, SegmentInfo};
use sitemap::site::SiteSettings;
use sitemap::stylesheet::index_frame;

use self::blocks::{Block, cut, listed_at};
use self::lines::{Page, pages};
use super::put::{Stored, Try};
use super::regenerator::Regenerator;
use super::site_files;

mod blocks;
pub(super) mod lines;
#[cfg(test)]
mod tests;

pub use self::lines::IndexLimits;

/// Objects that are read at the same time.
const READS: usize = 16;

impl Regenerator {
    /// Publishes a site's indexes, and says whether any of them was written. `touched` are the sitemaps whose summaries may have
    /// changed; without them every one is read.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails, or every try was lost.
    pub async fn publish_index(
        &self,
        site: &str,
        touched: Option<&BTreeSet<&ShardId>>,
    ) -> Result<bool, EngineError> {
        if let Some(touched) = touched {
            let build = |(), stored| self.build_blocks(site, touched, stored);
            if let Some(written) = self
                .compare_and_put(&ObjectKey::index(site, 1), (), build)
                .await?
            {
                return Ok(written);
            }
        }
        self.publish_whole_index(site).await
    }

    async fn publish_whole_index(&self, site: &str) -> Result<bool, EngineError> {
        let table = &self.reconciler.table;
        let site_file = &ObjectKey::SiteFile {
            site: site.to_owned(),
        };
        let attempt = |(looked_at, mut written)| async move {
            // They come before the rows that decide.
            let keys: Vec<_> = (1..=looked_at).map(|n| ObjectKey::index(site, n)).collect();
            let objects = keys.iter().map(|key| self.objects.get(key));
            let objects = concurrently(READS, objects);
            let (objects, site_file) = join(objects, self.objects.head(site_file)).await;
            let mut objects = objects.into_iter().collect::<Result<Vec<_>, _>>()?;
            let site_file = site_file?;
            let Some(row) = self.released(site).await? else {
                return Ok(Try::Done(written));
            };
            let summaries = table.summaries(site).await?;
            let mut pages = pages(&row, &summaries, self.limits);
            let needed = u32::try_from(pages.len()).unwrap_or(u32::MAX);
            if needed > row.index_objects {
                table
                    .count_indexes(site, row.version, row.indexes, needed)
                    .await?;
                return Ok(Try::Again((needed, written)));
            }
            if row.index_objects > looked_at {
                return Ok(Try::Again((row.index_objects, written)));
            }
            // What the row has reopened, the site file opens before an index lists it. The row's own event does so too,
            // but the event of a summary may be handled first.
            if !site_file.is_some_and(|meta| site_files::is_of(&row, &meta)) {
                self.publish_site_file(site).await?;
            }
            // One that the row did not come to count is not needed any more: nobody would empty it.
            objects.truncate(row.index_objects as usize);
            pages.resize(objects.len(), Page::default());
            let generations = summaries.values().map(|summary| summary.generation);
            let generation = row.version + generations.sum::<u64>();
            let blocks = match needed {
                1 => cut(&row.settings, &summaries, self.limits, pages[0].lines),
                _ => Vec::new(),
            };
            let put = self.put_pages(&row, &objects, &pages, &blocks, generation);
            match put.await? {
                Some(put) => written |= put > 0,
                None => return Ok(Try::Lost((looked_at, written))),
            }
            let is_counted = needed == row.indexes
                || table
                    .count_indexes(site, row.version, needed, row.index_objects)
                    .await?;
            Ok(if is_counted {
                Try::Done(written)
            } else {
                Try::Lost((looked_at, written))
            })
        };
        // Most sites have one. The row tells of more.
        let scope = (1, false);
        self.until_done(&ObjectKey::index(site, 1), scope, attempt)
            .await
    }

    /// Puts the indexes that have another stamp, and says how many. Nothing if one was lost to another publisher. `blocks` are the
    /// lines of the only one.
    async fn put_pages(
        &self,
        row: &SiteRow,
        objects: &[Option<Stored>],
        pages: &[Page],
        blocks: &[Block],
        generation: u64,
    ) -> Result<Option<usize>, EngineError> {
        let wanted = stamp(row.epoch, generation);
        let needed = pages.iter().filter(|page| page.lines > 0).count();
        let mut put = 0;
        for n in order(&row.settings, objects, pages) {
            let (page, key) = (
                &pages[n - 1],
                ObjectKey::index(&row.settings.host, n as u32),
            );
            let meta = objects[n - 1].as_ref().map(|(meta, _)| meta);
            let published = meta.and_then(|meta| meta.document.as_ref());
            if published.is_some_and(|document| document.stamp == wanted) {
                continue;
            }
            let frame = index_frame(&row.settings);
            let frame = with_counts(frame, n, needed, &page.counts);
            let mut builder = Builder::new(&frame, row.epoch);
            let whole = Segment {
                stamp: generation,
                entries: page.lines,
                newest: page.newest,
                xml: &page.xml,
            };
            match blocks {
                [_, ..] if n == 1 => {
                    let segments = blocks::segments(generation, blocks);
                    segments.for_each(|segment| builder.push(&segment));
                }
                _ => builder.push(&whole),
            }
            let built = builder.finish();
            let document = self.member_document(&built, meta);
            let body = built.bytes.into();
            match self.put(&key, body, &document, meta).await? {
                Put::Done => put += 1,
                Put::Lost => return Ok(None),
            }
        }
        let skipped = pages.len() - put;
        self.note(&metrics::INDEXES_SKIPPED, skipped as u64);
        Ok(Some(put))
    }
}

/// What an index begins with. Lines are in the order of their sitemaps.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum First {
    /// Another index: this is a cascade.
    Index,
    Sitemap(ShardId),
    /// It has no lines.
    Nothing,
}

impl First {
    fn of_lines(site: &str, lines: &[u8]) -> Self {
        match first_loc(lines) {
            None => Self::Nothing,
            Some(loc) => listed_at(site, loc).map_or(Self::Index, Self::Sitemap),
        }
    }

    /// Of what is stored, and how many lines that has.
    fn of_object(site: &str, object: Option<&Stored>) -> (Self, u64) {
        let first = |(_, bytes): &Stored| {
            let member = Member::parse(bytes).ok()?;
            let directory = member.directory();
            let with_lines = |segment: &SegmentInfo| segment.entries > 0;
            let first = directory.segments.iter().position(with_lines)?;
            let lines = member.inflated(Part::Segment(first))?;
            Some((Self::of_lines(site, &lines), directory.entries()))
        };
        object.and_then(first).unwrap_or((Self::Nothing, 0))
    }
}

/// Returns the numbers of the indexes in the order in which they are put: at each moment every sitemap that stays is in one of
/// them, and a cascade lists no index that is not there.
///
/// - Of two neighbours the one that gets lines from the other goes first. What they list now decides, not how much: others publish
///   at the same time, so an object may be older than the next one. If such a one would be put, that put is lost.
/// - A cascade goes last, or first if it lists fewer.
fn order(settings: &SiteSettings, objects: &[Option<Stored>], pages: &[Page]) -> Vec<usize> {
    let site = &settings.host;
    let was = objects
        .iter()
        .map(|object| First::of_object(site, object.as_ref()));
    let is = pages.iter().map(|page| First::of_lines(site, &page.xml));
    let firsts: Vec<_> = was.zip(is).collect();
    let is_after_next = |_: &usize, next: &usize| {
        let ((was, _), is) = &firsts[next - 1];
        is <= was
    };
    let numbers: Vec<usize> = (1..=pages.len()).collect();
    let runs = numbers.chunk_by(is_after_next);
    let mut order: Vec<usize> = runs.flat_map(|run| run.iter().rev().copied()).collect();
    if let Some(((was, lines), First::Index)) = firsts.first() {
        let lists_fewer = *was == First::Index && u64::from(pages[0].lines) < *lines;
        order.retain(|n| *n != 1);
        order.insert(if lists_fewer { 0 } else { order.len() }, 1);
    }
    order
}
