//! Where a stack keeps its state.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use super::StackError;

/// A file in a folder that was given. A process that uses the folder has locked it.
const LOCK: &str = "lock";

/// What a stack holds as long as it uses its folder.
#[expect(dead_code, reason = "they are held to be dropped")]
pub(super) enum Held {
    /// The folder itself, which is deleted.
    Temporary(tempfile::TempDir),
    /// The lock of a folder that stays.
    Lock(File),
}

/// The folder for state: the one given, or a temporary one.
pub(super) fn at(data: Option<&Path>) -> Result<(PathBuf, Held), StackError> {
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
            let lock = File::create(folder.join(LOCK)).map_err(failed)?;
            lock.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => {
                    failed(std::io::Error::other("another `waymark` uses it"))
                }
                TryLockError::Error(error) => failed(error),
            })?;
            Ok((folder.to_owned(), Held::Lock(lock)))
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
            Ok((temporary.path().to_owned(), Held::Temporary(temporary)))
        }
    }
}
