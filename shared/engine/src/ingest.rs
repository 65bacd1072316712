//! Handles changes of content records, also of the user's table, by reconciling them.
//!
//! - An event says where to look, never what to do: only its key is read.
//! - A record that cannot be listed is not a failure: its ledger has the reason. A permanent error, such as a refused value or a
//!   damaged row, is logged and acknowledged, because a retry would only delay the other records.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::metrics;
use crate::reconcile::{Reconciled, Reconciler};
use crate::rows::keys;
use crate::rows::site::Hold;
use crate::stream::{Batch, Handled, StreamRecord};
use sitemap::site::host_of_site_id;
use tracing::{error, info, warn};

/// The time in which a batch begins new records: well below the function's time limit, even if the tables throttle.
const SLICE: Duration = Duration::from_secs(15);
/// Records that are reconciled together.
const AT_A_TIME: usize = 100;
/// Ledgers that are read concurrently.
const CONCURRENCY: usize = 16;

/// Handles a batch of a content table's stream.
pub async fn ingest(reconciler: &Reconciler, records: &[StreamRecord]) -> Handled {
    let batch = Batch::of(records, |record| reconciler.content.id_of(record));
    // A table's key never changes, so the mapping is wrong. The stream waits until a deployment corrects it.
    let misfits = records.iter();
    let misfits = misfits.filter(|record| reconciler.content.is_misfit(record));
    if let count @ 1.. = misfits.count() as u64 {
        error!(
            count,
            "the mapping's key is not that of the table that these stream records are of"
        );
        reconciler.metrics.note(&metrics::RECORDS_FAILED, count);
        reconciler.metrics.emit(reconciler.env.now());
        return batch.all_failed();
    }
    let mut failed = take_settings(reconciler, &batch).await;
    let ids = to_reconcile(reconciler, &batch).await;
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut changed = Vec::new();
    let outcomes = reconcile(reconciler, &ids).await;
    let is_late = |outcome| matches!(outcome, None | Some(&Err(EngineError::Late { .. })));
    let late = (0..).zip(&ids).filter(|(n, _)| is_late(outcomes.get(*n)));
    let late: BTreeSet<&String> = late.map(|(_, id)| id).collect();
    if !late.is_empty() {
        warn!(
            records = late.len(),
            "no time was left for some records: they come again"
        );
        failed.extend(batch.subjects().filter(|subject| late.contains(subject)));
    }
    for (id, outcome) in ids.iter().zip(outcomes) {
        let count = match outcome {
            Ok(Reconciled::Changed) => {
                changed.push(id);
                "changed"
            }
            Ok(Reconciled::Unchanged) => "unchanged",
            Err(EngineError::Late { .. }) => "late",
            Err(error) if error.is_permanent() => {
                error!(record = id, %error, "a record can never be reconciled: acknowledged");
                "impossible"
            }
            Err(error) => {
                error!(record = id, %error, "a record was not reconciled");
                failed.extend(batch.subjects().find(|subject| *subject == id));
                "failed"
            }
        };
        *counts.entry(count).or_default() += 1;
    }
    info!(events = records.len(), ?counts, "ingested");
    let now = reconciler.env.now();
    let since = batch.oldest(changed);
    let Reconciler { metrics, .. } = reconciler;
    metrics.note_since(&metrics::RECONCILE_SECONDS, since, now);
    metrics.emit(now);
    batch.response(failed)
}

/// Applies the settings of a batch, and returns the settings records to retry. Settings are applied first, so that the other
/// records of the batch are planned with them.
async fn take_settings<'b>(
    reconciler: &Reconciler,
    batch: &'b Batch<String>,
) -> BTreeSet<&'b String> {
    let mut failed = BTreeSet::new();
    for id in batch.subjects() {
        if let Some(host) = host_of_site_id(id)
            && let Err(error) = reconciler.reconcile_site(host).await
        {
            error!(record = id, %error, "settings were not taken over");
            if error.is_permanent() {
                reconciler.metrics.note(&metrics::RECORDS_IMPOSSIBLE, 1);
            } else {
                reconciler.metrics.note(&metrics::RECORDS_FAILED, 1);
                failed.insert(id);
            }
        }
    }
    failed
}

/// Returns the records of a batch, except those that a scan will reconcile and those that are not pages.
async fn to_reconcile(reconciler: &Reconciler, batch: &Batch<String>) -> Vec<String> {
    let ids: Vec<String> = batch.subjects().cloned().collect();
    let ids = match left_to_scan(reconciler, &ids).await {
        Ok(scanned) => ids.into_iter().filter(|id| !scanned.contains(id)).collect(),
        Err(error) => {
            error!(%error, "whether a scan will reconcile these records could not be read");
            ids
        }
    };
    match foreign(reconciler, &ids).await {
        Ok(foreign) => ids.into_iter().filter(|id| !foreign.contains(id)).collect(),
        Err(error) => {
            error!(%error, "whether items are pages could not be read");
            ids
        }
    }
}

/// Reconciles records until the time is over. Returns the outcomes of those that were begun, in their order.
async fn reconcile(
    reconciler: &Reconciler,
    ids: &[String],
) -> Vec<Result<Reconciled, EngineError>> {
    let pages: Vec<String> = ids.iter().map(|id| keys::page(id, 1)).collect();
    let until = reconciler.env.deadline(SLICE);
    let mut outcomes = Vec::new();
    for pages in pages.chunks(AT_A_TIME) {
        if !outcomes.is_empty() && until.has_passed() {
            break;
        }
        outcomes.extend(reconciler.reconcile(pages, Some(&until)).await);
    }
    outcomes
}

/// Returns the ids whose items are not pages and have nothing placed.
///
/// In a table that also contains users and orders, most events are about those, and a fence for each would cost two writes. The
/// item is read before the ledger, so a run that fences later reads an item that is no older. A run that has fenced already may
/// have read an older item and be about to place it. So the result excludes ids whose ledger has only a fence.
async fn foreign(reconciler: &Reconciler, ids: &[String]) -> Result<BTreeSet<String>, EngineError> {
    let (content, table) = (&reconciler.content, &reconciler.table);
    let suspects = ids.iter().filter(|id| content.may_be_foreign(id));
    let suspects: Vec<String> = suspects.cloned().collect();
    if suspects.is_empty() {
        return Ok(BTreeSet::new());
    }
    let records = content.records(&suspects).await?;
    let no_pages = suspects.iter().filter(|id| !records.contains_key(*id));
    let ledgers = no_pages.map(|id| async move { (id, table.highest_part(id).await) });
    let ledgers = concurrently(CONCURRENCY, ledgers).await;
    // The reconcile handles a ledger that cannot be read.
    let unplaced = ledgers
        .into_iter()
        .filter(|(_, highest)| matches!(highest, Ok(0)));
    Ok(unplaced.map(|(id, _)| id.clone()).collect())
}

/// Returns the records that the scan of all content will reconcile: those of sites on hold, if its pass has not begun.
///
/// The scan will read the records as they were after these events, or newer. Without this function, many records of a first load
/// would be reconciled twice.
async fn left_to_scan(
    reconciler: &Reconciler,
    ids: &[String],
) -> Result<BTreeSet<String>, EngineError> {
    let Reconciler { content, table, .. } = reconciler;
    let scan = table.content_scan().await?;
    if !scan.is_some_and(|scan| scan.is_to_begin()) {
        return Ok(BTreeSet::new());
    }
    let records = content.records(ids).await?;
    let hosts: BTreeSet<&String> = records.values().map(|record| &record.site).collect();
    let mut loading = BTreeSet::new();
    for host in hosts {
        let row = table.site(host).await?;
        if row.is_some_and(|row| row.hold == Hold::Loading) {
            loading.insert(host);
        }
    }
    let left = records
        .iter()
        .filter(|(_, record)| loading.contains(&record.site));
    Ok(left.map(|(id, _)| id.clone()).collect())
}
