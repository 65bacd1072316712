//! A site's indexes: one, or as many as its sitemaps need.
//!
//! - They are published in the steps of a shard: read the objects, then their rows, then put under the objects' ETags. All have
//!   the same stamp: the sum of the version of the site's row and the summaries' generations. It also rises in indexes that do
//!   not change.
//! - If a site has one index and a sitemap changes, only some of its lines are read and replaced: see `blocks.rs`.
//! - The site's row has two counts. `index_objects` rises before a further index is put, so that later runs know of it. `indexes`
//!   changes after all are put, so that robots.txt names only indexes that exist. Each change is an event, whose run publishes
//!   the current state.
//! - The sitemaps of others that the settings name are behind the site's own, so in the last indexes. They are never requested.
//! - An index that is no longer needed is published empty. `http` answers 404 for it once no cache can name it.
//! - Each has a comment with the numbers of URLs that its sitemaps list, taken from their summaries.

use std::collections::{BTreeMap, BTreeSet};

use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::metrics;
use crate::rows::keys::ShardId;
use crate::rows::site::SiteRow;
use futures::future::join;
use objects::{ObjectKey, PUBLISHED_PREFIX, Put, stamp};
use sitemap::index::{locs, with_counts};
use sitemap::member::{Builder, Member, Part, Segment};
use sitemap::stylesheet::index_frame;

use self::blocks::{Block, cut};
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
    /// Publishes a site's indexes. Returns whether any of them was written. `touched` are the sitemaps whose summaries may have
    /// changed. If it is `None`, every summary is read.
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
            // The objects are read before the rows.
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
            // The site file must open a reopened type before an index lists it. The row's own event publishes the site file too,
            // but a summary's event may be handled first.
            if !site_file.is_some_and(|meta| site_files::is_of(&row, &meta)) {
                self.publish_site_file(site).await?;
            }
            // The row does not count these objects and they are not needed. No later run would empty them.
            objects.truncate(row.index_objects as usize);
            pages.resize(objects.len(), Page::default());
            let generations = summaries.values().map(|summary| summary.generation);
            let generation = row.version + generations.sum::<u64>();
            let blocks = match needed {
                1 => {
                    let also = row.settings.listed_also().len() as u32;
                    let lines = pages[0].lines - also;
                    cut(&row.settings, &summaries, self.limits, lines)
                }
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
        // Most sites have one index. The row says if there are more.
        let scope = (1, false);
        self.until_done(&ObjectKey::index(site, 1), scope, attempt)
            .await
    }

    /// Puts the indexes whose stamp differs. Returns how many, or `None` if another publisher was faster. `blocks` are the lines
    /// of a site's only index.
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
        let also = lines::also(&row.settings);
        let mut put = 0;
        for n in order(row, objects, pages) {
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
                    let segments = blocks::segments(generation, blocks, &also);
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

/// Returns the numbers of the indexes in the order of their puts. At each moment, every sitemap that stays is in one of the
/// indexes, and a cascade lists no index that does not exist.
///
/// - An index goes before those that now list the sitemaps it is going to list, even if it lists them already. Which sitemaps the
///   others list decides, not how many. Other publishers run at the same time, so an object may be older than the next one: its
///   put is lost then.
/// - A run that died has left some indexes as it put them and some as they were before. Each of two may list what the other is
///   going to list. Then the one goes first whose sitemaps are in others too. Of several the oldest goes first, since the lines
///   of newer ones stay. If there is none, a sitemap is in no index until its own is put.
/// - A cascade goes last, or first if it lists fewer indexes than before.
fn order(row: &SiteRow, objects: &[Option<Stored>], pages: &[Page]) -> Vec<usize> {
    if pages.len() == 1 {
        return vec![1];
    }
    // For each sitemap: the index that is going to list it, and those that list it now.
    let mut sitemaps = BTreeMap::<&str, (usize, BTreeSet<usize>)>::new();
    for (n, page) in (1..).zip(pages) {
        sitemaps.extend(locs(&page.xml).map(|loc| (loc, (n, BTreeSet::new()))));
    }
    let (mut ages, mut indexes_before) = (Vec::new(), 0);
    for (n, object) in (1..).zip(objects) {
        let (age, lines) = stored(row, object.as_ref()).unwrap_or_default();
        for loc in locs(&lines) {
            if let Some((_, listed_in)) = sitemaps.get_mut(loc) {
                listed_in.insert(n);
            }
        }
        ages.push(age);
        if n == 1 {
            indexes_before = indexes_in(row, &lines);
        }
    }
    let moves: BTreeSet<_> = sitemaps.into_values().collect();
    let mut left: BTreeSet<usize> = (1..=pages.len()).collect();
    let mut order = Vec::new();
    loop {
        // Whether this index's put drops a sitemap before its new index is put; and if so, whether no other index lists it.
        let loss = |n: &usize| {
            let moves = moves.iter();
            let held = moves.filter(|(to, by)| by.contains(n) && to != n && left.contains(to));
            let is_elsewhere = |by: &BTreeSet<_>| by.iter().any(|m| m != n && left.contains(m));
            held.map(|(_, by)| !is_elsewhere(by)).max()
        };
        let next = left.iter().min_by_key(|n| (loss(n), ages[**n - 1], **n));
        let Some(n) = next.copied() else { break };
        left.remove(&n);
        order.push(n);
    }
    let indexes = indexes_in(row, &pages[0].xml);
    if indexes.max(indexes_before) > 0 {
        let lists_fewer = indexes < indexes_before;
        order.retain(|n| *n != 1);
        order.insert(if lists_fewer { 0 } else { order.len() }, 1);
    }
    order
}

/// Returns a stored index's lines and their age: its generation. An index of another epoch counts as oldest.
fn stored(row: &SiteRow, object: Option<&Stored>) -> Option<((bool, u64), Vec<u8>)> {
    let (_, bytes) = object?;
    let member = Member::parse(bytes).ok()?;
    let directory = member.directory();
    let segments = (0..directory.segments.len()).map(Part::Segment);
    let lines: Option<Vec<_>> = segments.map(|part| member.inflated(part)).collect();
    let age = (directory.epoch == row.epoch, directory.generation());
    Some((age, lines?.concat()))
}

/// Returns how many other indexes of the site these lines list. They come first. Sitemaps of others may have an index's name.
fn indexes_in(row: &SiteRow, lines: &[u8]) -> usize {
    let host = &row.settings.host;
    let is_index = |loc: &&str| {
        let file = loc
            .split_once("://")
            .and_then(|(_, rest)| rest.split_once('/'));
        file.is_some_and(|(of, file)| {
            let path = format!("{PUBLISHED_PREFIX}{host}/{file}");
            let key = ObjectKey::from_path(&path);
            of == host && matches!(key, Some(ObjectKey::Index { .. }))
        })
    };
    locs(lines).take_while(is_index).count()
}
