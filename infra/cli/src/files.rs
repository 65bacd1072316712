//! Reading files of this machine: each read has a limit, and what a site or a folder names is a file that ends.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// Bytes of a file that is read whole: settings, a mapping, a baseline, a list of what is expected. It is far more than the URLs of
/// a million pages.
pub const MAX_TEXT_BYTES: u64 = 512 * 1024 * 1024;

/// Reads a file that the user names, which may be a pipe.
///
/// # Errors
///
/// If it cannot be read, is longer than [`MAX_TEXT_BYTES`], or is not UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    String::from_utf8(bytes(File::open(path)?, MAX_TEXT_BYTES)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Reads a file to its end.
///
/// # Errors
///
/// If it cannot be read, or is longer than `limit` bytes.
pub(crate) fn bytes(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let text = format!("is longer than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// Opens a file that somebody else names, or that was found: of a pipe, nobody may ever write the end.
///
/// # Errors
///
/// If it cannot be opened, or is no file.
pub fn regular(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("is not a file"));
    }
    File::open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_has_a_limit_and_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        assert_eq!(text(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(&path, "12345").unwrap();
        assert_eq!(text(&path).unwrap(), "12345");
        let read = |limit| bytes(File::open(&path).unwrap(), limit);
        assert_eq!(read(5).unwrap(), b"12345");
        assert_eq!(read(4).unwrap_err().to_string(), "is longer than 4 bytes");
        fs::write(&path, b"\xff").unwrap();
        assert!(text(&path).is_err());
        assert!(regular(&path).is_ok());
        let error = regular(folder.path()).unwrap_err();
        assert_eq!(error.to_string(), "is not a file");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert_eq!(regular(&pipe).unwrap_err().to_string(), "is not a file");
    }
}
