//! Pages that depend on many others. Each test runs with a number of pages and with twice as many, and the costs per page must be
//! the same.

use serde_json::{Value as Json, json};

use super::{Aim, Scene, id, page, settings};
use crate::history::SITES;

/// The sites of both sizes.
const SIZES: [(&str, usize); 2] = [(SITES[0], 1), (SITES[1], 2)];

impl Scene {
    /// Compares the calls per page for a number of pages and for twice as many.
    fn is_linear(&mut self, what: &str, costs: [f64; 2]) {
        let [one, two] = costs;
        self.figure(&format!("{what}: calls a page"), one, "", Aim::Counted);
        let name = format!("{what}: the same of twice as many, to it");
        self.figure(&name, two / one, "", Aim::AtMost(1.2));
    }
}

/// Gives many records the same address, and then their own ones.
pub(super) async fn one_address(mut scene: Scene) -> Result<Scene, String> {
    let many = scene.pages / 20;
    scene.world.begin();
    let (mut same, mut own) = ([0.0; 2], [0.0; 2]);
    for (round, (host, times)) in SIZES.into_iter().enumerate() {
        let pages = many * times;
        let calls = scene.calls();
        for n in 0..pages {
            let mut record = page(host, n, 0);
            record["url"] = json!(format!("https://{host}/one"));
            scene.world.put(&record).await;
        }
        scene.world.settle().await?;
        same[round] = scene.calls_a_page(calls, pages);
        let listed = scene.listed(host).await as f64;
        scene.figure("listed with one address", listed, "", Aim::AtMost(1.0));
        let calls = scene.calls();
        scene.put_pages(host, pages).await;
        scene.until_listed(host, pages as u64).await?;
        scene.world.settle().await?;
        own[round] = scene.calls_a_page(calls, pages);
    }
    scene.is_linear("with one address", same);
    scene.is_linear("with their own", own);
    scene.longest_run();
    Ok(scene)
}

/// Removes a tag from many pages.
pub(super) async fn tag_off(mut scene: Scene) -> Result<Scene, String> {
    let many = scene.pages / 20;
    scene.world.begin();
    let mut costs = [0.0; 2];
    for (round, (host, times)) in SIZES.into_iter().enumerate() {
        let pages = many * times;
        let archive = json!({"id": format!("{host}/archive"), "type": "tag", "url": format!("https://{host}/tag/sale"),
            "archive_of": {"taxonomy": "tag", "term": "sale"}});
        scene.world.put(&archive).await;
        let tagged = |n, terms: Json| {
            let mut record = page(host, n, 0);
            record["terms"] = terms;
            record
        };
        for n in 0..pages {
            let record = tagged(n, json!({"tag": ["sale"]}));
            scene.world.put(&record).await;
        }
        scene.until_listed(host, pages as u64 + 1).await?;
        scene.world.settle().await?;
        let (calls, begun) = (scene.calls(), scene.sim.elapsed());
        for n in 0..pages {
            scene.world.put(&tagged(n, json!({}))).await;
        }
        // Its archive has no page left.
        scene.until_listed(host, pages as u64).await?;
        scene.world.settle().await?;
        costs[round] = scene.calls_a_page(calls, pages);
        let a_second = pages as f64 / (scene.sim.elapsed() - begun).as_secs_f64();
        scene.figure("pages without it a second", a_second, "", Aim::Counted);
    }
    scene.is_linear("taken off", costs);
    scene.longest_run();
    Ok(scene)
}

/// Fills groups of translations whose members have parts, and gives one member of each another address.
pub(super) async fn groups(mut scene: Scene) -> Result<Scene, String> {
    const MEMBERS: usize = 200;
    const PARTS: usize = 20;
    // A group that loses too many races is reconciled once more. With a single group, that would decide the figure.
    const LEAST: usize = 2;
    let many = (scene.pages / 20 / (MEMBERS * PARTS)).max(LEAST);
    scene.world.begin();
    let member = |host: &str, n: usize, edit: u64| {
        let mut record = page(host, n, edit);
        record["url"] = json!(format!("https://{host}/p{n}/{edit}"));
        record["language"] = json!(format!("en-{:03}", n % MEMBERS));
        record["translation_group"] = json!(format!("{host}/{}", n / MEMBERS));
        record["pages"] = json!(PARTS);
        record
    };
    let (mut loads, mut edits) = ([0.0; 2], [0.0; 2]);
    for (round, (host, times)) in SIZES.into_iter().enumerate() {
        let members = many * times * MEMBERS;
        let pages = members * PARTS;
        let calls = scene.calls();
        for n in 0..members {
            scene.world.put(&member(host, n, 0)).await;
        }
        scene.until_listed(host, pages as u64).await?;
        scene.world.settle().await?;
        loads[round] = scene.calls_a_page(calls, pages);
        let calls = scene.calls();
        for n in (0..members).step_by(MEMBERS) {
            scene.world.put(&member(host, n, 1)).await;
        }
        scene.world.settle().await?;
        edits[round] = scene.calls_a_page(calls, pages);
    }
    scene.is_linear("that come", loads);
    scene.is_linear("of a group whose member changes", edits);
    scene.longest_run();
    Ok(scene)
}

/// Adds, changes and removes a page in many parts, while others are edited.
pub(super) async fn parts(mut scene: Scene) -> Result<Scene, String> {
    const MOST: usize = 1_000;
    let host = SITES[2];
    let many = (scene.pages / 100).min(MOST / 2);
    scene.world.begin();
    scene
        .world
        .put(&settings(host, "name", json!("Parts")))
        .await;
    scene.put_pages(host, many).await;
    scene.at_rest().await?;
    let mut costs = [[0.0; 2]; 3];
    for (round, (archive, times)) in SIZES.into_iter().enumerate() {
        let parts = many * times;
        for (step, costs) in costs.iter_mut().enumerate() {
            let calls = scene.calls();
            let edit = (3 * round + step) as u64 + 1;
            scene.world.latency.change(&id(host, 0));
            scene.world.put(&page(host, 0, edit)).await;
            let mut record = page(archive, 0, edit);
            record["pages"] = json!(parts);
            match step {
                2 => scene.world.delete(&id(archive, 0)).await,
                _ => scene.world.put(&record).await,
            }
            let left = if step == 2 { 0 } else { parts };
            scene.until_listed(archive, left as u64).await?;
            scene.world.settle().await?;
            costs[round] = scene.calls_a_page(calls, parts);
        }
    }
    for (what, costs) in ["that come", "that change", "that go"].iter().zip(costs) {
        scene.is_linear(what, costs);
    }
    scene.latencies("edits meanwhile", [30.0, 30.0, 30.0]);
    scene.longest_run();
    Ok(scene)
}

/// Hides, lists and hides a type whose records have parts, by the site's settings.
pub(super) async fn hidden_parts(mut scene: Scene) -> Result<Scene, String> {
    const PARTS: usize = 20;
    // The most that a scan reads at a time.
    const LEAST: usize = 1_000;
    let host = SITES[2];
    let records = (scene.pages / 10 / PARTS).max(LEAST);
    let pages = records * PARTS;
    let show = |shown: bool| settings(host, "types", json!({"post": {"public": shown}}));
    scene.world.begin();
    scene.world.put(&show(false)).await;
    for n in 0..records {
        let mut record = page(host, n, 0);
        record["pages"] = json!(PARTS);
        scene.world.put(&record).await;
    }
    scene.at_rest().await?;
    for (what, shown, listed) in [("listed", true, pages), ("hidden", false, 0)] {
        let calls = scene.calls();
        scene.world.put(&show(shown)).await;
        scene.until_listed(host, listed as u64).await?;
        scene.world.settle().await?;
        let cost = scene.calls_a_page(calls, pages);
        scene.figure(&format!("{what}: calls a page"), cost, "", Aim::Counted);
        scene.longest_run();
    }
    Ok(scene)
}
