//! Why a first load failed.

use engine::error::EngineError;

use crate::content::LoadError;

/// Why nothing, or not everything, was published.
#[derive(Debug, thiserror::Error)]
pub enum FirstLoadError {
    /// A file cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The engine failed, or a table or the bucket.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A site of records is not known.
    #[error("{0} has records, but it is not known as a site. Please report this bug")]
    Unknown(String),
    /// A thread has ended.
    #[error("a thread of the first load has ended. Please report this bug")]
    Ended,
}
