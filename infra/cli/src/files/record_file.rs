//! The file that records are written to: standard output, or a named file.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::fresh::{self, Fresh};
use super::{FileError, failed};

/// Writes a whole file, as [`Out::file`] does: a link at its name is replaced, not followed.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut out = Out::file(path, false)?;
    out.write_all(bytes).map_err(|error| failed(path, error))?;
    out.finish(path)
}

/// Where records go: standard output, or a file that has its name once it is whole.
pub(crate) struct Out {
    to: To,
    /// The file, if it is one that has its name at the end.
    fresh: Option<Fresh>,
    /// The reader of standard output has gone.
    is_closed: bool,
}

enum To {
    Stdout(BufWriter<io::Stdout>),
    GzipStdout(Box<GzEncoder<BufWriter<io::Stdout>>>),
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

impl Out {
    pub(crate) fn stdout(is_gzip: bool) -> Self {
        let out = BufWriter::new(io::stdout());
        let to = match is_gzip {
            true => To::GzipStdout(Box::new(GzEncoder::new(out, Compression::default()))),
            false => To::Stdout(out),
        };
        Self {
            to,
            fresh: None,
            is_closed: false,
        }
    }

    /// Ends standard output.
    pub(crate) fn end(mut self) -> io::Result<()> {
        let ended = match &mut self.to {
            To::GzipStdout(out) => out.try_finish(),
            _ => Ok(()),
        };
        self.unless_closed(ended)?;
        self.flush()
    }

    /// Creates a file. It is gzipped if that is asked for, or if its name ends in .gz. A device or a pipe is written directly, and not
    /// replaced.
    pub(crate) fn file(path: &Path, is_gzip: bool) -> Result<Self, FileError> {
        // What is below /dev may lead to a file, such as that of standard output, and must not be replaced either.
        let is_special = path.starts_with("/dev")
            || fs::metadata(path).is_ok_and(|at| !at.is_file() && !at.is_dir());
        let created = match is_special {
            true => File::options()
                .write(true)
                .open(path)
                .map(|file| (file, None)),
            false => fresh::clear(path)
                .and_then(|()| Fresh::create(path))
                .map(|(file, fresh)| (file, Some(fresh))),
        };
        let (file, fresh) = created.map_err(|error| failed(path, error))?;
        let file = BufWriter::new(file);
        let is_gz = path.extension().is_some_and(|end| end == "gz");
        let to = match is_gzip || is_gz {
            true => To::Gzip(Box::new(GzEncoder::new(file, Compression::default()))),
            false => To::Plain(file),
        };
        Ok(Self {
            to,
            fresh,
            is_closed: false,
        })
    }

    pub(crate) fn finish(self, path: &Path) -> Result<(), FileError> {
        let file = match self.to {
            To::Stdout(_) | To::GzipStdout(_) => return Ok(()),
            To::Plain(file) => Ok(file),
            To::Gzip(gzip) => gzip.finish(),
        };
        let written = file.and_then(|file| {
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            self.fresh.map_or(Ok(()), |fresh| fresh.keep(file))
        });
        written.map_err(|error| failed(path, error))
    }

    fn to(&mut self) -> &mut dyn Write {
        match &mut self.to {
            To::Stdout(out) => out,
            To::GzipStdout(out) => out,
            To::Plain(out) => out,
            To::Gzip(out) => out,
        }
    }

    /// Ignores the error of a closed pipe, and notes that the pipe is closed.
    fn unless_closed(&mut self, written: io::Result<()>) -> io::Result<()> {
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            written => written,
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_closed {
            let written = self.to().write_all(bytes);
            self.unless_closed(written)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let flushed = self.to().flush();
        self.unless_closed(flushed)
    }
}
