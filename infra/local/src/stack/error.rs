//! Errors of starting, running and stopping the local stack.

use std::path::PathBuf;

use engine::error::EngineError;

use crate::dynamodb::DynamoDbError;
use crate::event_source::Broken;
use crate::loopback::ListenError;
use crate::s3::StartError;
use crate::tables;

/// Why a stack failed.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// DynamoDB failed to start or stop.
    #[error(transparent)]
    DynamoDb(#[from] DynamoDbError),
    /// S3 failed to start.
    #[error(transparent)]
    S3(#[from] StartError),
    /// The sites' port cannot be used.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Tables or bucket cannot be created.
    #[error(transparent)]
    Create(#[from] tables::CreateError),
    /// The folder for state cannot be used.
    #[error("{folder}: {error}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// A table or the bucket fails.
    #[error(transparent)]
    Store(#[from] EngineError),
    /// A stream is no longer read.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// A part of the stack has panicked.
    #[error("{part} has panicked: {reason}")]
    Panicked {
        /// The part.
        part: &'static str,
        /// Its message.
        reason: String,
    },
}
