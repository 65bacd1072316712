//! Reconciles records that depend on other rows: those of a translation group, those that wait for an address, and those of a
//! site that is scanned.

use std::collections::BTreeMap;

use super::regenerator::{Regenerator, end_early, step_over};
use crate::concurrency::concurrently;
use crate::env::Deadline;
use crate::error::EngineError;
use crate::rows::group::GroupRecords;

/// Pages in one batch of a scan. Several batches run concurrently, so that one reads while others write.
pub(super) const BATCH: usize = 250;
pub(super) const CONCURRENT_BATCHES: usize = 5;
/// Records of a group that are reconciled first, because each may have a thousand parts. Each following batch is twice as large.
const FIRST_CALLED: usize = 8;
/// The most waiting records that are reconciled in one batch.
const MOST_WAITERS: u32 = 64;

impl Regenerator {
    /// Reconciles the records that wait for an address until one of them has it: first one, then twice as many each time. The first
    /// nearly always gets it, so all at once would be read in vain. The other records keep waiting. `from` is where the previous
    /// slice stopped.
    pub(super) async fn hand_over(
        &self,
        claim_pk: &str,
        from: Option<&str>,
        until: &Deadline,
    ) -> Result<(), EngineError> {
        let table = &self.reconciler.table;
        let mut outcome = Ok(());
        let mut next = match from {
            Some(waiter) => vec![waiter.to_owned()],
            None => table.waiters(claim_pk, None, 1).await?,
        };
        while let Some(last) = next.last()
            && !table.is_listed(claim_pk).await?
        {
            if until.has_passed() && table.call_waiter(claim_pk, &next[0]).await? {
                break;
            }
            // A record that fails does not keep the others from the address. The event is delivered again for it.
            outcome = outcome.and(self.reconcile_all(&next).await);
            let most = MOST_WAITERS.min(2 * next.len() as u32);
            next = table.waiters(claim_pk, Some(last), most).await?;
        }
        outcome
    }

    /// Reconciles the records of a group in the order of their rows, from this sort key on or from where earlier calls stopped.
    /// What is left at the end of the slice gets an event of its own.
    pub(super) async fn call_group(
        &self,
        group_pk: &str,
        from: Option<&str>,
        until: &Deadline,
    ) -> Result<(), EngineError> {
        let table = &self.reconciler.table;
        let GroupRecords { calls, records } = table.group_records(group_pk).await?;
        let stopped = calls.as_ref().map(|calls| calls.from.as_str());
        let Some(from) = from.into_iter().chain(stopped).min() else {
            return Ok(());
        };
        let records = &records[records.partition_point(|(sk, _)| sk.as_str() < from)..];
        let (mut left, mut most) = (records, FIRST_CALLED);
        while !left.is_empty() && !until.has_passed() {
            let (now, later) = left.split_at(most.min(left.len()));
            let ids: Vec<String> = now.iter().map(|(_, id)| id.clone()).collect();
            let (done, outcome) = self.reconcile_in_order(&ids, Some(until)).await;
            if let Err(error) = outcome {
                if done == 0 && left.len() == records.len() {
                    return Err(error);
                }
                end_early(&error);
                left = &left[done..];
                break;
            }
            (left, most) = (later, 2 * most);
        }
        let left = left.first().map(|(sk, _)| sk.as_str());
        if table.advance_calls(group_pk, calls.as_ref(), left).await? {
            Ok(())
        } else {
            Err(EngineError::Contended {
                what: format!("the calls of {group_pk}"),
                tries: 1,
            })
        }
    }

    /// Reconciles records. Logs permanent errors and continues, so that they do not block the other records.
    pub(super) async fn reconcile_all(&self, ids: &[String]) -> Result<(), EngineError> {
        self.reconcile_in_order(ids, None).await.1
    }

    /// Reconciles records as [`Self::reconcile_all`] does, until a deadline. Returns how many come before the first one to retry.
    async fn reconcile_in_order(
        &self,
        ids: &[String],
        until: Option<&Deadline>,
    ) -> (usize, Result<(), EngineError>) {
        let outcomes = self.reconciler.reconcile(ids, until).await;
        for (done, (id, outcome)) in ids.iter().zip(outcomes).enumerate() {
            if let Err(error) = step_over(id, outcome) {
                return (done, Err(error));
            }
        }
        (ids.len(), Ok(()))
    }

    /// Reconciles pages whose site's settings changed, each with the number of parts that its record may have. The pages
    /// themselves did not change, so no notice is written.
    pub(super) async fn look_again(&self, pages: &[(String, u32)]) -> Result<(), EngineError> {
        let mut batches: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        let mut before = 0;
        for (page, parts) in pages {
            batches
                .entry(before / BATCH)
                .or_default()
                .push(page.clone());
            before += *parts as usize;
        }
        let batches = batches.values();
        let batches = batches.map(|batch| self.reconciler.reconcile_quietly(batch));
        let outcomes = concurrently(CONCURRENT_BATCHES, batches).await;
        for ((page, _), outcome) in pages.iter().zip(outcomes.into_iter().flatten()) {
            step_over(page, outcome)?;
        }
        Ok(())
    }
}
