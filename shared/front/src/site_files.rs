//! The site files, which say what the front must know of each site.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::TryStreamExt;
use objects::{ObjectError, ObjectKey, Objects, SiteFile};
use tracing::warn;

/// Seconds for which a site file that was read is used. A site that becomes private is closed here after at most this time.
pub const SITE_FILE_TTL_SECONDS: i64 = 5;

/// The most sites remembered at a time; the one read longest ago makes room. A file is a few hundred bytes.
pub const MAX_CACHED_SITES: usize = 1_000;

/// The most bytes that are read of a site file. One that names as many types as a site may have is shorter.
pub const MAX_SITE_FILE_BYTES: usize = 128 * 1024;

/// The site files that were read recently.
///
/// - A missing one is not remembered: a new site is served as soon as it is published, and names that are no site's
///   take up no room.
/// - One that is too old is still used while the bucket fails.
#[derive(Debug, Default)]
pub(crate) struct SiteFiles {
    read: Mutex<BTreeMap<String, Read>>,
}

#[derive(Debug)]
struct Read {
    file: Arc<SiteFile>,
    /// Unix seconds.
    at: i64,
}

impl SiteFiles {
    /// Returns the site's file as it is, or as it was at most [`SITE_FILE_TTL_SECONDS`] ago, or `None` if there is no such site. A
    /// remembered file that `closes` what was asked for is read again: by now the index may list what was closed then.
    pub(crate) async fn get(
        &self,
        objects: &dyn Objects,
        site: &str,
        now: i64,
        closes: impl Fn(&SiteFile) -> bool,
    ) -> Result<Option<Arc<SiteFile>>, ObjectError> {
        let known = self
            .read()
            .get(site)
            .map(|read| (Arc::clone(&read.file), read.at));
        if let Some((file, at)) = &known
            && (0..SITE_FILE_TTL_SECONDS).contains(&now.saturating_sub(*at))
            && !closes(file)
        {
            return Ok(Some(Arc::clone(file)));
        }
        match (load(objects, site).await, known) {
            (Ok(Some(file)), _) => {
                let file = Arc::new(file);
                self.remember(
                    site,
                    Read {
                        file: Arc::clone(&file),
                        at: now,
                    },
                );
                Ok(Some(file))
            }
            (Ok(None), _) => {
                self.read().remove(site);
                Ok(None)
            }
            (Err(error), Some((stale, at))) => {
                warn!(site, age_seconds = now.saturating_sub(at), %error, "serving {site} by its last site file");
                Ok(Some(stale))
            }
            (Err(error), None) => Err(error),
        }
    }

    fn remember(&self, site: &str, read: Read) {
        let mut files = self.read();
        if files.len() >= MAX_CACHED_SITES && !files.contains_key(site) {
            let oldest = files
                .iter()
                .min_by_key(|(_, read)| read.at)
                .map(|(site, _)| site.clone());
            if let Some(oldest) = oldest {
                files.remove(&oldest);
            }
        }
        files.insert(site.to_owned(), read);
    }

    /// Locks the map. Each change is one call on it, so a thread that panicked cannot have left it half changed.
    fn read(&self) -> MutexGuard<'_, BTreeMap<String, Read>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn load(objects: &dyn Objects, site: &str) -> Result<Option<SiteFile>, ObjectError> {
    let key = ObjectKey::SiteFile {
        site: site.to_owned(),
    };
    let damaged = |message: String| ObjectError::Damaged {
        what: key.path(),
        message,
    };
    let Some((_, mut body)) = objects.open(&key).await? else {
        return Ok(None);
    };
    let mut json = Vec::new();
    while let Some(chunk) = body.try_next().await? {
        if json.len() + chunk.len() > MAX_SITE_FILE_BYTES {
            return Err(damaged(format!("more than {MAX_SITE_FILE_BYTES} bytes")));
        }
        json.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&json)
        .map(Some)
        .map_err(|error| damaged(error.to_string()))
}
