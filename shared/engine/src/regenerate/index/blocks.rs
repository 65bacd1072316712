//! A site's only index, in blocks of lines, so that a change of one sitemap reads and writes only one block.
//!
//! - A block is a segment of the index's object, and its stamp is the sum of the generations of its summaries. So it is published
//!   by the rule of a shard's segment: read the object, then the block's rows, then put under the object's ETag.
//! - A block's summaries are those after the last line of the previous block, up to its own last line, whether they have a line
//!   or not. Summaries after the last line of all belong to the last block.
//! - The first segment has no lines. Its stamp is the rest of the index's stamp, the version of the site's row. If the row still
//!   has that version, the index was made with the current settings, and the site file was put before it.
//! - The lines of sitemaps of others are a segment behind the blocks. They depend on the site's row alone, so its stamp is 0.
//! - The ends of blocks depend only on the lines: see [`are_cut`]. So equal indexes have the same ETag, whatever their history.
//! - In all other cases the whole index is built: several indexes, other settings, other cuts, an object that was built without
//!   blocks.

use std::collections::{BTreeMap, BTreeSet};

use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::metrics;
use crate::rows::keys::ShardId;
use crate::rows::site::SiteRow;
use crate::rows::summary::Summary;
use objects::{ObjectKey, PUBLISHED_PREFIX};
use sitemap::index::{counts, last_loc, with_counts};
use sitemap::member::{MAX_SEGMENTS, Member, Part, Segment, splice};
use sitemap::plan::Series;
use sitemap::site::SiteSettings;
use sitemap::stylesheet::index_frame;
use sitemap::time::When;

use super::super::put::{Build, Stored};
use super::super::regenerator::Regenerator;
use super::super::shard::readable;
use super::lines::{IndexLimits, Line, Page, is_listed, room};

/// The most blocks of an index: all segments but the first, which has no lines. One less if the index lists sitemaps of others.
const MOST_BLOCKS: usize = MAX_SEGMENTS - 1;
/// The most blocks that are read one by one. If more have changed, the whole index is read.
const MOST_READ: usize = 8;

/// Consecutive lines of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    lines: u32,
    newest: Option<When>,
    xml: Vec<u8>,
    /// The counts of the lines, rendered.
    counts: Vec<u8>,
    /// The sum of the generations of the block's summaries.
    generation: u64,
    /// The sitemap in its last line.
    end: Option<ShardId>,
}

impl Block {
    fn segment(&self) -> Segment<'_> {
        Segment {
            stamp: self.generation,
            entries: self.lines,
            newest: self.newest,
            xml: &self.xml,
        }
    }
}

/// Returns the segments of an index whose generation is `generation`. `also` has the lines of sitemaps of others.
pub(super) fn segments<'a>(
    generation: u64,
    blocks: &'a [Block],
    also: &'a Page,
) -> impl Iterator<Item = Segment<'a>> {
    let stamps = blocks.iter().map(|block| block.generation);
    let first = Segment {
        stamp: generation - stamps.sum::<u64>(),
        entries: 0,
        newest: None,
        xml: b"",
    };
    let blocks = blocks.iter().map(Block::segment);
    let also = (also.lines > 0).then_some(Segment {
        stamp: 0,
        entries: also.lines,
        newest: also.newest,
        xml: &also.xml,
    });
    std::iter::once(first).chain(blocks).chain(also)
}

/// Returns the blocks of these summaries, for an index with `lines` lines of the site's own. An index without such lines has no
/// blocks.
pub(super) fn cut(
    settings: &SiteSettings,
    summaries: &BTreeMap<ShardId, Summary>,
    limits: IndexLimits,
    lines: u32,
) -> Vec<Block> {
    let (hidden, size) = (settings.hidden_series(), size_of_block(limits, lines));
    let (mut blocks, mut line) = (Vec::<Block>::new(), Line::default());
    let most = MOST_BLOCKS - usize::from(!settings.listed_also().is_empty());
    // The generations of summaries after the last line so far.
    let mut generation = 0;
    for (shard, summary) in summaries {
        generation += summary.generation;
        if !is_listed(settings, &hidden, shard, summary) {
            continue;
        }
        line.set_to(settings, shard, summary);
        let end = blocks.last().and_then(|block| block.end.as_ref());
        if end.is_none_or(|end| are_cut(end, shard, size)) && blocks.len() < most {
            blocks.push(Block::default());
        }
        if let Some(block) = blocks.last_mut() {
            block.lines += 1;
            block.newest = block.newest.max(line.lastmod);
            block.xml.extend_from_slice(&line.xml);
            block.counts.extend_from_slice(&line.rendered_count);
            block.generation += std::mem::take(&mut generation);
            block.end = Some(shard.clone());
        }
    }
    if let Some(last) = blocks.last_mut() {
        last.generation += generation;
    }
    blocks
}

/// Returns whether a block ends between two consecutive lines. A block ends after each `size` sitemaps of a series, and where a
/// series has more sitemaps than the next one begins with. Many short series are in one block.
fn are_cut(one: &ShardId, next: &ShardId, size: u32) -> bool {
    (one.n - 1) / size != (next.n - 1) / size
}

/// Returns how many sitemaps of a series are in one block, for an index with `lines` lines. The index then needs about half of
/// the possible blocks.
fn size_of_block(limits: IndexLimits, lines: u32) -> u32 {
    let least = lines.div_ceil(MOST_BLOCKS as u32 / 2);
    let mut size = limits.block;
    while size < least {
        size *= 2;
    }
    size
}

/// The blocks of a published index.
struct Published {
    /// The sitemap in the last line of each block.
    ends: Vec<ShardId>,
    /// The counts of each block's lines, rendered, and at the end those of the sitemaps of others.
    counts: Vec<String>,
}

impl Published {
    /// Returns the parsed index. Returns `None` if it is not the site's only index, was made with other settings, or has no
    /// blocks.
    fn of(row: &SiteRow, index: &Member<'_>) -> Option<Self> {
        let directory = index.directory();
        let (first, mut blocks) = directory.segments.split_first()?;
        let is_of_row = first.entries == 0 && first.stamp == row.version;
        let also = row.settings.listed_also().len();
        if also > 0 {
            let (last, others) = blocks.split_last()?;
            if (last.stamp, last.entries as usize) != (0, also) {
                return None;
            }
            blocks = others;
        }
        if !is_of_row || blocks.is_empty() || (row.indexes, row.index_objects) != (1, 1) {
            return None;
        }
        let prolog = String::from_utf8(index.inflated(Part::Prolog)?).ok()?;
        let counted = counts(&prolog);
        if counted.len() as u64 != directory.entries() {
            return None;
        }
        let mut counted = counted.into_iter();
        let (mut ends, mut counts) = (Vec::new(), Vec::new());
        for (k, block) in (1..).zip(blocks) {
            let lines = index.inflated(Part::Segment(k))?;
            ends.push(listed_at(&row.settings.host, last_loc(&lines)?)?);
            let of_block = counted.by_ref().take(block.entries as usize);
            counts.push(of_block.map(|count| format!(" {count}")).collect());
        }
        counts.push(counted.map(|count| format!(" {count}")).collect());
        Some(Self { ends, counts })
    }

    /// Returns whether the other blocks stay as they are if this becomes the k-th block.
    fn has_room_for(&self, k: usize, block: &Block, size: u32) -> bool {
        let Some(end) = &block.end else { return false };
        // Summaries after the end of a block belong to the next block. Only the last block may get another end.
        match self.ends.len() - 1 == k {
            true => k == 0 || are_cut(&self.ends[k - 1], end, size),
            false => self.ends[k] == *end,
        }
    }

    /// Returns the block that has, or would have, a sitemap's line.
    fn block_of(&self, shard: &ShardId) -> usize {
        let block = self.ends.partition_point(|end| end < shard);
        block.min(self.ends.len() - 1)
    }
}

/// Returns the sitemap with this address. Returns `None` if the address is that of another file.
fn listed_at(site: &str, loc: &str) -> Option<ShardId> {
    let (_, file) = loc.rsplit_once('/')?;
    match ObjectKey::from_path(&format!("{PUBLISHED_PREFIX}{site}/{file}"))? {
        ObjectKey::Shard { site, series, n } => {
            let series = Series { site, name: series };
            Some(ShardId { series, n })
        }
        _ => None,
    }
}

impl Regenerator {
    /// Rebuilds the index with new lines for these sitemaps' blocks. The result is whether that changes the index, or `None` if
    /// the whole index has to be read.
    pub(super) async fn build_blocks(
        &self,
        site: &str,
        touched: &BTreeSet<&ShardId>,
        stored: Option<Stored>,
    ) -> Result<Build<(), Option<bool>>, EngineError> {
        const WHOLE: Build<(), Option<bool>> = Build::Keep(None);
        let Some(row) = self.released(site).await? else {
            return Ok(Build::Keep(Some(false)));
        };
        let Some((meta, bytes)) = &stored else {
            return Ok(WHOLE);
        };
        let Some(old) = readable(&ObjectKey::index(site, 1), meta, bytes, row.epoch) else {
            return Ok(WHOLE);
        };
        let Some(mut published) = Published::of(&row, &old) else {
            return Ok(WHOLE);
        };
        let touched = touched.iter().map(|shard| published.block_of(shard));
        let touched: BTreeSet<usize> = touched.collect();
        if touched.len() > MOST_READ {
            return Ok(WHOLE);
        }
        let segments = &old.directory().segments[1..];
        let read = touched.iter().map(|k| async {
            let lines = segments[*k].entries;
            let summaries = self.read_block(site, &published.ends, *k, lines).await?;
            Ok((*k, summaries))
        });
        let read = concurrently(MOST_READ, read).await.into_iter();
        let mut read = read.collect::<Result<BTreeMap<_, _>, EngineError>>()?;
        read.retain(|k, summaries| {
            let generations = summaries.values().map(|summary| summary.generation);
            generations.sum::<u64>() != segments[*k].stamp
        });
        if read.is_empty() {
            self.note(&metrics::INDEXES_SKIPPED, 1);
            return Ok(Build::Keep(Some(false)));
        }
        let also = row.settings.listed_also().len() as u32;
        let lines = old.directory().entries() as u32 - also;
        let size = size_of_block(self.limits, lines);
        let mut blocks = BTreeMap::new();
        for (k, summaries) in &read {
            let cut = cut(&row.settings, summaries, self.limits, lines);
            let Ok([block]) = <[Block; 1]>::try_from(cut) else {
                return Ok(WHOLE);
            };
            if !published.has_room_for(*k, &block, size) {
                return Ok(WHOLE);
            }
            published.counts[*k] = String::from_utf8_lossy(&block.counts).into_owned();
            blocks.insert(*k as u32 + 1, block);
        }
        let counts = published.counts.concat();
        let frame = with_counts(index_frame(&row.settings), 1, 1, counts.as_bytes());
        let changes = blocks
            .iter()
            .map(|(number, block)| (*number, block.segment()));
        let built = splice(&old, &frame, &changes.collect());
        let now = built.directory.entries() as u32 - also;
        let bytes = built.directory.entry_bytes() + counts.len() as u64;
        if now + also > self.limits.lines
            || bytes > room(&row.settings, self.limits)
            || size_of_block(self.limits, now) != size
        {
            return Ok(WHOLE);
        }
        let document = self.member_document(&built, Some(meta));
        Ok(Build::Put(built.bytes.into(), document, Some(true)))
    }

    /// Returns the summaries of the k-th block, which had `lines` lines.
    async fn read_block(
        &self,
        site: &str,
        ends: &[ShardId],
        k: usize,
        lines: u32,
    ) -> Result<BTreeMap<ShardId, Summary>, EngineError> {
        let after = k.checked_sub(1).map(|before| &ends[before]);
        let last = ends[..ends.len() - 1].get(k);
        let table = &self.reconciler.table;
        table.summaries_between(site, after, last, lines).await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::lines::pages;
    use super::super::tests::{HOST, released, released_as, row, shards};
    use super::*;
    use crate::testing::Repeating;

    /// Returns the blocks and the document of the published index.
    async fn published(regenerator: &Regenerator) -> (Vec<(u64, u32)>, String) {
        let stored = regenerator
            .objects
            .get(&ObjectKey::index(HOST, 1))
            .await
            .unwrap();
        let (meta, bytes) = stored.expect("an index");
        let member = Member::parse(&bytes).unwrap();
        member.verify().unwrap();
        let segments = &member.directory().segments;
        let blocks = (0..segments.len()).map(Part::Segment);
        let parts = [Part::Prolog].into_iter().chain(blocks);
        let parts = parts.chain([Part::Epilogue]);
        let text: Vec<Vec<u8>> = parts.map(|part| member.inflated(part).unwrap()).collect();
        let text = String::from_utf8(text.concat()).unwrap();
        let segments = segments.iter();
        let segments = segments.map(|segment| (segment.stamp, segment.entries));
        assert_eq!(
            meta.document.unwrap().digest,
            member.directory().digest(),
            "{text}"
        );
        (segments.collect(), text)
    }

    /// Returns the blocks and the document that the summaries require.
    async fn wanted(regenerator: &Regenerator) -> (Vec<(u64, u32)>, String) {
        let table = &regenerator.reconciler.table;
        let summaries = table.summaries(HOST).await.unwrap();
        let row = table.site(HOST).await.unwrap().unwrap();
        let (settings, limits) = (&row.settings, regenerator.limits);
        let pages = pages(&row, &summaries, limits);
        let [page] = &*pages else {
            panic!("{} indexes", pages.len());
        };
        let frame = with_counts(index_frame(settings), 1, 1, &page.counts);
        let document = [&frame.prolog, &page.xml, frame.epilogue].concat();
        let also = settings.listed_also().len() as u32;
        let blocks = cut(settings, &summaries, limits, page.lines - also);
        let blocks = blocks.iter().map(|block| (block.generation, block.lines));
        let also = (also > 0).then_some((0, also));
        let cut = std::iter::once((row.version, 0)).chain(blocks);
        let cut = cut.chain(also).collect();
        (cut, String::from_utf8(document).unwrap())
    }

    /// Tests that a change replaces its own block alone, or the whole index if that has to be cut differently.
    #[tokio::test]
    async fn a_changed_block_makes_the_index_that_all_summaries_make() {
        for also in [
            json!([]),
            json!(["https://a.example/post-sitemap7.xml", "https://b.example/"]),
        ] {
            changed_blocks(&json!({"also": also})).await;
        }
    }

    async fn changed_blocks(settings: &serde_json::Value) {
        let rows = Repeating::default();
        let regenerator = released_as(&rows, settings, shards("post", 100, 7)).await;
        let table = &regenerator.reconciler.table;
        regenerator.publish_index(HOST, None).await.unwrap();
        let (cut, _) = published(&regenerator).await;
        // Behind the blocks there may be sitemaps of others.
        let lines = |cut: &[(u64, u32)]| {
            let own = cut[1..].iter().filter(|(stamp, _)| *stamp > 0);
            own.map(|(_, lines)| *lines).collect::<Vec<_>>()
        };
        assert_eq!(lines(&cut), [32, 32, 32, 4]);
        let shard = |name: &str, n| {
            let (site, name) = (HOST.to_owned(), name.to_owned());
            let series = Series { site, name };
            ShardId { series, n }
        };
        let summary = |generation, entries| Summary {
            generation,
            entries,
            lastmod: Some(When::at(1_700_000_000)),
            bytes: 100,
            changed: None,
        };
        let more = (101..=161).map(|n| (shard("post", n), summary(1, 1)));
        let fourth = (97..=161).map(|n| (shard("post", n), summary(9, 0)));
        let one = |name, n, summary| vec![(shard(name, n), summary)];
        for (changes, expected, spliced) in [
            (one("post", 1, summary(2, 8)), vec![32, 32, 32, 4], Some(1)),
            (one("post", 32, summary(2, 8)), vec![32, 32, 32, 4], Some(1)),
            (one("post", 33, summary(2, 8)), vec![32, 32, 32, 4], Some(1)),
            (
                one("post", 100, summary(2, 8)),
                vec![32, 32, 32, 4],
                Some(1),
            ),
            // Emptied: the last line of a block, the first of another, and the last of all. If a block's first line goes, another
            // block gets its summary.
            (one("post", 64, summary(3, 0)), vec![32, 31, 32, 4], None),
            (one("post", 66, summary(3, 0)), vec![32, 31, 31, 4], Some(1)),
            (
                one("post", 100, summary(3, 0)),
                vec![32, 31, 31, 3],
                Some(1),
            ),
            // Filled again: before all others, and after them with a block of its own.
            (
                one("post", 100, summary(4, 5)),
                vec![32, 31, 31, 4],
                Some(1),
            ),
            (one("page", 1, summary(1, 5)), vec![33, 31, 31, 4], Some(1)),
            (one("video", 1, summary(1, 5)), vec![33, 31, 31, 4, 1], None),
            // The last block is now one with the previous block.
            (
                [one("video", 1, summary(2, 0)), one("q", 97, summary(1, 5))].concat(),
                vec![33, 31, 31, 5],
                None,
            ),
            (one("q", 97, summary(2, 0)), vec![33, 31, 31, 4], Some(1)),
            (one("post", 64, summary(4, 2)), vec![33, 32, 31, 4], None),
            (
                [
                    one("post", 3, summary(4, 0)),
                    one("post", 40, summary(4, 1)),
                ]
                .concat(),
                vec![32, 32, 31, 4],
                Some(2),
            ),
            (more.collect(), vec![32, 32, 31, 32, 32, 1], None),
            (fourth.collect(), vec![32, 32, 31], None),
        ] {
            for (shard, summary) in &changes {
                table.summarise(shard, summary).await.unwrap();
            }
            let touched = changes.iter().map(|(shard, _)| shard).collect();
            let (before, _) = published(&regenerator).await;
            let publish = async || {
                regenerator
                    .publish_index(HOST, Some(&touched))
                    .await
                    .unwrap()
            };
            assert!(publish().await, "{changes:?}");
            let (cut, text) = published(&regenerator).await;
            let wanted = wanted(&regenerator).await;
            assert_eq!((&cut, &text), (&wanted.0, &wanted.1), "{changes:?}");
            assert_eq!(lines(&cut), expected, "{changes:?}");
            let changed = before.iter().zip(&cut).filter(|(one, other)| one != other);
            let changed = changed.count();
            assert!(
                spliced.is_none_or(|spliced| spliced == changed),
                "{changes:?}"
            );
            assert!(!publish().await, "{changes:?}");
        }
    }

    /// Tests an index of an earlier version, one of other settings, and a damaged one.
    #[tokio::test]
    async fn what_has_no_blocks_is_built_whole() {
        let rows = Repeating::default();
        let regenerator = released(&rows, shards("post", 3, 7)).await;
        regenerator.publish_index(HOST, None).await.unwrap();
        let stored = regenerator
            .objects
            .get(&ObjectKey::index(HOST, 1))
            .await
            .unwrap();
        let (_, bytes) = stored.unwrap();
        let index = Member::parse(&bytes).unwrap();
        let other = |indexes, index_objects, version| SiteRow {
            indexes,
            index_objects,
            version,
            ..row(&json!({}))
        };
        assert!(Published::of(&other(1, 1, 1), &index).is_some());
        for row in [other(2, 2, 1), other(1, 2, 1), other(1, 1, 2)] {
            assert!(Published::of(&row, &index).is_none(), "{row:?}");
        }
        let lines = index.inflated(Part::Segment(1)).unwrap();
        let frame = index_frame(&row(&json!({})).settings);
        for (head, counts) in [(None, " 7 7 7"), (Some(1), " 7 7"), (Some(1), "")] {
            let frame = with_counts(frame.clone(), 1, 1, counts.as_bytes());
            let mut builder = sitemap::member::Builder::new(&frame, 1);
            if let Some(stamp) = head {
                let block = Block::default();
                builder.push(&Segment {
                    stamp,
                    ..block.segment()
                });
            }
            builder.push(&Segment {
                stamp: 1,
                entries: 3,
                newest: None,
                xml: &lines,
            });
            let built = builder.finish();
            let index = Member::parse(&built.bytes).unwrap();
            assert!(Published::of(&other(1, 1, 1), &index).is_none(), "{counts}");
        }
    }
}
