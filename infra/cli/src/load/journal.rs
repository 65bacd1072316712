//! The files that a load keeps in the folder of its file: the journal, and the malformed lines.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::content::LoadError;
use crate::files::{self, fresh};

/// Longer than any journal.
const MAX_JOURNAL_BYTES: u64 = 64 * 1024;

/// How far a load of a file is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Journal {
    /// The file's bytes and the time of its last change, in nanoseconds: another file is loaded from its beginning.
    bytes: u64,
    modified: u64,
    table: String,
    /// Every line up to it is settled.
    line: u64,
    /// Bytes of the file of malformed lines up to there, and how many they are.
    malformed_bytes: u64,
    malformed: u64,
}

/// The files next to a loaded file: its journal, and its malformed lines.
#[derive(Debug, Default)]
pub(super) struct SideFiles {
    journal: Option<Journal>,
    journal_path: PathBuf,
    malformed_path: PathBuf,
    /// Malformed lines that are not in their file yet.
    waiting: BTreeMap<u64, Vec<u8>>,
}

/// Returns the path of a file's malformed lines.
#[must_use]
pub fn malformed_path(file: &Path) -> PathBuf {
    with_ending(file, ".malformed.jsonl")
}

fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Returns whether there is a file of this name. Anything else of this name, such as a link that somebody put there, is an error.
fn is_file(path: &Path) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(true),
        Ok(_) => Err(io::Error::other("it is a link, or not a file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads a journal, if there is one.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    if !is_file(path)? {
        return Ok(None);
    }
    files::bytes(File::open(path)?, MAX_JOURNAL_BYTES).map(Some)
}

impl SideFiles {
    pub(super) fn open(file: &Path, table: &str) -> Result<Self, LoadError> {
        let metadata = std::fs::metadata(file).map_err(|error| LoadError::File {
            file: file.display().to_string(),
            error,
        })?;
        if !metadata.is_file() {
            return Ok(Self::default()); // a pipe cannot be read again
        }
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let fresh = Journal {
            bytes: metadata.len(),
            modified: u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX),
            table: table.to_owned(),
            line: 0,
            malformed_bytes: 0,
            malformed: 0,
        };
        let journal_path = with_ending(file, ".journal");
        fresh::clear(&journal_path).map_err(Self::failed(&journal_path))?;
        let kept = read(&journal_path).map_err(Self::failed(&journal_path))?;
        // One that is cut short counts as none: everything is written again.
        let kept = kept.and_then(|text| serde_json::from_slice::<Journal>(&text).ok());
        let kept = kept.filter(|kept| {
            (kept.bytes, kept.modified, &kept.table) == (fresh.bytes, fresh.modified, &fresh.table)
        });
        let side_files = Self {
            journal: Some(kept.unwrap_or(fresh)),
            journal_path,
            malformed_path: malformed_path(file),
            waiting: BTreeMap::new(),
        };
        side_files.cut_malformed()?;
        Ok(side_files)
    }

    /// Returns the line up to which an earlier run came.
    pub(super) fn line(&self) -> u64 {
        self.journal.as_ref().map_or(0, |journal| journal.line)
    }

    /// Counts the malformed lines that an earlier run had.
    pub(super) fn malformed_before(&self) -> u64 {
        self.journal.as_ref().map_or(0, |journal| journal.malformed)
    }

    fn failed(file: &Path) -> impl FnOnce(io::Error) -> LoadError {
        let file = file.to_owned();
        move |error| LoadError::SideFile { file, error }
    }

    /// Takes back what a killed run has written of malformed lines behind its journal.
    fn cut_malformed(&self) -> Result<(), LoadError> {
        let bytes = self
            .journal
            .as_ref()
            .map_or(0, |journal| journal.malformed_bytes);
        let path = &self.malformed_path;
        let cut = || match is_file(path)? {
            false => Ok(()),
            true if bytes == 0 => std::fs::remove_file(path),
            true => fresh::open_own(path)?.set_len(bytes),
        };
        cut().map_err(Self::failed(path))
    }

    pub(super) fn malformed(&mut self, line: u64, bytes: Vec<u8>) {
        if self.journal.is_some() {
            self.waiting.insert(line, bytes);
        }
    }

    /// Notes that every line up to this one is settled.
    pub(super) fn write(&mut self, line: u64) -> Result<(), LoadError> {
        let Some(journal) = &mut self.journal else {
            return Ok(());
        };
        let later = self.waiting.split_off(&(line + 1));
        let settled = std::mem::replace(&mut self.waiting, later);
        if !settled.is_empty() {
            let append = || -> io::Result<u64> {
                let mut file = fresh::open_own(&self.malformed_path)?;
                file.seek(SeekFrom::End(0))?;
                for bytes in settled.values().filter(|bytes| !bytes.is_empty()) {
                    file.write_all(bytes.trim_ascii_end())?;
                    file.write_all(b"\n")?;
                }
                file.sync_data()?;
                file.stream_position()
            };
            journal.malformed_bytes = append().map_err(Self::failed(&self.malformed_path))?;
            journal.malformed += settled.len() as u64;
        }
        journal.line = line;
        let text = serde_json::to_vec(journal).map_err(io::Error::from);
        let written = text.and_then(|text| fresh::write(&self.journal_path, &text));
        written.map_err(Self::failed(&self.journal_path))
    }

    /// Deletes the journal: the file is loaded, and no journal is needed any more.
    pub(super) fn finish(&mut self) -> Result<(), LoadError> {
        if self.journal.is_none() {
            return Ok(());
        }
        self.write(u64::MAX - 1)?;
        std::fs::remove_file(&self.journal_path).map_err(Self::failed(&self.journal_path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_of_another_file_or_table_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.jsonl");
        std::fs::write(&file, "x").unwrap();
        let mut side_files = SideFiles::open(&file, "t").unwrap();
        side_files.malformed(3, b"oops".to_vec());
        side_files.malformed(9, b"later".to_vec());
        side_files.write(7).unwrap();
        assert_eq!(std::fs::read(malformed_path(&file)).unwrap(), b"oops\n");
        // What a killed run has written behind its journal is taken back.
        std::fs::write(malformed_path(&file), "oops\nlater\n").unwrap();
        let again = SideFiles::open(&file, "t").unwrap();
        assert_eq!(
            again
                .journal
                .as_ref()
                .map(|journal| (journal.line, journal.malformed)),
            Some((7, 1))
        );
        assert_eq!(std::fs::read(malformed_path(&file)).unwrap(), b"oops\n");
        assert_eq!(SideFiles::open(&file, "u").unwrap().line(), 0);
        side_files.write(8).unwrap();
        std::fs::write(&file, "xy").unwrap();
        assert_eq!(SideFiles::open(&file, "t").unwrap().line(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn no_link_beside_a_file_is_followed() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.jsonl");
        let target = folder.path().join("target");
        std::fs::write(&file, "x").unwrap();
        for name in ["a.jsonl.malformed.jsonl", "a.jsonl.journal"] {
            std::fs::write(&target, "mine").unwrap();
            let link = folder.path().join(name);
            // Put there before the load, and while it runs.
            symlink(&target, &link).unwrap();
            let error = SideFiles::open(&file, "t").unwrap_err().to_string();
            assert!(
                error.contains(name) && error.contains("it is a link"),
                "{error}"
            );
            std::fs::remove_file(&link).unwrap();
            let mut side_files = SideFiles::open(&file, "t").unwrap();
            symlink(&target, &link).unwrap();
            side_files.malformed(3, b"oops".to_vec());
            // A journal is replaced, and the other file is not written.
            assert_eq!(side_files.write(7).is_err(), name.ends_with(".jsonl"));
            assert_eq!(std::fs::read(&target).unwrap(), b"mine");
            for name in ["a.jsonl.malformed.jsonl", "a.jsonl.journal"] {
                drop(std::fs::remove_file(folder.path().join(name)));
            }
        }
        let partial = folder.path().join("a.jsonl.journal.partial");
        symlink(&target, &partial).unwrap();
        let mut side_files = SideFiles::open(&file, "t").unwrap();
        side_files.write(7).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"mine");
    }
}
