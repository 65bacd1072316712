//! The work of the clock.

use std::time::Duration;

use serde_json::json;
use sitemap::time::When;

use super::{Aim, HARMLESS, NEW_TABLE_WRITES, Scene, id, page};
use crate::history::SITES;

/// Makes a tenth of the pages expire within one minute, while another site is edited. A small site has a larger share, so that it
/// takes longer than the way of the first page.
pub(super) async fn due(mut scene: Scene) -> Result<Scene, String> {
    const HOUR: i64 = 3_600;
    // From one sweep to the next, which finds all of them.
    const MINUTE: i64 = 58;
    const LEAST: usize = 3_000;
    let (pages, going) = (scene.pages, (scene.pages / 10).max(LEAST));
    let (large, host) = (SITES[0], SITES[1]);
    scene.put_pages(host, going).await;
    scene.at_rest().await?;
    scene.world.next_sweep().await;
    let at = scene.sim.now() + HOUR + 1;
    for (n, second) in (0..going).zip((0..MINUTE).cycle()) {
        let mut record = page(host, n, 0);
        record["expires_at"] = json!(When::at(at + second).to_string());
        scene.world.put(&record).await;
    }
    scene.world.settle().await?;
    let all_due = Duration::from_secs(u64::try_from(at + MINUTE - scene.sim.now()).unwrap_or(0));
    scene.sim.sleep(all_due).await;
    scene.world.next_sweep().await;
    let _ = scene.world.runs();
    let (begun, before) = (scene.sim.elapsed(), scene.written());
    for edit in 1.. {
        if scene.listed(host).await == 0 {
            break;
        }
        if scene.sim.elapsed() > begun + Duration::from_secs(86_400) {
            return Err("pages that are over are listed a day later".to_owned());
        }
        let n = usize::try_from(scene.sim.below(pages as u64)).unwrap_or(0);
        scene.world.latency.change(&id(large, n));
        scene.world.put(&page(large, n, edit)).await;
        scene.sim.sleep(Duration::from_millis(100)).await;
    }
    let took = (scene.sim.elapsed() - begun).as_secs_f64();
    let used = (scene.written() - before) as f64 / took / NEW_TABLE_WRITES * 100.0;
    let gone = going as f64 / took;
    scene.figure("pages gone a second", gone, "", Aim::Counted);
    scene.figure(
        "write throughput used until all are gone",
        used,
        "%",
        Aim::AtLeast(80.0),
    );
    scene.world.settle().await?;
    scene.latencies("edits meanwhile", [10.0, 10.0, 30.0]);
    scene.longest_run();
    Ok(scene)
}

/// Creates all pages before their time. They appear at the rate of a million an hour, on a sitemap table with 12,000 write units
/// per second.
pub(super) async fn appear(mut scene: Scene) -> Result<Scene, String> {
    const PAGES_AN_HOUR: usize = 1_000_000;
    // Seconds. For few pages, more than two sweeps.
    const LEAST: usize = 180;
    // Write units per second.
    const GROWN: u64 = 12_000;
    let (host, pages) = (SITES[0], scene.pages);
    let begins = scene.sim.now() + 86_400;
    // In the order of the times at which they appear.
    let lasts = (pages * 3_600 / PAGES_AN_HOUR).max(LEAST);
    let second = |n: usize| n * lasts / pages;
    for n in 0..pages {
        let mut record = page(host, n, 0);
        let at = begins + i64::try_from(second(n)).unwrap_or(0);
        record["published_at"] = json!(When::at(at).to_string());
        scene.world.put(&record).await;
    }
    scene.world.grow_to(GROWN);
    scene.world.begin();
    scene.at_rest().await?;
    // A second early, so that none has appeared before the wait begins.
    let until = u64::try_from(begins - scene.sim.now() - 1).unwrap_or(0);
    scene.sim.sleep(Duration::from_secs(until)).await;
    let mut next = 0;
    for now in 0..lasts {
        while next < pages && second(next) == now {
            scene.world.latency.change(&id(host, next));
            next += 1;
        }
        scene.sim.sleep(Duration::from_secs(1)).await;
    }
    scene.until_listed(host, pages as u64).await?;
    scene.world.settle().await?;
    scene.latencies("appearing", [90.0, 90.0, 120.0]);
    scene.longest_run();
    Ok(scene)
}

/// Waits on many small sites without changes.
pub(super) async fn idle(mut scene: Scene) -> Result<Scene, String> {
    const MINUTES: u32 = 30;
    const MINUTE: Duration = Duration::from_secs(60);
    let sites = (scene.pages / 2).min(5_000);
    scene.put_sites(sites, 2).await;
    scene.world.begin();
    scene.world.settle().await?;
    // Until the notices to search engines are sent, too.
    scene.sim.sleep(10 * MINUTE).await;
    let mut most = 0;
    for _ in 0..MINUTES {
        let before = scene.sim.counts().0;
        scene.sim.sleep(MINUTE).await;
        most = most.max(scene.sim.counts().0 - before);
    }
    scene.figure("sites", sites as f64, "", Aim::Counted);
    let name = "calls of an idle minute, at most";
    scene.figure(name, most as f64, "", Aim::AtMost(50.0));
    Ok(scene)
}

/// Watches the daily audit of a sound site, while a page changes each second.
pub(super) async fn audit(mut scene: Scene) -> Result<Scene, String> {
    const LOOK_EVERY: Duration = Duration::from_secs(1);
    const A_DAY: i64 = 86_400;
    let (host, pages) = (SITES[0], scene.pages);
    let last = scene.world.clocks_audit().await.map(|audit| audit.began);
    let begins = last.unwrap_or(scene.sim.now()) + A_DAY;
    // The number of reads up to each moment. The row of an audit is written only at the end of its first slice.
    let mut reads = Vec::new();
    let (mut suspected, mut edit) = (0, 0);
    let audit = loop {
        let now = scene.sim.now();
        reads.push((now, scene.read()));
        let audit = scene.world.clocks_audit().await;
        if let Some(audit) = audit.filter(|audit| audit.began >= begins) {
            suspected = suspected.max(audit.suspected.as_ref().map_or(0, |sums| sums.len()));
            if audit.step.is_none() {
                break audit;
            }
        }
        if now > begins + A_DAY {
            return Err("no audit has ended a day later".to_owned());
        }
        if now >= begins {
            edit += 1;
            let n = usize::try_from(scene.sim.below(pages as u64)).unwrap_or(0);
            scene.world.put(&page(host, n, edit)).await;
        }
        scene.sim.sleep(LOOK_EVERY).await;
    };
    let (harmless, wrong): (Vec<_>, Vec<_>) = audit
        .found
        .iter()
        .partition(|(problem, _)| HARMLESS.contains(&problem.as_str()));
    let count = |found: Vec<(&String, &u64)>| found.iter().map(|(_, n)| **n).sum::<u64>() as f64;
    scene.figure("harmless findings", count(harmless), "", Aim::Counted);
    scene.figure("other findings", count(wrong), "", Aim::AtMost(0.0));
    let before = reads.iter().rev().find(|(now, _)| *now < audit.began);
    let a_page = (scene.read() - before.map_or(0, |(_, read)| *read)) as f64 / pages as f64;
    let took = (scene.sim.now() - audit.began) as f64;
    scene.figure("the audit takes at most", took, "s", Aim::Counted);
    scene.figure("sums suspected", suspected as f64, "", Aim::Counted);
    let name = "units read a page, with those of the edits";
    scene.figure(name, a_page, "units", Aim::AtMost(0.8));
    scene.longest_run();
    Ok(scene)
}
