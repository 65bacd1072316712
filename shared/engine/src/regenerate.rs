//! Handles changed rows of the sitemap table: publishes the files that they are part of, and reconciles the records that depend
//! on them.
//!
//! - `SEGMENT#`: the shard ([`shard`]). `INDEX#`: the indexes ([`index`]). `SITE#`: these, robots.txt, site file
//!   ([`site_files`]), feed and [llms.txt](llms). `FEED#`, and the removal of a mark of `JOB#feeds`: the feed ([`mod@feed`]) or
//!   llms.txt.
//! - `TERM#`: the archives of a changed page. `GROUP#`: its translations, and the pages that wait for room among them.
//! - `LOC#`: the records that wait for an address that its owner gave up. `SCAN#`: the next slice of a site's scan
//!   ([`site_scan`]). `JOB#`: the next slice of the scan of all content ([`content_scan`]), or of due timers.
//! - Every step reads the current rows and may run twice, late, or concurrently with itself.
//! - A permanent error is logged and acknowledged, so that it does not block the rest of the stream.

use std::collections::{BTreeMap, BTreeSet};

use crate::concurrency::concurrently;
use crate::env::Deadline;
use crate::error::EngineError;
use crate::metrics;
use crate::reconcile::Reconciler;
use crate::rows::keys::{self, ShardId, Subject};
use crate::stream::{Batch, EventName, Handled, StreamRecord};
use crate::timers;
use futures::future::{join, join3};
use tracing::error;

mod calls;
pub mod content_scan;
pub mod departures;
pub mod feed;
pub mod index;
pub mod llms;
mod put;
mod regenerator;
pub mod shard;
pub mod site_files;
pub mod site_scan;
#[cfg(test)]
mod tests;

pub use self::regenerator::Regenerator;

use self::regenerator::{CONCURRENT_SITES, SLICE};

/// Shards of one batch that are published concurrently. The compressed bytes of each are in memory.
const CONCURRENT_SHARDS: usize = 8;
/// Groups whose records are reconciled concurrently. Each record may have many parts.
const CONCURRENT_GROUPS: usize = 8;
/// Other changes of one batch that are handled concurrently.
const CONCURRENT_CHANGES: usize = 32;

/// Groups whose records are to be reconciled. Each has the sort key to begin at, or `None` to only continue earlier calls, and
/// the subjects that ask for it.
type Groups<'s> = BTreeMap<&'s str, (Option<&'static str>, Vec<&'s Subject>)>;

/// Shards to publish. Each has its changed segments, and the subjects that ask for it.
type Shards<'s> = BTreeMap<&'s ShardId, (BTreeSet<u32>, Vec<&'s Subject>)>;

/// Indexes to publish. Each site has the sitemaps whose summaries have changed, and the subjects that ask for it.
type Indexes<'s> = BTreeMap<&'s str, (BTreeSet<&'s ShardId>, Vec<&'s Subject>)>;

/// Returns the subject of a stream record of the sitemap table, or `None` if nothing depends on the row. The stream's filter in
/// `template.yaml` must agree.
#[must_use]
pub fn subject(record: &StreamRecord) -> Option<Subject> {
    let subject = Subject::of(record.key.text("pk")?, record.key.text("sk")?)?;
    match subject {
        // A new claim has no waiter that its owner did not refuse. One that is written again may yield now.
        Subject::Claim(_, None) => (record.event != EventName::Insert).then_some(subject),
        // Its removal means that the page was reconciled.
        Subject::Ousted(..) => (record.event != EventName::Remove).then_some(subject),
        // A new waiter needs nothing. A rewritten waiter is where the calls continue.
        Subject::Claim(_, Some(_)) => (record.event == EventName::Modify).then_some(subject),
        // The removal of the mark means that its time has come.
        Subject::MarkedFeed(_) | Subject::MarkedLlms(_) => {
            (record.event == EventName::Remove).then_some(subject)
        }
        _ => Some(subject),
    }
}

impl Regenerator {
    /// Handles a batch of the sitemap table's stream.
    pub async fn regenerate(&self, records: &[StreamRecord]) -> Handled {
        let batch = Batch::of(records, subject);
        // The time begins here: publishing uses part of the time for timers, whose reconciles add events of their own to the
        // stream.
        let ring_until = self.reconciler.env.deadline(timers::SLICE);
        let until = self.reconciler.env.deadline(SLICE);
        let (mut shards, mut groups) = (Shards::new(), Groups::new());
        let (mut scans, mut timers) = (Vec::new(), Vec::new());
        let mut indexes = Indexes::new();
        let (mut sites, mut others) = (Vec::new(), Vec::new());
        for subject in batch.subjects() {
            match subject {
                Subject::Segment(shard, segment) => {
                    let (segments, subjects) = shards.entry(shard).or_default();
                    segments.insert(*segment);
                    subjects.push(subject);
                }
                Subject::Group(pk) => call(&mut groups, pk, Some(keys::MEMBER), subject),
                Subject::GroupWaiters(pk) => call(&mut groups, pk, Some(keys::WAITER), subject),
                Subject::GroupCalls(pk) => call(&mut groups, pk, None, subject),
                Subject::SiteScan(host) => scans.push((subject, host)),
                Subject::Timers(digit) => timers.push((subject, *digit)),
                Subject::Summary(shard) => {
                    let (shards, subjects) = indexes.entry(&shard.series.site).or_default();
                    shards.insert(shard);
                    subjects.push(subject);
                }
                Subject::Site(_) => sites.push(subject),
                other => others.push(other),
            }
        }
        let (mut failed, groups, others) = join3(
            self.publish_shards_of(shards, &batch),
            self.call_groups_of(groups, &until),
            self.follow(others, &until),
        )
        .await;
        failed.extend(groups.into_iter().chain(others));
        // After the shards, so that the index includes the summaries that they have just written.
        let (indexes, sites) = join(
            self.publish_indexes_of(indexes, &batch),
            self.follow(sites, &until),
        )
        .await;
        failed.extend(indexes.into_iter().chain(sites));
        failed.extend(self.ring_of(timers, ring_until).await);
        failed.extend(self.scan_sites_of(scans).await);
        let Reconciler { metrics, env, .. } = &self.reconciler;
        metrics.emit(env.now());
        batch.response(failed)
    }

    /// Publishes these shards. Returns the subjects to retry.
    async fn publish_shards_of<'s>(
        &self,
        shards: Shards<'s>,
        batch: &Batch<Subject>,
    ) -> Vec<&'s Subject> {
        let mut failed = Vec::new();
        let publish = shards
            .into_iter()
            .map(|(shard, (segments, subjects))| async move {
                let outcome = self.publish(shard, Some(&segments)).await;
                (shard, subjects, outcome)
            });
        let published = concurrently(CONCURRENT_SHARDS, publish).await;
        for (shard, subjects, outcome) in published {
            match outcome {
                Ok(true) => {
                    self.note_since(&metrics::PUBLISH_SECONDS, batch.oldest(subjects));
                }
                Ok(false) => {}
                Err(error) => {
                    error!(%shard, %error, "a shard was not published");
                    self.count_failure(&error);
                    if !error.is_permanent() {
                        failed.extend(subjects);
                    }
                }
            }
        }
        failed
    }

    /// Publishes the indexes of these sites. Returns the subjects to retry.
    async fn publish_indexes_of<'s>(
        &self,
        indexes: Indexes<'s>,
        batch: &Batch<Subject>,
    ) -> Vec<&'s Subject> {
        let publish = indexes
            .into_iter()
            .map(|(site, (shards, subjects))| async move {
                // Boxed: see `follow`.
                let published = Box::pin(self.publish_index(site, Some(&shards))).await;
                if let Ok(true) = published {
                    let since = batch.oldest(subjects.iter().copied());
                    self.note_since(&metrics::INDEX_SECONDS, since);
                }
                match self.has_failed(subjects[0], published.map(drop)) {
                    true => subjects,
                    false => Vec::new(),
                }
            });
        concurrently(CONCURRENT_CHANGES, publish).await.concat()
    }

    /// Reconciles the records of these groups. Returns the subjects to retry.
    async fn call_groups_of<'s>(&self, groups: Groups<'s>, until: &Deadline) -> Vec<&'s Subject> {
        let call = groups.into_iter().map(|(pk, (from, subjects))| async move {
            // Boxed: see `follow`.
            let called = Box::pin(self.call_group(pk, from, until)).await;
            match self.has_failed(subjects[0], called) {
                true => subjects,
                false => Vec::new(),
            }
        });
        concurrently(CONCURRENT_GROUPS, call).await.concat()
    }

    /// Handles these changes. Returns the subjects to retry.
    async fn follow<'s>(&self, subjects: Vec<&'s Subject>, until: &Deadline) -> Vec<&'s Subject> {
        let follow = subjects.into_iter().map(|subject| async move {
            // Boxed: the compiler limits how deeply futures may be nested.
            let followed = Box::pin(self.other_changed(subject, until)).await;
            self.has_failed(subject, followed).then_some(subject)
        });
        let failed = concurrently(CONCURRENT_CHANGES, follow).await;
        failed.into_iter().flatten().collect()
    }

    /// Handles a slice of the due timers of these digits. Returns the subjects to retry.
    async fn ring_of<'s>(
        &self,
        timers: Vec<(&'s Subject, char)>,
        until: Deadline,
    ) -> Vec<&'s Subject> {
        let digits: Vec<char> = timers.iter().map(|(_, digit)| *digit).collect();
        let slices = self.reconciler.go_on_ringing(&digits, until).await;
        let slices = timers.into_iter().zip(slices);
        let failed = slices.filter_map(|((subject, _), slice)| {
            let has_failed = self.has_failed(subject, slice);
            has_failed.then_some(subject)
        });
        failed.collect()
    }

    /// Runs a slice of each of these sites' scans. Returns the subjects to retry. A scan for which no time is left is rewritten,
    /// so that its event is behind the present events of the stream. Otherwise a thousand scans at once would delay every edit.
    async fn scan_sites_of<'s>(&self, scans: Vec<(&'s Subject, &'s String)>) -> Vec<&'s Subject> {
        let Reconciler { table, env, .. } = &self.reconciler;
        let until = env.deadline(SLICE);
        let (mut outcomes, mut left) = (Vec::new(), scans.as_slice());
        while !left.is_empty() && !until.has_passed() {
            let (now, later) = left.split_at(CONCURRENT_SITES.min(left.len()));
            let slices = now.iter().map(|(_, host)| self.scan_site(host, &until));
            outcomes.extend(concurrently(CONCURRENT_SITES, slices).await);
            left = later;
        }
        let wake = left
            .iter()
            .map(|(_, host)| table.wake_site_scan(host, env.now()));
        outcomes.extend(concurrently(CONCURRENT_CHANGES, wake).await);
        let outcomes = scans.iter().zip(outcomes);
        let failed = outcomes.filter_map(|((subject, _), outcome)| {
            let has_failed = self.has_failed(subject, outcome);
            has_failed.then_some(*subject)
        });
        failed.collect()
    }

    /// Logs and counts a failure. Returns whether the change has to be retried.
    fn has_failed(&self, subject: &Subject, followed: Result<(), EngineError>) -> bool {
        let Err(error) = followed else { return false };
        error!(?subject, %error, "a change was not followed");
        self.count_failure(&error);
        !error.is_permanent()
    }

    fn count_failure(&self, error: &EngineError) {
        let metric = if error.is_permanent() {
            &metrics::CHANGES_IMPOSSIBLE
        } else {
            &metrics::CHANGES_FAILED
        };
        self.note(metric, 1);
    }

    /// Handles a change. Begins no reconciles of further records after `until`.
    async fn other_changed(&self, subject: &Subject, until: &Deadline) -> Result<(), EngineError> {
        match subject {
            // These are handled together with others of their kind.
            Subject::Segment(..) | Subject::SiteScan(_) | Subject::Timers(_) => Ok(()),
            Subject::Summary(_) => Ok(()),
            Subject::Group(_) | Subject::GroupWaiters(_) | Subject::GroupCalls(_) => Ok(()),
            Subject::Site(site) => {
                // The site file first, because it alone closes a site that has become private.
                self.publish_site_file(site).await?;
                // robots.txt may name the feed. A site that is released meanwhile has an event of its own.
                let Some(may_have_llms) = self.publish_feed(site, true).await? else {
                    return Ok(());
                };
                self.publish_robots(site).await?;
                self.publish_index(site, None).await?;
                if may_have_llms {
                    self.publish_llms(site, true).await?;
                }
                Ok(())
            }
            Subject::Feed(site) | Subject::MarkedFeed(site) => {
                self.publish_feed(site, false).await.map(drop)
            }
            Subject::Llms(site) | Subject::MarkedLlms(site) => self.publish_llms(site, false).await,
            Subject::Claim(pk, from) => self.hand_over(pk, from.as_deref(), until).await,
            Subject::Ousted(pk, page) => self.call_ousted(pk, page).await,
            Subject::Departures(site, file) => self.publish_departures(site, *file).await,
            Subject::ContentScan => self.scan_content().await,
            Subject::Term(pk) => {
                let archives = self.reconciler.table.archives(pk).await?;
                self.reconcile_all(&archives).await
            }
        }
    }
}

/// Adds a group whose records are to be reconciled from this sort key on.
fn call<'s>(
    groups: &mut Groups<'s>,
    pk: &'s str,
    from: Option<&'static str>,
    subject: &'s Subject,
) {
    let (first, subjects) = groups.entry(pk).or_default();
    *first = first.iter().copied().chain(from).min();
    subjects.push(subject);
}
