//! What follows from a change of a content record, also one of the user's own table: reconcile it.
//!
//! - An event says where to look, never what to do: only its key is read.
//! - A record that cannot be listed is no failure: why is in its ledger. One that the tables can never take, or whose
//!   rows are damaged, is logged and acknowledged: tried again, it would only hold up the others.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::concurrency::concurrently;
use crate::error::EngineError;
use crate::keys;
use crate::metrics;
use crate::reconcile::{Reconciled, Reconciler};
use crate::sites::Hold;
use crate::stream::{Batch, Handled, StreamRecord};
use sitemap::site::host_of_site_id;
use tracing::{error, info, warn};

/// How long a batch goes on beginning new records: well below the function's time limit, also when tables throttle.
const SLICE: Duration = Duration::from_secs(15);
/// Records that are reconciled together.
const AT_A_TIME: usize = 100;
/// Ledgers that are read at the same time.
const CONCURRENCY: usize = 16;

/// Handles a batch of a content table's stream.
pub async fn ingest(reconciler: &Reconciler, records: &[StreamRecord]) -> Handled {
    let batch = Batch::of(records, |record| reconciler.content.id_of(record));
    // A table's key never changes: the mapping is wrong, and a deployment will mend that. Until then the stream waits.
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
    let mut failed = BTreeSet::new();
    // Settings first: the batch's own records are then planned with them.
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
    let ids: Vec<String> = batch.subjects().cloned().collect();
    let ids = match left_to_scan(reconciler, &ids).await {
        Ok(scanned) => ids.into_iter().filter(|id| !scanned.contains(id)).collect(),
        Err(error) => {
            error!(%error, "whether a scan will reconcile these records could not be read");
            ids
        }
    };
    let ids = match foreign(reconciler, &ids).await {
        Ok(foreign) => ids.into_iter().filter(|id| !foreign.contains(id)).collect(),
        Err(error) => {
            error!(%error, "whether items are pages could not be read");
            ids
        }
    };
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut changed = Vec::new();
    let pages: Vec<String> = ids.iter().map(|id| keys::page(id, 1)).collect();
    let until = reconciler.env.deadline(SLICE);
    let mut outcomes = Vec::new();
    for pages in pages.chunks(AT_A_TIME) {
        if !outcomes.is_empty() && until.has_passed() {
            break;
        }
        outcomes.extend(reconciler.reconcile(pages, None).await);
    }
    let late = &ids[outcomes.len()..];
    if !late.is_empty() {
        warn!(records = late.len(), "no time was left: they come again");
        let late = late.iter().collect::<BTreeSet<_>>();
        failed.extend(batch.subjects().filter(|subject| late.contains(subject)));
    }
    for (id, outcome) in ids.iter().zip(outcomes) {
        let count = match outcome {
            Ok(Reconciled::Changed) => {
                changed.push(id);
                "changed"
            }
            Ok(Reconciled::Unchanged) => "unchanged",
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

/// Which of these are items that are no pages and for which nothing is placed: in a table that holds users and orders too,
/// most events are theirs, and a fence for each would be two writes. The item is read before the ledger: a run that fences
/// after that reads an item that is no older. Whoever has fenced before it may have read an older one and be about to place
/// it: so a fence alone counts as a ledger.
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
    // One that cannot be read is the reconcile's to deal with.
    let unplaced = ledgers
        .into_iter()
        .filter(|(_, highest)| matches!(highest, Ok(0)));
    Ok(unplaced.map(|(id, _)| id.clone()).collect())
}

/// Which of these records the scan of all content will reconcile: those of sites on hold, while its pass has not begun. It will
/// read what these events tell of, or something newer. Without this, many records of a first load would be reconciled twice.
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
