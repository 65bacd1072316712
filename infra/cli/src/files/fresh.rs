//! Files that get their name only once they are whole.
//!
//! - Until then a file has a fresh name in the same folder, `NAME.<random>.partial`, and is created new: a file or a link that somebody put
//!   there is neither written nor followed.
//! - Its writer has locked it, and drops it if anything fails. What a killed one left nobody has locked: [`clear`] deletes it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempPath};

const ENDING: &str = ".partial";
/// Letters and digits between the name and its ending.
const RANDOM: usize = 6;

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Fresh {
    temporary: TempPath,
    path: PathBuf,
}

impl Fresh {
    /// Creates a file that will be `path`.
    ///
    /// # Errors
    ///
    /// If the folder takes none.
    pub(crate) fn create(path: &Path) -> io::Result<(File, Self)> {
        let path = path.to_owned();
        let (file, temporary) = locked(&path)?.into_parts();
        Ok((file, Self { temporary, path }))
    }

    /// Gives it its name, once it is on the disk.
    ///
    /// # Errors
    ///
    /// If the disk is full, or the name is a folder's.
    pub(crate) fn keep(self, file: File) -> io::Result<()> {
        file.sync_all()?;
        self.temporary
            .persist(self.path)
            .map_err(|error| error.error)?;
        // Not before: it is locked until it has its name.
        drop(file);
        Ok(())
    }
}

/// Writes a whole file, in place of one that is there.
///
/// # Errors
///
/// As [`Fresh::create`] and [`Fresh::keep`].
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (mut file, fresh) = Fresh::create(path)?;
    file.write_all(bytes)?;
    fresh.keep(file)
}

fn locked(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder
        .prefix(prefix(path)?)
        .suffix(ENDING)
        .rand_bytes(RANDOM);
    // As any other file: what the umask takes off is taken off.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    loop {
        let file = builder.tempfile_in(folder(path))?;
        // Between the two calls another process may have taken it for one that was left.
        if !matches!(file.as_file().try_lock(), Err(TryLockError::WouldBlock)) {
            return Ok(file);
        }
    }
}

fn folder(path: &Path) -> &Path {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

fn prefix(path: &Path) -> io::Result<&std::ffi::OsStr> {
    let name = path.file_name();
    name.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is not a file name"))
}

/// Deletes what killed writers of a file have left.
///
/// # Errors
///
/// If the folder cannot be read, or a file not be deleted.
pub(crate) fn clear(path: &Path) -> io::Result<()> {
    let name = prefix(path)?.to_string_lossy();
    for entry in fs::read_dir(folder(path))? {
        let entry = entry?;
        let other = entry.file_name();
        let is_ours = other
            .to_string_lossy()
            .strip_prefix(&*name)
            .and_then(|rest| rest.strip_suffix(ENDING)?.strip_prefix('.'))
            .is_some_and(|random| {
                random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
            });
        if !is_ours || !entry.file_type()?.is_file() {
            continue;
        }
        let left = match OpenOptions::new().write(true).open(entry.path()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if left.try_lock().is_ok() {
            match fs::remove_file(entry.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Opens a file for reading and writing, and creates it if it does not exist. A link or a pipe of this name is refused: whoever put a
/// link there chose where it leads.
///
/// # Errors
///
/// If it is no file, or cannot be opened.
pub(crate) fn open_own(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        opened => return opened,
    }
    match fs::symlink_metadata(path)?.is_file() {
        true => options.open(path),
        false => Err(io::Error::other("it is a link, or not a file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_its_name_once_it_is_whole_and_what_was_left_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let path = folder.join("a.jsonl");
        let (mut file, fresh) = Fresh::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        // Another writer's file is no leftover, and its own end deletes it.
        clear(&path).unwrap();
        assert_eq!(names(folder).len(), 1);
        drop((file, fresh));
        assert_eq!(names(folder).len(), 0);

        for name in [
            "a.jsonl.abc123.partial",
            "a.jsonl.partial",
            "a.jsonl.abc-23.partial",
            "b.jsonl.abc123.partial",
        ] {
            fs::write(folder.join(name), "left").unwrap();
        }
        write(&path, b"whole").unwrap();
        clear(&path).unwrap();
        let kept = [
            "a.jsonl",
            "a.jsonl.abc-23.partial",
            "a.jsonl.partial",
            "b.jsonl.abc123.partial",
        ];
        assert_eq!(names(folder), kept);
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert!(write(&folder.join(".."), b"").is_err());
        assert!(write(&folder.join("none/a"), b"").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_followed_and_others_may_read_the_file() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (path, target, usual) = (
            folder.join("a"),
            folder.join("target"),
            folder.join("usual"),
        );
        fs::write(&target, "mine").unwrap();
        fs::write(&usual, "").unwrap();
        symlink(&target, &path).unwrap();
        assert!(open_own(&path).is_err());
        write(&path, b"whole").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"mine");
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&usual));
        let link = folder.join("a.abc123.partial");
        symlink(&target, &link).unwrap();
        clear(&path).unwrap();
        assert!(link.is_symlink());
        open_own(&path).unwrap();
        open_own(&folder.join("new")).unwrap();
    }
}
