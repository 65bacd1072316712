//! Pages that are edited.

use std::time::Duration;

use serde_json::json;

use super::{Aim, EDITS_A_SECOND, Scene, id, page};
use crate::history::SITES;

/// Edits pages of a loaded site continuously.
pub(super) async fn edits(mut scene: Scene) -> Result<Scene, String> {
    // Ten minutes for a site of a million pages.
    let seconds = (scene.pages as u64 / 1_000).clamp(120, 600);
    let edits = seconds * EDITS_A_SECOND;
    let before = scene.written();
    for edit in 0..edits {
        let n = usize::try_from(scene.sim.below(scene.pages as u64)).unwrap_or(0);
        scene.world.latency.change(&id(SITES[0], n));
        scene.world.put(&page(SITES[0], n, 1 + edit)).await;
        scene
            .sim
            .sleep(Duration::from_secs(1) / EDITS_A_SECOND as u32)
            .await;
    }
    scene.world.settle().await?;
    scene.latencies("edits", [3.0, 10.0, 30.0]);
    let units = (scene.written() - before) as f64 / edits as f64;
    scene.figure("units written an edit", units, "units", Aim::Counted);
    scene.longest_run();
    Ok(scene)
}

/// Edits one page of a loaded site at a time, and notes the costs.
pub(super) async fn change(mut scene: Scene) -> Result<Scene, String> {
    const EDITS: u32 = 100;
    // Long enough for a change to be published before the next one. Some are within a minute, and share the feed.
    const APART: Duration = Duration::from_secs(4);
    // Until the notices to search engines are sent, too.
    const QUIET: Duration = Duration::from_secs(1_200);
    // Dollars, without Lambda's price (docs/COSTS.md): 30 in total, for a site of any size.
    const MILLION: f64 = 27.4;
    // A page as docs/COSTS.md assumes it.
    let page = |n: usize, edit: u64| {
        let image = format!("https://images.example.com/{n}.jpg");
        let mut page = page(SITES[0], n, edit);
        page["description"] = json!("d".repeat(300));
        page["images"] = json!([{"url": image}]);
        page["terms"] =
            json!({"category": [format!("c{}", n % 10)], "tag": [format!("t{}", n % 50)]});
        page
    };
    for n in 0..scene.pages {
        scene.world.put(&page(n, 0)).await;
    }
    scene.world.begin();
    scene.world.settle().await?;
    scene.sim.sleep(QUIET).await;
    let before = scene.world.usage();
    scene.sim.sleep(APART * EDITS).await;
    let idle = scene.world.usage() - before;
    let before = scene.world.usage();
    for edit in 0..EDITS {
        let n = usize::try_from(scene.sim.below(scene.pages as u64)).unwrap_or(0);
        scene.world.put(&page(n, 1 + u64::from(edit))).await;
        scene.sim.sleep(APART).await;
    }
    let usage = scene.world.usage() - before - idle;
    let each = |count: u64| count as f64 / f64::from(EDITS);
    for (name, count) in [
        ("units written a change", usage.written),
        ("units read a change", usage.read),
        ("S3 PUT and LIST a change", usage.puts),
        ("S3 GET and HEAD a change", usage.gets),
    ] {
        scene.figure(name, each(count), "", Aim::Counted);
    }
    let million = usage.dollars() / f64::from(EDITS) * 1e6;
    let name = "a million such changes, without Lambda";
    scene.figure(name, million, "dollars", Aim::AtMost(MILLION));
    Ok(scene)
}

/// Deletes a tenth of the pages, and then adds them again.
pub(super) async fn import_again(mut scene: Scene) -> Result<Scene, String> {
    let (host, again) = (SITES[0], scene.pages / 10);
    for n in 0..again {
        scene.world.delete(&id(host, n)).await;
    }
    scene.world.settle().await?;
    let begun = scene.sim.elapsed();
    for n in 0..again {
        scene.world.put(&page(host, n, 0)).await;
    }
    let all = scene.pages as u64;
    scene.until_listed(host, all).await?;
    let took = (scene.sim.elapsed() - begun).as_secs_f64();
    scene.figure(
        "pages imported again a second",
        again as f64 / took,
        "",
        Aim::Counted,
    );
    let failed = scene.world.given_up() as f64;
    scene.figure("records given up", failed, "", Aim::AtMost(0.0));
    scene.longest_run();
    Ok(scene)
}
