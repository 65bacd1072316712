//! Why a table is not read.

use std::io;

use super::MAX_ROW_GROUP_BYTES;

/// Why a table is not read, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The system could not read it.
    #[error("{0}")]
    Read(io::Error),
    /// Its end is not that of a Parquet file.
    #[error("it begins as Parquet and does not end so: it was cut off, or is still being written")]
    Cut,
    /// It is encrypted.
    #[error("it is encrypted Parquet, which is not read")]
    Encrypted,
    /// Its end cannot be read.
    #[error("the description of its columns is damaged: {0}")]
    Footer(String),
    /// It lacks columns.
    #[error(
        "it has no column {}: it is not CloudFront's log, or these fields are not chosen for it",
        .0.join(", ")
    )]
    Missing(Vec<String>),
    /// Two columns have one field.
    #[error("its columns {first} and {second} have the same field")]
    Twice {
        /// The first.
        first: String,
        /// The second.
        second: String,
    },
    /// A column is nested or repeated.
    #[error("its column {0} is nested or repeated, and should have one value a row")]
    Nested(String),
    /// A column has values of a type that is not read.
    #[error(
        "its column {column} has the type {kind}, and should have text, int32, int64, float or double"
    )]
    Type {
        /// The column.
        column: String,
        /// Its type.
        kind: String,
    },
    /// A column is packed with what is not read.
    #[error(
        "its column {column} is packed with {codec}, and should be with snappy, gzip or zstd, or not at all"
    )]
    Codec {
        /// The column.
        column: String,
        /// What it is packed with.
        codec: String,
    },
    /// A row group is too large.
    #[error(
        "its row group {number} has {bytes} bytes in the columns that are read, and {MAX_ROW_GROUP_BYTES} are the most: write it with \
         smaller row groups"
    )]
    RowGroup {
        /// The group, from 1.
        number: usize,
        /// Its bytes, unpacked.
        bytes: u64,
    },
    /// A column cannot be read.
    #[error("column {column} of row group {group}: {reason}")]
    Column {
        /// The column.
        column: String,
        /// The row group, from 1.
        group: usize,
        /// What is wrong.
        reason: String,
    },
}

impl From<TableError> for io::Error {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Read(error) => error,
            error => Self::other(error),
        }
    }
}
