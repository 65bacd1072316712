//! The scan of all content: the first load, the rebuild of a dropped table, another mapping.
//!
//! It works in slices: the write of a slice's progress is the event for the next slice. If a slice runs twice, only one run can
//! write the progress. Edits are handled meanwhile.

use sitemap::record::Outline;
use tracing::{info, warn};

use super::calls::{BATCH, CONCURRENT_BATCHES};
use super::regenerator::{CONCURRENT_SITES, Regenerator, SLICE, end_early, step_over};
use crate::concurrency::concurrently;
use crate::env::Deadline;
use crate::error::EngineError;
use crate::rows::keys;
use crate::rows::scan::{ContentScan, Pass, Step};

/// Records that are read at a time, and pages that are reconciled at a time with all their parts: enough for all concurrent
/// batches.
const PAGE: u32 = (BATCH * CONCURRENT_BATCHES) as u32;
/// Scans of sites that are read at a time.
const SITES: u32 = 100;

impl Regenerator {
    /// Runs the next slice of the scan, as the row says.
    ///
    /// # Errors
    ///
    /// If a table fails. The row is unchanged then.
    pub async fn scan_content(&self) -> Result<(), EngineError> {
        let table = &self.reconciler.table;
        let Some(before) = table.content_scan().await? else {
            return Ok(());
        };
        let until = self.reconciler.env.deadline(SLICE);
        let revision = self.reconciler.content.revision();
        let mut next = ContentScan {
            woken: 0,
            ..before.clone()
        };
        match before.pass.clone() {
            None if !before.wanted => return Ok(()),
            // During a deployment, functions with different revisions run. A pass of another revision is not continued: a new
            // pass begins.
            Some(pass) if pass.revision == revision => {
                next.pass = match pass.step.clone() {
                    Step::Content { after } => Some(self.scan_records(pass, after, &until).await?),
                    Step::Sites { after } => self.scan_sites(pass, after, &until).await?,
                };
                if next.pass.is_none() {
                    next.done = Some(revision.to_owned());
                }
            }
            _ => {
                info!("a scan of all content begins");
                next.wanted = false;
                next.pass = Some(Pass {
                    revision: revision.to_owned(),
                    step: Step::Content { after: None },
                    records: 0,
                    at: 0,
                });
            }
        }
        if let Some(pass) = &mut next.pass {
            pass.at = self.reconciler.env.now();
        }
        // If another slice was faster, or a pass was requested meanwhile, that write is an event for the rest.
        table.advance_content_scan(&before, &next).await?;
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
            let (records, next) = match self.scan_page(after.as_deref()).await {
                Err(error) if is_done => {
                    end_early(&error);
                    pass.step = Step::Content { after };
                    return Ok(pass);
                }
                page => page?,
            };
            is_done = true;
            pass.records += records;
            info!(
                records = pass.records,
                "a slice of the scan of all content is done"
            );
            pass.step = match next {
                None => Step::Sites { after: None },
                Some(next) if until.has_passed() => Step::Content { after: Some(next) },
                next => {
                    after = next;
                    continue;
                }
            };
            return Ok(pass);
        }
    }

    /// Reconciles a page of the records. Returns how many, and the last one if there are more.
    async fn scan_page(&self, after: Option<&str>) -> Result<(u64, Option<String>), EngineError> {
        let content = &self.reconciler.content;
        let mut page = content.scan(after, PAGE).await?;
        let fit = fitting(&page.records, PAGE);
        if fit < page.records.len() {
            // Read again, because only whole pages have a cursor for the next page.
            page = content.scan(after, fit as u32).await?;
        }
        let records = page.records.iter();
        let pages = records.map(|(id, outline)| (keys::page(id, 1), outline.pages));
        let pages: Vec<_> = pages.collect();
        self.look_again(&pages).await?;
        Ok((pages.len() as u64, page.next))
    }

    /// Continues the scans of sites that waited for the content. Returns the next step of the pass, or `None` at the end.
    async fn scan_sites(
        &self,
        mut pass: Pass,
        mut after: Option<String>,
        until: &Deadline,
    ) -> Result<Option<Pass>, EngineError> {
        let table = &self.reconciler.table;
        loop {
            let scans = table.site_scans(after.as_deref(), SITES).await?;
            let Some((last, _)) = scans.last() else {
                info!(records = pass.records, "a scan of all content is complete");
                return Ok(None);
            };
            let last = last.clone();
            let scans = scans.into_iter();
            let hosts: Vec<String> = scans.map(|(host, _)| host).collect();
            for hosts in hosts.chunks(CONCURRENT_SITES) {
                if until.has_passed() {
                    pass.step = Step::Sites { after };
                    return Ok(Some(pass));
                }
                let slices = hosts.iter().map(|host| self.scan_site(host, until));
                let slices = concurrently(CONCURRENT_SITES, slices).await;
                for (host, slice) in hosts.iter().zip(slices) {
                    let Err(error) = slice else { continue };
                    // It blocks no other scan: the site's own next slice begins where this one did.
                    warn!(site = host, %error, "a slice of the site's scan failed");
                    let now = self.reconciler.env.now();
                    step_over(host, table.wake_site_scan(host, now).await)?;
                }
                after = hosts.last().cloned();
            }
            after = Some(last);
        }
    }
}

/// Returns how many of these records have at most `most` pages together. Returns at least one.
fn fitting(records: &[(String, Outline)], most: u32) -> usize {
    let sums = records.iter().scan(0, |sum, (_, outline)| {
        *sum += outline.pages;
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= most).count().max(1)
}
