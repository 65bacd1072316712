//! What can go wrong between a function and its tables or bucket.

use objects::ObjectError;
use table::TableError;

/// An error that a caller may act on. Lost races are not errors: the calls that can lose say so in their results.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The service answered with an error, or did not answer, after the client's own retries.
    #[error("{operation} failed: {message}")]
    Service {
        /// The API call, for example `GetItem`.
        operation: &'static str,
        /// The service's code and message, or the transport's.
        message: String,
    },
    /// The service will never accept the request: it names a value that DynamoDB or S3 do not take.
    #[error("{operation} was refused: {message}")]
    Refused {
        /// The API call.
        operation: &'static str,
        /// The service's reason.
        message: String,
    },
    /// An item or an object of ours that does not read as what its key says. Derived state: the audit rebuilds it.
    #[error("{what} is damaged: {message}")]
    Damaged {
        /// The primary key or the object key.
        what: String,
        /// What is wrong with it.
        message: String,
    },
    /// Other writers won every try. The event is delivered again.
    #[error("failed to write {what}: other writers were faster {tries} times in a row")]
    Contended {
        /// What was being written.
        what: String,
        /// How often.
        tries: u32,
    },
    /// The run's time was over before it was begun. The event is delivered again.
    #[error("no time was left for {what}: it comes again")]
    Late {
        /// What was to be done.
        what: String,
    },
}

impl EngineError {
    /// Returns whether trying again cannot help. The handler of a batch logs such an error and goes on: it must not hold up the
    /// other records.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Damaged { .. })
    }

    /// Returns the same failure for a record of the batch that it may not be about: to be tried again, whatever it was.
    pub(crate) fn passing(&self) -> Self {
        Self::Service {
            operation: "reconcile",
            message: self.to_string(),
        }
    }

    /// Returns the same error for another record that it has failed too.
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
