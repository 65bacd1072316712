//! Files on this machine. Each read has a limit, and a file that a site or a folder names must be one that ends.

use std::fs::File;
use std::io::{self, Read as _};

#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sitemap::site::is_site_host;

pub(crate) mod fresh;
pub(crate) mod record_file;

/// Bytes of a file that is read whole: settings, a mapping, a baseline, a list of what is expected. It is far more than the URLs of
/// a million pages.
pub const MAX_TEXT_BYTES: u64 = 512 * 1024 * 1024;

/// Ends of the names of files that are given as targets. A host may end in one, and then nothing is suggested.
const FILE_ENDS: [&str; 11] = [
    "xml", "gz", "txt", "json", "jsonl", "csv", "rss", "atom", "html", "zip", "toml",
];

/// A file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", file.display())]
pub struct FileError {
    /// The file.
    pub file: PathBuf,
    /// Why.
    pub error: io::Error,
}

/// Returns the error of a file.
pub(crate) fn failed(file: &Path, error: io::Error) -> FileError {
    FileError {
        file: file.to_owned(),
        error,
    }
}

/// Returns whether a target that is no URL is a folder.
///
/// # Errors
///
/// If there is no such file. Of a host without its scheme the error says so.
pub(crate) fn is_folder(target: &str) -> anyhow::Result<bool> {
    match std::fs::metadata(target) {
        Ok(metadata) => Ok(metadata.is_dir()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_of_host(target) => Err(
            anyhow::anyhow!("{target}: there is no such file. Did you mean https://{target}?"),
        ),
        Err(error) => Err(failed(Path::new(target), error).into()),
    }
}

/// Returns whether a target begins with a host, as far as one can tell: files' names have dots, too.
fn is_of_host(target: &str) -> bool {
    let (host, path) = target.split_once('/').unwrap_or((target, ""));
    let host = host.to_ascii_lowercase();
    let (name, port) = host.split_once(':').unwrap_or((&host, ""));
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_file = path.is_empty() && port.is_empty() && FILE_ENDS.contains(&last);
    let is_named = name.contains('.') && last.bytes().any(|byte| byte.is_ascii_alphabetic());
    is_site_host(&host) && !is_file && (is_named || !port.is_empty())
}

/// Reads a file that the user names, as [`text`], with an error that names it.
pub(crate) fn read(file: &Path) -> Result<String, FileError> {
    text(file).map_err(|error| failed(file, error))
}

/// Reads a file that the user names, which may be a pipe.
///
/// # Errors
///
/// If it cannot be read, is longer than [`MAX_TEXT_BYTES`], or is not UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    text_of(File::open(path)?)
}

/// Reads a file that was found.
///
/// # Errors
///
/// As [`text`], and if it is no file.
pub fn found_text(path: &Path) -> io::Result<String> {
    text_of(regular(path)?)
}

fn text_of(file: File) -> io::Result<String> {
    String::from_utf8(bytes(file, MAX_TEXT_BYTES)?)
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

/// Opens a file that somebody else names, or that was found. It must not be a pipe, whose end may never be written.
///
/// # Errors
///
/// If it cannot be opened, or is no file. A read of what calls itself a file and would wait, such as a kernel's log, is an error.
pub fn regular(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    // It has no effect on files that end. Without it a pipe is waited for before it can be looked at.
    #[cfg(unix)]
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("is not a file")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_host_without_a_scheme_is_told() {
        for (target, said) in [
            ("www.example.com", "Did you mean https://www.example.com?"),
            (
                "example.com/sitemap.xml",
                "https://example.com/sitemap.xml?",
            ),
            ("localhost:8080", "https://localhost:8080?"),
            ("sitemap.xml", "No such file"),
            ("public", "No such file"),
            ("./public.d/x", "No such file"),
            ("1.2/x", "No such file"),
        ] {
            let error = is_folder(target).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        assert!(is_folder(".").unwrap());
    }

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
