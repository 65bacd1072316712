//! Errors of calls of the tables and the bucket.

use objects::ObjectError;
use table::TableError;

/// An error that a caller may act on. Lost races are not errors: the calls that can lose say so in their results.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The service answered with an error or not at all, after the client's own retries.
    #[error("{operation} failed: {message}")]
    Service {
        /// The API call, for example `GetItem`.
        operation: &'static str,
        /// The service's code and message, or the transport's.
        message: String,
    },
    /// The service will never accept the request, because of a value that DynamoDB or S3 does not allow.
    #[error("{operation} was refused: {message}")]
    Refused {
        /// The API call.
        operation: &'static str,
        /// The service's reason.
        message: String,
    },
    /// A row or an object of Waymark's is invalid. It is derived state, so the audit rebuilds it.
    #[error("{what} is damaged: {message}")]
    Damaged {
        /// The primary key or the object's key.
        what: String,
        /// The problem.
        message: String,
    },
    /// Other writers won every try. The stream delivers the event again.
    #[error("failed to write {what}: other writers were faster {tries} times in a row")]
    Contended {
        /// The name of the row or object that was to be written.
        what: String,
        /// The number of tries.
        tries: u32,
    },
    /// The run's time was over before this work began. The stream delivers the event again.
    #[error("no time was left for {what}: it comes again")]
    Late {
        /// The name of the work that was not begun.
        what: String,
    },
}

impl EngineError {
    /// Returns whether the error is permanent, so that a retry cannot help. The handler of a batch logs a permanent error and
    /// continues with the other records.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Damaged { .. })
    }

    /// Returns the error for another record of the batch, which may not have caused it. The result is never permanent, so that
    /// the record is retried.
    pub(crate) fn passing(&self) -> Self {
        Self::Service {
            operation: "reconcile",
            message: self.to_string(),
        }
    }

    /// Returns the same error for another record that failed with it.
    pub(crate) fn shared(&self) -> Self {
        match self {
            Self::Service { operation, message } => Self::Service {
                operation,
                message: message.clone(),
            },
            Self::Refused { operation, message } => Self::Refused {
                operation,
                message: message.clone(),
            },
            Self::Damaged { what, message } => Self::Damaged {
                what: what.clone(),
                message: message.clone(),
            },
            Self::Contended { what, tries } => Self::Contended {
                what: what.clone(),
                tries: *tries,
            },
            Self::Late { what } => Self::Late { what: what.clone() },
        }
    }
}

impl From<TableError> for EngineError {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Refused { operation, message } => Self::Refused { operation, message },
            TableError::Throttled { operation, message }
            | TableError::Unavailable { operation, message } => {
                Self::Service { operation, message }
            }
            error => Self::Service {
                operation: "a write",
                message: error.to_string(),
            },
        }
    }
}

impl From<ObjectError> for EngineError {
    fn from(error: ObjectError) -> Self {
        match error {
            ObjectError::Unavailable { operation, message } => Self::Service { operation, message },
            ObjectError::Damaged { what, message } => Self::Damaged { what, message },
            error => Self::Service {
                operation: "a call of the bucket",
                message: error.to_string(),
            },
        }
    }
}
