//! Tests which files are written, and when.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use engine::regenerate::feed::FEED_PERIOD;
use engine::sweep::audit::{Finding, Problem};
use http::Method;
use objects::{Document, ObjectKey, Precondition, Put};
use serde_json::{Value, json};
use sitemap::member::{Frame, Member, splice};
use sitemap::time::When;

use super::calls::Queries;
use super::harness::{Options, World, simulated};
use super::meter::Meter;
use crate::records::{SITE, post, settings, with};

fn posts(count: u32) -> Vec<Value> {
    (0..count)
        .map(|n| post(&format!("/{n:05}"), 1 + n % 28))
        .collect()
}

/// Returns options without sweeps. The day's first sweep marks all feeds, and one after the clock's leap publishes them, which
/// would be counted.
fn unswept() -> Options {
    Options {
        sweeps: false,
        ..Options::default()
    }
}

#[test]
fn a_no_op_edit_writes_nothing() {
    simulated(async |sim| {
        let world = World::with(&sim, unswept(), &posts(3)).await;
        let before = world.puts();
        let rows = world.rows("SEGMENT#").await;
        let tagged = world
            .crawler
            .get("/post-sitemap.xml")
            .await
            .header("etag")
            .to_owned();
        world.put(&posts(3)[1]).await;
        world.settle().await;
        assert_eq!(world.puts(), before);
        world.clock.leap(FEED_PERIOD);
        world
            .put(&with(&posts(3)[1], json!({"title": "not in a sitemap"})))
            .await;
        world.settle().await;
        assert_eq!(world.puts()[0], before[0] + 1, "the feed");
        assert_eq!(world.rows("SEGMENT#").await, rows);
        assert_eq!(
            world.crawler.get("/post-sitemap.xml").await.header("etag"),
            tagged
        );
        world.stop();
    });
}

#[test]
fn one_edit_is_one_put_of_one_shard_and_at_most_one_of_the_index() {
    simulated(async |sim| {
        let records: Vec<Value> = posts(25)
            .into_iter()
            .chain([settings(json!({"entries_per_sitemap": 10}))])
            .collect();
        let world = World::with(&sim, unswept(), &records).await;
        let before = world.puts();
        world.clock.leap(FEED_PERIOD);
        world
            .put(&with(&records[12], json!({"modified_at": "2026-03-01"})))
            .await;
        let listed = world.listed().await;
        assert_eq!(
            listed[&format!("https://{SITE}/00012")].lastmod.as_deref(),
            Some("2026-03-01")
        );
        // And one of the feed.
        assert_eq!(world.puts()[0] - before[0], 3);
        world.stop();
    });
}

#[test]
fn equal_documents_keep_their_etag_while_their_stamps_rise() {
    simulated(async |sim| {
        let world = World::with(&sim, Options::default(), &posts(2)).await;
        let before = world.crawler.get("/post-sitemap.xml").await;
        world
            .put(&with(&posts(2)[0], json!({"modified_at": "2026-05-05"})))
            .await;
        world.settle().await;
        let edited = world.crawler.get("/post-sitemap.xml").await;
        assert_ne!(edited.header("etag"), before.header("etag"));
        world.put(&posts(2)[0]).await;
        world.settle().await;
        let back = world.crawler.get("/post-sitemap.xml").await;
        assert_eq!(
            (back.header("etag"), &back.body),
            (before.header("etag"), &before.body)
        );
        world.stop();
    });
}

#[test]
fn an_emptied_sitemap_leaves_the_index_at_once_and_is_gone_after_its_grace() {
    simulated(async |sim| {
        let world = World::with(
            &sim,
            Options::default(),
            &[
                post("/only", 1),
                with(&post("/page", 1), json!({"type": "page"})),
            ],
        )
        .await;
        world.delete("post/only").await;
        assert_eq!(world.sitemaps().await, ["page-sitemap.xml"]);
        assert_eq!(
            world.crawler.get("/post-sitemap.xml").await.status,
            200,
            "a cached index may still list it"
        );
        world.clock.leap(3 * 86_400);
        assert_eq!(world.crawler.get("/post-sitemap.xml").await.status, 404);
        world.put(&post("/only", 2)).await;
        assert_eq!(world.paths().await, ["/only", "/page"]);
        assert_eq!(world.crawler.get("/post-sitemap.xml").await.status, 200);
        world.stop();
    });
}

#[test]
fn a_dropped_sitemap_table_is_rebuilt_under_the_old_sitemaps() {
    simulated(async |sim| {
        let settings = settings(json!({"entries_per_sitemap": 4}));
        let records: Vec<Value> = posts(10).into_iter().chain([settings]).collect();
        let world = World::with(&sim, Options::default(), &records).await;
        let before = world.listed().await;
        assert_eq!(world.sitemaps().await.len(), 3);
        // Two pages fewer. The third sitemap of the old table must not stay.
        world.delete("post/00008").await;
        world.delete("post/00009").await;
        world.settle().await;
        world.drop_sitemap_table().await;
        // The sweep finds the site without a row. Until the rebuild is complete, the old index is served.
        let rebuilt = async || {
            let rebuilt = !world.rows("SITE#").await.is_empty();
            assert!(rebuilt || world.crawler.get("/sitemap_index.xml").await.status == 200);
            rebuilt
        };
        world.until("the site has a row again", rebuilt).await;
        let after = world.listed().await;
        assert_eq!(after.len(), 8);
        for (loc, entry) in &after {
            assert_eq!(entry.lastmod, before[loc].lastmod);
        }
        assert_eq!(world.sitemaps().await.len(), 2);
        world.clock.leap(3 * 86_400);
        assert_eq!(
            world.crawler.get("/post-sitemap3.xml").await.status,
            404,
            "an old table's sitemap is emptied"
        );
        // Changes continue in the new epoch.
        world.put(&post("/later", 3)).await;
        assert_eq!(world.listed().await.len(), 9);
        world.stop();
    });
}

#[test]
fn a_damaged_object_is_built_again_and_never_spliced_on() {
    simulated(async |sim| {
        let world = World::with(&sim, Options::default(), &posts(3)).await;
        let key = ObjectKey::from_path(&format!("published/{SITE}/post-sitemap.xml")).unwrap();
        let (_, body) = world.objects().get(&key).await.unwrap().unwrap();
        let mut damaged = body.to_vec();
        let middle = damaged.len() - 30;
        damaged[middle] ^= 0x55;
        for bytes in [damaged, b"not a member at all".to_vec(), Vec::new()] {
            world.overwrite(&key, &bytes);
            world
                .put(&with(&posts(3)[0], json!({"modified_at": "2026-06-06"})))
                .await;
            assert_eq!(world.listed().await.len(), 3);
            world.put(&posts(3)[0]).await;
            assert_eq!(world.listed().await.len(), 3);
        }
        world.stop();
    });
}

#[test]
fn a_change_reads_one_segment_of_a_large_sitemap() {
    simulated(async |sim| {
        let records: Vec<Value> = posts(1_400)
            .into_iter()
            .chain([settings(json!({"entries_per_sitemap": 50_000}))])
            .collect();
        let queries = Arc::new(Queries::default());
        let options = Options {
            watcher: Some(queries.clone()),
            ..Options::default()
        };
        let world = World::with(&sim, options, &records).await;
        assert_eq!(world.sitemaps().await, ["post-sitemap.xml"]);
        drop(queries.take());
        world
            .put(&with(&records[700], json!({"modified_at": "2026-03-01"})))
            .await;
        world.settle().await;
        let mut segments: Vec<String> = queries
            .take()
            .into_iter()
            .filter(|pk| pk.starts_with("SEGMENT#"))
            .collect();
        segments.dedup();
        assert_eq!(segments.len(), 1, "{segments:?}");
        assert_eq!(world.listed().await.len(), 1_400);
        world.stop();
    });
}

#[test]
fn nothing_over_the_byte_limit_is_published_and_nothing_is_lost() {
    simulated(async |sim| {
        let images: Vec<Value> = (0..1_000)
            .map(|n| json!({"url": format!("https://cdn.example.net/{n:0>180}.png")}))
            .collect();
        let large = |n: u32| with(&post(&format!("/{n}"), 1), json!({"images": images}));
        let records: Vec<Value> = (0..9)
            .map(large)
            .chain([settings(json!({"byte_limit": 1_000_000}))])
            .collect();
        let world = World::with(&sim, Options::default(), &records).await;
        world.put(&large(9)).await;
        assert_eq!(world.listed().await.len(), 10);
        let sitemaps = world.sitemaps().await;
        assert!(sitemaps.len() >= 3, "{sitemaps:?}");
        for sitemap in sitemaps {
            let response = world
                .crawler
                .request(Method::GET, &format!("/{sitemap}"), &[])
                .await;
            assert!(
                response.body.len() <= 1_000_000,
                "{sitemap}: {} bytes",
                response.body.len()
            );
        }
        // A higher limit moves nothing. A lower one moves what no longer fits.
        let listed = world.listed().await;
        world.put(&settings(json!({"byte_limit": 2_000_000}))).await;
        assert_eq!(world.listed().await, listed);
        for n in 10..20 {
            world.put(&large(n)).await;
        }
        assert_eq!(world.listed().await.len(), 20);
        world.put(&settings(json!({"byte_limit": 1_000_000}))).await;
        assert_eq!(world.listed().await.len(), 20);
        for sitemap in world.sitemaps().await {
            let bytes = world.crawler.get(&format!("/{sitemap}")).await.body.len();
            assert!(bytes <= 1_000_000, "{sitemap}: {bytes} bytes");
        }
        world.stop();
    });
}

#[test]
fn documents_name_the_style_sheet_of_the_sites_choice_at_once_and_without_an_edit() {
    simulated(async |sim| {
        let styled = |name: &str| settings(json!({"entries_per_sitemap": 2, "stylesheet": name}));
        let records: Vec<Value> = posts(5).into_iter().chain([styled("css")]).collect();
        let meter = Meter::default();
        let options = Options {
            metrics: meter.metrics(),
            ..Options::default()
        };
        let world = World::with(&sim, options, &records).await;
        let read = async || {
            let mut documents = BTreeMap::new();
            let mut names = world.sitemaps().await;
            names.push("sitemap_index.xml".to_owned());
            for name in names {
                let response = world.crawler.get(&format!("/{name}")).await;
                let text = String::from_utf8(response.body.clone()).unwrap();
                documents.insert(name, (response.header("etag").to_owned(), text));
            }
            documents
        };
        let before = read().await;
        let listed = world.listed().await;
        assert_eq!(before.len(), 4);
        for (name, instruction) in [
            (
                "xsl",
                Some("<?xml-stylesheet type=\"text/xsl\" href=\"/sitemap.xsl\"?>"),
            ),
            ("none", None),
            (
                "css",
                Some("<?xml-stylesheet type=\"text/css\" href=\"/sitemap.css\"?>"),
            ),
        ] {
            world.put(&styled(name)).await;
            let documents = read().await;
            assert!(documents.keys().eq(before.keys()));
            for (file, (_, text)) in &documents {
                let line = text.lines().nth(1).filter(|line| line.starts_with("<?"));
                assert_eq!(line, instruction, "{file}");
            }
            assert_eq!(world.listed().await, listed);
            if name == "css" {
                assert_eq!(documents, before, "ETags and all");
            }
        }
        // Other settings publish no sitemap again.
        let etags = async || {
            let objects = world.objects();
            let mut etags = BTreeMap::new();
            for key in objects.list(SITE).await.unwrap() {
                let meta = objects.head(&key).await.unwrap().expect("listed");
                etags.insert(key.file_name(), meta.etag);
            }
            etags
        };
        let before = etags().await;
        drop(meter.take());
        world
            .put(&with(
                &styled("css"),
                json!({"robots": ["User-agent: *", "Disallow: /x"]}),
            ))
            .await;
        world.settle().await;
        let done = meter.take();
        assert_eq!(done.get("ShardsPublished"), None);
        assert_eq!(done["IndexesPublished"], 1);
        // By name and not by number, because the feed is put once for each batch of events.
        let mut after = etags().await;
        after.retain(|file, etag| before[file] != *etag);
        let changed: Vec<_> = after.into_keys().collect();
        assert_eq!(
            changed,
            ["feed.atom", "robots.txt", "site.json", "sitemap_index.xml"]
        );
        world.stop();
    });
}

#[test]
fn the_audit_finds_a_document_with_another_style_sheet() {
    simulated(async |sim| {
        let world = World::with(&sim, Options::default(), &posts(3)).await;
        let (site, objects) = (SITE.to_owned(), world.objects());
        let shard = ObjectKey::from_path(&format!("published/{SITE}/post-sitemap.xml")).unwrap();
        let index = ObjectKey::Index { site, n: 1 };
        for (key, frame) in [(shard, Frame::urlset(None)), (index, Frame::index(None))] {
            let (meta, bytes) = objects.get(&key).await.unwrap().unwrap();
            let built = splice(&Member::parse(&bytes).unwrap(), &frame, &BTreeMap::new());
            let before = meta.document.unwrap();
            let styled = before.digest;
            let document = Document {
                digest: built.directory.digest(),
                bytes: built.directory.document_bytes(),
                ..before
            };
            let unchanged = Precondition::Unchanged(meta.etag);
            let put = objects.put(&key, built.bytes.into(), &document, &unchanged);
            assert_eq!(put.await.unwrap(), Put::Done);
            let mut found = Vec::new();
            let report = |finding: &Finding| {
                found.push((finding.problem, finding.what.clone()));
            };
            assert!(world.audit(true, report).await.is_some());
            // Until the repair is published, the problem is found again.
            let differs = (Problem::ObjectDiffers, key.path());
            assert_eq!(found.first(), Some(&differs));
            world.settle().await;
            let (meta, _) = objects.get(&key).await.unwrap().unwrap();
            assert_eq!(meta.document.unwrap().digest, styled);
            assert_eq!(world.listed().await.len(), 3);
        }
        world.stop();
    });
}

/// Returns the lastmod of the only sitemap in the index, and the sitemap's Last-Modified as a lastmod.
async fn times(world: &World) -> (Option<String>, String) {
    world.settle().await;
    let index = world.crawler.index().await;
    let [(loc, lastmod)] = index.as_slice() else {
        panic!("{index:?}")
    };
    assert!(loc.ends_with("/post-sitemap.xml"), "{loc}");
    let sitemap = world.crawler.get("/post-sitemap.xml").await;
    let changed = httpdate::parse_http_date(sitemap.header("last-modified")).expect("a date");
    let changed = changed.duration_since(UNIX_EPOCH).expect("after 1970");
    let changed = i64::try_from(changed.as_secs()).expect("a time");
    (lastmod.clone(), When::at(changed).to_string())
}

#[test]
fn an_index_may_give_a_sitemap_without_dates_the_time_of_its_last_change() {
    simulated(async |sim| {
        let site = |lastmod: &str| settings(json!({"index_lastmod": lastmod}));
        let undated = |n, title: &str| {
            with(
                &post(&format!("/{n}"), 1),
                json!({"modified_at": null, "title": title}),
            )
        };
        let records = [site("published"), undated(0, "A"), undated(1, "A")];
        let world = World::with(&sim, unswept(), &records).await;
        let (first, changed) = times(&world).await;
        assert_eq!(first.as_ref(), Some(&changed));
        // What changes no sitemap changes no time, and neither does a loss that is repaired.
        world.clock.leap(3_600);
        world.put(&undated(0, "B")).await;
        assert_eq!(times(&world).await, (first.clone(), changed.clone()));
        let summary = ("INDEX#www.example.com", "post#0000000001");
        let losses = [None, Some("changed")];
        for attribute in losses {
            world.clock.leap(3_600);
            match attribute {
                None => world.delete_row(summary.0, summary.1).await,
                Some(name) => world.damage(summary, name, None).await,
            }
            world.settle().await;
            let mut found = Vec::new();
            let rest = world
                .audit(true, |finding| found.push(finding.problem))
                .await;
            assert_eq!(rest, Some(Vec::new()));
            assert!(found.contains(&Problem::SummaryDiffers), "{found:?}");
            assert_eq!(times(&world).await, (first.clone(), changed.clone()));
        }
        // A dropped table leaves the objects, which know the time.
        world.clock.leap(3_600);
        world.drop_sitemap_table().await;
        world.put(&undated(0, "C")).await;
        world.sweep().await;
        assert_eq!(times(&world).await.0, first);
        // Another form of the sitemap is a change of the file and not of what it lists.
        world.clock.leap(3_600);
        let other = with(&site("published"), json!({"stylesheet": "none"}));
        world.put(&other).await;
        let (lastmod, changed) = times(&world).await;
        assert!(lastmod == first && lastmod < Some(changed), "{lastmod:?}");
        world.put(&undated(2, "A")).await;
        let (second, changed) = times(&world).await;
        assert!(second > first, "{second:?}");
        assert_eq!(second, Some(changed));
        // The audit finds a time that is later than the object's.
        let mut rows = world.items().await.into_iter();
        let row = rows.find(|row| row.text("pk") == Some(summary.0));
        let mut row = row.expect("a summary");
        row.set("changed", 2_000_000_000_i64);
        world.put_row(row).await;
        world.settle().await;
        let rest = world.audit(true, |_| ()).await;
        assert_eq!(rest, Some(Vec::new()));
        assert_eq!(times(&world).await.0, second);
        // Dates of pages take precedence, and without the setting there is nothing else.
        world.put(&post("/0", 9)).await;
        let dated = Some("2026-01-09T12:00:00+00:00".to_owned());
        assert_eq!(times(&world).await.0, dated);
        world.put(&undated(0, "D")).await;
        assert!(times(&world).await.0 > second);
        world.put(&settings(json!({"stylesheet": "none"}))).await;
        assert_eq!(times(&world).await.0, None);
        world.stop();
    });
}

#[test]
fn sitemaps_of_others_stay_behind_the_sites_own_whatever_changes() {
    simulated(async |sim| {
        let others = [
            ("https://forum.example/post-sitemap.xml", Some("2026-01-31")),
            ("https://forum.example/sitemap_index.xml", None),
        ];
        let also = others.map(|(url, lastmod)| json!({"url": url, "lastmod": lastmod}));
        let site = |also: &[Value]| settings(json!({"entries_per_sitemap": 1, "also": also}));
        let records = [vec![site(&also)], posts(3)].concat();
        let world = World::with(&sim, unswept(), &records).await;
        let listed = async |own: u32, expected: &[(&str, Option<&str>)]| {
            world.settle().await;
            let lines = world.crawler.index().await;
            let is_own = |(loc, _): &&(String, _)| loc.starts_with(&format!("https://{SITE}/"));
            assert_eq!(lines.iter().take_while(is_own).count() as u32, own);
            let behind = lines[own as usize..].iter();
            let behind: Vec<_> = behind
                .map(|(loc, lastmod)| (loc.as_str(), lastmod.as_deref()))
                .collect();
            assert_eq!(behind, expected);
            assert_eq!(world.audit(false, |_| ()).await, Some(Vec::new()));
        };
        listed(3, &others).await;
        // An edit replaces only its block of the index.
        let before = world.puts();
        let edited = with(&posts(3)[1], json!({"modified_at": "2026-02-02T00:00:00Z"}));
        world.put(&edited).await;
        listed(3, &others).await;
        assert!(world.puts()[0] <= before[0] + 3, "shard, index and feed");
        world.put(&post("/new", 5)).await;
        listed(4, &others).await;
        world.put(&site(&also[1..])).await;
        listed(4, &others[1..]).await;
        world
            .put(&settings(json!({"public": false, "also": also})))
            .await;
        listed(0, &[]).await;
        world.put(&site(&also)).await;
        for record in posts(3).iter().chain([&post("/new", 5)]) {
            let id = record["id"].as_str().expect("an id");
            world.delete(id).await;
        }
        listed(0, &others).await;
        world.stop();
    });
}
