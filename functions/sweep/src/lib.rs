//! The function that the clock calls: what time alone changes.
//!
//! - Records whose time has come are reconciled: a page appears at its `published_at` and goes at its `expires_at`.
//! - Sites that should have a row get one, so that a dropped sitemap table is rebuilt without an edit.
//! - A background scan that has stopped is started again.

use std::collections::BTreeSet;

use sitemap::time::When;
use store::content::Content;
use store::deployment::{BUCKET_NAME, CONTENT_TABLE, SITEMAP_TABLE, SITES};
use store::error::StoreError;
use store::ledgers::Ledgers;
use store::reconcile::{KnownSites, Reconciled, Reconciler};
use store::sites::Sites;
use store::slots::Slots;
use store::timers::Timers;
use tracing::{info, warn};

/// The environment variables of the function.
pub const ENVIRONMENT: [&str; 4] = [CONTENT_TABLE, SITEMAP_TABLE, SITES, BUCKET_NAME];
/// Records of one batch of due timers.
const BATCH: usize = 500;
/// Seconds without progress after which the scan is started again: longer than a slice may take.
const STALLED_SECONDS: i64 = 900;

/// Does all that is due. `published` are the hosts that have objects.
///
/// # Errors
///
/// If a table fails. The next run does the rest.
pub async fn sweep<C, T>(
    reconciler: &Reconciler<C, T>,
    published: &[String],
) -> Result<(), StoreError>
where
    C: Content,
    T: Ledgers + Slots + Sites + Timers,
{
    let mut hosts: BTreeSet<&str> = published.iter().map(String::as_str).collect();
    if let KnownSites::Only(known) = &reconciler.known {
        hosts.extend(known.iter().map(String::as_str));
    }
    for host in hosts {
        if reconciler.ensure_site(host).await?.is_none() {
            warn!(site = host, "published once, and no longer known");
        }
    }
    wake_scan(reconciler).await?;
    ring_timers(reconciler).await
}

/// Writes the scan's row again if nothing has happened to it: the write is the event for the next slice.
async fn wake_scan<C, T: Sites>(reconciler: &Reconciler<C, T>) -> Result<(), StoreError> {
    let Some(job) = reconciler.table.job().await? else {
        return Ok(());
    };
    let quiet = |at: i64| reconciler.clock.now() - at > STALLED_SECONDS;
    if job.pass.as_ref().is_none_or(|pass| quiet(pass.at)) {
        let woken = reconciler
            .table
            .advance_job(job.version, Some(&job))
            .await?;
        info!(woken, "the scan stood still");
    }
    Ok(())
}

/// Reconciles the records whose timers are due, from the cursor's hour on.
async fn ring_timers<C, T>(reconciler: &Reconciler<C, T>) -> Result<(), StoreError>
where
    C: Content,
    T: Ledgers + Slots + Sites + Timers,
{
    let now = reconciler.clock.now();
    let this_hour = now.div_euclid(3_600);
    let Some(cursor) = reconciler.table.cursor().await? else {
        return Ok(());
    };
    for hour in cursor..=this_hour {
        let timers = reconciler.table.timers(hour).await?;
        let due: Vec<_> = timers
            .into_iter()
            .filter(|timer| timer.due <= now)
            .collect();
        for timers in due.chunks(BATCH) {
            let ids: BTreeSet<&String> = timers.iter().map(|timer| &timer.id).collect();
            let ids: Vec<String> = ids.into_iter().cloned().collect();
            for (id, outcome) in ids.iter().zip(reconciler.reconcile(&ids, None).await) {
                let unknown_to_ledger = outcome? == Reconciled::Unchanged;
                for timer in timers
                    .iter()
                    .filter(|timer| unknown_to_ledger && timer.id == *id)
                {
                    reconciler.table.drop_timer(timer).await?;
                }
            }
            info!(records = ids.len(), at = %When::at(now), "their time has come");
        }
    }
    // An hour behind: a timer is written for the future of a clock that may be a little slow.
    if cursor < this_hour - 1 {
        reconciler.table.set_cursor(this_hour - 1).await?;
    }
    Ok(())
}
