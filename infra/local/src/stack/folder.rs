//! Where a stack keeps its state.

use std::path::{Path, PathBuf};

use super::StackError;

/// The folder for state: the one given, or a temporary one.
pub(super) fn at(data: Option<&Path>) -> Result<(PathBuf, Option<tempfile::TempDir>), StackError> {
    match data {
        Some(folder) => {
            let failed = |error| StackError::Folder {
                folder: folder.to_owned(),
                error,
            };
            if folder.is_file() {
                let error = std::io::Error::other("is a file, not a folder");
                return Err(failed(error));
            }
            std::fs::create_dir_all(folder).map_err(failed)?;
            Ok((folder.to_owned(), None))
        }
        None => {
            let failed = |error| StackError::Folder {
                folder: std::env::temp_dir(),
                error,
            };
            let temporary = tempfile::Builder::new()
                .prefix("waymark-")
                .tempdir()
                .map_err(failed)?;
            Ok((temporary.path().to_owned(), Some(temporary)))
        }
    }
}
