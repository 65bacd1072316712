//! Which site a request is for, and what must be known of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use sitemap::site::is_site_host;
use store::error::StoreError;
use store::object::{ObjectKey, Objects};
use store::site_file::SiteFile;
use tracing::warn;

/// The header that names the site: the CDN sets it from the viewer's host, over whatever the viewer sent. `Host` is
/// the function's own and `X-Forwarded-Host` anybody's, so neither is read.
pub const SITE_HOST_HEADER: &str = "x-waymark-host";

/// For how long a site file is believed: a site that turns private is so here after this many seconds.
pub const SITE_FILE_TTL_SECONDS: i64 = 5;

/// The most sites remembered at a time; the one read longest ago makes room. A file is a few hundred bytes.
pub const MAX_CACHED_SITES: usize = 1_000;

/// The site that a request names, fit to stand in an object key, or nothing: a dot alone or a slash in it would
/// lead out of the site's folder.
pub(crate) fn named(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(SITE_HOST_HEADER).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let site = value.to_str().ok()?;
    is_site_host(site).then_some(site)
}

/// The site files read of late.
///
/// - A missing one is not remembered: a new site is served as soon as it is published, and names that are no site's
///   take up no room.
/// - One that has expired serves on while the bucket fails.
#[derive(Debug, Default)]
pub(crate) struct SiteFiles {
    read: Mutex<HashMap<String, Read>>,
}

#[derive(Debug)]
struct Read {
    file: Arc<SiteFile>,
    /// Unix seconds.
    at: i64,
}

impl SiteFiles {
    /// The site's file as it is, or was at most [`SITE_FILE_TTL_SECONDS`] ago, or nothing if there is no such site.
    pub(crate) async fn get(
        &self,
        objects: &impl Objects,
        site: &str,
        now: i64,
    ) -> Result<Option<Arc<SiteFile>>, StoreError> {
        let known = self
            .read()
            .get(site)
            .map(|read| (Arc::clone(&read.file), read.at));
        if let Some((file, at)) = &known
            && (0..SITE_FILE_TTL_SECONDS).contains(&now.saturating_sub(*at))
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

    /// Every change is one call on the map, so a panic elsewhere cannot have left it half-changed.
    fn read(&self) -> MutexGuard<'_, HashMap<String, Read>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn load(objects: &impl Objects, site: &str) -> Result<Option<SiteFile>, StoreError> {
    let key = ObjectKey::SiteFile {
        site: site.to_owned(),
    };
    let Some((_, body)) = objects.get(&key).await? else {
        return Ok(None);
    };
    serde_json::from_slice(&body)
        .map(Some)
        .map_err(|error| StoreError::Damaged {
            what: key.path(),
            message: error.to_string(),
        })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn site_of(values: &[&'static str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("www.example.com"));
        headers.insert(
            "x-forwarded-host",
            HeaderValue::from_static("www.example.com"),
        );
        for value in values {
            headers.append(SITE_HOST_HEADER, HeaderValue::from_static(value));
        }
        named(&headers).map(str::to_owned)
    }

    #[test]
    fn a_site_is_a_host_with_or_without_a_port() {
        for site in [
            "www.example.com",
            "localhost",
            "127.0.0.1:8080",
            "xn--bcher-kva.example",
            "a-b.c0:65535",
        ] {
            assert_eq!(site_of(&[site]).as_deref(), Some(site));
        }
    }

    #[test]
    fn nothing_else_names_a_site() {
        for values in [
            &[][..],
            &["www.example.com", "www.example.com"],
            &[""],
            &["."],
            &[".."],
            &["../x"],
            &["a..b"],
            &[".a"],
            &["a."],
            &["a/b"],
            &["a\\b"],
            &["a%2fb"],
            &["WWW.example.com"],
            &["a b"],
            &["a_b"],
            &["a,b"],
            &["a:"],
            &[":80"],
            &["a:+80"],
            &["a:65536"],
            &["a:80:80"],
            &["[::1]"],
            &["user@a"],
        ] {
            assert_eq!(site_of(values), None, "{values:?}");
        }
        let long = ["a"; 127].join(".") + ".bc";
        let headers = HeaderMap::from_iter([(
            http::header::HeaderName::from_static(SITE_HOST_HEADER),
            HeaderValue::try_from(&long).expect("ASCII"),
        )]);
        assert_eq!((long.len(), named(&headers)), (256, None));
    }
}
