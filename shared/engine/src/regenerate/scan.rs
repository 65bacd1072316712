//! The background scan of the content table: a site's first load, the rebuild of a dropped table, new settings, a new
//! rendering.
//!
//! - One pass serves every site that waits when it begins. It works in slices: the write of a slice's progress is the
//!   event for the next one. A slice that runs twice does its work twice, and only one of them counts.
//! - For sites on hold, a pass ends by publishing site by site: every shard, and then the site is released, whose row's event
//!   publishes the index. Edits go on meanwhile.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::keys;
use crate::metrics;
use crate::sites::{Hold, Job, Pass, Step};
use crate::slots::shards_of;
use objects::ObjectKey;
use tracing::{info, warn};

use super::{Regenerator, step_over};
use crate::Deadline;

/// Records read at a time.
const PAGE: u32 = 1_000;
/// Records reconciled together, and such batches under way at the same time: while one reads, others write.
const BATCH: usize = 250;
const CONCURRENT_BATCHES: usize = 3;
/// Sites that are published at the same time.
const CONCURRENT_SITES: usize = 8;
/// How long a slice goes on beginning new work: edits of the same stream shard wait for it. Between two slices the stream
/// gathers its batch for a second.
const SLICE: Duration = Duration::from_secs(6);

/// How far the publishing of a site has come in a slice.
enum Published {
    /// All its sitemaps, and the site is released.
    Whole,
    /// The sitemaps up to this path; nothing if there was no time for one.
    UpTo(Option<String>),
}

/// A failure behind what is done: that is kept, and the next slice begins with what has failed.
fn end_early(error: &EngineError) {
    warn!(%error, "a slice of the scan ends early");
}

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
                Err(error) if is_done => {
                    end_early(&error);
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
        let batches = ids.chunks(BATCH);
        let batches = batches.map(|batch| self.reconciler.reconcile_quietly(batch));
        let outcomes = concurrently(CONCURRENT_BATCHES, batches).await;
        for (id, outcome) in ids.iter().zip(outcomes.into_iter().flatten()) {
            step_over(id, outcome)?;
        }
        Ok((ids.len() as u64, page.next))
    }

    /// Publishes the pass's sites and releases those on hold: what is left of the pass, nothing at the end.
    async fn publish_sites(
        &self,
        mut pass: Pass,
        mut after: Option<(String, String)>,
        until: &Deadline,
    ) -> Result<Option<Pass>, EngineError> {
        let before = pass.clone();
        let sites: Vec<&String> = before.sites.iter().collect();
        let mut failure = None;
        for sites in sites.chunks(CONCURRENT_SITES) {
            let publish = sites.iter().map(|site| {
                let after = after.as_ref().filter(|(begun, _)| begun == *site);
                self.publish_site(site, after.map(|(_, path)| path.clone()), until)
            });
            let published = concurrently(CONCURRENT_SITES, publish).await;
            for (site, published) in sites.iter().zip(published) {
                match published {
                    Ok(Published::Whole) => _ = pass.sites.remove(*site),
                    Ok(Published::UpTo(None)) => {}
                    Ok(Published::UpTo(Some(path))) => after = Some(((*site).clone(), path)),
                    Err(error) => failure = Some(error),
                }
            }
            if failure.is_some() || until.has_passed() {
                break;
            }
        }
        if pass.sites.is_empty() {
            info!(records = pass.records, "a scan is complete");
            return Ok(None);
        }
        pass.step = Step::Publish { after };
        match failure {
            Some(error) if pass == before => Err(error),
            failure => {
                failure.iter().for_each(end_early);
                Ok(Some(pass))
            }
        }
    }

    /// Publishes a site's sitemaps behind a path, and releases the site if it is on hold.
    ///
    /// # Errors
    ///
    /// If the first of them fails, or the release.
    async fn publish_site(
        &self,
        site: &str,
        after: Option<String>,
        until: &Deadline,
    ) -> Result<Published, EngineError> {
        let table = &self.reconciler.table;
        if until.has_passed() {
            return Ok(Published::UpTo(after));
        }
        // From now on, what changes is published by its own event.
        table
            .move_hold(site, Hold::Loading, Hold::Publishing)
            .await?;
        let Some(row) = step_over(site, table.site(site).await)?.flatten() else {
            return Ok(Published::Whole);
        };
        // Of a site that was published all along, the changes were; only what new settings forbid is left to do.
        let unread = BTreeSet::new();
        let touched = (row.hold == Hold::Released).then_some(&unread);
        let mut done = after.clone();
        // Paths come in order, so all up to the last one are done.
        for (path, shard) in shards_of(table, &*self.objects, site).await? {
            if after.as_ref().is_some_and(|after| path <= *after) {
                continue;
            }
            match step_over(&path, self.publish(&shard, touched).await) {
                Ok(Some(_)) => {}
                Ok(None) => self.note(&metrics::CHANGES_IMPOSSIBLE, 1),
                Err(error) if done == after => return Err(error),
                Err(error) => {
                    end_early(&error);
                    return Ok(Published::UpTo(done));
                }
            }
            done = Some(path);
            if until.has_passed() {
                return Ok(Published::UpTo(done));
            }
        }
        step_over(site, self.take_over_indexes(site).await)?;
        table
            .move_hold(site, Hold::Publishing, Hold::Released)
            .await?;
        info!(site, "the scan has published the site");
        Ok(Published::Whole)
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
