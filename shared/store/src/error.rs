//! What can go wrong between a function and its tables or bucket.

/// An error that a caller may act on. Lost races are not errors: the calls that can lose say so in their results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The service answered with an error, or did not answer, after the client's own retries.
    #[error("{operation}: {message}")]
    Service {
        /// The API call, for example `GetItem`.
        operation: &'static str,
        /// The service's code and message, or the transport's.
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
    #[error("{what}: lost {tries} races in a row")]
    Contended {
        /// What was being written.
        what: String,
        /// How often.
        tries: u32,
    },
}

impl StoreError {
    /// A body that broke off.
    pub(crate) fn body(error: &impl std::fmt::Display) -> Self {
        Self::Service {
            operation: "GetObject",
            message: error.to_string(),
        }
    }
}

/// The error of an API call, with the whole chain of its causes.
pub(crate) fn service<E: std::error::Error>(
    operation: &'static str,
) -> impl FnOnce(E) -> StoreError {
    move |error| {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            cause = error.source();
        }
        StoreError::Service { operation, message }
    }
}
