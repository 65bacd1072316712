//! Errors of a table that a caller may act on.

/// Why a call of a table failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The condition of a write failed. Nothing was written.
    #[error("{operation}: the condition does not hold")]
    ConditionFailed {
        /// The API call, for example `PutItem`.
        operation: &'static str,
    },
    /// A transaction was cancelled. Nothing was written.
    #[error("TransactWriteItems: cancelled: {reasons:?}")]
    Cancelled {
        /// The outcome of each action, in their order.
        reasons: Vec<Reason>,
    },
    /// There were too many requests, even after an implementation's own retries.
    #[error("{operation} was throttled: {message}")]
    Throttled {
        /// The API call.
        operation: &'static str,
        /// The service's message.
        message: String,
    },
    /// There was no answer, or the service failed. The write may have succeeded.
    #[error("{operation} failed: {message}")]
    Unavailable {
        /// The API call.
        operation: &'static str,
        /// The service's code and message, or the transport's.
        message: String,
    },
    /// The service will never accept the request.
    #[error("{operation} was refused: {message}")]
    Refused {
        /// The API call.
        operation: &'static str,
        /// The service's reason.
        message: String,
    },
}

/// The outcome of one action of a cancelled transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It was not the cause.
    Innocent,
    /// Its condition failed.
    ConditionFailed,
    /// It conflicts with another write of its item.
    Conflict,
    /// There were too many requests.
    Throttled,
    /// The service will never accept it. Contains the service's reason.
    Refused(String),
}

impl TableError {
    /// Returns whether a write failed because of its condition.
    #[must_use]
    pub fn is_condition_failed(&self) -> bool {
        matches!(self, Self::ConditionFailed { .. })
    }
}
