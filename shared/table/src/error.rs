//! What a caller of a table may act on.

/// Why a call of a table has no result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The condition of a write did not hold. Nothing was written.
    #[error("{operation}: the condition does not hold")]
    ConditionFailed {
        /// The API call, for example `PutItem`.
        operation: &'static str,
    },
    /// A transaction was cancelled. Nothing was written.
    #[error("TransactWriteItems: cancelled: {reasons:?}")]
    Cancelled {
        /// What became of each action, in their order.
        reasons: Vec<Reason>,
    },
    /// There were too many requests, also after an implementation's own retries.
    #[error("{operation} was throttled: {message}")]
    Throttled {
        /// The API call.
        operation: &'static str,
        /// The service's message.
        message: String,
    },
    /// There was no answer, or one of a service that is out of order. The write may have happened.
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

/// What became of one action of a cancelled transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It was not the reason.
    Innocent,
    /// Its condition did not hold.
    ConditionFailed,
    /// Another write of its item was under way.
    Conflict,
    /// There were too many requests.
    Throttled,
    /// The service will never accept it.
    Refused(String),
}

impl TableError {
    /// Returns whether a write did not happen because its condition did not hold.
    #[must_use]
    pub fn is_condition_failed(&self) -> bool {
        matches!(self, Self::ConditionFailed { .. })
    }
}
