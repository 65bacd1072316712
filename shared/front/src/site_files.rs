//! The site files, with the front's data about each site.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::TryStreamExt;
use objects::{ObjectError, ObjectKey, Objects, SiteFile};
use tracing::warn;

/// Seconds for which a site file is used after it was read. So a site that becomes private is closed here after at most this
/// time.
pub const SITE_FILE_TTL_SECONDS: i64 = 5;

/// The most sites that are cached. The one that was read the longest ago is replaced. A file has a few hundred bytes.
pub const MAX_CACHED_SITES: usize = 1_000;

/// The most bytes that are read of a site file. A file with the most types that a site may have is shorter.
pub const MAX_SITE_FILE_BYTES: usize = 128 * 1024;

/// The site files that were read recently.
///
/// - A missing file is not cached. So a new site is served as soon as it is published, and names without a site take up no room.
/// - An expired file is still used while the bucket fails.
#[derive(Debug, Default)]
pub(crate) struct SiteFiles {
    read: Mutex<BTreeMap<String, Read>>,
}

#[derive(Debug)]
struct Read {
    file: Arc<SiteFile>,
    /// The time of the read, in Unix seconds.
    at: i64,
}

impl SiteFiles {
    /// Returns the site's current file, or one that was read at most [`SITE_FILE_TTL_SECONDS`] ago. Returns `None` if the site
    /// does not exist. If a cached file `closes` the requested object, it is read again, because the index may list the object by
    /// now.
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

    /// Locks the map. Each change is one call of the map, so a thread that panicked cannot have left it half changed.
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
