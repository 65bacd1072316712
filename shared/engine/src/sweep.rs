//! The work of each minute: changes that come only from the passing of time.
//!
//! One sweep at a time, in this order:
//!
//! - Due timers: a page appears at its `published_at` and disappears at its `expires_at`.
//! - Each minute the next sites are checked: a site that should have a row gets one, so that a dropped sitemap table is rebuilt
//!   without an edit. Once a day each site's feed is published again.
//! - Stalled scans are woken.
//! - Feeds are published that had to wait because of an earlier change.
//! - Search engines are notified of changed URLs ([`notices`]).
//! - Once a day, or as often as the deployment says, everything is audited and repaired, in slices ([`audit`]).

pub mod audit;
pub mod notices;

use std::collections::BTreeSet;
use std::time::Duration;

use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::metrics;
use crate::reconcile::{KnownSites, Reconciler};
use crate::rows::keys::Mark;
use crate::rows::scan::{ContentScan, STUCK_SECONDS};
use crate::rows::site::Hold;
use crate::rows::turn::Turn;
use objects::Objects;
use tracing::{error, info, warn};

use self::audit::{Audit, AuditProgress, Finding};
use self::notices::{AUDIT_SLICE, SearchEngines};
pub use crate::rows::turn::TURN_SECONDS;

/// Seconds without progress after which a scan is woken. A slice takes less.
const STALLED_SECONDS: i64 = 900;

/// Sites that one sweep checks. The next sweep checks the next ones.
const SITES: usize = 100;
/// The time in which a sweep corrects the rows of sites.
const SITES_SLICE: Duration = Duration::from_secs(10);
/// Concurrent calls of the table.
const CALLS: usize = 16;
/// Scans of sites that one sweep looks at. The first of them end before the others are looked at.
const SITE_SCANS: u32 = 1_000;
/// Seconds from the beginning of an audit that repaired something to the next audit, unless audits are more frequent anyway. A
/// repair may reveal more problems. Findings that were not repaired do not shorten the time, because they would be found again.
const NEXT_AUDIT_PERIOD: i64 = 600;

/// The times of the clock's audits.
#[derive(Clone, Copy, Debug)]
pub struct AuditTimes {
    /// The time from the beginning of an audit to the beginning of the next. Losses have no event, so nothing else finds them
    /// earlier.
    pub period: Duration,
    /// See [`Audit::second_look`].
    pub second_look: Duration,
}

impl AuditTimes {
    /// The default of [`Self::period`]: a day.
    pub const DAILY: Duration = Duration::from_secs(86_400);
}

/// Does all work that is due. Without `engines`, no search engine is notified. Returns `false` if it did nothing because another
/// sweep is running.
///
/// # Errors
///
/// The first failure. All other work was still done, so that one site or record does not stop the clock for the others. The next
/// run does the rest.
pub async fn sweep(
    reconciler: &Reconciler,
    objects: &dyn Objects,
    times: AuditTimes,
    engines: Option<&dyn SearchEngines>,
) -> Result<bool, EngineError> {
    let Reconciler { table, env, .. } = reconciler;
    let Some(mut turn) = table.begin_turn(env.now()).await? else {
        info!("another sweep is under way");
        return Ok(false);
    };
    let mut failures = Vec::new();
    failures.extend(ring(reconciler).await.err());
    failures.extend(watch_sites(reconciler, objects, &mut turn).await.err());
    failures.extend(wake_scans(reconciler, turn.has_sites).await.err());
    failures.extend(publish_feeds(reconciler).await.err());
    failures.extend(notices::tell(reconciler, engines, &mut turn).await.err());
    let audit = Audit {
        reconciler,
        objects,
        repair: true,
        second_look: times.second_look,
    };
    failures.extend(go_on_with(&audit, times.period).await.err());
    failures.extend(table.end_turn(&turn).await.err());
    for failure in &failures {
        error!(error = %failure, "a part of the sweep failed");
    }
    reconciler.metrics.emit(reconciler.env.now());
    failures.into_iter().next().map_or(Ok(true), Err)
}

/// Handles due timers. Without a cursor it is not known which are due, so an audit is started.
async fn ring(reconciler: &Reconciler) -> Result<(), EngineError> {
    if let Some(cursor) = reconciler.table.cursor().await? {
        return reconciler.begin_ringing(cursor).await;
    }
    let now = reconciler.env.now();
    // The audit first, because a sweep may end between both calls.
    reconciler.table.note_audit(&audit::daily(now)).await?;
    reconciler.table.begin_timers_again(now).await
}

/// Checks the next sites that have objects, and those that the deployment lists.
async fn watch_sites(
    reconciler: &Reconciler,
    objects: &dyn Objects,
    turn: &mut Turn,
) -> Result<(), EngineError> {
    let published = objects.sites(turn.looked_at.as_deref(), SITES).await?;
    if turn.looked_at.is_none() {
        turn.begin_round(reconciler.env.now());
    }
    // After a page that is not full, the next sweep begins with the first site.
    let last = published.last().filter(|_| published.len() == SITES);
    turn.looked_at = last.cloned();
    let mut hosts = BTreeSet::from_iter(published);
    if let KnownSites::Only(known) = &reconciler.known {
        hosts.extend(known.iter().cloned());
    }
    turn.has_sites |= !hosts.is_empty();
    let until = reconciler.env.deadline(SITES_SLICE);
    let mut failure = None;
    if turn.publishes_feeds {
        let (table, now) = (&reconciler.table, reconciler.env.now());
        let marks = hosts.iter().map(|host| table.mark(Mark::Feed, host, now));
        for marked in concurrently(CALLS, marks).await {
            failure = failure.or(marked.err());
        }
    }
    for host in reconciler.unsettled_sites(&hosts).await? {
        if until.has_passed() {
            warn!("not all sites were looked at in time: their turn comes again");
            break;
        }
        if let Err(error) = watch_site(reconciler, host).await {
            error!(site = host, %error, "a site was not looked at");
            failure = failure.or(Some(error));
        }
    }
    failure.map_or(Ok(()), Err)
}

/// Gives a known site its row, corrects the row, and starts a scan if the site is on hold without one.
async fn watch_site(reconciler: &Reconciler, host: &str) -> Result<(), EngineError> {
    let Some(row) = reconciler.refresh_site(host).await? else {
        warn!(
            site = host,
            "the site is no longer known: what was published is still served"
        );
        return Ok(());
    };
    let table = &reconciler.table;
    if row.hold != Hold::Released && table.site_scan(host).await?.is_none() {
        // If the site was released meanwhile, a further scan does no harm.
        let now = reconciler.env.now();
        table.begin_site_scan(host, now).await?;
        warn!(
            site = host,
            "the site was on hold without a scan: it has one now"
        );
    }
    Ok(())
}

/// Requests a scan of all content if none was completed for the current tables. Writes the rows of stalled scans again, which is
/// the event for their next slice.
async fn wake_scans(reconciler: &Reconciler, has_sites: bool) -> Result<(), EngineError> {
    let Reconciler { table, env, .. } = reconciler;
    let now = env.now();
    let revision = reconciler.content.revision();
    let content = table.content_scan().await?;
    match &content {
        Some(scan) if scan.is_active() => {
            // Not each minute, because the write makes the running slice lose the row.
            if now - scan.touched() > STALLED_SECONDS {
                let next = ContentScan {
                    woken: now,
                    ..scan.clone()
                };
                let woken = table.advance_content_scan(scan, &next).await?;
                info!(woken, "the scan of all content stood still: it is woken");
            }
        }
        Some(scan) if scan.is_complete(revision) => {}
        None if !has_sites => {}
        content => table.begin_content_scan(content.as_ref()).await?,
    }
    for (host, scan) in table.site_scans(None, SITE_SCANS).await? {
        // The audit repairs a row that cannot be read.
        if scan.is_ok_and(|scan| now - scan.touched() > STALLED_SECONDS) {
            table.wake_site_scan(&host, now).await?;
            info!(site = host, "the site's scan stood still: it is woken");
        }
    }
    Ok(())
}

/// Deletes the due marks of feeds and llms.txt. The deletions publish the files.
async fn publish_feeds(reconciler: &Reconciler) -> Result<(), EngineError> {
    let Reconciler { table, env, .. } = reconciler;
    let now = env.now();
    let marks = table.marks(Mark::Feed).await?;
    let due = marks.iter().filter(|marked| marked.due <= now);
    let ended = concurrently(CALLS, due.map(|marked| table.end_mark(marked))).await;
    ended.into_iter().collect()
}

/// Begins an audit if one is due, and runs a slice of the current one.
async fn go_on_with(audit: &Audit<'_>, period: Duration) -> Result<(), EngineError> {
    let table = &audit.reconciler.table;
    let now = audit.reconciler.env.now();
    let moves = |scan: &ContentScan| {
        let pass = scan.pass.as_ref();
        scan.is_active() && pass.is_none_or(|pass| now - pass.at <= STUCK_SECONDS)
    };
    match table.content_scan().await {
        // Records that the scan has not reached yet would look wrong. A stalled scan may wait for a repair of the audit.
        Ok(Some(scan)) if moves(&scan) => return Ok(()),
        Ok(Some(_)) => {}
        // The audit repairs a row that cannot be read.
        Ok(None) | Err(EngineError::Damaged { .. }) => {}
        Err(error) => return Err(error),
    }
    let mut progress = match table.audit().await? {
        Some(progress) if progress.step.is_some() => progress,
        Some(progress) => {
            let period = i64::try_from(period.as_secs()).unwrap_or(i64::MAX);
            let period = match progress.repaired {
                0 => period,
                _ => period.min(NEXT_AUDIT_PERIOD),
            };
            if now - progress.began < period {
                return Ok(());
            }
            audit::daily(now)
        }
        // Nothing exists yet that could be lost.
        None => AuditProgress {
            step: None,
            ..audit::daily(now)
        },
    };
    let until = audit.reconciler.env.deadline(AUDIT_SLICE);
    let outcome = loop {
        match audit.page(&mut progress).await {
            Ok(findings) => report(audit, &findings),
            Err(error) => break Err(error),
        }
        let has_ended = progress.step.is_none();
        if has_ended {
            info!(found = ?progress.found, "an audit has ended");
        }
        if has_ended || until.has_passed() {
            break Ok(());
        }
    };
    // The progress of a slice is kept, even if a part of it failed.
    audit.save(&progress).await?;
    outcome
}

fn report(audit: &Audit<'_>, findings: &[Finding]) {
    for finding in findings {
        if finding.problem.is_harmless() {
            info!(%finding, "the audit found something");
        } else {
            warn!(%finding, "the audit found something");
            let metrics = &audit.reconciler.metrics;
            metrics.note(&metrics::FINDINGS_FOUND, 1);
        }
    }
}
