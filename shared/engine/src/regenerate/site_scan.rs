//! A site's scan reconciles all records that the site lists or excludes, and then publishes the site.
//!
//! The records are found by their rows, one kind after the other. Meanwhile a run with older settings may write rows behind the
//! scan.
//!
//! - A run that gives a record its first row reads the site's row once more (`reconcile::round`). If it dies before that, its
//!   event is delivered again.
//! - A record that moves from one kind of row to the other is found, because the excluded records are read before the entries and
//!   again after them.
//!
//! The model of scans has a counter-example for each omitted step.

use std::collections::BTreeSet;

use tracing::info;

use super::regenerator::{Regenerator, end_early, step_over};
use crate::concurrency::concurrently;
use crate::env::Deadline;
use crate::error::EngineError;
use crate::metrics;
use crate::rows::keys::{self, ShardId};
use crate::rows::scan::{Segment, SiteStep};
use crate::rows::series::shards_of;
use crate::rows::site::Hold;

/// Excluded records that are read at first and at most at a time, because each may have a thousand parts. A slice doubles the
/// number each time.
const FIRST_READ: u32 = 64;
const MOST_READ: u32 = 1_000;
/// Segments whose owners are read at a time.
const SEGMENTS: usize = 2;

/// The outcome of a part of a step: what comes next.
type Went = Result<Next, EngineError>;

/// What comes after a part of a step.
enum Next {
    /// This step.
    Step(SiteStep),
    /// The same step again, after the scan of all content.
    Wait,
    /// Nothing: the site is published.
    Done,
}

impl Regenerator {
    /// Runs the next slice of a site's scan.
    ///
    /// # Errors
    ///
    /// If a table or the bucket fails before anything was done. The row is unchanged then.
    pub async fn scan_site(&self, host: &str, until: &Deadline) -> Result<(), EngineError> {
        let table = &self.reconciler.table;
        let Some(before) = table.site_scan(host).await? else {
            return Ok(());
        };
        let mut step = before.step.clone();
        let mut most = FIRST_READ;
        let next = loop {
            match self.scan_more(host, &step, most, until).await {
                Ok(Next::Done) => break None,
                Ok(Next::Step(next)) => step = next,
                // Writing the same step would only make another event for it.
                Ok(Next::Wait) if step == before.step => return Ok(()),
                Ok(Next::Wait) => break Some(&step),
                Err(error) if step == before.step => return Err(error),
                Err(error) => {
                    end_early(&error);
                    break Some(&step);
                }
            }
            if until.has_passed() {
                break Some(&step);
            }
            most = MOST_READ.min(2 * most);
        };
        // If the scan was restarted meanwhile, the write of that is an event.
        let now = self.reconciler.env.now();
        table.advance_site_scan(host, &before, next, now).await?;
        Ok(())
    }

    /// Runs the next part of a step. `most` is the number of excluded records to read.
    async fn scan_more(&self, host: &str, step: &SiteStep, most: u32, until: &Deadline) -> Went {
        if self.waits_for_content(host).await? {
            return Ok(Next::Wait);
        }
        match step {
            SiteStep::LeftOut { after } => {
                let next = self.scan_left_out(host, after.as_deref(), most).await?;
                Ok(Next::Step(match next {
                    Some(last) => SiteStep::LeftOut { after: Some(last) },
                    None => SiteStep::Entries { after: None },
                }))
            }
            SiteStep::Entries { after } => {
                let next = self.scan_entries(host, after.as_ref()).await?;
                Ok(Next::Step(match next {
                    Some(last) => SiteStep::Entries { after: Some(last) },
                    None => SiteStep::LeftOutAgain { after: None },
                }))
            }
            SiteStep::LeftOutAgain { after } => {
                let next = self.scan_left_out(host, after.as_deref(), most).await?;
                Ok(Next::Step(match next {
                    Some(last) => SiteStep::LeftOutAgain { after: Some(last) },
                    None => SiteStep::Publish { after: None },
                }))
            }
            SiteStep::Publish { after } => self.publish_site(host, after.clone(), until).await,
        }
    }

    /// Returns whether a site is on hold and has to wait for the scan of all content, so that its records are not reconciled
    /// twice.
    async fn waits_for_content(&self, host: &str) -> Result<bool, EngineError> {
        let table = &self.reconciler.table;
        let row = step_over(host, table.site(host).await)?.flatten();
        if row.is_none_or(|row| row.hold == Hold::Released) {
            return Ok(false);
        }
        let revision = self.reconciler.content.revision();
        match &table.content_scan().await? {
            Some(scan) if scan.is_complete(revision) => return Ok(false),
            Some(scan) if scan.is_active() => {}
            scan => table.begin_content_scan(scan.as_ref()).await?,
        }
        Ok(true)
    }

    /// Reconciles the next excluded records. Returns the last of them, or `None` at the end.
    async fn scan_left_out(
        &self,
        host: &str,
        after: Option<&str>,
        most: u32,
    ) -> Result<Option<String>, EngineError> {
        let ids = self.reconciler.table.left_out(host, after, most).await?;
        let pages: Vec<_> = ids.iter().map(|id| (keys::page(id, 1), 1)).collect();
        self.look_again(&pages).await?;
        let last = ids.last().filter(|_| ids.len() >= most as usize);
        Ok(last.cloned())
    }

    /// Reconciles the owners of the next entries. Returns the last segment, or `None` at the end.
    async fn scan_entries(
        &self,
        host: &str,
        after: Option<&Segment>,
    ) -> Result<Option<Segment>, EngineError> {
        let table = &self.reconciler.table;
        let place = |shard: &ShardId, segment| (shard.series.name.clone(), shard.n, segment);
        let mut segments = table.segments_of(host).await?;
        segments
            .retain(|(shard, segment)| after.is_none_or(|after| place(shard, *segment) > *after));
        segments.truncate(SEGMENTS);
        let owners = segments
            .iter()
            .map(|(shard, segment)| table.owners(shard, *segment));
        let mut pages = BTreeSet::new();
        for owners in concurrently(SEGMENTS, owners).await {
            // A record's own page includes its parts.
            let ids = owners?;
            let ids = ids.iter().map(|owner| keys::page_parts(&owner.id).0);
            pages.extend(ids.map(|id| (keys::page(id, 1), 1)));
        }
        let pages: Vec<_> = pages.into_iter().collect();
        self.look_again(&pages).await?;
        let last = segments.last();
        Ok(last.map(|(shard, segment)| place(shard, *segment)))
    }

    /// Publishes a site's sitemaps after a path, and releases the site if it is on hold.
    ///
    /// # Errors
    ///
    /// If the first of them fails, or the release.
    async fn publish_site(&self, site: &str, after: Option<String>, until: &Deadline) -> Went {
        let table = &self.reconciler.table;
        // From now on, each change is published by its own event.
        table
            .move_hold(site, Hold::Loading, Hold::Publishing)
            .await?;
        let Some(row) = step_over(site, table.site(site).await)?.flatten() else {
            return Ok(Next::Done);
        };
        // A released site has published all its changes. Only the closing of shards by new settings is left to do.
        let unread = BTreeSet::new();
        let touched = (row.hold == Hold::Released).then_some(&unread);
        let mut done = after.clone();
        let up_to = |after| Ok(Next::Step(SiteStep::Publish { after }));
        // Paths are in order, so all up to the last one are done.
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
                    return up_to(done);
                }
            }
            done = Some(path);
            if until.has_passed() {
                return up_to(done);
            }
        }
        if row.hold != Hold::Released {
            step_over(site, self.publish_old_departures(site).await)?;
        }
        step_over(site, table.count_objects(site, &*self.objects).await)?;
        table
            .move_hold(site, Hold::Publishing, Hold::Released)
            .await?;
        info!(site, "the scan has published the site");
        Ok(Next::Done)
    }
}
