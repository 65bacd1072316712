//! The background scan of the content table: a site's first load, the rebuild of a dropped table, new settings, a new
//! rendering.
//!
//! - One pass serves every site that waits when it begins. It works in slices: the write of a slice's progress is the
//!   event for the next one. A slice that runs twice does its work twice, and only one of them counts.
//! - For sites on hold, a pass ends by publishing every shard and then releasing the site, whose row's event publishes
//!   the index. Edits go on meanwhile.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::error::EngineError;
use crate::keys;
use crate::metrics;
use crate::sites::{Hold, Job, Pass, Step};
use crate::slots::shards_of;
use objects::ObjectKey;
use tracing::{info, warn};

use super::{Regenerator, step_over};
use crate::Deadline;

/// Records read and reconciled at a time.
const PAGE: u32 = 500;
/// How long a slice goes on beginning new work: edits of the same stream shard wait for it.
const SLICE: Duration = Duration::from_secs(5);

impl Regenerator {
    /// Does a slice of what the scan's row says is left.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails. The row is as it was.
    pub async fn scan_slice(&self) -> Result<(), EngineError> {
        let Some(job) = self.reconciler.table.job().await? else {
            return Ok(());
        };
        let until = self.reconciler.env.deadline(SLICE);
        let at = self.reconciler.env.now();
        let before = job.clone();
        let next = match job.pass {
            None if job.waiting.is_empty() => None,
            None => {
                let sites = job.waiting;
                // While functions are being replaced, an older one may be asked to look at tables that it knows nothing of: it
                // says so in the site's row. The newer ones say otherwise, and let the site wait again.
                for site in &sites {
                    step_over(site, self.reconciler.ensure_site(site).await)?;
                }
                info!(?sites, "a scan begins");
                let pass = Pass {
                    sites,
                    step: Step::Scan { after: None },
                    records: 0,
                    at,
                };
                Some(Job {
                    pass: Some(pass),
                    ..Job::default()
                })
            }
            Some(mut pass) => {
                pass.at = at;
                let waiting = job.waiting;
                let pass = match pass.step.clone() {
                    Step::Scan { after } => Some(self.scan_records(pass, after, &until).await?),
                    Step::Publish { after } => self.publish_sites(pass, after, &until).await?,
                };
                (pass.is_some() || !waiting.is_empty()).then_some(Job {
                    pass,
                    waiting,
                    ..Job::default()
                })
            }
        };
        // If another slice was faster, or a site has begun to wait: that write is an event, and what is left is in it.
        self.reconciler
            .table
            .advance_job(&before, next.as_ref())
            .await?;
        Ok(())
    }

    async fn scan_records(
        &self,
        mut pass: Pass,
        mut after: Option<String>,
        until: &Deadline,
    ) -> Result<Pass, EngineError> {
        let mut is_done = false;
        loop {
            let (records, next) = match self.scan_page(&pass, after.as_deref()).await {
                // What is done is done: the next slice begins with the page that has failed.
                Err(error) if is_done => {
                    warn!(%error, "a slice of the scan ends early");
                    pass.step = Step::Scan { after };
                    return Ok(pass);
                }
                page => page?,
            };
            is_done = true;
            pass.records += records;
            info!(records = pass.records, "scanned");
            pass.step = match next {
                None => Step::Publish { after: None },
                Some(next) if until.has_passed() => Step::Scan { after: Some(next) },
                next => {
                    after = next;
                    continue;
                }
            };
            return Ok(pass);
        }
    }

    /// Reconciles a page of the records: how many, and the last of the page if there are more.
    async fn scan_page(
        &self,
        pass: &Pass,
        after: Option<&str>,
    ) -> Result<(u64, Option<String>), EngineError> {
        let page = self.reconciler.content.scan(after, PAGE).await?;
        let served = page
            .records
            .into_iter()
            .filter(|(_, site)| pass.sites.contains(site));
        let ids: Vec<String> = served.map(|(id, _)| keys::page(&id, 1)).collect();
        // Not the pages have changed, but what their site says of them: no search engine is told.
        for (id, outcome) in ids
            .iter()
            .zip(self.reconciler.reconcile_quietly(&ids).await)
        {
            step_over(id, outcome)?;
        }
        Ok((ids.len() as u64, page.next))
    }

    /// Publishes the shards of the pass's sites, and releases those on hold. Nothing is returned at the end.
    async fn publish_sites(
        &self,
        mut pass: Pass,
        after: Option<(String, String)>,
        until: &Deadline,
    ) -> Result<Option<Pass>, EngineError> {
        let table = &self.reconciler.table;
        let mut done = None;
        for site in &pass.sites {
            // From now on, what changes is published by its own event.
            table
                .move_hold(site, Hold::Loading, Hold::Publishing)
                .await?;
            let Some(row) = step_over(site, table.site(site).await)?.flatten() else {
                continue;
            };
            // Of a site that was published all along, the changes were; only what new settings forbid is left to do.
            let unread = BTreeSet::new();
            let touched = (row.hold == Hold::Released).then_some(&unread);
            let shards = shards_of(table, &*self.objects, site).await?;
            for (path, shard) in shards {
                // Sites and their paths come in order, so all up to the last one are done.
                let place = (site.clone(), path);
                if after.as_ref().is_some_and(|after| place <= *after) {
                    continue;
                }
                let published = step_over(&place.1, self.publish(&shard, touched).await);
                match (published, done) {
                    (Ok(Some(_)), _) => {}
                    (Ok(None), _) => self.note(&metrics::CHANGES_IMPOSSIBLE, 1),
                    (Err(error), None) => return Err(error),
                    // What is done is done: the next slice begins with what has failed.
                    (Err(error), done) => {
                        warn!(%error, "a slice of the scan ends early");
                        pass.step = Step::Publish { after: done };
                        return Ok(Some(pass));
                    }
                }
                if until.has_passed() {
                    pass.step = Step::Publish { after: Some(place) };
                    return Ok(Some(pass));
                }
                done = Some(place);
            }
        }
        for site in &pass.sites {
            step_over(site, self.take_over_indexes(site).await)?;
            table
                .move_hold(site, Hold::Publishing, Hold::Released)
                .await?;
        }
        info!(sites = ?pass.sites, records = pass.records, "a scan is complete");
        Ok(None)
    }

    /// Lets the row of a site on hold know of the indexes that a dropped table has left: they have to be emptied.
    async fn take_over_indexes(&self, site: &str) -> Result<(), EngineError> {
        let table = &self.reconciler.table;
        let row = table.site(site).await?;
        let Some(row) = row.filter(|row| row.hold == Hold::Publishing) else {
            return Ok(());
        };
        let objects = self.objects.list(site).await?.into_iter();
        let indexes = objects.filter_map(|key| match key {
            ObjectKey::Index { n, .. } => Some(n),
            _ => None,
        });
        let last = indexes.max().unwrap_or_default();
        if last <= row.index_objects
            || table
                .count_indexes(site, row.version, row.indexes, last)
                .await?
        {
            return Ok(());
        }
        Err(EngineError::Contended {
            what: format!("site {site}"),
            tries: 1,
        })
    }
}
