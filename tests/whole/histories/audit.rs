//! Checks the state at rest: every row and every object (`sim::audit`), and the answers for crawlers.

use std::collections::{BTreeMap, BTreeSet};

use harness::World;
use objects::ObjectKey;
use sim::audit::{Rows, Tally, same, text_of};
use sim::crawler::is_own;
use sim::history::{RECORDED, SITES};
use sim::oracle::{Oracle, Truth};

/// Returns the first difference as an error.
pub(super) async fn audit(world: &World, oracle: &Oracle, orphaned: bool) -> Result<Tally, String> {
    let rows = Rows(world.rows("").await);
    let mut published = BTreeMap::new();
    for host in SITES {
        let objects = &world.stack.objects;
        for key in objects.list(host).await.map_err(text_of)? {
            if let Some(found) = objects.get(&key).await.map_err(text_of)? {
                published.insert(key, found);
            }
        }
    }
    let (truth, tally) = sim::audit::audit(&rows, &published, oracle, orphaned)?;
    for site in 0..SITES.len() {
        if !(site == RECORDED && (orphaned || tally.orphaned)) {
            listed(world, oracle, &truth, site).await?;
        }
    }
    Ok(tally)
}

/// Checks the answers for crawlers of a site.
async fn listed(world: &World, oracle: &Oracle, truth: &Truth, site: usize) -> Result<(), String> {
    let crawler = world.crawler.of(SITES[site]);
    let index = crawler.get("/sitemap_index.xml").await;
    if !oracle.is_public(site) {
        if index.status != 404 {
            sim::audit::check(SITES[site], &index.index(), &Vec::new())?;
        }
        for object in world
            .stack
            .objects
            .list(SITES[site])
            .await
            .map_err(text_of)?
        {
            if matches!(object, ObjectKey::Shard { .. }) {
                let path = format!("/{}", object.file_name());
                let answer = crawler.get(&path).await;
                // A sitemap that was closed recently is empty.
                if answer.status != 404 {
                    sim::audit::check(&path, &answer.urlset(&path), &Vec::new())?;
                }
            }
        }
        return Ok(());
    }
    let origin = format!("https://{}", SITES[site]);
    let mut found = BTreeSet::new();
    let own = index.index().into_iter();
    // Nobody but their own publishers serves the sitemaps of others.
    for (sitemap, _) in own.filter(|(loc, _)| is_own(SITES[site], loc)) {
        let path = sitemap.strip_prefix(&origin).ok_or("on the site")?;
        let series = path[1..].split_once("-sitemap").ok_or("a series")?.0;
        let entries = crawler.urlset(path).await;
        if entries.is_empty() {
            return Err(format!("{sitemap} is listed and empty"));
        }
        for (loc, entry) in entries {
            let entry = (series.to_owned(), loc, entry.lastmod, entry.images);
            if let Some(twice) = found.replace(entry) {
                return Err(format!("listed twice: {twice:?}"));
            }
        }
    }
    let listed = truth
        .listed
        .values()
        .filter(|listed| listed.address.0 == SITES[site]);
    let expected = listed.flat_map(|listed| {
        let entries = listed.entries.iter().cloned();
        entries.map(|entry| {
            (
                entry.series,
                listed.loc.clone(),
                entry.lastmod,
                entry.images,
            )
        })
    });
    same(SITES[site], &found, &expected.collect())
}
