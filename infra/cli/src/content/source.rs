//! The sources of content: the sample, standard input, or a file.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use super::sample::sample;

/// What loading the sample says it reads.
pub const SAMPLE_NAME: &str = "the sample site";
/// The name on the command line, and in messages, of standard input.
pub const STDIN_NAME: &str = "-";

/// Why a file could not be loaded to its end.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It cannot be read.
    #[error("failed to read {file}: {error}")]
    File {
        /// The file.
        file: String,
        /// Why.
        error: io::Error,
    },
    /// The content cannot be kept in a temporary file.
    #[error(
        "failed to keep the content in a temporary file in {}: {error}. Set TMPDIR to a folder with more room",
        folder.display()
    )]
    Spool {
        /// The folder.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The table does not take items.
    #[error("failed to write to the content table: {0}")]
    Table(String),
    /// The journal, or the file of malformed lines.
    #[error("{}: {error}", file.display())]
    SideFile {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Where content comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The sample site, as of a time in Unix seconds.
    Sample(i64),
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Source {
    /// Returns the name that messages use for it.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Sample(_) => SAMPLE_NAME.to_owned(),
            Self::Stdin => STDIN_NAME.to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Opens its bytes as they are stored. Also returns how many there are, if that is known.
    pub(crate) fn open(&self) -> io::Result<(Box<dyn Read + Send>, Option<u64>)> {
        Ok(match self {
            Self::Sample(at) => {
                let text = sample(*at).into_bytes();
                let bytes = text.len() as u64;
                (Box::new(Cursor::new(text)), Some(bytes))
            }
            Self::Stdin => (Box::new(io::stdin()), None),
            Self::File(path) => {
                let (file, metadata) = open_file(path)?;
                // A pipe or a device has no size.
                (Box::new(file), metadata.is_file().then_some(metadata.len()))
            }
        })
    }
}

fn open_file(path: &Path) -> io::Result<(File, std::fs::Metadata)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "is a folder, not a file",
        ));
    }
    Ok((file, metadata))
}
