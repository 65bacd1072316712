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

use std::collections::{BTreeMap, BTreeSet};

use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::keys::ShardId;
use crate::metrics;
use crate::segments::Summary;
use crate::sites::SiteRow;
use objects::{ObjectKey, ObjectMeta, Put, stamp};
use sitemap::index::{COUNTS_BYTES, Count, IndexLine, render, render_count, with_counts};
use sitemap::member::{Builder, Segment};
use sitemap::site::{MAX_BYTES, SeriesKind, SiteSettings};
use sitemap::stylesheet::index_frame;
use sitemap::time::When;

use self::blocks::{Block, cut};
use super::put::Try;
use super::{Regenerator, site_files};

mod blocks;

/// Objects that are looked at at the same time.
const HEADS: usize = 16;

/// How much one index may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexLimits {
    /// Sitemaps.
    pub lines: u32,
    /// Bytes, unencoded, if the site's own limit is not lower.
    pub bytes: u64,
    /// Sitemaps of a series whose lines are read and written together; of a large index some power of two times as many.
    pub block: u32,
}

impl IndexLimits {
    /// [`Self::block`] of a deployment: their summaries are one read unit.
    pub const BLOCK: u32 = 32;
}

impl Default for IndexLimits {
    /// Those of sitemaps.org.
    fn default() -> Self {
        Self {
            lines: 50_000,
            bytes: MAX_BYTES,
            block: Self::BLOCK,
        }
    }
}

/// One index as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Page {
    lines: u32,
    newest: Option<When>,
    /// URLs that its sitemaps list, those of videos and of news apart.
    urls: u64,
    repeated: u64,
    xml: Vec<u8>,
    /// The count of each line.
    counts: Vec<u8>,
}

/// What an index says of one sitemap.
#[derive(Default)]
struct Line {
    count: Count,
    lastmod: Option<When>,
    xml: Vec<u8>,
    rendered_count: Vec<u8>,
}

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
            if let Some(written) = self.compare_and_put(&key(site, 1), (), build).await? {
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
            let keys = (1..=looked_at).map(|n| key(site, n));
            let keys: Vec<_> = keys.chain([site_file.clone()]).collect();
            let heads = keys.iter().map(|key| self.objects.head(key));
            let heads = concurrently(HEADS, heads).await.into_iter();
            let mut objects = heads.collect::<Result<Vec<_>, _>>()?;
            let site_file = objects.pop().flatten();
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
        self.until_done(&key(site, 1), scope, attempt).await
    }

    /// Puts the indexes that have another stamp, and says how many. Nothing if one was lost to another publisher. `blocks` are the
    /// lines of the only one.
    async fn put_pages(
        &self,
        row: &SiteRow,
        objects: &[Option<ObjectMeta>],
        pages: &[Page],
        blocks: &[Block],
        generation: u64,
    ) -> Result<Option<usize>, EngineError> {
        let wanted = stamp(row.epoch, generation);
        // Lines that others push on into the next index are listed there before they leave the one they were in, and so
        // are those that move up since others have left.
        let lines = |meta: &Option<ObjectMeta>| {
            let document = meta.as_ref()?.document.as_ref()?;
            Some(document.entries)
        };
        let before = objects.iter().map(|meta| lines(meta).unwrap_or(0));
        let before: Vec<u64> = before.collect();
        let after: Vec<u64> = pages.iter().map(|page| u64::from(page.lines)).collect();
        let mut order: Vec<(u32, (&Option<ObjectMeta>, &Page))> =
            (1..).zip(objects.iter().zip(pages)).collect();
        if are_pushed_on(&before, &after) {
            order.reverse();
        }
        let needed = pages.iter().filter(|page| page.lines > 0).count();
        let mut put = 0;
        for (n, (meta, page)) in order {
            let key = key(&row.settings.host, n);
            let published = meta.as_ref().and_then(|meta| meta.document.as_ref());
            if published.is_some_and(|document| document.stamp == wanted) {
                continue;
            }
            let frame = index_frame(&row.settings);
            let frame = with_counts(frame, n as usize, needed, &page.counts);
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
            let document = self.member_document(&built, meta.as_ref());
            let body = built.bytes.into();
            match self.put(&key, body, &document, meta.as_ref()).await? {
                Put::Done => put += 1,
                Put::Lost => return Ok(None),
            }
        }
        let skipped = pages.len() - put;
        self.note(&metrics::INDEXES_SKIPPED, skipped as u64);
        Ok(Some(put))
    }
}

/// Whether lines move to later indexes, and not to earlier ones, by how many each index has before and after. Whole indexes
/// count first: a cascade that comes or goes has lines of its own.
fn are_pushed_on(before: &[u64], after: &[u64]) -> bool {
    let filled = |lines: &[u64]| {
        let indexes = lines.iter().filter(|lines| **lines > 0).count();
        (indexes, lines.iter().sum::<u64>())
    };
    filled(after) >= filled(before)
}

/// A site's n-th index.
pub(crate) fn key(site: &str, n: u32) -> ObjectKey {
    let site = site.to_owned();
    ObjectKey::Index { site, n }
}

/// Bytes for an index's lines and counts.
fn room(settings: &SiteSettings, limits: IndexLimits) -> u64 {
    let frame = index_frame(settings);
    let around = frame.prolog.len() + frame.epilogue.len() + COUNTS_BYTES;
    limits.bytes.min(settings.byte_limit) - around as u64
}

/// Whether an index lists a sitemap. `hidden` are the series that the settings hide.
fn is_listed(
    settings: &SiteSettings,
    hidden: &[String],
    shard: &ShardId,
    summary: &Summary,
) -> bool {
    summary.entries > 0 && settings.public && !hidden.contains(&shard.series.name)
}

/// The indexes that a site needs: at least one.
fn pages(row: &SiteRow, summaries: &BTreeMap<ShardId, Summary>, limits: IndexLimits) -> Vec<Page> {
    let settings = &row.settings;
    let (hidden, room) = (settings.hidden_series(), room(settings, limits));
    let listed = summaries
        .iter()
        .filter(|(shard, summary)| is_listed(settings, &hidden, shard, summary));
    let mut pages = vec![Page::default()];
    let mut line = Line::default();
    for (shard, summary) in listed {
        line.set_to(settings, shard, summary);
        let is_full = |page: &Page| {
            let bytes = page.bytes() + line.bytes();
            page.lines == limits.lines || bytes as u64 > room
        };
        if pages
            .last()
            .is_none_or(|page| page.lines > 0 && is_full(page))
        {
            pages.push(Page::default());
        }
        if let Some(page) = pages.last_mut() {
            page.add(&line);
        }
    }
    if settings.cascaded_index && pages.len() > 1 {
        let mut first = Page::default();
        for (n, page) in (2..).zip(&pages) {
            line.set(settings, &key(&settings.host, n), page.newest, page.count());
            first.add(&line);
        }
        pages.insert(0, first);
    }
    pages
}

impl Line {
    fn set_to(&mut self, settings: &SiteSettings, shard: &ShardId, summary: &Summary) {
        let count = Count {
            urls: summary.entries,
            is_repeated: settings.kind_of(&shard.series.name) != SeriesKind::Pages,
        };
        self.set(settings, &shard.object(), summary.lastmod, count);
    }

    fn set(
        &mut self,
        settings: &SiteSettings,
        key: &ObjectKey,
        lastmod: Option<When>,
        count: Count,
    ) {
        let loc = format!("{}/{}", settings.origin.as_str(), key.file_name());
        self.xml.clear();
        render(&IndexLine { loc: &loc, lastmod }, &mut self.xml);
        self.rendered_count.clear();
        render_count(count, &mut self.rendered_count);
        (self.count, self.lastmod) = (count, lastmod);
    }

    fn bytes(&self) -> usize {
        self.xml.len() + self.rendered_count.len()
    }
}

impl Page {
    fn add(&mut self, line: &Line) {
        self.lines += 1;
        self.newest = self.newest.max(line.lastmod);
        match line.count.is_repeated {
            true => self.repeated += line.count.urls,
            false => self.urls += line.count.urls,
        }
        self.xml.extend_from_slice(&line.xml);
        self.counts.extend_from_slice(&line.rendered_count);
    }

    fn bytes(&self) -> usize {
        self.xml.len() + self.counts.len()
    }

    /// What a cascade says of it: its pages, or if it has none, what it repeats.
    fn count(&self) -> Count {
        let is_repeated = self.urls == 0;
        let urls = if is_repeated {
            self.repeated
        } else {
            self.urls
        };
        Count { urls, is_repeated }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use sitemap::plan::Series;
    use table::{Item, Table, Update};

    use super::*;
    use crate::doubles::{self, Repeating};
    use crate::keys;
    use crate::rows::{AuditProgress, AuditStep};
    use crate::sites::Hold;
    use crate::sweep::audit::{Audit, Problem, beginning};

    pub(super) const HOST: &str = "www.example.com";

    pub(super) fn row(settings: &Value) -> SiteRow {
        SiteRow {
            epoch: 1,
            hold: Hold::Released,
            version: 1,
            render: 1,
            source: crate::content::NO_SOURCE.to_owned(),
            settings: SiteSettings::parse(HOST, settings).expect("a host"),
            indexes: 1,
            index_objects: 1,
            llms_object: false,
            closings: objects::Closings::default(),
        }
    }

    /// Shards 1 to `count` of a series with this many entries each.
    pub(super) fn shards(name: &str, count: u32, entries: u64) -> BTreeMap<ShardId, Summary> {
        let summary = Summary {
            generation: 1,
            entries,
            lastmod: None,
            bytes: 100,
        };
        let shard = |n| {
            let (site, name) = (HOST.to_owned(), name.to_owned());
            let series = Series { site, name };
            (ShardId { series, n }, summary.clone())
        };
        (1..=count).map(shard).collect()
    }

    fn limits(lines: u32, bytes: u64) -> IndexLimits {
        IndexLimits {
            lines,
            bytes,
            ..IndexLimits::default()
        }
    }

    #[track_caller]
    fn check(
        settings: &Value,
        summaries: &BTreeMap<ShardId, Summary>,
        limits: IndexLimits,
        expected: &[u32],
    ) -> Vec<Page> {
        let pages = pages(&row(settings), summaries, limits);
        let lines: Vec<u32> = pages.iter().map(|page| page.lines).collect();
        assert_eq!(lines, expected);
        for page in &pages {
            let xml = std::str::from_utf8(&page.xml).expect("UTF-8");
            assert_eq!(xml.lines().count(), page.lines as usize);
            let counts = std::str::from_utf8(&page.counts).expect("UTF-8");
            assert_eq!(counts.split_whitespace().count(), page.lines as usize);
        }
        pages
    }

    /// A released site, each of whose indexes has room for one sitemap.
    async fn of_one_line(rows: &Repeating) -> Regenerator {
        Regenerator {
            limits: limits(1, MAX_BYTES),
            ..released(rows, shards("post", 2, 1)).await
        }
    }

    /// A released site with these summaries.
    pub(super) async fn released(
        rows: &Repeating,
        summaries: BTreeMap<ShardId, Summary>,
    ) -> Regenerator {
        let regenerator = doubles::regenerator(rows.engine(), doubles::still());
        let table = &regenerator.reconciler.table;
        let site = row(&json!({})).settings;
        table.create_site(&site, "", 0).await.unwrap();
        for (from, to) in [
            (Hold::Loading, Hold::Publishing),
            (Hold::Publishing, Hold::Released),
        ] {
            table.move_hold(HOST, from, to).await.unwrap();
        }
        for (shard, summary) in summaries {
            table.summarise(&shard, &summary).await.unwrap();
        }
        regenerator
    }

    /// A site turns private just before a publisher counts the two indexes that it needs.
    #[tokio::test]
    async fn no_index_is_put_that_its_site_does_not_count() {
        let rows = Repeating::default();
        let regenerator = of_one_line(&rows).await;
        let private = row(&json!({"public": false})).settings;
        let private = Update::new()
            .set("settings", serde_json::to_string(&private).unwrap())
            .add("version", 1);
        *rows.overtaking.lock().unwrap() = Some((Item::from(&keys::site(HOST)), private));
        regenerator.publish_index(HOST, None).await.unwrap();
        let published = regenerator.objects.list(HOST).await.unwrap();
        assert!(published.contains(&key(HOST, 1)), "{published:?}");
        assert!(!published.contains(&key(HOST, 2)), "{published:?}");
    }

    /// A count that is not there is read as one.
    #[tokio::test]
    async fn indexes_that_a_site_s_row_does_not_count_are_found_and_counted_again() {
        let rows = Repeating::default();
        let regenerator = of_one_line(&rows).await;
        regenerator.publish_index(HOST, None).await.unwrap();
        let table = &regenerator.reconciler.table;
        for (lost, problem) in [
            (&["indexes", "index_objects"][..], Problem::CounterBehind),
            (&["indexes"], Problem::ObjectDiffers),
        ] {
            let forget = lost.iter().fold(Update::new(), |forget, name| {
                forget.set_or_remove(*name, None::<u32>)
            });
            rows.table
                .update(Item::from(&keys::site(HOST)), forget, None)
                .await
                .unwrap();
            let audit = Audit {
                reconciler: &regenerator.reconciler,
                objects: &*regenerator.objects,
                repair: true,
                second_look: Duration::ZERO,
            };
            // Behind every sitemap.
            let after = Some((HOST.to_owned(), "published/~".to_owned()));
            let mut progress = AuditProgress {
                sites: [HOST.to_owned()].into(),
                step: Some(AuditStep::Objects { after }),
                ..beginning(0)
            };
            let found = audit.page(&mut progress).await.unwrap();
            assert!(
                found.iter().any(|finding| finding.problem == problem),
                "{lost:?}: {found:?}"
            );
            regenerator.publish_index(HOST, None).await.unwrap();
            let row = table.site(HOST).await.unwrap().unwrap();
            assert_eq!((row.indexes, row.index_objects), (2, 2), "{lost:?}");
        }
    }

    #[test]
    fn an_index_is_filled_to_the_last_line_and_the_last_byte() {
        let (site, shards) = (json!({}), shards("post", 5, 1));
        check(&site, &shards, IndexLimits::default(), &[5]);
        check(&site, &shards, limits(5, MAX_BYTES), &[5]);
        check(&site, &shards, limits(4, MAX_BYTES), &[4, 1]);
        check(&site, &shards, limits(2, MAX_BYTES), &[2, 2, 1]);
        let frame = index_frame(&row(&site).settings);
        let whole = pages(&row(&site), &shards, IndexLimits::default());
        let two: usize = whole[0]
            .xml
            .split_inclusive(|b| *b == b'\n')
            .take(2)
            .map(<[u8]>::len)
            .sum();
        let around = frame.prolog.len() + frame.epilogue.len() + COUNTS_BYTES;
        let bytes = (around + two + b" 1 1".len()) as u64;
        // The first shard's line is a byte shorter than the others'.
        check(&site, &shards, limits(50_000, bytes), &[2, 1, 1, 1]);
        check(&site, &shards, limits(50_000, bytes + 1), &[2, 2, 1]);
        check(&site, &shards, limits(50_000, bytes - 1), &[1; 5]);
    }

    #[test]
    fn a_lower_limit_of_the_site_counts() {
        let site = json!({"byte_limit": 1_000_000});
        let pages = pages(
            &row(&site),
            &shards("post", 20_000, 1),
            IndexLimits::default(),
        );
        let frame = index_frame(&row(&site).settings);
        let around = frame.prolog.len() + frame.epilogue.len();
        let of = pages.len();
        for (n, page) in (1..).zip(&pages) {
            let frame = with_counts(frame.clone(), n, of, &page.counts);
            let bytes = frame.prolog.len() + page.xml.len() + frame.epilogue.len();
            assert!(bytes <= 1_000_000, "{bytes}");
        }
        assert!(pages[0].bytes() + around > 999_700);
        assert_eq!(pages.iter().map(|page| page.lines).sum::<u32>(), 20_000);
    }

    #[test]
    fn what_is_empty_hidden_or_private_has_no_line() {
        let mut summaries = shards("post", 3, 1);
        summaries.extend(shards("draft", 2, 1));
        summaries.extend(shards("gone", 2, 0));
        check(&json!({}), &summaries, IndexLimits::default(), &[5]);
        let hidden = json!({"types": {"draft": {"public": false}}});
        let pages = check(&hidden, &summaries, IndexLimits::default(), &[3]);
        assert!(!String::from_utf8_lossy(&pages[0].xml).contains("draft"));
        check(
            &json!({"public": false}),
            &summaries,
            limits(1, MAX_BYTES),
            &[0],
        );
    }

    #[test]
    fn a_cascade_lists_the_others_first_if_there_are_any() {
        let (site, shards) = (json!({"cascaded_index": true}), shards("post", 3, 1));
        check(&site, &shards, limits(3, MAX_BYTES), &[3]);
        let pages = check(&site, &shards, limits(2, MAX_BYTES), &[2, 2, 1]);
        let locs = |file: &str| format!("<sitemap><loc>https://{HOST}/{file}</loc></sitemap>\n");
        let first = locs("sitemap_index2.xml") + &locs("sitemap_index3.xml");
        assert_eq!(pages[0].xml, first.as_bytes());
        assert_eq!(pages[0].counts, b" 2 1");
        assert_eq!(pages[2].xml, locs("post-sitemap3.xml").as_bytes());
    }

    #[test]
    fn lines_are_pushed_on_by_others_and_by_a_cascade() {
        let check = |before: &[u64], after: &[u64], expected| {
            assert_eq!(
                are_pushed_on(before, after),
                expected,
                "{before:?} {after:?}"
            );
        };
        check(&[2, 1], &[2, 2], true);
        check(&[2, 2], &[2, 2, 1], true);
        check(&[2, 2, 1], &[2, 2, 0], false);
        check(&[2, 2], &[2, 1], false);
        check(&[2, 2, 2], &[3, 2, 2, 2], true);
        check(&[3, 2, 2, 2], &[2, 2, 2, 0], false);
        // The cascade goes, and more lines come than two indexes hold: all others move to later ones.
        check(&[5, 2, 2, 2, 2, 2], &[2, 2, 2, 2, 2, 2, 2], true);
    }

    #[test]
    fn what_videos_and_news_repeat_is_counted_apart() {
        let mut summaries = shards("post", 2, 50_000);
        for (name, entries) in [("news", 3), ("video", 12)] {
            summaries.extend(shards(name, 1, entries));
        }
        let counts = |settings: &Value, lines| {
            let pages = pages(&row(settings), &summaries, limits(lines, MAX_BYTES));
            let text = |page: &Page| String::from_utf8(page.counts.clone()).expect("UTF-8");
            pages.iter().map(text).collect::<Vec<_>>()
        };
        assert_eq!(counts(&json!({}), 4), [" [3] 50000 50000 [12]"]);
        let clips = json!({"video_series": "clips"});
        assert_eq!(counts(&clips, 4), [" [3] 50000 50000 12"]);
        let cascaded = json!({"cascaded_index": true});
        assert_eq!(
            counts(&cascaded, 3),
            [" 100000 [12]", " [3] 50000 50000", " [12]"]
        );
        assert_eq!(counts(&json!({"public": false}), 4), [""]);
    }
}
