//! Many sitemaps, large ones, and one that many runs publish concurrently.

use std::time::Duration;

use engine::keys::prefix;
use objects::{ObjectKey, Objects};
use serde_json::json;
use sitemap::site::{MAX_BYTES, MIN_BYTES};
use table::Item;

use super::{Aim, EDITS_A_SECOND, LARGE, Scene, id, modified, page, settings};
use crate::document::gunzip;
use crate::history::SITES;

impl Scene {
    /// Returns the texts of a site's indexes.
    async fn indexes(&self, host: &str) -> Vec<String> {
        let bucket = self.world.bucket();
        let mut texts = Vec::new();
        for key in bucket.list(host).await.expect("memory") {
            if let ObjectKey::Index { .. } = key {
                let (_, bytes) = bucket.get(&key).await.expect("memory").expect("listed");
                texts.push(String::from_utf8(gunzip(&bytes)).expect("an index is text"));
            }
        }
        texts
    }
}

/// Returns the lastmod of a sitemap in an index.
fn lastmod<'a>(index: &'a str, sitemap: &str) -> Option<&'a str> {
    let (_, line) = index.split_once(&format!("/{sitemap}</loc>"))?;
    let (_, rest) = line.split_once("<lastmod>")?;
    rest.split_once('<').map(|(lastmod, _)| lastmod)
}

/// Publishes sitemaps of two entries each, in several indexes. One of them changes each second.
pub(super) async fn many_sitemaps(mut scene: Scene) -> Result<Scene, String> {
    const ENTRIES: usize = 2;
    const SECONDS: u64 = 60;
    const A_SECOND: Duration = Duration::from_secs(1);
    const LOOK_EVERY: Duration = Duration::from_millis(200);
    let (host, pages) = (SITES[0], scene.pages / 10);
    let small = settings(host, "entries_per_sitemap", json!(ENTRIES));
    scene.world.put(&small).await;
    scene.put_pages(host, pages).await;
    scene.world.begin();
    scene.at_rest().await?;
    let (begun, read) = (scene.sim.elapsed(), scene.read());
    let (mut edit, mut worst) = (0, Duration::ZERO);
    // Sitemaps, the lastmods that an index should have for them, and since when.
    let mut waited: Vec<(String, String, Duration)> = Vec::new();
    while edit < SECONDS || !waited.is_empty() {
        let now = scene.sim.elapsed();
        if edit < SECONDS && now >= begun + A_SECOND * edit as u32 {
            edit += 1;
            let n = usize::try_from(scene.sim.below(pages as u64)).unwrap_or(0);
            let sitemap = scene.world.sitemap_of(&id(host, n)).await;
            let sitemap = sitemap.ok_or_else(|| format!("page {n} is in no sitemap"))?;
            scene.world.put(&page(host, n, edit)).await;
            waited.push((sitemap, modified(edit), now));
        }
        let texts = scene.indexes(host).await;
        waited.retain(|(sitemap, modified, since)| {
            let said = texts.iter().find_map(|text| lastmod(text, sitemap));
            let is_said = said.is_some_and(|said| said >= modified.as_str());
            worst = if is_said {
                worst.max(now - *since)
            } else {
                worst
            };
            !is_said
        });
        if now > begun + A_SECOND * 86_400 {
            return Err(format!("no index says {waited:?}"));
        }
        scene.sim.sleep(LOOK_EVERY).await;
    }
    scene.world.settle().await?;
    let read = (scene.read() - read) as f64 / SECONDS as f64;
    let texts = scene.indexes(host).await;
    let lines: usize = texts
        .iter()
        .map(|text| text.matches("<sitemap>").count())
        .sum();
    scene.figure("indexes", texts.len() as f64, "", Aim::AtLeast(2.0));
    let (sitemaps, all) = (scene.entries(host).await.len(), pages / ENTRIES);
    scene.figure("sitemaps", sitemaps as f64, "", Aim::AtLeast(all as f64));
    let missing = sitemaps.abs_diff(lines) as f64;
    scene.figure(
        "sitemaps and lines that have no other",
        missing,
        "",
        Aim::AtMost(0.0),
    );
    scene.figure(
        "an index says so within",
        worst.as_secs_f64(),
        "s",
        Aim::AtMost(10.0),
    );
    scene.figure("units read an edit", read, "units", Aim::Counted);
    let name = "the same, to a sitemap";
    scene.figure(name, read / sitemaps as f64, "units", Aim::Counted);
    scene.longest_run();
    Ok(scene)
}

/// Fills sitemaps with entries of 3 KB, which reach the limit of bytes before that of entries.
pub(super) async fn large_entries(mut scene: Scene) -> Result<Scene, String> {
    const IMAGES: usize = 30;
    let (host, pages) = (SITES[0], scene.pages / 20);
    // In proportion to the pages, so that the number of sitemaps is that of a million pages.
    let limit = (MAX_BYTES as usize * scene.pages / LARGE).max(MIN_BYTES as usize);
    let smaller = settings(host, "byte_limit", json!(limit));
    scene.world.put(&smaller).await;
    for n in 0..pages {
        let mut record = page(host, n, 0);
        let image = |at| json!({"url": format!("https://{host}/images/{n:0>40}/{at}.webp")});
        record["images"] = (0..IMAGES).map(image).collect();
        scene.world.put(&record).await;
    }
    scene.world.begin();
    scene.until_listed(host, pages as u64).await?;
    scene.world.settle().await?;
    let sitemaps = scene.entries(host).await.len() as f64;
    scene.figure("sitemaps", sitemaps, "", Aim::AtLeast(2.0));
    let (mut writes, mut bytes) = (0, 0);
    let is_segment = |item: &Item| {
        let pk = item.text("pk");
        pk.is_some_and(|pk| pk.starts_with(prefix::SEGMENT))
    };
    for item in scene.world.items_that(is_segment).await {
        writes += item.number::<u64>("version").unwrap_or(0);
        bytes += item.text("xml").map_or(0, str::len);
    }
    let [writes, bytes] = [writes as f64, bytes as f64].map(|sum| sum / pages as f64);
    scene.figure("bytes of an entry", bytes, "", Aim::Counted);
    scene.figure("writes of an entry a page", writes, "", Aim::AtMost(1.1));
    scene.longest_run();
    Ok(scene)
}

/// Publishes one sitemap of many segments, whose rows are in as many stream shards.
pub(super) async fn one_sitemap(mut scene: Scene) -> Result<Scene, String> {
    const SECONDS: u64 = 60;
    let (host, pages) = (SITES[0], (scene.pages / 20).max(10_000));
    let all = settings(host, "entries_per_sitemap", json!(pages));
    scene.world.put(&all).await;
    scene.put_pages(host, pages).await;
    scene.world.begin();
    scene.at_rest().await?;
    let [done, lost] = scene.world.puts();
    for edit in 0..SECONDS * EDITS_A_SECOND {
        let n = usize::try_from(scene.sim.below(pages as u64)).unwrap_or(0);
        scene.world.latency.change(&id(host, n));
        scene.world.put(&page(host, n, 1 + edit)).await;
        let pause = Duration::from_secs(1) / EDITS_A_SECOND as u32;
        scene.sim.sleep(pause).await;
    }
    scene.world.settle().await?;
    let [done_now, lost_now] = scene.world.puts();
    let (done, lost) = ((done_now - done) as f64, (lost_now - lost) as f64);
    scene.figure("objects put", done, "", Aim::Counted);
    scene.figure("puts lost, to those", lost / done, "", Aim::AtMost(2.0));
    scene.latencies("edits", [10.0, 30.0, 60.0]);
    scene.longest_run();
    Ok(scene)
}
