//! The event source: connects a DynamoDB stream with a function, as Lambda does.
//!
//! - It polls the stream, filters, and delivers batches that are full or whose window has passed. The embedded DynamoDB's streams
//!   have one shard. [`Mapping::stream_shards`] reads it as several independent ones.
//! - The order of a key's records is kept. A batch that fails is retried from the lowest reported sequence number, and halved if
//!   the mapping says so. Batches that are given up go to the [`FailureQueue`].
//! - A function fails if it reaches its time limit or panics.
//! - It can simulate the faults of Lambda: see [`Faults`].
//!
//! Incomplete: in every process, a source starts with the stream's oldest record.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use aws_lambda_events::event::dynamodb::Event;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::dynamodb::DynamoDb;

mod delivery;
mod failures;
mod faults;
mod mapping;
mod reader;
#[cfg(test)]
mod tests;

pub use failures::{FailedBatch, FailureQueue};
pub use faults::Faults;
pub use mapping::{BoxError, Broken, Filter, Handler, Mapping, Progress, Watch};
pub use reader::QUIET;

/// A running source.
pub struct EventSource {
    delivery: Arc<delivery::Delivery>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl EventSource {
    /// Starts to poll.
    #[must_use]
    pub fn start(
        dynamodb: &DynamoDb,
        mapping: Mapping,
        handler: Handler,
        faults: Faults,
        failed: FailureQueue,
    ) -> Self {
        let (stop, stopped) = watch::channel(false);
        let delivery = Arc::new(delivery::Delivery {
            mapping,
            handler,
            faults,
            failed,
            counters: Arc::default(),
        });
        let lanes = delivery.mapping.lanes();
        delivery
            .counters
            .with_idle_polls(|polls| polls.resize(lanes, 0));
        let reading = reader::read_stream(dynamodb.calls.clone(), delivery.clone(), stopped);
        let task = tokio::spawn(reading);
        Self {
            delivery,
            stop,
            task,
        }
    }

    /// Returns the progress of the event source.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.delivery.counters.progress()
    }

    /// Returns a function that reads the progress, for other owners than the source's.
    #[must_use]
    pub fn watch(&self) -> Watch {
        let counters = self.delivery.counters.clone();
        Box::new(move || counters.progress())
    }

    /// Describes for what the source is waiting.
    #[must_use]
    pub fn waits_for(&self) -> String {
        let Mapping { name, table, .. } = &self.delivery.mapping;
        let Progress { read, done } = self.progress();
        let failing = match &*self.delivery.counters.failing() {
            Some(reason) => format!("; a batch is tried again since it failed: {reason}"),
            None => String::new(),
        };
        format!("{name} has handled {done} of {read} stream records of {table}{failing}")
    }

    /// Returns the message of the function's first panic. Returns `None` if it never panicked.
    #[must_use]
    pub fn panicked(&self) -> Option<&str> {
        self.delivery.counters.panicked.get().map(String::as_str)
    }

    /// Waits until each reader has polled once after this call, and found nothing while nothing was running. It never returns if
    /// a batch keeps failing and is not given up.
    ///
    /// # Errors
    ///
    /// If a reader has panicked.
    pub async fn caught_up(&self) -> Result<(), Broken> {
        let counters = &self.delivery.counters;
        let begun = counters.with_idle_polls(|polls| polls.clone());
        // A reader's next idle poll may have begun before this call.
        let caught_up = |polls: &mut Vec<u64>| {
            let mut lanes = polls.iter().zip(&begun);
            lanes.all(|(polls, begun)| *polls >= begun + 2)
        };
        loop {
            // Created before the check, so that no change is missed.
            let changed = counters.changed.notified();
            if let Some(reason) = counters.broken.get() {
                let Mapping { name, table, .. } = &self.delivery.mapping;
                return Err(Broken {
                    function: name.clone(),
                    table: table.clone(),
                    reason: reason.clone(),
                });
            }
            if counters.with_idle_polls(caught_up) {
                return Ok(());
            }
            changed.await;
        }
    }

    /// Delivers a batch that was given up once more, with as many retries as any other. If it fails again, it is given up again.
    pub async fn redeliver(&self, event: Event) {
        let records = event.records.len() as u64;
        self.delivery
            .counters
            .read
            .fetch_add(records, Ordering::SeqCst);
        self.delivery.deliver(event.records).await;
    }

    /// Stops the event source. The running batch is aborted, as when a process dies.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "an event source ended badly");
        }
    }
}
