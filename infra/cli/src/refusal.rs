//! What is told of a call of DynamoDB's that failed: which, on which table, why, and what to do.

use std::fmt::Debug;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// A failed call in plain words.
pub(crate) fn told<E, R>(operation: &str, table: &str, error: &SdkError<E, R>) -> String
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: Debug + 'static,
{
    let code = error.code().unwrap_or_default();
    let reason = match (code, error.message()) {
        ("", _) => aws::message(error),
        ("ResourceNotFoundException", _) => {
            return format!("{operation}: there is no table {table}");
        }
        (code, message) if code.contains("AccessDenied") => {
            let message = message.unwrap_or(code);
            return format!(
                "no permission for dynamodb:{operation} on {table}: {message}: allow it to these credentials, or give \
                 others with --profile"
            );
        }
        (code, Some(message)) => format!("{code}: {message}"),
        (code, None) => code.to_owned(),
    };
    format!("{operation} on {table}: {reason}")
}
