//! The messages and the exit statuses of a command that failed.
//!
//! Exit status: 0 if the answer is yes, 1 if it is no, 2 if the command failed.

use std::io;

use engine::error::EngineError;
use tokio::task::JoinError;

pub(crate) mod permission;

/// Status of a command that failed: usage, network, permissions, a scan under way.
pub const COMMAND_FAILED: u8 = 2;

/// Returns the message of a failure: what failed, on what, why, and what to do.
#[must_use]
pub fn message(failure: &anyhow::Error) -> String {
    if let Some(error) = failure.downcast_ref::<EngineError>() {
        return permission::engine(error);
    }
    if let Some(error) = failure.downcast_ref::<JoinError>() {
        return format!("the command failed: {error}");
    }
    // Errors of files say which file.
    if let Some(error) = failure.downcast_ref::<io::Error>() {
        return format!("cannot write the output: {error}");
    }
    failure.to_string()
}

/// Returns the error for signals that cannot be waited for.
pub(crate) fn no_signals(error: io::Error) -> anyhow::Error {
    anyhow::anyhow!("cannot wait for signals: {error}")
}
