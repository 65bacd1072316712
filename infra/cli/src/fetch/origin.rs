//! The origins of documents: HTTP, a folder, or a bucket.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use check::document::{About, Document, read};
use check::page::response::Response;
use check::url::origin_of;
use percent_encoding::percent_decode_str;

use super::bucket::Bucket;
use super::client::{Client, Fetched};
use crate::files;

/// Where documents come from.
pub(crate) enum Origin<'a> {
    Http(&'a Client),
    /// A folder, and what it is served as.
    Folder(PathBuf, String),
    /// A bucket, and what it is served as.
    Bucket(Bucket, String),
}

/// Asks for a document and reads it.
pub(crate) async fn get(origin: &Origin<'_>, url: &str, about: About) -> Fetched {
    let prefix = match origin {
        Origin::Http(client) => return client.document(url, about).await,
        Origin::Folder(_, prefix) | Origin::Bucket(_, prefix) => prefix,
    };
    let absent = |failure: String| Fetched {
        response: None,
        failure,
        document: None,
    };
    // `https://www.example.com.evil/` is not below `https://www.example.com`.
    let below = url.strip_prefix(prefix.as_str());
    let below =
        below.filter(|_| origin_of(prefix).is_none() || origin_of(url) == origin_of(prefix));
    let Some(parts) = below.and_then(parts) else {
        return absent("is outside of what is checked".to_owned());
    };
    let folder = match origin {
        Origin::Bucket(bucket, _) => return bucket.document(&parts.join("/"), about).await,
        Origin::Folder(folder, _) => folder,
        Origin::Http(_) => return absent(String::new()),
    };
    let path = parts
        .iter()
        .fold(folder.clone(), |path, part| path.join(part));
    let place = path.clone();
    let reading = tokio::task::spawn_blocking(move || read_whole(files::regular(&path)?, &about));
    match reading.await {
        Ok(Ok(document)) => Fetched {
            response: None,
            failure: String::new(),
            document: Some(document),
        },
        Ok(Err(error)) => Fetched {
            // A link that leads nowhere was meant to lead to one.
            response: (error.kind() == ErrorKind::NotFound && !place.is_symlink())
                .then(|| Response::new(404)),
            ..absent(format!("{}: {error}", place.display()))
        },
        Err(error) => absent(format!("the reader failed: {error}")),
    }
}

/// Reads a file to its end.
///
/// # Errors
///
/// If any of it cannot be read, as of a folder.
pub(crate) fn read_file(path: &Path, about: &About) -> io::Result<Document> {
    read_whole(File::open(path)?, about)
}

/// Reads a body that has no answer to say why it ended early.
///
/// # Errors
///
/// Why it cannot be read to its end.
pub(crate) fn read_whole(body: impl Read, about: &About) -> io::Result<Document> {
    let mut body = Watched { body, error: None };
    let document = read(&mut body, about);
    body.error.map_or(Ok(document), Err)
}

/// A body, and the error that ended it.
struct Watched<R> {
    body: R,
    error: Option<io::Error>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.body.read(out).map_err(|error| {
            let kind = error.kind();
            if kind != ErrorKind::Interrupted {
                self.error = Some(error);
            }
            kind.into()
        })
    }
}

/// Splits the path of a URL into the parts by which files and objects are named. Returns `None` if it is empty or leads out of the
/// folder.
pub(crate) fn parts(path: &str) -> Option<Vec<String>> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = percent_decode_str(path).decode_utf8_lossy();
    let parts = path.split('/').filter(|part| !part.is_empty());
    let parts: Vec<_> = parts.map(str::to_owned).collect();
    let is_inside = |part: &String| part != ".." && !part.contains(['\\', '\0']);
    (!parts.is_empty() && parts.iter().all(is_inside)).then_some(parts)
}
