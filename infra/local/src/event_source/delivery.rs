//! Delivery: retries a batch until it is handled or given up.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aws_lambda_events::event::dynamodb::{Event, EventRecord};
use aws_lambda_events::event::streams::DynamoDbEventResponse;
use futures::future::join_all;
use serde_dynamo::AttributeValue;

use super::failures::{FailedBatch, FailureQueue};
use super::faults::Faults;
use super::mapping::{Counters, Handler, Mapping};

/// The pause before the first retry of a batch. It doubles with each retry.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Delivery {
    pub(super) mapping: Mapping,
    pub(super) handler: Handler,
    pub(super) faults: Faults,
    pub(super) failed: FailureQueue,
    pub(super) counters: Arc<Counters>,
}

/// A part of a batch, with the number of its failures.
struct Part {
    records: Vec<EventRecord>,
    tries: u32,
}

/// The outcome of an invocation.
enum Ended {
    /// All records before this position are handled. It is the length of the batch if all are.
    DoneBefore(usize),
    /// The whole batch failed, for this reason.
    Failed(String),
}

impl Delivery {
    /// Delivers a batch, in as many concurrent parts as the mapping allows. Records of one key are in the same part.
    pub(super) async fn deliver(&self, records: Vec<EventRecord>) {
        let mut lanes: BTreeMap<usize, Vec<EventRecord>> = BTreeMap::new();
        for record in records {
            let lane = share(self.mapping.parallel, || key_hash(&record));
            lanes.entry(lane).or_default().push(record);
        }
        join_all(
            lanes
                .into_values()
                .map(|records| self.deliver_lane(records)),
        )
        .await;
    }

    async fn deliver_lane(&self, records: Vec<EventRecord>) {
        let mut parts = VecDeque::from([Part { records, tries: 0 }]);
        while let Some(mut part) = parts.pop_front() {
            if self.faults.happens(self.faults.split) && part.records.len() > 1 {
                let rest = part.records.split_off(
                    self.faults
                        .random(|random| random.usize(1..part.records.len())),
                );
                parts.push_front(Part {
                    records: rest,
                    tries: part.tries,
                });
            }
            if self.faults.happens(self.faults.reorder) {
                self.reorder(&mut part.records);
            }
            let reason = match self.invoke(&part.records).await {
                Ended::DoneBefore(done) => {
                    part.records.drain(..done);
                    self.count_done(done);
                    if part.records.is_empty() {
                        self.counters.failing().take();
                        continue;
                    }
                    // If some records were handled, another record is the first now, with its first failure.
                    part.tries = if done > 0 { 0 } else { part.tries };
                    "reported by the function".to_owned()
                }
                Ended::Failed(reason) => {
                    if self.mapping.bisect && part.records.len() > 1 {
                        // Halving does not count as a retry (in Lambda neither). Otherwise a small quota would give up on records
                        // that only share a batch with a poisonous one.
                        let rest = part.records.split_off(part.records.len() / 2);
                        parts.push_front(Part {
                            records: rest,
                            tries: part.tries,
                        });
                        parts.push_front(part);
                        continue;
                    }
                    reason
                }
            };
            part.tries += 1;
            if self
                .mapping
                .retries
                .is_some_and(|retries| part.tries > retries)
            {
                self.count_done(part.records.len());
                let mut event = Event::default();
                event.records = part.records;
                self.failed.push(FailedBatch {
                    function: self.mapping.name.clone(),
                    event,
                    reason,
                });
                continue;
            }
            tracing::debug!(
                function = self.mapping.name,
                tries = part.tries,
                reason,
                "trying again"
            );
            self.counters.failing().replace(reason);
            tokio::time::sleep((FIRST_PAUSE * (1 << part.tries.min(12))).min(LONGEST_PAUSE)).await;
            parts.push_front(part);
        }
    }

    fn count_done(&self, records: usize) {
        self.counters
            .done
            .fetch_add(records as u64, Ordering::SeqCst);
    }

    async fn invoke(&self, records: &[EventRecord]) -> Ended {
        if self.faults.happens(self.faults.delay) {
            tokio::time::sleep(self.faults.moment()).await;
        }
        let mut timeout = self.mapping.timeout;
        if self.faults.happens(self.faults.time_out) {
            timeout = self.faults.moment();
        }
        if self.faults.happens(self.faults.overlap) {
            self.leave_running(records);
            tokio::time::sleep(self.faults.moment()).await;
        }
        let mut ended = self.call(records, timeout).await;
        if self.faults.happens(self.faults.duplicate) {
            ended = self.call(records, timeout).await;
        }
        if self.faults.happens(self.faults.lose_answer) {
            ended = Ended::Failed("its answer was lost".to_owned());
        }
        ended
    }

    /// Calls the function without waiting for it. The invocation overlaps with the next call, and its failure is only logged.
    fn leave_running(&self, records: &[EventRecord]) {
        let mut event = Event::default();
        event.records = records.to_vec();
        let (handler, counters) = (self.handler.clone(), self.counters.clone());
        let timeout = self.mapping.timeout;
        counters.overlapping.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(async move {
            if let Ended::Failed(reason) = call(&handler, event, timeout, &counters).await {
                tracing::debug!(reason, "an invocation that nobody waited for");
            }
            counters.overlapping.fetch_sub(1, Ordering::SeqCst);
        });
    }

    async fn call(&self, records: &[EventRecord], timeout: Duration) -> Ended {
        let mut event = Event::default();
        event.records = records.to_vec();
        call(&self.handler, event, timeout, &self.counters).await
    }

    /// Shuffles the keys, but keeps the order of each key's records.
    fn reorder(&self, records: &mut [EventRecord]) {
        let salt = self.faults.random(|random| random.u64(..));
        records.sort_by_cached_key(|record| key_hash(record) ^ salt);
    }
}

/// Calls the function once, in a task of its own. A panic counts as the function's failure. At its time limit the function is
/// stopped at whatever point it has reached.
async fn call(handler: &Handler, event: Event, timeout: Duration, counters: &Counters) -> Ended {
    let records = event.records.clone();
    let handler = handler.clone();
    let mut task = AbortOnDrop(tokio::spawn(async move { handler(event).await }));
    match tokio::time::timeout(timeout, &mut task.0).await {
        Ok(Ok(Ok(response))) => done_before(&records, &response),
        Ok(Ok(Err(error))) => Ended::Failed(error.to_string()),
        Ok(Err(error)) => {
            counters.panicked.get_or_init(|| error.to_string());
            Ended::Failed(error.to_string())
        }
        Err(_) => {
            task.0.abort();
            // The function may be between two awaits, and the next call must not overlap with it.
            let ended = (&mut task.0).await;
            Ended::Failed(format!(
                "its time limit of {timeout:?} ({})",
                if ended.is_ok() {
                    "just ended"
                } else {
                    "stopped"
                }
            ))
        }
    }
}

/// Aborts a task when it is dropped, so that the function stops together with its source.
struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Interprets an answer as Lambda does: all records before the lowest reported one are handled. An empty number, or a number that
/// is not in the batch, fails the whole batch.
fn done_before(records: &[EventRecord], response: &DynamoDbEventResponse) -> Ended {
    let mut done = records.len();
    for failure in &response.batch_item_failures {
        let position = |number: &String| {
            records.iter().position(|record| {
                !number.is_empty() && record.change.sequence_number.as_ref() == Some(number)
            })
        };
        match failure.item_identifier.as_ref().and_then(position) {
            Some(position) => done = done.min(position),
            None => {
                return Ended::Failed(format!(
                    "an unknown identifier: {:?}",
                    failure.item_identifier
                ));
            }
        }
    }
    Ended::DoneBefore(done)
}

fn key_hash(record: &EventRecord) -> u64 {
    hash(record.change.keys.iter())
}

/// Returns the number of the share, out of `shares`, for a record with this hash. The hash is not computed if there is only one
/// share.
pub(super) fn share(shares: usize, hash: impl FnOnce() -> u64) -> usize {
    if shares > 1 {
        (hash() % shares as u64) as usize
    } else {
        0
    }
}

/// Returns a hash of keys that does not depend on their order.
pub(super) fn hash<'a>(keys: impl Iterator<Item = (&'a String, &'a AttributeValue)>) -> u64 {
    let keys: BTreeMap<&String, String> = keys
        .map(|(name, value)| (name, format!("{value:?}")))
        .collect();
    let mut hasher = DefaultHasher::new();
    keys.hash(&mut hasher);
    hasher.finish()
}
