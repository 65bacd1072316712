//! The event source: does what Lambda does between a DynamoDB stream and a function.
//!
//! - It polls each stream shard, filters, and hands over batches that are full or whose window has passed.
//! - Order holds within a key. A batch that fails is tried again, halved if asked for, from the lowest sequence number
//!   that was reported; what is given up goes to the [`FailureQueue`].
//! - A function that runs into its time limit, or panics, has failed.
//! - It can be told to do wrong what Lambda may do: see [`Faults`].
//!
//! Incomplete: a source begins anew with every process, from the stream's oldest record or its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_lambda_events::event::dynamodb::{Event, EventRecord};
use aws_lambda_events::event::streams::DynamoDbEventResponse;
use aws_sdk_dynamodbstreams::Client;
use futures::future::BoxFuture;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

mod delivery;
mod failures;
mod faults;
mod reader;
#[cfg(test)]
mod tests;

pub use failures::{FailedBatch, FailureQueue};
pub use faults::Faults;

/// An error of a function.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A function.
pub type Handler =
    Arc<dyn Fn(Event) -> BoxFuture<'static, Result<DynamoDbEventResponse, BoxError>> + Send + Sync>;
/// Says which stream records a function is called for.
pub type Filter = Arc<dyn Fn(&EventRecord) -> bool + Send + Sync>;

/// Where in its stream a source begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starting {
    /// At the oldest record there is.
    TrimHorizon,
    /// At what comes after the start.
    Latest,
}

/// A function's event source mapping, by Lambda's names.
#[derive(Clone)]
pub struct Mapping {
    /// The function's name.
    pub name: String,
    /// The table whose stream is read.
    pub table: String,
    /// Records of a batch, at most.
    pub batch_size: usize,
    /// How long a batch waits to fill.
    pub window: Duration,
    /// Which records count.
    pub filter: Filter,
    /// Times a batch is tried again; without it, until it succeeds.
    pub retries: Option<u32>,
    /// Whether a batch that fails as a whole is halved.
    pub bisect: bool,
    /// The function's time limit.
    pub timeout: Duration,
    /// Where to begin.
    pub starting: Starting,
    /// Batches of one stream shard under way at the same time, records of one key in one of them.
    pub parallel: usize,
}

/// How far a source is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Records read that passed the filter.
    pub read: u64,
    /// Records handled, or given up.
    pub done: u64,
    /// Polls that found nothing while nothing was under way.
    pub idle_polls: u64,
}

/// What the readers and their source share.
#[derive(Default)]
struct Counters {
    read: AtomicU64,
    done: AtomicU64,
    idle_polls: AtomicU64,
    /// Invocations that nobody waits for.
    overlapping: AtomicU64,
    changed: Notify,
}

/// A running source.
pub struct EventSource {
    counters: Arc<Counters>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl EventSource {
    /// Begins to poll.
    #[must_use]
    pub fn start(
        client: Client,
        mapping: Mapping,
        handler: Handler,
        faults: Faults,
        failed: FailureQueue,
    ) -> Self {
        let counters = Arc::new(Counters::default());
        let (stop, stopped) = watch::channel(false);
        let delivery = delivery::Delivery {
            mapping,
            handler,
            faults,
            failed,
            counters: counters.clone(),
        };
        let task = tokio::spawn(reader::read_stream(client, Arc::new(delivery), stopped));
        Self {
            counters,
            stop,
            task,
        }
    }

    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let load = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        let Counters {
            read,
            done,
            idle_polls,
            ..
        } = &*self.counters;
        Progress {
            read: load(read),
            done: load(done),
            idle_polls: load(idle_polls),
        }
    }

    /// Waits for a poll, begun after this call, that finds nothing while nothing is under way.
    pub async fn caught_up(&self) {
        let begun = self.progress().idle_polls;
        // The next idle poll may have begun before.
        while self.progress().idle_polls < begun + 2 {
            self.counters.changed.notified().await;
        }
    }

    /// Stops. The batch under way is aborted, as when a process dies.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "an event source ended badly");
        }
    }
}
