//! Where documents come from: HTTP, a folder, a bucket.

use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;

use check::document::{About, read};
use check::response::Response;
use percent_encoding::percent_decode_str;

use super::bucket::Bucket;
use super::fetch::{Client, Fetched};

/// Where documents come from.
pub(super) enum Origin<'a> {
    Http(&'a Client),
    /// A folder, and what it is served as.
    Folder(PathBuf, String),
    /// A bucket, and what it is served as.
    Bucket(Bucket, String),
}

/// Asks for a document and reads it.
pub(super) async fn get(origin: &Origin<'_>, url: &str, about: About) -> Fetched {
    let prefix = match origin {
        Origin::Http(client) => return client.document(url, about).await,
        Origin::Folder(_, prefix) | Origin::Bucket(_, prefix) => prefix,
    };
    let absent = |failure: String| Fetched {
        response: None,
        failure,
        document: None,
    };
    let path = url.strip_prefix(prefix.as_str()).unwrap_or_default();
    let Some(parts) = parts(path) else {
        return absent("is not in what is checked".to_owned());
    };
    let folder = match origin {
        Origin::Bucket(bucket, _) => return bucket.document(&parts.join("/"), about).await,
        Origin::Folder(folder, _) => folder,
        Origin::Http(_) => return absent(String::new()),
    };
    let path = parts
        .iter()
        .fold(folder.clone(), |path, part| path.join(part));
    match File::open(&path) {
        Ok(body) => {
            let reading = tokio::task::spawn_blocking(move || read(body, &about));
            match reading.await {
                Ok(document) => Fetched {
                    response: None,
                    failure: String::new(),
                    document: Some(document),
                },
                Err(error) => absent(format!("the reader broke off: {error}")),
            }
        }
        Err(error) => Fetched {
            response: (error.kind() == ErrorKind::NotFound).then(|| Response::new(404)),
            ..absent(format!("{}: {error}", path.display()))
        },
    }
}

/// The parts of a path of a URL, as files and objects are named by them. Nothing if it leads out of the folder.
pub(crate) fn parts(path: &str) -> Option<Vec<String>> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = percent_decode_str(path).decode_utf8_lossy();
    let parts = path.split('/').filter(|part| !part.is_empty());
    let parts: Vec<_> = parts.map(str::to_owned).collect();
    let is_inside = |part: &String| part != ".." && !part.contains(['\\', '\0']);
    (!parts.is_empty() && parts.iter().all(is_inside)).then_some(parts)
}
