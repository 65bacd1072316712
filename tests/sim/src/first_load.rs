//! A first load in bulk of what a world has, before its functions start.

use std::convert::Infallible;
use std::sync::Arc;

use engine::bulk::{Page, Placer, Planned, Planner, Shard, Stage, Store, Survey, rows_of};
use engine::reconcile::KnownSites;
use engine::regenerate::Regenerator;
use serde_json::Value;
use sitemap::record::ContentRecord;
use sitemap::site::{SiteSettings, host_of_site_id};
use table::Item;

use crate::world::item;

/// What bulk places.
#[derive(Default)]
pub(crate) struct Placed {
    /// The rows of pages.
    pub(crate) items: Vec<Item>,
    /// The rows that publishing the sites needs.
    pub(crate) of_sites: Vec<Item>,
    /// The sitemaps, with their sites.
    pub(crate) shards: Vec<(Arc<SiteSettings>, Shard)>,
}

impl Store for Placed {
    type Error = Infallible;

    fn keeps_rows(&self) -> bool {
        true
    }

    fn page(&mut self, page: &Page<'_>) -> Result<(), Infallible> {
        self.items.extend(rows_of(page.name, page.plan, "token"));
        Ok(())
    }

    fn shard(&mut self, site: &Arc<SiteSettings>, shard: Shard) -> Result<(), Infallible> {
        self.shards.push((site.clone(), shard));
        Ok(())
    }
}

pub(crate) fn id(record: &Value) -> &str {
    record["id"].as_str().expect("an id")
}

/// Places records in bulk.
pub(crate) fn place(now: i64, known: KnownSites, records: &[Value]) -> (Placed, Planner) {
    let recorded = records.iter().filter_map(|record| {
        let host = host_of_site_id(id(record))?;
        Some((host.to_owned(), record.clone()))
    });
    let mut planner = Planner::new(now, known, recorded.collect());
    let parsed = || {
        let records = records.iter();
        records.map(|record| ContentRecord::parse(id(record), record))
    };
    if parsed().any(|record| Planned::depends(&record)) {
        let mut survey = Survey::default();
        for (at, record) in (0..).zip(parsed()) {
            survey.see(&planner, planner.plan(record, at));
        }
        planner = survey.finish(planner);
    }
    let (mut placer, mut placed) = (Placer::default(), Placed::default());
    for (at, record) in (0..).zip(parsed()) {
        let planned = planner.plan(record, at);
        let Ok(()) = placer.place(&planner, planned, &mut placed);
    }
    let Ok(of_sites) = placer.finish(&mut placed);
    placed.of_sites = of_sites;
    (placed, planner)
}

/// Publishes records in bulk into an engine's bucket. Returns the rows of its sitemap table, and the sitemaps.
pub(crate) async fn publish(
    engine: &Regenerator,
    records: &[Value],
) -> (Vec<Item>, Vec<(Arc<SiteSettings>, Shard)>) {
    let Regenerator {
        reconciler,
        objects,
        limits,
    } = engine;
    let (known, env) = (reconciler.known.clone(), reconciler.env.clone());
    let (placed, planner) = place(env.now(), known.clone(), records);
    let Placed {
        mut items,
        of_sites,
        shards,
    } = placed;
    let stage = Stage::begin(objects.clone(), *limits, known, env).await;
    let stage = stage.expect("a stage");
    let settings = |record: &&Value| host_of_site_id(id(record)).is_some();
    for record in records.iter().filter(settings) {
        let put = stage.put_settings(item(record));
        put.await.expect("a record that the table takes");
    }
    for row in of_sites {
        stage
            .put_row(row)
            .await
            .expect("a row that the table takes");
    }
    for (site, shard) in &shards {
        let epoch = stage.epoch(&site.host).await.expect("a site's row");
        let epoch = epoch.expect("a known site");
        let publish = shard.publish(&stage.regenerator, site, epoch);
        publish.await.expect("a shard");
    }
    stage.publish(&planner.sites()).await.expect("published");
    items.extend(stage.rows().await.expect("rows"));
    (items, shards)
}
