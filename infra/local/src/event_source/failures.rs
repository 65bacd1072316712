//! The failure queue: batches that were given up, complete, so that they can be delivered again.

use std::sync::{Arc, Mutex, PoisonError};

use aws_lambda_events::event::dynamodb::Event;

/// A batch that was given up.
#[derive(Clone, Debug)]
pub struct FailedBatch {
    /// The function that failed.
    pub function: String,
    /// The invocation's event.
    pub event: Event,
    /// Why the last try failed.
    pub reason: String,
}

/// Batches that were given up, oldest first. Clones share the queue.
#[derive(Clone, Debug, Default)]
pub struct FailureQueue(Arc<Mutex<Vec<FailedBatch>>>);

impl FailureQueue {
    pub(super) fn push(&self, batch: FailedBatch) {
        tracing::error!(
            function = batch.function,
            records = batch.event.records.len(),
            reason = batch.reason,
            "given up"
        );
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(batch);
    }

    /// Returns the batches in the queue, oldest first.
    #[must_use]
    pub fn batches(&self) -> Vec<FailedBatch> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Takes all batches out, to be delivered again.
    #[must_use]
    pub fn drain(&self) -> Vec<FailedBatch> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the number of batches in the queue.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns whether the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
