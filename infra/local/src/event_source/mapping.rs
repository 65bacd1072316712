//! An event source mapping: the stream that it reads, the function that it calls, and its progress.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use aws_lambda_events::event::dynamodb::{Event, EventRecord};
use aws_lambda_events::event::streams::DynamoDbEventResponse;
use futures::future::BoxFuture;
use tokio::sync::Notify;

/// An error of a function.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A function.
pub type Handler =
    Arc<dyn Fn(Event) -> BoxFuture<'static, Result<DynamoDbEventResponse, BoxError>> + Send + Sync>;
/// Decides for which stream records a function is called.
pub type Filter = Arc<dyn Fn(&EventRecord) -> bool + Send + Sync>;

/// A function's event source mapping, with Lambda's names.
#[derive(Clone)]
pub struct Mapping {
    /// The function's name.
    pub name: String,
    /// The table whose stream is read.
    pub table: String,
    /// The most records of a batch.
    pub batch_size: usize,
    /// The time for which a batch waits to fill.
    pub window: Duration,
    /// The records for which the function is called.
    pub filter: Filter,
    /// The number of retries of a batch. `None` means until it succeeds.
    pub retries: Option<u32>,
    /// Whether a batch that fails as a whole is split in two halves.
    pub bisect: bool,
    /// The function's time limit.
    pub timeout: Duration,
    /// The number of stream shards as which the stream is read. Records of one partition key are in the same one.
    pub stream_shards: usize,
    /// The name of the table's partition key.
    pub partition_key: String,
    /// The number of concurrent batches of one stream shard. Records of one key are in the same one.
    pub parallel: usize,
}

/// The progress of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of read records that passed the filter.
    pub read: u64,
    /// The number of records that were handled or given up.
    pub done: u64,
}

/// Why a source can never catch up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{function} no longer reads the stream of {table}: {reason}")]
pub struct Broken {
    /// The function's name.
    pub function: String,
    /// The table whose stream was read.
    pub table: String,
    /// The message with which the reader's task ended.
    pub reason: String,
}

/// Reads the progress of a source without borrowing it.
pub type Watch = Box<dyn Fn() -> Progress + Send + Sync>;

/// The state that the readers and their source share.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) read: AtomicU64,
    pub(super) done: AtomicU64,
    /// For each lane in order, the number of polls that found nothing while nothing was under way.
    pub(super) idle_polls: Mutex<Vec<u64>>,
    /// The number of running invocations whose end is not awaited.
    pub(super) overlapping: AtomicU64,
    /// Why the last batch failed. `None` if it is not being retried.
    pub(super) failing: Mutex<Option<String>>,
    /// The message of the function's first panic.
    pub(super) panicked: OnceLock<String>,
    /// The message of a reader's panic. Nothing is read after that.
    pub(super) broken: OnceLock<String>,
    pub(super) changed: Notify,
}

impl Counters {
    pub(super) fn progress(&self) -> Progress {
        Progress {
            read: self.read.load(Ordering::SeqCst),
            done: self.done.load(Ordering::SeqCst),
        }
    }

    pub(super) fn with_idle_polls<T>(&self, with: impl FnOnce(&mut Vec<u64>) -> T) -> T {
        with(
            &mut self
                .idle_polls
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    pub(super) fn failing(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
