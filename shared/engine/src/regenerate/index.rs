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
use crate::metrics;
use crate::rows::keys::ShardId;
use crate::rows::site::SiteRow;
use crate::rows::summary::Summary;
use futures::future::join;
use objects::{ObjectKey, Put, stamp};
use sitemap::index::{
    COUNTS_BYTES, Count, IndexLine, first_loc, render, render_count, with_counts,
};
use sitemap::member::{Builder, Member, Part, Segment, SegmentInfo};
use sitemap::site::{MAX_BYTES, SeriesKind, SiteSettings};
use sitemap::stylesheet::index_frame;
use sitemap::time::When;

use self::blocks::{Block, cut, listed_at};
use super::put::{Stored, Try};
use super::{Regenerator, site_files};

mod blocks;

/// Objects that are read at the same time.
const READS: usize = 16;

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
            let keys: Vec<_> = (1..=looked_at).map(|n| key(site, n)).collect();
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
        self.until_done(&key(site, 1), scope, attempt).await
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
            let (page, key) = (&pages[n - 1], key(&row.settings.host, n as u32));
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

/// The numbers of the indexes in the order in which they are put: at each moment every sitemap that stays is in one of them, and a
/// cascade lists no index that is not there.
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
    use crate::rows::keys;
    use crate::rows::site::Hold;
    use crate::sweep::audit::progress::{AuditProgress, AuditStep};
    use crate::sweep::audit::{Audit, Problem, beginning};
    use crate::testing::{self, Repeating};

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
        let regenerator = testing::regenerator(rows.engine(), testing::still());
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

    /// Puts the indexes one after another: no sitemap that stays is in none of them meanwhile, and nothing is listed that is not there.
    #[track_caller]
    fn check_order(before: &[&[u32]], after: &[&[u32]], expected: &[usize]) {
        let settings = row(&json!({})).settings;
        // Numbers above a hundred are indexes.
        let lines = |numbers: &[u32]| {
            let mut page = Page::default();
            for n in numbers {
                let mut line = Line::default();
                let key = match n.checked_sub(100) {
                    Some(n) => key(HOST, n),
                    None => shards("post", *n, 1).into_keys().last().unwrap().object(),
                };
                line.set(&settings, &key, None, Count::default());
                page.add(&line);
            }
            page
        };
        let object = |numbers: &&[u32]| {
            let page = lines(numbers);
            let mut builder = Builder::new(&index_frame(&settings), 1);
            builder.push(&Segment {
                stamp: 1,
                entries: page.lines,
                newest: None,
                xml: &page.xml,
            });
            let built = builder.finish();
            let meta = objects::ObjectMeta {
                etag: String::new(),
                length: built.bytes.len() as u64,
                document: None,
            };
            Some((meta, built.bytes.into()))
        };
        let objects: Vec<Option<Stored>> = before.iter().map(object).collect();
        let pages: Vec<Page> = after.iter().map(|numbers| lines(numbers)).collect();
        let order = order(&settings, &objects, &pages);
        assert_eq!(order, expected, "{before:?} {after:?}");
        let mut now = before.to_vec();
        let all = |lists: &[&[u32]]| BTreeSet::from_iter(lists.concat());
        for n in order {
            now[n - 1] = after[n - 1];
            for stays in all(before).intersection(&all(after)) {
                assert!(all(&now).contains(stays), "{before:?} {after:?}: {stays}");
            }
            for n in all(&now).into_iter().filter_map(|n| n.checked_sub(101)) {
                let listed = now.get(n as usize).is_some_and(|listed| !listed.is_empty());
                assert!(listed, "{before:?} {after:?}: {now:?}");
            }
        }
    }

    #[test]
    fn every_sitemap_stays_in_an_index_while_they_are_put() {
        // Some come: the others are pushed on.
        check_order(&[&[1, 2], &[3]], &[&[1, 2], &[3, 4]], &[2, 1]);
        check_order(&[&[2, 3], &[4], &[]], &[&[1, 2], &[3, 4], &[]], &[3, 2, 1]);
        // Some go: the others move up.
        check_order(
            &[&[1, 2], &[3, 4], &[5]],
            &[&[2, 3], &[4, 5], &[]],
            &[1, 2, 3],
        );
        // More come behind than go before, and the other way round.
        check_order(
            &[&[1, 2], &[3, 4], &[]],
            &[&[2, 3], &[4, 5], &[6]],
            &[1, 3, 2],
        );
        check_order(
            &[&[2, 3], &[4, 5], &[6]],
            &[&[1, 2], &[3, 4], &[]],
            &[2, 1, 3],
        );
        // One goes in the first, one comes in the third.
        let (before, after): ([&[u32]; 4], [&[u32]; 4]) = (
            [&[1, 2], &[3, 4], &[6, 7], &[8]],
            [&[2, 3], &[4, 5], &[6, 7], &[8]],
        );
        check_order(&before, &after, &[1, 4, 3, 2]);
        // A cascade comes and goes; it gets longer and shorter.
        let plain: [&[u32]; 4] = [&[1, 2], &[3, 4], &[], &[]];
        let cascade: [&[u32]; 4] = [&[102, 103], &[1, 2], &[3, 4], &[]];
        let longer: [&[u32]; 4] = [&[102, 103, 104], &[2, 3], &[4, 5], &[6]];
        check_order(&plain, &cascade, &[4, 3, 2, 1]);
        check_order(&cascade, &plain, &[1, 2, 4, 3]);
        check_order(&cascade, &longer, &[2, 4, 3, 1]);
        check_order(&longer, &cascade, &[1, 3, 2, 4]);
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
