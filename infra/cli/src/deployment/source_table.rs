//! A table of the user's own whose items are content, too, and its field mapping.

use std::path::{Path, PathBuf};

use clap::Args;
use engine::content::SourceTable;
use sitemap::mapping::{MappingError, MappingProblem};

use crate::files::{self, FileError};
use crate::mapping;

/// A table of the user's own whose items are content too.
#[derive(Args, Clone)]
pub(crate) struct SourceArgs {
    /// Your own table in the local DynamoDB, also a source of pages (serve creates it if missing)
    #[arg(long, value_name = "NAME", requires = "source_mapping")]
    pub(crate) source_table: Option<String>,
    /// Field mapping of --source-table (docs/MAPPING.md)
    #[arg(long, value_name = "FILE", requires = "source_table")]
    source_mapping: Option<PathBuf>,
}

impl SourceArgs {
    /// Reads the mapping. Returns `None` if there is no such table.
    pub(crate) fn read(&self) -> Result<Option<SourceTable>, MappingFileError> {
        let (Some(table), Some(file)) = (&self.source_table, &self.source_mapping) else {
            return Ok(None);
        };
        read_mapping(table, file).map(Some)
    }
}

/// Why the file of a mapping cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MappingFileError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: {}", file.display(), problems(error).join("; "))]
    Mapping { file: PathBuf, error: MappingError },
}

/// Reads the mapping of a table.
pub(crate) fn read_mapping(table: &str, file: &Path) -> Result<SourceTable, MappingFileError> {
    mapping::read(table, &files::read(file)?).map_err(|error| MappingFileError::Mapping {
        file: file.to_owned(),
        error,
    })
}

/// Returns what is wrong with a mapping, a line each.
pub(crate) fn problems(error: &MappingError) -> Vec<String> {
    let problems = error.problems().iter();
    let line = |problem: &MappingProblem| format!("{}: {}", problem.place, problem.reason);
    problems.map(line).collect()
}
