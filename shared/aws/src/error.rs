//! Messages of failed API calls.

use std::error::Error;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// Returns an error with the whole chain of its causes. Terms of the SDK are replaced by plain words.
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
    add_causes(error, &mut texts);
    joined(&texts)
}

/// Returns an error and its causes in one line.
#[must_use]
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut texts = vec![error.to_string()];
    add_causes(error, &mut texts);
    joined(&texts)
}

fn add_causes(error: &(dyn Error + 'static), texts: &mut Vec<String>) {
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !texts.iter().any(|before| before.contains(&text)) {
            texts.push(text);
        }
        cause = error.source();
    }
}

/// Notes of the SDK's authors to its users. They mean nothing to users of this program.
const NOT_FOR_USERS: [&str; 2] = [" This is a bug.", " Please file an issue."];

fn joined(texts: &[String]) -> String {
    let mut text = texts.join(": ");
    for sentence in NOT_FOR_USERS {
        text = text.replace(sentence, "");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_not_sent_to_the_sdks_authors() {
        #[derive(Debug, thiserror::Error)]
        #[error("it generated an invalid header. This is a bug. Please file an issue.")]
        struct Inner;
        #[derive(Debug, thiserror::Error)]
        #[error("failed to construct the request")]
        struct Outer(#[source] Inner);
        assert_eq!(
            chain(&Outer(Inner)),
            "failed to construct the request: it generated an invalid header."
        );
    }
}
