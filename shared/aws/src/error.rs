//! What an API call says when it fails.

use std::error::Error;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// An error with the whole chain of its causes, and what happened in plain words where the SDK has a term of its own.
#[must_use]
pub fn message<E, R>(error: &SdkError<E, R>) -> String
where
    E: ProvideErrorMetadata + Error + 'static,
    R: std::fmt::Debug + 'static,
{
    let mut texts = match error {
        SdkError::ServiceError(_) => Vec::new(),
        SdkError::DispatchFailure(_) => vec!["the endpoint cannot be reached".to_owned()],
        SdkError::TimeoutError(_) => vec!["there was no answer in time".to_owned()],
        SdkError::ResponseError(_) => vec!["the answer cannot be read".to_owned()],
        error => vec![error.to_string()],
    };
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !texts.iter().any(|before| before.contains(&text)) {
            texts.push(text);
        }
        cause = error.source();
    }
    texts.join(": ")
}
