//! A site, a sitemap, a folder, a file or a bucket, and where its documents are.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use check::url::path_of;

use crate::fetch::bucket::Bucket;
use crate::fetch::origin::parts;
use crate::files;

/// A place with sitemaps.
#[derive(Clone, Debug)]
pub enum Target {
    /// A site, as `https://www.example.com`.
    Site(String),
    /// A sitemap or an index.
    Sitemap(String),
    /// A folder, as a web server would serve it.
    Folder(PathBuf),
    /// A sitemap, or an index whose sitemaps are in the same folder.
    File(PathBuf),
    /// A bucket, or what is below a prefix of it: as a folder, or as a file if it names a document.
    Bucket(Bucket, Option<String>),
}

/// Where a document is.
pub(super) enum Place<'a> {
    Web,
    File(PathBuf),
    Object(&'a Bucket, String),
}

impl Target {
    /// Opens a file of it: the one that the user named may be a pipe, and those that were found may not.
    pub(super) fn open(&self, path: &Path) -> io::Result<File> {
        match self {
            Self::File(named) if named == path => {
                let file = File::open(path)?;
                match file.metadata()?.is_dir() {
                    true => Err(io::Error::other("is not a file")),
                    false => Ok(file),
                }
            }
            _ => files::regular(path),
        }
    }

    /// Returns the name that messages use for it.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Site(url) | Self::Sitemap(url) => url.clone(),
            Self::Folder(path) | Self::File(path) => path.display().to_string(),
            Self::Bucket(bucket, file) => bucket.shown(file.as_deref().unwrap_or_default()),
        }
    }

    /// Returns the place of the document that an address or a name means. Returns `None` if it is outside the folder.
    pub(super) fn place(&self, url: &str) -> Option<Place<'_>> {
        if let Self::Site(_) | Self::Sitemap(_) = self {
            return Some(Place::Web);
        }
        let mut parts = parts(path_of(url).unwrap_or(url))?;
        if let Self::File(_) | Self::Bucket(_, Some(_)) = self {
            // Where its folder is served is not known.
            parts.drain(..parts.len() - 1);
        }
        let folder = match self {
            Self::Bucket(bucket, _) => return Some(Place::Object(bucket, parts.join("/"))),
            Self::File(file) => file.parent().unwrap_or(Path::new("")),
            Self::Folder(folder) => folder,
            Self::Site(_) | Self::Sitemap(_) => return Some(Place::Web),
        };
        Some(Place::File(
            parts
                .iter()
                .fold(folder.to_owned(), |path, part| path.join(part)),
        ))
    }
}
