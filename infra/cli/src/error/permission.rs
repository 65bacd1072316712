//! Describes calls of AWS that failed: operation, table, cause and remedy. A call without permission names the action as a policy does.

use std::fmt::Debug;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use engine::error::EngineError;

/// The words that AWS puts before the action.
const BEFORE_ACTION: &str = "not authorized to perform: ";

/// Formats an error of a table or of the bucket. An error of permissions begins with the action.
pub(crate) fn engine(error: &EngineError) -> String {
    let text = error.to_string();
    if !text.contains("AccessDenied") {
        return text;
    }
    let action = match text.split(BEFORE_ACTION).nth(1) {
        Some(rest) => rest.split_whitespace().next().map(str::to_owned),
        None => operation(error).map(of_s3),
    };
    match action {
        Some(action) => format!(
            "no permission for {action}: {text}: grant it to these credentials, or give others with --profile"
        ),
        None => text,
    }
}

fn operation(error: &EngineError) -> Option<&'static str> {
    match error {
        EngineError::Service { operation, .. } | EngineError::Refused { operation, .. } => {
            Some(operation)
        }
        _ => None,
    }
}

/// Returns the action of an operation of S3, whose errors do not always name it. DynamoDB's errors always do.
fn of_s3(operation: &str) -> String {
    let action = match operation {
        "HeadObject" => "GetObject",
        "ListObjectsV2" => "ListBucket",
        operation => operation,
    };
    format!("s3:{action}")
}

/// Describes a call of DynamoDB that failed.
pub(crate) fn dynamodb<E, R>(operation: &str, table: &str, error: &SdkError<E, R>) -> String
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: Debug + 'static,
{
    let code = error.code().unwrap_or_default();
    let reason = match (code, error.message()) {
        ("", _) => aws::message(error),
        ("ResourceNotFoundException", _) => {
            return format!("{operation} failed: there is no table {table}");
        }
        (code, message) if code.contains("AccessDenied") => {
            let message = message.unwrap_or(code);
            return format!(
                "no permission for dynamodb:{operation} on {table}: {message}: grant it to these credentials, or \
                 give others with --profile"
            );
        }
        (code, Some(message)) => format!("{code}: {message}"),
        (code, None) => code.to_owned(),
    };
    format!("{operation} on {table}: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_permission_is_named_as_in_a_policy() {
        for (operation, message, expected) in [
            (
                "GetItem",
                "AccessDeniedException: User: u is not authorized to perform: dynamodb:GetItem on resource: t because no …",
                "no permission for dynamodb:GetItem: GetItem failed: AccessDeniedException: ",
            ),
            (
                "ListObjectsV2",
                "AccessDenied: Access Denied",
                "no permission for s3:ListBucket: ListObjectsV2 failed: ",
            ),
            ("GetItem", "no answer", "GetItem failed: no answer"),
        ] {
            let message = message.to_owned();
            let message = engine(&EngineError::Service { operation, message });
            assert!(message.starts_with(expected), "{message}");
        }
    }
}
