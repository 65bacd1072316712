//! Why the local stack does not start, or stops.

use std::path::PathBuf;

use engine::error::EngineError;

use crate::dynamodb::DynamoDbError;
use crate::event_source::Broken;
use crate::loopback::ListenError;
use crate::s3::StartError;
use crate::tables;

/// Why a stack does not start.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// DynamoDB does not start or stop.
    #[error(transparent)]
    DynamoDb(#[from] DynamoDbError),
    /// S3 does not start.
    #[error(transparent)]
    S3(#[from] StartError),
    /// The sites' port.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Tables or bucket.
    #[error(transparent)]
    Create(#[from] tables::CreateError),
    /// The folder for state.
    #[error("{folder}: {error}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
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
        /// What it said.
        reason: String,
    },
}
