//! The number of a site's indexes, and the order of their puts.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use sitemap::index::{COUNTS_BYTES, Count};
use sitemap::plan::Series;
use sitemap::site::{MAX_BYTES, SiteSettings};
use sitemap::time::When;
use table::{Item, Table, Update};

use super::lines::Line;
use super::*;
use crate::rows::keys;
use crate::rows::site::Hold;
use crate::rows::summary::Summary;
use crate::sweep::audit::progress::{AuditProgress, AuditStep};
use crate::sweep::audit::{Audit, Finding, Problem, beginning};
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
        departures: false,
        closings: objects::Closings::default(),
    }
}

/// Returns the summaries of shards 1 to `count` of a series with this many entries each.
pub(super) fn shards(name: &str, count: u32, entries: u64) -> BTreeMap<ShardId, Summary> {
    let summary = Summary {
        generation: 1,
        entries,
        lastmod: None,
        bytes: 100,
        changed: None,
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

/// Returns a released site whose indexes have room for one sitemap each.
async fn of_one_line(rows: &Repeating) -> Regenerator {
    Regenerator {
        limits: limits(1, MAX_BYTES),
        ..released(rows, shards("post", 2, 1)).await
    }
}

/// Returns a released site with these summaries.
pub(super) async fn released(
    rows: &Repeating,
    summaries: BTreeMap<ShardId, Summary>,
) -> Regenerator {
    released_as(rows, &json!({}), summaries).await
}

/// Returns a released site with these settings and summaries.
pub(super) async fn released_as(
    rows: &Repeating,
    settings: &Value,
    summaries: BTreeMap<ShardId, Summary>,
) -> Regenerator {
    let regenerator = testing::regenerator(rows.engine(), testing::still());
    let table = &regenerator.reconciler.table;
    let site = row(settings).settings;
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

/// Tests a site that becomes private just before a publisher counts the two indexes that it needs.
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
    assert!(
        published.contains(&ObjectKey::index(HOST, 1)),
        "{published:?}"
    );
    assert!(
        !published.contains(&ObjectKey::index(HOST, 2)),
        "{published:?}"
    );
}

/// Tests a row without a count, which is read as one index.
#[tokio::test]
async fn indexes_that_a_site_s_row_does_not_count_are_found_and_counted_again() {
    let rows = Repeating::default();
    let regenerator = of_one_line(&rows).await;
    let publish = async || {
        // The count raises the version of the site's row, whose event publishes once more.
        for _ in 0..2 {
            regenerator.publish_index(HOST, None).await.unwrap();
        }
    };
    publish().await;
    let table = &regenerator.reconciler.table;
    for (lost, problem, what, why) in [
        (
            &["indexes", "index_objects"][..],
            Problem::CounterBehind,
            format!("site {HOST}"),
            "2 indexes are published",
        ),
        (
            &["indexes"],
            Problem::ObjectDiffers,
            ObjectKey::index(HOST, 2).path(),
            "the site's row counts 1 indexes",
        ),
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
        // After every sitemap.
        let after = Some((HOST.to_owned(), "published/~".to_owned()));
        let mut progress = AuditProgress {
            sites: [HOST.to_owned()].into(),
            step: Some(AuditStep::Objects { after }),
            ..beginning(0)
        };
        let found = audit.page(&mut progress).await.unwrap();
        let is_it = |finding: &Finding| {
            (finding.problem, &*finding.what, &*finding.detail) == (problem, &*what, why)
        };
        assert!(found.iter().any(is_it), "{lost:?}: {found:?}");
        publish().await;
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
fn sitemaps_of_others_are_behind_all_of_the_sites_own() {
    let others = ["https://a.example/post-sitemap.xml", "https://b.example/"];
    let also = json!({"also": [others[0], {"url": others[1], "lastmod": "2026-11-01"}]});
    let own = shards("post", 3, 2);
    let line = |loc: &str| format!("<sitemap><loc>{loc}</loc></sitemap>\n");
    let dated = format!(
        "<sitemap><loc>{}</loc><lastmod>2026-11-01</lastmod></sitemap>\n",
        others[1]
    );
    let pages = check(&also, &own, IndexLimits::default(), &[5]);
    let xml = String::from_utf8(pages[0].xml.clone()).unwrap();
    assert!(xml.ends_with(&(line(others[0]) + &dated)), "{xml}");
    assert_eq!(pages[0].counts, b" 2 2 2 ? ?");
    assert_eq!(pages[0].newest, Some(When::parse("2026-11-01").unwrap()));
    // They fill the last index, and what does not fit is in a further one.
    let pages = check(&also, &own, limits(2, MAX_BYTES), &[2, 2, 1]);
    assert_eq!(pages[1].counts, b" 2 ?");
    assert_eq!(pages[2].xml, dated.as_bytes());
    let mut cascaded = also.clone();
    cascaded["cascaded_index"] = json!(true);
    let pages = check(&cascaded, &own, limits(2, MAX_BYTES), &[3, 2, 2, 1]);
    assert_eq!(pages[0].counts, b" 4 2 ?");
    // A site without sitemaps of its own lists them, and a private site does not.
    check(&also, &BTreeMap::new(), IndexLimits::default(), &[2]);
    let mut private = also;
    private["public"] = json!(false);
    check(&private, &own, IndexLimits::default(), &[0]);
}

#[test]
fn sitemaps_of_others_that_are_named_like_indexes_are_none() {
    let also = json!({"also": ["https://a.example/sitemap_index2.xml", "https://a.example/sitemap_index3.xml"]});
    let row = row(&also);
    let pages = pages(&row, &BTreeMap::new(), limits(1, MAX_BYTES));
    assert_eq!(pages.len(), 2);
    assert_eq!(indexes_in(&row, &pages[0].xml), 0);
    let index = format!("<sitemap><loc>http://{HOST}/sitemap_index2.xml</loc></sitemap>\n");
    let lines = [index.as_bytes(), &pages[0].xml].concat();
    assert_eq!(indexes_in(&row, &lines), 1);
}

/// Checks the order of the indexes' puts. After each put, every sitemap that stays is in some index, and every listed index
/// exists.
#[track_caller]
fn check_order(before: &[&[u32]], after: &[&[u32]], expected: &[usize]) {
    let before: Vec<_> = before.iter().map(|numbers| (1, *numbers)).collect();
    check_order_of(&before, after, expected);
}

/// Checks the order as [`check_order`] does, for indexes of different generations.
#[track_caller]
fn check_order_of(before: &[(u64, &[u32])], after: &[&[u32]], expected: &[usize]) {
    let row = row(&json!({}));
    let settings = &row.settings;
    // Numbers above 100 are indexes.
    let lines = |numbers: &[u32]| {
        let mut page = Page::default();
        for n in numbers {
            let mut line = Line::default();
            let key = match n.checked_sub(100) {
                Some(n) => ObjectKey::index(HOST, n),
                None => shards("post", *n, 1).into_keys().last().unwrap().object(),
            };
            line.set(settings, &key, None, Some(Count::default()));
            page.add(&line);
        }
        page
    };
    let object = |(stamp, numbers): &(u64, &[u32])| {
        let page = lines(numbers);
        let mut builder = Builder::new(&index_frame(settings), row.epoch);
        builder.push(&Segment {
            stamp: *stamp,
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
    let order = order(&row, &objects, &pages);
    assert_eq!(order, expected, "{before:?} {after:?}");
    let before: Vec<_> = before.iter().map(|(_, numbers)| *numbers).collect();
    let mut now = before.clone();
    let all = |lists: &[&[u32]]| BTreeSet::from_iter(lists.concat());
    for n in order {
        now[n - 1] = after[n - 1];
        for stays in all(&before).intersection(&all(after)) {
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
    // Sitemaps are added: the others move to later indexes.
    check_order(&[&[1, 2], &[3]], &[&[1, 2], &[3, 4]], &[1, 2]);
    check_order(&[&[2, 3], &[4], &[]], &[&[1, 2], &[3, 4], &[]], &[2, 1, 3]);
    // Sitemaps are removed: the others move to earlier indexes.
    check_order(
        &[&[1, 2], &[3, 4], &[5]],
        &[&[2, 3], &[4, 5], &[]],
        &[1, 2, 3],
    );
    // More are added at the end than are removed at the beginning, and the other way round.
    check_order(
        &[&[1, 2], &[3, 4], &[]],
        &[&[2, 3], &[4, 5], &[6]],
        &[1, 2, 3],
    );
    check_order(
        &[&[2, 3], &[4, 5], &[6]],
        &[&[1, 2], &[3, 4], &[]],
        &[2, 1, 3],
    );
    // One is removed from the first index, one is added to the third.
    let (before, after): ([&[u32]; 4], [&[u32]; 4]) = (
        [&[1, 2], &[3, 4], &[6, 7], &[8]],
        [&[2, 3], &[4, 5], &[6, 7], &[8]],
    );
    check_order(&before, &after, &[1, 2, 3, 4]);
    // A cascade appears and disappears, and gets longer and shorter.
    let plain: [&[u32]; 4] = [&[1, 2], &[3, 4], &[], &[]];
    let cascade: [&[u32]; 4] = [&[102, 103], &[1, 2], &[3, 4], &[]];
    let longer: [&[u32]; 4] = [&[102, 103, 104], &[2, 3], &[4, 5], &[6]];
    check_order(&plain, &cascade, &[3, 2, 4, 1]);
    check_order(&cascade, &plain, &[1, 2, 3, 4]);
    check_order(&cascade, &longer, &[2, 3, 4, 1]);
    check_order(&longer, &cascade, &[1, 3, 2, 4]);
}

#[test]
fn every_sitemap_stays_in_an_index_after_a_run_that_died() {
    // The dead run has put only the first index, which now lists a sitemap from after the second.
    let died: [(u64, &[u32]); 2] = [(2, &[7, 8]), (1, &[5, 6])];
    check_order_of(&died, &[&[1, 7], &[8, 9]], &[2, 1]);
    // The first is going to list what the second lists, and the other way round.
    let died: [(u64, &[u32]); 2] = [(2, &[7, 8]), (1, &[5, 7])];
    check_order_of(&died, &[&[1, 7], &[8, 9]], &[2, 1]);
    // The sitemaps that both are going to list are in the oldest index and in a newer one.
    let died: [(u64, &[u32]); 4] = [(2, &[5, 6]), (2, &[7, 8]), (1, &[5, 6]), (1, &[7, 8])];
    check_order_of(&died, &[&[4, 5], &[6, 7], &[8, 9], &[]], &[3, 2, 4, 1]);
}

/// Tests an index that others have put after it was read, and before the next one was read. Its put is lost before any other
/// index is put.
#[test]
fn the_order_does_not_rely_on_an_index_that_may_be_older_than_another() {
    check_order_of(&[(1, &[2, 3]), (2, &[2, 3])], &[&[1, 2], &[3, 4]], &[1, 2]);
    check_order_of(&[(2, &[2, 3]), (1, &[2, 3])], &[&[1, 2], &[3, 4]], &[2, 1]);
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
