//! An event source mapping: what it reads, what it calls, and how far it is.

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
/// Says which stream records a function is called for.
pub type Filter = Arc<dyn Fn(&EventRecord) -> bool + Send + Sync>;

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
    /// How many stream shards the stream is read as. Records of one partition key are in one of them.
    pub stream_shards: usize,
    /// The name of the table's partition key.
    pub partition_key: String,
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
}

/// Why a source will never catch up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{function} no longer reads the stream of {table}: {reason}")]
pub struct Broken {
    /// The function's name.
    pub function: String,
    /// The table whose stream was read.
    pub table: String,
    /// What the reader's task said when it ended.
    pub reason: String,
}

/// Reads how far a source is. It does not borrow the source.
pub type Watch = Box<dyn Fn() -> Progress + Send + Sync>;

/// What the readers and their source share.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) read: AtomicU64,
    pub(super) done: AtomicU64,
    /// Of each lane in order, the polls that found nothing while nothing was under way.
    pub(super) idle_polls: Mutex<Vec<u64>>,
    /// Invocations that nobody waits for.
    pub(super) overlapping: AtomicU64,
    /// Why the last batch failed that is tried again.
    pub(super) failing: Mutex<Option<String>>,
    /// What the function said when it first panicked.
    pub(super) panicked: OnceLock<String>,
    /// What a reader said when it panicked: nothing is read from then on.
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
