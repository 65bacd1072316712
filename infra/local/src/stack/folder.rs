//! The folder in which a stack keeps its state.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::error::StackError;

/// The lock file in a given folder. A process that uses the folder has locked it.
const LOCK: &str = "lock";

/// The claim of a stack on its folder, as long as it uses that.
#[expect(dead_code, reason = "they are held to be dropped")]
pub(super) enum Held {
    /// The folder itself, which will be deleted.
    Temporary(tempfile::TempDir),
    /// The lock of a folder that stays.
    Lock(File),
}

/// Opens the folder for state: the given folder, or a temporary one.
pub(super) fn at(data: Option<&Path>) -> Result<(PathBuf, Held), StackError> {
    match data {
        Some(folder) => {
            let failed = |error| StackError::Folder {
                folder: folder.to_owned(),
                error,
            };
            if folder.is_file() {
                let error = io::Error::other("is a file, not a folder");
                return Err(failed(error));
            }
            std::fs::create_dir_all(folder).map_err(failed)?;
            let lock = lock_file(&folder.join(LOCK)).map_err(failed)?;
            lock.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => failed(io::Error::other("another `waymark` uses it")),
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

/// Opens the file to lock. If the user has a file of this name in the folder, it is locked too, but never written.
fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        opened => return opened,
    }
    // A link leads out of the folder, and opening a pipe waits for its other end.
    match std::fs::symlink_metadata(path)?.is_file() {
        true => options.open(path),
        false => Err(io::Error::other(format!(
            "`{LOCK}` in it is no file, and one is needed there: choose another folder"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_user_s_is_locked_and_stays_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(LOCK);
        std::fs::write(&file, "mine").expect("written");
        let (_, held) = at(Some(folder.path())).expect("locked");
        let error = at(Some(folder.path())).err().expect("locked already");
        assert!(
            error.to_string().contains("another `waymark` uses it"),
            "{error}"
        );
        drop(held);
        drop(at(Some(folder.path())).expect("locked again"));
        assert_eq!(std::fs::read(&file).expect("read"), b"mine");

        std::fs::remove_file(&file).expect("removed");
        let outside = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(&file).expect("made");
        let error = at(Some(folder.path())).err().expect("refused");
        assert!(
            error.to_string().contains("`lock` in it is no file"),
            "{error}"
        );
        #[cfg(unix)]
        {
            std::fs::remove_dir(&file).expect("removed");
            let target = outside.path().join("target");
            std::os::unix::fs::symlink(&target, &file).expect("linked");
            let error = at(Some(folder.path())).err().expect("refused");
            assert!(
                error.to_string().contains("`lock` in it is no file"),
                "{error}"
            );
            assert!(!target.exists());
        }
    }
}
