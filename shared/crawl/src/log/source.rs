//! How a log is opened: as lines, or as a table.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
#[cfg(feature = "parquet")]
use std::path::PathBuf;

use super::LogError;
#[cfg(feature = "parquet")]
use crate::forms;
#[cfg(not(feature = "parquet"))]
use crate::forms::Undetected;
use crate::input::Lines;

/// The bytes with which Parquet begins.
const PARQUET: &[u8] = b"PAR1";

/// The bytes of a table that are copied to a temporary file. It is more than a distribution writes in a day into one file.
#[cfg(feature = "parquet")]
const MAX_COPY_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// A log that can be opened, and opened again.
pub trait Source {
    /// Reads it from its beginning.
    type Reader: Read;

    /// Opens it.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    fn open(&mut self) -> io::Result<Self::Reader>;

    /// Returns it as a file in which can be sought, if it is one. A table in it is not copied.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    fn on_disk(&mut self) -> io::Result<Option<File>> {
        Ok(None)
    }
}

impl<R: Read, F: FnMut() -> io::Result<R>> Source for F {
    type Reader = R;

    fn open(&mut self) -> io::Result<R> {
        self()
    }
}

/// Opens a log.
#[cfg(feature = "parquet")]
pub(super) struct Opener<S> {
    source: S,
    folder: PathBuf,
    table: Option<File>,
}

#[cfg(feature = "parquet")]
impl<S: Source> Opener<S> {
    /// Creates one that copies to `folder` what has to be copied.
    pub(super) fn new(source: S, folder: &Path) -> Self {
        Self {
            source,
            folder: folder.to_owned(),
            table: None,
        }
    }

    /// Returns whether it is a table.
    pub(super) fn is_table(&self) -> bool {
        self.table.is_some()
    }

    /// Returns its lines from the first. A table gives its rows as lines.
    pub(super) fn lines(&mut self) -> Result<Lines<S::Reader>, LogError> {
        let file = match &self.table {
            Some(file) => file,
            None => {
                let reader = self.source.open().map_err(LogError::Read)?;
                let mut lines = Lines::open(reader).map_err(LogError::Read)?;
                if !lines.head().map_err(LogError::Read)?.starts_with(PARQUET) {
                    return Ok(lines);
                }
                let file = match lines.is_plain() {
                    true => self.source.on_disk().map_err(LogError::Read)?,
                    false => None,
                };
                let file = match file {
                    Some(file) => file,
                    None => self.copied(lines)?,
                };
                self.table.insert(file)
            }
        };
        let file = file.try_clone().map_err(LogError::Read)?;
        let table = forms::table(file)?;
        Lines::of_table(table).map_err(LogError::Read)
    }

    fn copied(&self, lines: Lines<S::Reader>) -> Result<File, LogError> {
        let mut file = tempfile::tempfile_in(&self.folder).map_err(LogError::Copy)?;
        match lines.copy(&mut file, MAX_COPY_BYTES) {
            Ok(None) => Ok(file),
            Ok(Some(stop)) => Err(LogError::Damaged(stop)),
            Err(error) => Err(LogError::Copy(error)),
        }
    }
}

/// Opens a log.
#[cfg(not(feature = "parquet"))]
pub(super) struct Opener<S>(S);

#[cfg(not(feature = "parquet"))]
impl<S: Source> Opener<S> {
    /// Creates one. Nothing has to be copied.
    pub(super) fn new(source: S, _: &Path) -> Self {
        Self(source)
    }

    /// Returns whether it is a table. None is read.
    pub(super) fn is_table(&self) -> bool {
        false
    }

    /// Returns its lines from the first.
    pub(super) fn lines(&mut self) -> Result<Lines<S::Reader>, LogError> {
        let reader = self.0.open().map_err(LogError::Read)?;
        let mut lines = Lines::open(reader).map_err(LogError::Read)?;
        match lines.head().map_err(LogError::Read)?.starts_with(PARQUET) {
            true => Err(Undetected::Parquet.into()),
            false => Ok(lines),
        }
    }
}
