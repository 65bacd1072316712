//! The errors that prevent a comparison of two sides.

use std::io;

use check::listing::sort::SortError;

/// Why two sides could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// The pages cannot be sorted.
    #[error(transparent)]
    Sort(#[from] SortError),
    /// The result cannot be written.
    #[error("cannot write the output: {0}")]
    Output(io::Error),
}
