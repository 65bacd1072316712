//! Pages that people change.

use std::time::Duration;

use super::{Aim, EDITS_A_SECOND, Scene, id, page};
use crate::history::SITES;

/// A loaded site of which pages are edited all the time.
pub(super) async fn edits(mut scene: Scene) -> Result<Scene, String> {
    const SECONDS: u64 = 120;
    scene.loaded(SITES[0]).await?;
    let before = scene.written();
    for edit in 0..SECONDS * EDITS_A_SECOND {
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
    let units = (scene.written() - before) as f64 / (SECONDS * EDITS_A_SECOND) as f64;
    scene.figure("units written an edit", units, "units", Aim::Counted);
    scene.longest_run();
    Ok(scene)
}

/// A tenth of the pages is deleted and comes again.
pub(super) async fn import_again(mut scene: Scene) -> Result<Scene, String> {
    let (host, again) = (SITES[0], scene.pages / 10);
    scene.loaded(host).await?;
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
