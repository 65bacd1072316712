//! Finds and opens logs: files, folders, patterns, standard input, and objects of S3.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Error, Result, anyhow};
use aws::{Account, chain};
use crawl::log::Source;
use tempfile::NamedTempFile;

use crate::fetch::bucket::{Bucket, SCHEME};
use crate::files;

/// Standard input.
const STDIN: &str = "-";

/// Objects that are read of a prefix. A busy distribution writes some thousand files a day.
const MAX_OBJECTS: usize = 1_000_000;

/// A log.
pub(super) enum Log {
    Stdin,
    File(PathBuf),
    Object(Bucket, String),
}

/// A log that can be opened more than once, but for standard input.
pub(super) enum Opened {
    Stdin,
    File(PathBuf),
    Copy(NamedTempFile),
}

impl Log {
    /// Finds the logs that a user names, in the order of their names.
    ///
    /// # Errors
    ///
    /// If one does not exist, or a pattern or folder has none.
    pub(super) async fn find(
        names: &[String],
        account: &Account,
        timeout: Duration,
    ) -> Result<Vec<Self>> {
        let mut found = Vec::new();
        for name in names {
            let before = found.len();
            match name.as_str() {
                STDIN => found.push(Self::Stdin),
                name if name.starts_with(SCHEME) => {
                    found.extend(objects(name, account, timeout).await?);
                }
                name => found.extend(on_disk(name)?.into_iter().map(Self::File)),
            }
            if found.len() == before {
                return Err(anyhow!("{name}: there is no log"));
            }
        }
        if found
            .iter()
            .filter(|log| matches!(log, Self::Stdin))
            .count()
            > 1
        {
            return Err(anyhow!("standard input (-) can be read only once"));
        }
        Ok(found)
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Stdin => "standard input".to_owned(),
            Self::File(path) => path.display().to_string(),
            Self::Object(bucket, path) => bucket.shown(path),
        }
    }

    /// Makes it ready to be opened. An object is copied to a temporary file first.
    ///
    /// # Errors
    ///
    /// If an object cannot be read whole.
    pub(super) async fn open(self) -> Result<Opened> {
        Ok(match self {
            Self::Stdin => Opened::Stdin,
            Self::File(path) => Opened::File(path),
            Self::Object(bucket, path) => {
                let (_, copied) = bucket
                    .read(&path, u64::MAX, |mut body, _| {
                        let mut copy = NamedTempFile::new()?;
                        io::copy(&mut body, &mut copy)?;
                        Ok::<_, io::Error>(copy)
                    })
                    .await;
                Opened::Copy(copied.map_err(Error::msg)??)
            }
        })
    }
}

impl Source for &Opened {
    type Reader = Box<dyn Read>;

    fn open(&mut self) -> io::Result<Self::Reader> {
        Ok(match self {
            Opened::Stdin => Box::new(io::stdin()),
            // One that the user named may be a pipe.
            Opened::File(path) => Box::new(File::open(path)?),
            Opened::Copy(copy) => Box::new(copy.reopen()?),
        })
    }

    fn on_disk(&mut self) -> io::Result<Option<File>> {
        let file = match self {
            Opened::Stdin => return Ok(None),
            Opened::File(path) if !std::fs::metadata(path)?.is_file() => return Ok(None),
            Opened::File(path) => File::open(path)?,
            Opened::Copy(copy) => copy.reopen()?,
        };
        Ok(Some(file))
    }
}

/// Returns the files that a path names: itself, those of a folder and below it, or those of a pattern.
fn on_disk(name: &str) -> Result<Vec<PathBuf>> {
    let path = Path::new(name);
    // A file may have a star in its name.
    if !path.exists() && name.contains(['*', '?', '[']) {
        let mut found = Vec::new();
        for path in glob::glob(name).map_err(|error| anyhow!("{name}: {error}"))? {
            let path = path.map_err(|error| anyhow!("{name}: {error}"))?;
            if path.is_file() {
                found.push(path);
            }
        }
        return Ok(found);
    }
    if !files::is_folder(name)? {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    below(path, &mut found)?;
    found.sort();
    Ok(found)
}

/// Adds the files of a folder and below it. Links to folders are not followed, so that it ends.
fn below(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |error| anyhow!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        match kind.is_dir() {
            true => below(&entry.path(), found)?,
            false if entry.path().is_file() => found.push(entry.path()),
            false => {}
        }
    }
    Ok(())
}

/// Returns the objects below a prefix, which need not end at a slash.
async fn objects(name: &str, account: &Account, timeout: Duration) -> Result<Vec<Log>> {
    let place = name.strip_prefix(SCHEME).unwrap_or(name);
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    let (bucket, _) = Bucket::parse(&format!("{SCHEME}{bucket}"), account.clone(), timeout)
        .map_err(Error::msg)?;
    bucket.is_reachable().await.map_err(Error::msg)?;
    let client = bucket.aws.s3().await;
    let list = client.list_objects_v2().bucket(&bucket.name).prefix(prefix);
    let mut pages = list.into_paginator().send();
    let mut found = Vec::new();
    while let Some(page) = pages.next().await {
        let page = page.map_err(|error| anyhow!("{name}: cannot list: {}", chain(&error)))?;
        let keys = page.contents.unwrap_or_default().into_iter();
        let keys = keys.filter_map(|object| object.key);
        found.extend(keys.filter(|key| !key.ends_with('/')));
        if found.len() > MAX_OBJECTS {
            return Err(anyhow!(
                "{name}: has more than {MAX_OBJECTS} objects: give a longer prefix"
            ));
        }
    }
    let logs = found
        .into_iter()
        .map(|key| Log::Object(bucket.clone(), key));
    Ok(logs.collect())
}
