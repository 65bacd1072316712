//! The targets of a check.

use std::path::PathBuf;

use crate::fetch::bucket::Bucket;

/// What is checked.
#[derive(Clone, Debug)]
pub enum Target {
    /// A site, as `https://www.example.com`.
    Site(String),
    /// A sitemap or an index.
    Sitemap(String),
    /// A folder that is served as this origin.
    Folder(PathBuf, String),
    /// A file, and where it is served from, if that is known.
    File(PathBuf, Option<String>),
    /// A bucket that is served as this origin; a document of it, or all.
    Bucket {
        /// The bucket, and where in it.
        bucket: Bucket,
        /// The document; nothing for all.
        file: Option<String>,
        /// What it is served as.
        origin: String,
    },
    /// Standard input.
    Input(Option<String>),
}

impl Target {
    /// Returns what messages call it.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Site(url) | Self::Sitemap(url) => url.clone(),
            Self::Folder(path, _) | Self::File(path, _) => path.display().to_string(),
            Self::Bucket { bucket, file, .. } => bucket.shown(file.as_deref().unwrap_or_default()),
            Self::Input(_) => "-".to_owned(),
        }
    }
}
