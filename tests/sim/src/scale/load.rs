//! First loads and scans of one site and of many, with concurrent changes.

use std::time::Duration;

use engine::keys::prefix;
use engine::rows::scan::Step;
use futures::FutureExt;
use objects::{ObjectKey, Objects};
use serde_json::json;
use sitemap::RENDER_VERSION;
use table::{Item, Value};

use super::{Aim, Scene, host, id, page, settings};
use crate::history::SITES;

/// The pages of each of many sites.
const PAGES_OF_A_SITE: usize = 200;

/// Creates all pages of one site before the functions begin, and follows the scan.
pub(super) async fn load(mut scene: Scene) -> Result<Scene, String> {
    let pages = scene.pages;
    scene.put_pages(SITES[0], pages).await;
    scene.follow_scan(pages).await?;
    Ok(scene)
}

/// Creates all pages of many sites before the functions begin, and follows the scan.
pub(super) async fn load_of_sites(mut scene: Scene) -> Result<Scene, String> {
    let pages = scene.pages;
    scene
        .put_sites(pages / PAGES_OF_A_SITE, PAGES_OF_A_SITE)
        .await;
    scene.follow_scan(pages).await?;
    Ok(scene)
}

/// Adds a small site, and gives another one new settings, while a large one is scanned.
pub(super) async fn beside_a_scan(mut scene: Scene) -> Result<Scene, String> {
    const NEW: usize = 10;
    // So many that their scan takes longer than everything else.
    const LEAST: usize = 20_000;
    let (large, settled, new) = (SITES[0], "settled.example.com", "new.example.com");
    let small = scene.pages.min(1_000);
    scene.put_pages(settled, small).await;
    for n in scene.pages..LEAST {
        scene.world.put(&page(large, n, 0)).await;
    }
    scene.at_rest().await?;
    let smaller = |parts| settings(settled, "entries_per_sitemap", json!(small / parts));
    let read = scene.read();
    scene.world.put(&smaller(2)).await;
    scene.until_listed_in(settled, small, 2).await?;
    scene.world.settle().await?;
    let read = (scene.read() - read) as f64 / small as f64;
    scene.figure(
        "units read a page for new settings",
        read,
        "",
        Aim::AtMost(20.0),
    );
    let weekly = json!({"post": {"changefreq": "weekly"}});
    scene.world.put(&settings(large, "types", weekly)).await;
    scene
        .until("a large site is scanned", |scene| {
            async move { Ok(scene.world.scans().await?.1.contains_key(large)) }.boxed()
        })
        .await?;
    scene.world.put(&settings(new, "name", json!("New"))).await;
    scene.put_pages(new, NEW).await;
    let came = scene.until_listed(new, NEW as u64).await?;
    scene.world.put(&smaller(4)).await;
    let changed = scene.until_listed_in(settled, small, 4).await?;
    let (_, sites) = scene.world.scans().await?;
    let meanwhile = f64::from(u8::from(sites.contains_key(large)));
    let limit = Aim::AtMost(120.0);
    for (name, took) in [
        ("a new site of ten pages is published within", came),
        ("new settings of a small site within", changed),
    ] {
        scene.figure(name, took.as_secs_f64(), "s", limit);
    }
    let still = "large sites that are still scanned then";
    scene.figure(still, meanwhile, "", Aim::AtLeast(1.0));
    scene.world.settle().await?;
    Ok(scene)
}

/// Adds a small site while a large one is loaded for the first time.
pub(super) async fn beside_a_first_load(mut scene: Scene) -> Result<Scene, String> {
    const NEW: usize = 10;
    let new = "new.example.com";
    scene.put_pages(SITES[0], scene.pages).await;
    scene.world.begin();
    scene
        .until("a scan of all content is under way", |scene| {
            let begun = async {
                let content = scene.world.scans().await?.0;
                Ok(content.is_some_and(|scan| scan.pass.is_some()))
            };
            begun.boxed()
        })
        .await?;
    scene.world.put(&settings(new, "name", json!("New"))).await;
    scene.put_pages(new, NEW).await;
    // Until then there may be more records of the new site, which no function has read.
    let content = scene.until("all content is reconciled", |scene| {
        let done = async {
            let content = scene.world.scans().await?.0;
            let step = content.and_then(|scan| scan.pass).map(|pass| pass.step);
            Ok(!matches!(step, Some(Step::Content { .. })))
        };
        done.boxed()
    });
    let content = content.await?.as_secs_f64();
    let came = scene.until_listed(new, NEW as u64).await?.as_secs_f64();
    scene.figure(
        "all content is reconciled within",
        content,
        "s",
        Aim::Counted,
    );
    let name = "a new site of ten pages is published after that within";
    scene.figure(name, came, "s", Aim::AtMost(120.0));
    scene.world.settle().await?;
    Ok(scene)
}

/// Turns pages into drafts while their site is loaded.
pub(super) async fn edits_while_loading(mut scene: Scene) -> Result<Scene, String> {
    const DRAFTS: usize = 50;
    let (host, pages) = (SITES[0], scene.pages);
    scene.put_pages(host, pages).await;
    scene.world.begin();
    let every = (pages / DRAFTS).max(1);
    for n in (0..pages).step_by(every) {
        let mut record = page(host, n, 1);
        record["status"] = json!("draft");
        scene.world.put(&record).await;
        scene.sim.sleep(Duration::from_millis(200)).await;
    }
    let left = (pages - (0..pages).step_by(every).len()) as u64;
    scene
        .until("the site is released", move |scene| {
            let bucket = scene.world.bucket();
            let index = ObjectKey::Index {
                site: host.to_owned(),
                n: 1,
            };
            async move { Ok(bucket.head(&index).await.expect("memory").is_some()) }.boxed()
        })
        .await?;
    let listed = scene.listed(host).await;
    scene.figure(
        "drafts that are listed at the release",
        listed.saturating_sub(left) as f64,
        "",
        Aim::AtMost(0.0),
    );
    let took = scene.until_listed(host, left).await?.as_secs_f64();
    scene.figure("all of them are gone after", took, "s", Aim::AtMost(10.0));
    Ok(scene)
}

impl Scene {
    /// Returns whether all of many sites are published by this release.
    async fn are_rendered(&self) -> bool {
        for n in 0..self.pages / PAGES_OF_A_SITE {
            if self.world.render_version(&host(n)).await != Some(RENDER_VERSION) {
                return false;
            }
        }
        true
    }
}

/// Renders many sites anew that an earlier release had rendered, while a page changes ten times per second.
pub(super) async fn new_version(mut scene: Scene) -> Result<Scene, String> {
    const PAUSE: Duration = Duration::from_millis(100);
    // Edits.
    const LOOK_EVERY: u64 = 100;
    let is_site = |item: &Item| {
        item.text("pk")
            .is_some_and(|pk| pk.starts_with(prefix::SITE))
    };
    for mut item in scene.world.items_that(is_site).await {
        item.set("render", Value::number(RENDER_VERSION - 1));
        scene.world.damage_row(item).await;
    }
    let (begun, before) = (scene.sim.elapsed(), scene.written());
    for edit in 1.. {
        let n = usize::try_from(scene.sim.below(scene.pages as u64)).unwrap_or(0);
        let (host, n) = (host(n / PAGES_OF_A_SITE), n % PAGES_OF_A_SITE);
        scene.world.latency.change(&id(&host, n));
        scene.world.put(&page(&host, n, edit)).await;
        scene.sim.sleep(PAUSE).await;
        if edit % LOOK_EVERY == 0
            && scene.are_rendered().await
            && scene.world.scans().await?.1.is_empty()
        {
            break;
        }
        if scene.sim.elapsed() > begun + Duration::from_secs(86_400) {
            return Err("not all sites are rendered a day later".to_owned());
        }
    }
    let took = (scene.sim.elapsed() - begun).as_secs_f64();
    let units = (scene.written() - before) as f64 / scene.pages as f64;
    scene.figure("all sites are rendered within", took, "s", Aim::Counted);
    scene.figure(
        "units written a page, with those of the edits",
        units,
        "units",
        Aim::Counted,
    );
    scene.world.settle().await?;
    scene.latencies("edits meanwhile", [10.0, 10.0, 30.0]);
    scene.longest_run();
    Ok(scene)
}
